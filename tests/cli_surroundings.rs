//! The environment, how the interpreter is started, where the run lies and what steps may take: where one of these is
//! another, what came by it runs again, and nothing else does.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::Run;
use serde_json::Value;

const PLAIN: (&str, &str) = ("02_plain.py", "x = 1\n");

fn steps(dir: &Path, environment: &[(&str, &str)]) -> Vec<Value> {
    told("run", dir, environment)
}

fn told(verb: &str, dir: &Path, environment: &[(&str, &str)]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args([verb, ".", "--json"]).current_dir(dir).envs(environment.iter().copied());
    let done = command.output().unwrap();
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    told["steps"].as_array().unwrap().clone()
}

fn word<'a>(step: &'a Value, key: &str) -> &'a str {
    step[key].as_str().unwrap_or_default().trim()
}

/// What of a run went again in another environment, each with why.
fn again(dir: &Path, environment: &[(&str, &str)]) -> Vec<String> {
    let ran = steps(dir, environment).into_iter().filter(|step| step["ran"] == true);
    ran.map(|step| format!("{}: {}", word(&step, "id"), word(&step, "why"))).collect()
}

/// What `status` marks as stale in another environment, each with why.
fn marked(dir: &Path, environment: &[(&str, &str)]) -> Vec<String> {
    let stale = told("status", dir, environment).into_iter().filter(|step| step["status"] != "fresh");
    stale.map(|step| format!("{}: {}", word(&step, "id"), word(&step["reasons"][0], "text"))).collect()
}

/// A step that comes by it gives in the second environment what a run from nothing gives there. Tells what ran again.
fn follows(code: &str, first: &[(&str, &str)], second: &[(&str, &str)]) -> Vec<String> {
    let run = Run::new(&[("01_look.py", code), PLAIN]);
    let before = steps(run.path(), first);
    let stale = marked(run.path(), second);
    let ran = again(run.path(), second);
    assert_eq!(stale, ran, "{code}: marked otherwise than run");
    let after = steps(run.path(), second);
    assert_eq!(after.iter().filter(|step| step["ran"] == true).count(), 0, "{code}: runs each time");
    let fresh = Run::new(&[("01_look.py", code), PLAIN]);
    let truth = steps(fresh.path(), second);
    assert_eq!(word(&after[0], "stdout"), word(&truth[0], "stdout"), "{code}");
    assert_ne!(word(&after[0], "stdout"), word(&before[0], "stdout"), "{code}: nothing to see");
    ran
}

#[test]
fn a_variable_counts_for_who_looks_at_it() {
    let get = "import os\nprint(os.environ.get('A_WORD'))\n";
    let (one, two) = ([("A_WORD", "1")], [("A_WORD", "2")]);
    let why = ["01_look: environment variable A_WORD changed"];
    assert_eq!(follows(get, &one, &two), why);
    assert_eq!(follows(get, &[], &two), why);
    assert_eq!(follows(get, &one, &[]), why);
    let home = "import os\nprint(os.path.expanduser('~'))\n";
    let why = ["01_look: environment variable HOME changed"];
    assert_eq!(follows(home, &[("HOME", "/")], &[("HOME", "/usr")]), why);
    let user = "import getpass\nprint(getpass.getuser())\n";
    let why = ["01_look: environment variable LOGNAME changed"];
    assert_eq!(follows(user, &[("LOGNAME", "one")], &[("LOGNAME", "two")]), why);
    let all = ["01_look: the environment changed"];
    assert_eq!(follows("import os\nprint('A_WORD' in sorted(os.environ))\n", &[], &two), all);
    assert_eq!(follows("import subprocess\nprint(subprocess.getoutput('echo $A_WORD'))\n", &one, &two), all);
    assert_eq!(follows("import os\nprint(os.popen('echo $A_WORD').read())\n", &one, &two), all);
}

const FORKS: &str = "import os
there, here = os.pipe()
if os.fork() == 0:
    os.write(here, LOOKS.encode())
    os._exit(0)
os.wait()
print(os.read(there, 9))
";
const POOL: &str = "import multiprocessing, os
def look(_):
    return LOOKS
with multiprocessing.get_context('fork').Pool(1) as pool:
    print(pool.map(look, [1]))
";

#[test]
fn what_a_child_process_looks_at_counts() {
    let (one, two) = ([("A_WORD", "1")], [("A_WORD", "2")]);
    for code in [FORKS, POOL] {
        let code = code.replace("LOOKS", "os.environ['A_WORD']");
        assert_eq!(follows(&code, &one, &two), ["01_look: the environment changed"]);
    }
    let native =
        "import ctypes\nget = ctypes.CDLL(None).getenv\nget.restype = ctypes.c_char_p\nprint(get(b'A_WORD'))\n";
    assert_eq!(follows(native, &one, &two), ["01_look: the environment changed"]);
    assert_eq!(
        follows("import posix\nprint(posix.environ.get(b'A_WORD'))\n", &one, &two),
        ["01_look: the environment changed"]
    );
}

