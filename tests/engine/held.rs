//! What a fork can't take along: such a state is looked at, and made anew before anything runs from it.

use super::harness::Run;
use super::sound;
use reweave::engine::OnError;
use reweave::run::{Policy, Preset};

/// Adds a checkpoint between the steps: long enough for one to pay.
const LONG: &str = "import time\ntime.sleep(0.15)\n";

#[test]
fn a_step_after_threads_runs_where_the_threads_are() {
    let steps = [
        ("1", "import queue, threading\nasked, told, k = queue.SimpleQueue(), queue.SimpleQueue(), 1\n"),
        (
            "2",
            "def work():\n    while True:\n        told.put(asked.get() * 2)\nthreading.Thread(target=work, daemon=True).start()\n",
        ),
        ("3", LONG),
        ("4", "asked.put(k)\nprint(told.get(timeout=20))\n"),
        ("5", LONG),
        ("6", "asked.put(5)\nprint(told.get(timeout=20))\n"),
    ];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    let mut after = steps;
    after[3].1 = "asked.put(k + 1)\nprint(told.get(timeout=20))\n";
    let told = run.update(&after);
    assert_eq!(told.results["4"], "4\n None");
    assert_eq!(told.results["6"], "10\n None");
    assert!(told.ran.contains(&"4".to_owned()) && !told.ran.contains(&"1".to_owned()), "{told:?}");
    // To look at a state needs no thread.
    assert_eq!(run.states(&after)[4]["k"], "1");
}

#[test]
#[cfg(target_os = "linux")]
fn a_thread_of_an_allocator_is_not_held() {
    // What `import pandas` starts where pyarrow is installed, as far as it can be seen.
    let starts = "import _thread, ctypes, threading
ready, n = _thread.allocate_lock(), [0]
ready.acquire()
def purge(name):
    ctypes.CDLL(None).prctl(15, name)
    ready.release()
    while True:
        threading.Event().wait(60)
_thread.start_new_thread(purge, (b'NAME',))
ready.acquire()
n.append(1)
";
    for (name, rebuilt) in [("jemalloc_bg_thd", 0), ("another", 1)] {
        let starts = starts.replace("NAME", name);
        let steps = [("1", &*starts), ("2", LONG), ("3", "print(n)\n")];
        let mut run = Run::new(OnError::Block);
        run.update(&steps);
        let mut after = steps;
        after[2].1 = "print(n, 2)\n";
        let told = run.update(&after);
        assert_eq!((told.ran, told.rebuilt), (vec!["3".to_owned()], rebuilt), "{name}");
    }
}

#[test]
fn a_thread_that_no_name_holds_is_started_again() {
    let steps = [
        ("1", "import threading, time\nbox = [0]\n"),
        (
            "2",
            "def work():\n    box.append(1)\n    time.sleep(60)\nt = threading.Thread(target=work, daemon=True)\nt.start()\nwhile len(box) < 2:\n    time.sleep(0.01)\ndel t\n",
        ),
        ("3", "print(threading.active_count(), box)\n"),
    ];
    let mut run = Run::new(OnError::Block);
    assert_eq!(run.update(&steps).results["3"], "2 [0, 1]\n None");
    run.restart();
    let mut after = steps;
    after[2].1 = "print(box, threading.active_count())\n";
    let told = run.update(&after);
    assert_eq!(told.results["3"], "[0, 1] 2\n None");
    assert_eq!(told.rebuilt, 1);
}

#[test]
fn children_and_files_left_open_are_not_shared_with_a_fork() {
    let steps = [
        ("1", "with open('in.txt', 'w') as h:\n    h.write('abcdefgh' * 4000)\n"),
        (
            "2",
            "import subprocess\nchild = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\nlog = open('log.txt', 'w')\n",
        ),
        ("3", "source = open('in.txt', 'rb', buffering=0)\n"),
        ("4", LONG),
        (
            "5",
            "child.stdin.write(b'one\\n')\nchild.stdin.flush()\nprint(child.stdout.readline(), source.read(3))\nlog.write('x')\n",
        ),
        ("6", LONG),
        ("7", "print(source.read(2))\n"),
        ("8", "child.stdin.close()\nchild.stdout.close()\nprint(child.wait(20))\nlog.close()\n"),
        ("9", LONG),
        ("a", "print(open('log.txt').read())\n"),
    ];
    let mut run = Run::with(OnError::Block, |settings| settings.policy = Policy::of(Preset::Trusted));
    let first = run.update(&steps);
    assert_eq!(first.results["5"], "b'one\\n' b'abc'\n None");
    assert_eq!(first.results["a"], "x\n None");
    for place in [4, 6, 9] {
        let mut after = steps;
        let text = format!("{}print(1)\n", steps[place].1);
        after[place].1 = &text;
        let mut truth = Run::with(OnError::Block, |settings| settings.policy = Policy::of(Preset::Trusted));
        let told = run.update(&after);
        assert_eq!(told.results, truth.update(&after).results, "{place}");
    }
}

#[test]
fn a_file_that_is_read_stands_where_it_stood_for_each() {
    let steps = [
        ("1", "with open('in.txt', 'w') as h:\n    h.write('abcdefgh')\nsource = open('in.txt', 'rb', buffering=0)\n"),
        ("2", LONG),
        ("3", "print(source.read(3))\n"),
        ("4", "print(source.read(2))\n"),
    ];
    let mut run = Run::new(OnError::Block);
    run.update(&steps);
    let mut after = steps;
    after[2].1 = "print(source.read(4))\n";
    let told = run.update(&after);
    assert_eq!(told.results["3"], "b'abcd'\n None");
    assert_eq!(told.results["4"], "b'ef'\n None");
    assert_eq!(told.rebuilt, 0, "the checkpoint serves");
}

/// What goes through a descriptor by its number is seen by nobody but who does the same.
#[test]
fn what_goes_through_a_pipe_reaches_who_reads_it() {
    let texts = [
        "import os\nr, w = os.pipe()",
        "os.write(w, b'abcdef')",
        "print(os.read(r, 3))",
        "reading, writing = os.fdopen(r), os.fdopen(w, 'w')\nwriting.write('x\\n')\nwriting.flush()",
        "print(reading.readline())",
    ];
    let numbers = ["1", "2", "3", "4", "5"];
    let before: Vec<_> = numbers.into_iter().zip(texts).collect();
    let mut after = before.clone();
    after[1].1 = "os.write(w, b'ghijkl')";
    let ran = sound(&before, &after);
    assert!(ran.contains(&"3".to_owned()) && ran.contains(&"5".to_owned()), "{ran:?}");
    // A run that is opened again runs them all to have it.
    let mut last = before.clone();
    last[4].1 = "print(reading.readline(), 'again')";
    sound(&before, &last);

    let before = [
        ("1", "import os\nfd = os.open('a', os.O_RDWR | os.O_CREAT)\nos.write(fd, b'1')"),
        ("2", "os.lseek(fd, 0, os.SEEK_SET)"),
        ("3", "print(os.read(fd, 4))"),
    ];
    let mut after = before;
    after[0].1 = "import os\nfd = os.open('a', os.O_RDWR | os.O_CREAT)\nos.write(fd, b'2')";
    assert_eq!(sound(&before, &after), ["1", "2", "3"]);
}
