//! Steps that do their worst: each leaves the run usable, the other steps right, no process behind, and a message that
//! says what happened.
//!
//! Everything here runs in a [`pen`] with a bound on processes that the system keeps; where there can be none, nothing
//! is run.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

#[path = "../common/mod.rs"]
mod common;
mod escapes;
mod pen;
#[path = "../support/mod.rs"]
mod support;

use common::Run;
use pen::Pen;
use serde_json::Value;

/// A step that is given so many seconds.
fn brief(source: &str, seconds: u32) -> String {
    format!("# /// step\n# timeout = {seconds}\n# ///\n{source}")
}

/// Runs `cases` as steps of one run, with a step before and one after each that must come out right. Gives what became of
/// each: its outcome and what it said.
fn run_all(pen: &Pen, cases: &[(&str, &str)], limits: &[&str]) -> Vec<(String, String)> {
    let run = Run::new(&[("000.py", "kept = [5]\n")]);
    // What another limit is to end is given the time to come to that.
    let seconds = if limits.is_empty() { 1 } else { 60 };
    for (at, (_, source)) in cases.iter().enumerate() {
        run.write(&format!("{:03}a.py", at + 1), &brief(source, seconds));
        run.write(&format!("{:03}b.py", at + 1), "print('on with', kept)\n");
    }
    let mut rest = vec!["--json"];
    limits.iter().for_each(|limit| rest.extend(["--limit", *limit]));
    let said = pen.call(&run, "run", &rest);
    let document: Value = serde_json::from_str(said.stdout.lines().last().unwrap_or_default())
        .unwrap_or_else(|_| panic!("{} {}", said.stdout, said.stderr));
    let steps = document["steps"].as_array().unwrap();
    let found = cases.iter().enumerate().map(|(at, (name, _))| {
        let step = |letter: &str| {
            let id = format!("{:03}{letter}", at + 1);
            steps.iter().find(|step| step["id"] == id.as_str()).unwrap()
        };
        let (hostile, after) = (step("a"), step("b"));
        assert_eq!(after["stdout"], "on with [5]\n", "after {name}: {after} {}", said.stderr);
        let error = &hostile["error"];
        let message = error["message"].as_str().unwrap_or_default();
        let text = match error["type"].as_str() {
            Some(kind) => format!("{kind}: {message}"),
            None => format!("{} {}", hostile["stdout"].as_str().unwrap_or_default(), hostile["status"]),
        };
        ((*name).to_owned(), text)
    });
    let found: Vec<_> = found.collect();
    assert_eq!(pen.left(), Vec::<String>::new(), "processes are left");
    // The run is as usable as before.
    let status = pen.call(&run, "status", &["--json"]);
    assert_eq!(status.status, Some(0), "{}", status.stderr);
    found
}

/// Asserts that each case said what is expected: one of some texts.
#[track_caller]
fn expect(found: &[(String, String)], expected: &[(&str, &[&str])]) {
    for ((name, text), (_, any)) in found.iter().zip(expected) {
        assert!(any.iter().any(|part| text.contains(part)), "{name}: {text:?}, should hold one of {any:?}");
    }
}

macro_rules! cases {
    ($limits:expr; $($name:literal: $source:literal => $($expected:literal)|+;)*) => {{
        pen::in_each(|pen| {
            let found = run_all(pen, &[$(($name, $source)),*], $limits);
            expect(&found, &[$(($name, &[$($expected),+] as &[&str])),*]);
        });
    }};
}

#[test]
fn what_never_ends_is_stopped() {
    cases! { &[];
        "a loop": "while True: pass\n" => "TimeLimit: took longer than its limit of 1 s; raise it with";
        "a loop in C": "sum(iter(int, 1))\n" => "TimeLimit";
        "a loop in a regular expression": "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')\n" => "TimeLimit";
        "signals ignored": "import signal\nfor one in (signal.SIGTERM, signal.SIGINT): signal.signal(one, signal.SIG_IGN)\nwhile True: pass\n" => "TimeLimit";
        "interrupts swallowed": "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n" => "TimeLimit";
        "a repr without end": "class Endless:\n    def __repr__(self):\n        while True: pass\nEndless()\n" => "TimeLimit";
        "a sleep": "import time\ntime.sleep(1000)\n" => "TimeLimit";
    }
}