#[test]
fn a_file_that_a_child_process_reads_counts() {
    for code in [FORKS, POOL] {
        let code = code.replace("LOOKS", "open('data.txt').read()");
        let run = Run::new(&[("01_look.py", &code), PLAIN, ("data.txt", "1")]);
        steps(run.path(), &[]);
        assert_eq!(again(run.path(), &[]), [""; 0]);
        run.write("data.txt", "2");
        assert_eq!(again(run.path(), &[]), ["01_look: file data.txt changed"], "{code}");
        assert!(word(&steps(run.path(), &[])[0], "stdout").contains('2'), "{code}");
    }
    // One that an earlier step left running.
    let serve = "import os
wants, ask = os.pipe()
there, here = os.pipe()
if os.fork() == 0:
    while os.read(wants, 1):
        os.write(here, open('data.txt').read().encode())
";
    let run = Run::new(&[
        ("01_serve.py", serve),
        ("02_ask.py", "os.write(ask, b'x')\nprint(os.read(there, 9))\n"),
        ("data.txt", "1"),
    ]);
    steps(run.path(), &[]);
    run.write("data.txt", "2");
    assert_eq!(again(run.path(), &[]).len(), 2);
    assert_eq!(word(&steps(run.path(), &[])[1], "stdout"), "b'2'");
}

#[test]
fn a_file_that_comes_counts_for_a_child_process() {
    let code = "import subprocess\nprint(subprocess.getoutput('echo data/* data/inner/*'))\n";
    let run = Run::new(&[("01_look.py", code), PLAIN, ("data/a", "1"), ("data/inner/a", "1")]);
    steps(run.path(), &[]);
    assert_eq!(again(run.path(), &[]), [""; 0]);
    for file in ["data/b", "data/inner/b"] {
        run.write(file, "2");
        let directory = Path::new(file).parent().unwrap().display();
        let reason = format!("01_look: file {directory} changed");
        assert_eq!(marked(run.path(), &[]), [reason.as_str()]);
        assert_eq!(again(run.path(), &[]), [reason]);
        assert!(word(&steps(run.path(), &[])[0], "stdout").contains(file));
    }
    // One that an earlier step makes.
    let made = |file: &str| format!("open('data/{file}', 'w').close()\n");
    let run = Run::new(&[("00_make.py", &made("a")), ("01_look.py", code), PLAIN, ("data/inner/a", "1")]);
    steps(run.path(), &[]);
    run.write("00_make.py", &format!("{}{}", made("a"), made("c")));
    assert!(again(run.path(), &[]).iter().any(|step| step.starts_with("01_look")));
    // What it makes itself is none of what it found.
    let makes = FORKS.replace("LOOKS", "str([os.makedirs('new/inner'), open('new/inner/a', 'w'), open('b', 'w')])");
    let run = Run::new(&[("01_make.py", &makes), PLAIN]);
    steps(run.path(), &[]);
    assert_eq!(again(run.path(), &[]), [""; 0]);
    assert!(run.file("new/inner/a").exists());
    run.write("01_make.py", "x = 1\n");
    assert_eq!(again(run.path(), &[]).len(), 1);
    assert!(!run.file("new").exists() && !run.file("b").exists());
}

#[test]
fn a_persons_link_stays_one() {
    let child = FORKS.replace("LOOKS", "str(len(os.listdir('.')))");
    for code in [child.as_str(), "import os\nos.remove('link')\n", "open('link', 'w').close()\n"] {
        let run = Run::new(&[("01_do.py", code), PLAIN, ("data.txt", "1")]);
        std::os::unix::fs::symlink("data.txt", run.file("link")).unwrap();
        steps(run.path(), &[]);
        assert_eq!((marked(run.path(), &[]), again(run.path(), &[])), (vec![], vec![]), "{code}");
        run.write("01_do.py", "y = 1\n");
        assert_eq!(again(run.path(), &[]), ["01_do: its code changed"]);
        assert_eq!(fs::read_link(run.file("link")).unwrap(), Path::new("data.txt"), "{code}");
        assert_eq!(run.read("data.txt"), "1", "{code}");
    }
}

#[test]
fn a_file_that_becomes_a_directory_counts_for_who_walks() {
    let run = Run::new(&[("01_look.py", "import os\nprint(sum(1 for _ in os.walk('data')))\n"), ("data/a", "")]);
    steps(run.path(), &[]);
    fs::remove_file(run.file("data/a")).unwrap();
    fs::create_dir(run.file("data/a")).unwrap();
    assert_eq!(marked(run.path(), &[]), ["01_look: file data changed"]);
    assert_eq!(again(run.path(), &[]), ["01_look: file data changed"]);
    assert_eq!(word(&steps(run.path(), &[])[0], "stdout"), "2");
}

#[test]
fn a_file_that_comes_counts_for_who_lists_its_directory() {
    let make = "open('data/one', 'w').close()\n";
    let run = Run::new(&[
        ("01_look.py", "import os\nprint(sorted(os.listdir('data')))\n"),
        ("02_make.py", make),
        ("03_look.py", "import glob\nprint(sorted(glob.glob('data/*')))\n"),
        ("data/known", "1"),
    ]);
    steps(run.path(), &[]);
    assert_eq!((marked(run.path(), &[]), again(run.path(), &[])), (vec![], vec![]));
    run.write("data/new", "1");
    let both = ["01_look: file data changed", "03_look: file data changed"];
    assert_eq!(marked(run.path(), &[]), both);
    assert_eq!(again(run.path(), &[]), both);
    assert_eq!((marked(run.path(), &[]), again(run.path(), &[])), (vec![], vec![]));
    fs::remove_file(run.file("data/new")).unwrap();
    assert_eq!(marked(run.path(), &[]), both);
    steps(run.path(), &[]);
    // What a later step makes is not there for an earlier one, and is for who comes after it.
    let after = steps(run.path(), &[]);
    assert_eq!(word(&after[0], "stdout"), "['known']");
    assert_eq!(word(&after[2], "stdout"), "['data/known', 'data/one']");
}