#[test]
fn what_ends_its_own_process_ends_only_that() {
    cases! { &[];
        "os._exit": "import os\nos._exit(0)\n" => "ProcessDied: the step's process ended before the step did";
        "SIGKILL to itself": "import os\nos.kill(os.getpid(), 9)\n" => "ProcessDied";
        "a segmentation fault": "import ctypes\nctypes.string_at(0)\n" => "ProcessDied";
        "abort": "import os\nos.abort()\n" => "ProcessDied";
        "closed descriptors": "import os\nos.closerange(0, 1000)\n" => "ProcessDied";
        "a closed standard output": "import os\nos.close(1)\nos.close(2)\ndel os\n" => "fresh";
        // Its parent may be a checkpoint that it was forked from: that is the run's own, and may go.
        "SIGKILL to its parent": "import os\nos.kill(os.getppid(), 9)\n" => "PermissionError" | "fresh";
        "SIGSTOP to its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\n" => "PermissionError" | "fresh";
        "SIGKILL to its group": "import os\ntry:\n    os.kill(1, 0)\nexcept PermissionError:\n    os.killpg(0, 9)\n" => "ProcessDied";
        "a stack overflow": "def f(): return f()\nf()\n" => "RecursionError";
        "a deep structure": "deep = []\nfor _ in range(200_000): deep = [deep]\ndel deep\n" => "fresh" | "ProcessDied";
        "a deep structure, shown": "deep = []\nfor _ in range(100_000): deep = [deep]\ndeep\n" => "RecursionError" | "fresh" | "ProcessDied" | "TimeLimit";
        "an endless structure, shown": "turn = []\nturn.append(turn)\nturn\n" => "fresh";
    }
}

#[test]
fn what_stops_itself_is_ended_and_said_so() {
    pen::in_each(|pen| {
        let stop = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n";
        let group =
            "import os, signal\ntry:\n    os.kill(1, 0)\nexcept PermissionError:\n    os.killpg(0, signal.SIGSTOP)\n";
        let run =
            Run::new(&[("1.py", "kept = 5\n"), ("2.py", stop), ("3.py", group), ("4.py", "print('on with', kept)\n")]);
        let said = pen.call(&run, "run", &[]);
        let told =
            said.stdout.matches("ProcessStopped: the step's process was stopped by a signal, and stayed so").count();
        assert!(told == 2 && said.stdout.contains("on with 5"), "{} {}", said.stdout, said.stderr);
        assert_eq!(pen.left(), Vec::<String>::new());
    });
}

#[test]
fn what_is_left_running_ends_with_the_run() {
    cases! { &[];
        "a daemon thread": "import threading\ndef loop():\n    while True: pass\nthreading.Thread(target=loop, daemon=True).start()\n" => "fresh";
        "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n" => "fresh";
        "an atexit handler": "import atexit\ndef loop():\n    while True: pass\natexit.register(loop)\ndel loop\n" => "fresh";
        "a child": "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n" => "fresh";
        "a child that leaves its session": "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n" => "fresh";
        "a daemon": "import subprocess\nsubprocess.run('setsid sh -c \"sleep 1000 & sleep 1000\" > /dev/null 2>&1 &', shell=True)\n" => "fresh";
        "a fork that goes on": "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n" => "fresh";
        "a child of a step that fails": "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\n1 / 0\n" => "ZeroDivisionError";
    }
}

#[test]
fn what_raises_in_odd_ways_is_told() {
    cases! { &[];
        "sys.exit": "import sys\nsys.exit(3)\n" => "SystemExit: 3";
        "KeyboardInterrupt": "raise KeyboardInterrupt\n" => "KeyboardInterrupt";
        "GeneratorExit": "raise GeneratorExit\n" => "GeneratorExit";
        "an error whose text raises": "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd\n" => "Odd";
        "an error whose class lies": "class Odd(Exception):\n    __class__ = property(lambda self: 1 / 0)\nraise Odd\n" => "Odd";
        "a repr that raises": "class Odd:\n    def __repr__(self): raise ValueError('no')\nOdd()\n" => "fresh" | "ValueError";
        "a repr that exits": "class Odd:\n    def __repr__(self): raise SystemExit\nOdd()\n" => "fresh" | "SystemExit";
        "a repr that is no text": "class Odd:\n    def __repr__(self): return 5\nOdd()\n" => "fresh" | "TypeError";
    }
}

#[test]
fn what_replaces_the_tools_of_others_is_undone_where_it_fails() {
    // Where it does not fail, its successors see what it did, as in any Python program: the engine's own work goes on.
    let tools = "import builtins, sys, os, json\nbuiltins.open = None\nsys.stdout = None\nbuiltins.__import__ = None\n\
                 json.dumps = json.loads = None\nbuiltins.len = None\n1 / 0\n";
    pen::in_each(|pen| {
        let found = run_all(pen, &[("tools", tools)], &[]);
        expect(&found, &[("tools", &["ZeroDivisionError"])]);
    });
}

#[test]
fn memory_without_end_is_bounded() {
    cases! { &["memory=300MB"];
        "a hundred gigabytes": "all = bytearray(100 << 30)\n" => "MemoryError" | "MemoryLimit";
        "more and more": "all = []\nwhile True: all.append(bytearray(8 << 20))\n" => "MemoryLimit: took more memory than its limit of";
        "a repr of a gigabyte": "class Large:\n    def __repr__(self): return 'x' * (1 << 30)\nLarge()\n" => "MemoryLimit" | "MemoryError" | "fresh";
    }
}