#[test]
fn where_more_files_are_than_are_followed_a_child_process_is_in_doubt() {
    let code = "import subprocess\nprint(subprocess.getoutput('echo data/*'))\n";
    let run = Run::new(&[("01_look.py", code), PLAIN]);
    fs::create_dir(run.file("data")).unwrap();
    for at in 0..5_100 {
        fs::write(run.file(&format!("data/{at}")), "").unwrap();
    }
    steps(run.path(), &[]);
    let why = ["01_look: in doubt: what it started may read more files than are followed (5000)"];
    assert_eq!(marked(run.path(), &[]), why);
    assert_eq!(again(run.path(), &[]), why);
    // What was there is nobody's product.
    run.write("01_look.py", "y = 1\n");
    assert_eq!(again(run.path(), &[]), ["01_look: its code changed"]);
    assert_eq!(fs::read_dir(run.file("data")).unwrap().count(), 5_100);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_native_code_opens_counts() {
    let code = "import ssl
try:
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations('known.pem')
except OSError as error:
    print(type(error).__name__)
";
    let run = Run::new(&[("01_look.py", code), PLAIN, ("known.pem", "none"), ("data.txt", "1")]);
    assert_eq!(word(&steps(run.path(), &[])[0], "stdout"), "SSLError");
    run.write("data.txt", "2");
    assert_eq!(again(run.path(), &[]), [""; 0]);
    fs::remove_file(run.file("known.pem")).unwrap();
    assert_eq!(again(run.path(), &[]), ["01_look: file known.pem changed"]);
    assert_eq!(word(&steps(run.path(), &[])[0], "stdout"), "FileNotFoundError");
}

#[test]
fn what_a_step_set_itself_counts_as_that() {
    let set = "import os\nos.environ['A_WORD'] = 'set'\nprint(os.environ['A_WORD'])\n";
    let run = Run::new(&[("01_set.py", set), ("02_get.py", "print(os.environ['A_WORD'])\n")]);
    steps(run.path(), &[("A_WORD", "1")]);
    let after = steps(run.path(), &[("A_WORD", "2")]);
    assert_eq!(word(&after[1], "stdout"), "set");
    assert_eq!(after[1]["ran"], false);
}

#[test]
fn how_the_interpreter_is_started_counts_for_all() {
    let all = |why: &str| vec![format!("01_look: ran with {why}"), format!("02_plain: ran with {why}")];
    let hour = "import time\nprint(time.localtime(0).tm_hour)\n";
    assert_eq!(follows(hour, &[("TZ", "UTC0")], &[("TZ", "XYZ-9")]), all("TZ=UTC0, not XYZ-9"));
    let asserts = "try:\n    assert 0\n    print('no')\nexcept AssertionError:\n    print('yes')\n";
    assert_eq!(follows(asserts, &[("PYTHONOPTIMIZE", "")], &[("PYTHONOPTIMIZE", "1")]), all("PYTHONOPTIMIZE=, not 1"));
    let path = "import sys\nprint('/nowhere' in sys.path)\n";
    assert_eq!(follows(path, &[], &[("PYTHONPATH", "/nowhere")]), all("no PYTHONPATH, which is /nowhere now"));
}

#[test]
fn what_libraries_read_as_they_are_imported_counts_for_who_uses_them() {
    let library = tempfile::tempdir().unwrap();
    fs::write(library.path().join("fake_tool.py"), "import os\nhome = os.environ['MPLCONFIGDIR']\n").unwrap();
    let path = library.path().to_str().unwrap();
    let run = Run::new(&[("01_import.py", "import fake_tool\n"), PLAIN, ("03_use.py", "print(fake_tool.home)\n")]);
    steps(run.path(), &[("PYTHONPATH", path), ("MPLCONFIGDIR", "/one")]);
    let two = [("PYTHONPATH", path), ("MPLCONFIGDIR", "/two")];
    let why = "a variable that libraries read as they are imported changed";
    let stale = marked(run.path(), &two);
    assert_eq!(stale.last().unwrap(), &format!("03_use: {why}"));
    assert_eq!(again(run.path(), &two).len(), 2);
    assert_eq!(again(run.path(), &two), [""; 0]);
}

#[test]
fn the_terminal_that_it_is_run_in_is_none_of_the_run() {
    let run = Run::new(&[(
        "01_all.py",
        "import os, subprocess\nprint(len(os.environ), subprocess.getoutput('env | wc -l'))\n",
    )]);
    let terminal = [
        ("TERM", "xterm"),
        ("SHLVL", "3"),
        ("PWD", "/"),
        ("TMUX_PANE", "%1"),
        ("COLUMNS", "90"),
        ("REWEAVE_UI_THEME", "light"),
        ("WINDOWID", "7"),
    ];
    steps(run.path(), &[("TERM", "tmux-256color"), ("SHLVL", "1")]);
    assert_eq!(again(run.path(), &terminal), [""; 0]);
}

#[test]
fn the_seed_counts() {
    let run = Run::new(&[("01_draw.py", "import random\nprint(random.random(), {'a', 'b', 'c'})\n")]);
    let seeded = |seed: u32| fs::write(run.path().join("reweave.toml"), format!("seed = {seed}\n")).unwrap();
    let first = steps(run.path(), &[]);
    seeded(7);
    assert_eq!(again(run.path(), &[]), ["01_draw: ran with seed=0, not 7"]);
    let other = steps(run.path(), &[]);
    assert_ne!(word(&first[0], "stdout"), word(&other[0], "stdout"));
    // What was had with the first one comes back.
    seeded(0);
    let back = steps(run.path(), &[]);
    assert_eq!((word(&back[0], "stdout"), &back[0]["ran"]), (word(&first[0], "stdout"), &Value::Bool(false)));
}

#[test]
fn a_limit_that_was_raised_is_tried() {
    let open = "files = [open('/dev/null') for _ in range(100)]\nprint(len(files))\n";
    let slow = "import time\ntime.sleep(0.3)\nprint('done')\n";
    for (code, low, high) in
        [(open, "open_files = 60", "open_files = 900"), (slow, "timeout = \"200ms\"", "timeout = \"1m\"")]
    {
        let run = Run::new(&[("01_takes.py", code)]);
        fs::write(run.path().join("reweave.toml"), format!("{low}\n")).unwrap();
        assert_eq!(steps(run.path(), &[])[0]["status"], "failed", "{low}");
        assert_eq!(again(run.path(), &[]), [""; 0], "{low}: nothing changed");
        fs::write(run.path().join("reweave.toml"), format!("{high}\n")).unwrap();
        assert_eq!(again(run.path(), &[]), ["01_takes: its limits changed"], "{high}");
        assert_eq!(steps(run.path(), &[])[0]["status"], "fresh", "{high}");
    }
}

#[test]
fn a_run_that_was_moved_tells_where_it_is() {
    let run = Run::new(&[
        ("01_here.py", "import os\nhere = os.getcwd()\n"),
        ("02_plain.py", "x = 1\n"),
        ("03_shows.py", "print(here.endswith('there'))\n"),
    ]);
    steps(run.path(), &[]);
    let place = tempfile::tempdir().unwrap();
    let there = place.path().join("there");
    fs::rename(run.path(), &there).unwrap();
    assert_eq!(again(&there, &[]), ["01_here: where the run lies changed", "03_shows: here changed"]);
    fs::rename(&there, run.path()).unwrap();
    assert_eq!(again(run.path(), &[]), [""; 0]);
}