#[test]
fn processes_without_end_are_bounded() {
    let bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n";
    let shell = "import subprocess\nsubprocess.run('f() { f | f & }; f', shell=True)\nimport time\ntime.sleep(5)\n";
    let threads = "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n";
    pen::in_each(|pen| {
        let found =
            run_all(pen, &[("a fork bomb", bomb), ("one of a shell", shell), ("threads", threads)], &["processes=40"]);
        let all: &[&str] = &["ProcessLimit: had more processes than its limit of 40; raise it with"];
        expect(&found, &[("", all), ("", all), ("", all)]);
    });
}

#[test]
fn output_without_end_is_cut_and_the_step_goes_on() {
    pen::in_each(|pen| {
        // A gigabyte in all: half of it one line, and lines.
        let flood = "import os\npart = b'x' * (1 << 20)\nfor _ in range(512): os.write(1, part)\nprint('end')\n";
        let lines = "import os\npart = (b'y' * 63 + b'\\n') * (1 << 14)\nfor _ in range(512): os.write(2, part)\nprint('end')\n";
        let run = Run::new(&[("1.py", flood), ("2.py", lines), ("3.py", "print('on')\n")]);
        let said = pen.call(&run, "run", &["--json", "--limit", "output=1MB"]);
        let document: Value = serde_json::from_str(said.stdout.lines().last().unwrap()).unwrap();
        for (step, stream) in [(0, "stdout"), (1, "stderr")] {
            let step = &document["steps"][step];
            let text = step[stream].as_str().unwrap();
            assert!(text.len() < 2 << 20, "{}", text.len());
            assert!(step["stdout"].as_str().unwrap().ends_with("end\n"), "{}", step["stdout"].as_str().unwrap().len());
            assert_eq!(step["stdout_truncated"], true);
        }
        assert_eq!(document["steps"][2]["stdout"], "on\n");
        assert_eq!(pen.left(), Vec::<String>::new());
    });
}

#[test]
fn a_step_that_fills_the_disk_fails_and_what_it_filled_is_given_back() {
    pen::in_each(|pen| {
        let fill = "with open('large', 'wb', buffering=0) as file:\n    while True: file.write(b'x' * (1 << 20))\n";
        let run = Run::new(&[("1.py", "kept = 5\n"), ("2.py", fill), ("3.py", "print('on with', kept)\n")]);
        let here = run.path().display();
        // The disk is one in memory that only this command sees.
        let script = format!(
            "cp -r {here} {here}.kept && mount -t tmpfs -o size=8m none {here} && cp -r {here}.kept/. {here} && cd {here} && \
             \"$0\" run .; echo; \"$0\" verify .; echo status $?; cat {here}/2.py; rm -rf {here}.kept"
        );
        let mut command = pen.command("unshare".as_ref());
        command.arg(if pen.is_root() { "-m" } else { "-rm" });
        command.args(["sh", "-c", &script, env!("CARGO_BIN_EXE_reweave")]);
        let said = common::answer(command, "");
        if said.stderr.contains("unshare: ") || said.stderr.contains("mount: ") {
            eprintln!("skipped: a disk of its own can't be made here: {}", said.stderr);
            return;
        }
        assert!(said.stdout.contains("OSError: [Errno 28] No space left on device"), "{said}");
        assert!(said.stdout.contains("on with 5") && said.stdout.ends_with(fill), "{said}");
        // What it filled may be given back before the records are written, or after.
        let told = said.stderr.contains("was not recorded: .reweave/store.db: the disk is full")
            && said.stderr.contains("hint: free some space");
        assert!(told || !said.stderr.contains("error:"), "{said}");
        assert_eq!(pen.left(), Vec::<String>::new());
    });
}

#[test]
fn the_workbench_answers_keys_whatever_a_step_does() {
    let deaf =
        "import signal\nfor one in (2, 15): signal.signal(one, signal.SIG_IGN)\nprint('begun')\nsum(iter(int, 1))\n";
    let flood =
        "import os\npart = (b'y' * 79 + b'\\n') * 800\nprint('begun', flush=True)\nwhile True: os.write(2, part)\n";
    for source in [deaf, flood] {
        pen::in_each(|pen| {
            let run =
                Run::new(&[("1.py", source), ("2.py", "print('on')\n"), ("reweave.toml", "output_limit = \"1MB\"\n")]);
            pen.hand_over(run.path());
            let command = pen.reweave();
            let mut setup = support::pty::Setup::program(command.get_program(), run.path()).size(120, 40);
            for argument in command.get_args() {
                setup = setup.arg(argument);
            }
            for (name, value) in command.get_envs() {
                if let (Some(name), Some(value)) = (name.to_str(), value) {
                    setup = setup.env(name, value);
                }
            }
            let mut terminal = setup.arg("open").arg(run.path()).start();
            terminal.wait_for("2 steps").keys("x").wait_for("1 running");
            terminal.keys("?").wait_for("First of all").keys("\x1b").wait_gone("First of all");
            terminal.keys("\x03").wait_gone("1 running");
            terminal.keys("jx").wait_for("1 running");
            terminal.keys("q").wait_for("Sure?").keys("y");
            terminal.wait_exit();
            assert_eq!(pen.left(), Vec::<String>::new());
        });
    }
}
