//! The main job, driven as a person does it: start, move, run, edit on disk, see the mark, run only that, quit.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod support;

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use support::pty::{Modes, Setup, Terminal};

/// Two steps that hang together, and one by itself.
fn run_dir() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    step(dir.path(), "01_load", "n = 20\nprint('loaded', n)\n");
    step(dir.path(), "02_square", "squares = [i * i for i in range(n)]\nprint('sum', sum(squares))\n");
    step(dir.path(), "03_alone", "greeting = 'hello'\nprint(greeting)\n");
    dir
}

/// Saves as an editor does: a new file, moved over the old one.
fn step(dir: &Path, id: &str, source: &str) {
    let (new, path) = (dir.join(format!(".{id}.new")), dir.join(format!("{id}.py")));
    fs::write(&new, source).unwrap();
    fs::rename(new, path).unwrap();
}

fn open(dir: &Path) -> Terminal {
    let mut terminal = Setup::reweave(dir).arg("open").arg(dir).size(120, 40).start();
    terminal.wait_for("3 steps").wait_for("03_alone");
    terminal
}

#[track_caller]
fn assert_as_found(terminal: &Terminal) {
    assert_eq!(terminal.modes(), Modes::PLAIN);
    assert!(!terminal.is_raw());
}

#[test]
fn only_what_an_edit_changes_turns_stale_and_runs() {
    let dir = run_dir();
    let mut terminal = open(dir.path());
    // Run all of it.
    terminal.keys("a").wait_for("3 fresh");
    // Move, and see what each step is and printed.
    terminal.keys("gg").wait_for("loaded 20");
    terminal.keys("j").wait_for("2 Source  02_square").wait_for("sum 2470");
    // Someone edits a constant in another terminal: the step and what depends on it are marked, with the reason.
    step(dir.path(), "01_load", "n = 3\nprint('loaded', n)\n");
    terminal.wait_for("2 stale").wait_for("1 fresh");
    terminal.wait_for("stale edited").wait_for("stale ← 01");
    // Run what is stale: the third step isn't touched.
    terminal.keys("a").wait_for("3 fresh").wait_for("sum 5").wait_for("2 ran");
    // Replay from here on.
    terminal.keys("gg").wait_for("2 Source  01_load").keys("R").wait_for("loaded 3").wait_for("1 ran");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert_as_found(&terminal);
    assert_eq!(terminal.asked().unknown, [""; 0]);
}

#[test]
fn the_same_holds_in_eighty_columns() {
    let dir = run_dir();
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).start();
    terminal.wait_for("03_alone").keys("a").wait_for("3 fresh");
    step(dir.path(), "02_square", "squares = []\nprint('none')\n");
    terminal.wait_for("1 stale").keys("a").wait_for("1 ran");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert_as_found(&terminal);
}

#[test]
fn a_request_to_end_leaves_the_terminal_as_it_was_found() {
    for (signal, status) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let dir = run_dir();
        step(dir.path(), "04_long", "import time\nprint('begun')\nwhile True: time.sleep(0.05)\n");
        let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
        terminal.wait_for("04_long").keys("Ga").wait_for("begun");
        terminal.signal(signal);
        assert_eq!(terminal.wait_exit(), status);
        assert_as_found(&terminal);
    }
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was_found_and_a_report() {
    let dir = run_dir();
    let mut terminal =
        Setup::reweave(dir.path()).arg("open").arg(dir.path()).env("REWEAVE_PANIC_KEY", "f12").size(120, 40).start();
    terminal.wait_for("03_alone").bytes(b"\x1b[24~");
    assert_eq!(terminal.wait_exit(), 101);
    assert_as_found(&terminal);
    let text = terminal.text().replace('\n', "");
    assert!(text.contains("reweave crashed: ") && text.contains("A report is in "), "{text}");
    let report = text.split("A report is in ").nth(1).unwrap().split(".txt").next().unwrap();
    assert!(fs::read_to_string(format!("{report}.txt")).unwrap().contains("message: "));
}

#[test]
fn steps_that_are_written_while_it_is_open_appear_and_search_finds_them() {
    let dir = run_dir();
    let mut terminal = open(dir.path());
    step(dir.path(), "04_new", "fresh_name = squares\n");
    terminal.wait_for("4 steps").wait_for("04_new");
    terminal.keys("/new\n").wait_for("2 Source  04_new");
    fs::remove_file(dir.path().join("04_new.py")).unwrap();
    terminal.wait_for("3 steps").wait_gone("04_new");
    fs::write(dir.path().join("03_alone.sh"), "echo hi\n").unwrap();
    terminal.wait_for("! 1 problem").wait_for("03_alone.sh: it has the same id as 03_alone.py, which is kept");
    fs::remove_file(dir.path().join("03_alone.sh")).unwrap();
    terminal.wait_gone("! 1 problem");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn a_burst_of_new_files_is_shown_once_and_whole() {
    let dir = run_dir();
    let mut terminal = open(dir.path());
    for n in 0..500 {
        fs::write(dir.path().join(format!("9{n:03}.py")), format!("v{n} = {n}\n")).unwrap();
    }
    terminal.wait_for("503 steps");
    terminal.keys("G").wait_for("9499");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn a_run_that_cannot_be_read_after_its_picture_was_shown_says_why() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..320 {
        fs::write(dir.path().join(format!("{n:03}.py")), format!("v{n} = {n}\n")).unwrap();
    }
    let start = || Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
    let mut terminal = start();
    terminal.wait_for("320 steps").keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    let (store, kept) = (dir.path().join(".reweave/store.db"), dir.path().join("kept"));
    fs::rename(&store, &kept).unwrap();
    fs::create_dir(&store).unwrap();
    let mut terminal = start();
    assert_eq!(terminal.wait_exit(), 2);
    assert_as_found(&terminal);
    let text = terminal.text();
    assert!(text.contains("reweave: the workbench ended: ") && text.contains("store.db"), "{text}");
    // Nothing was lost by it.
    fs::remove_dir(&store).unwrap();
    fs::rename(&kept, &store).unwrap();
    let mut terminal = start();
    terminal.wait_for("320 steps").wait_gone("checking").keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

/// What a process has in memory, in MB.
#[cfg(target_os = "linux")]
fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() >> 10
}

#[test]
fn a_hundred_megabytes_of_output_scroll_and_can_be_searched() {
    let dir = tempfile::tempdir().unwrap();
    let line = "a line that a step prints again and again, number";
    step(
        dir.path(),
        "01_floods",
        &format!(
            "for block in range(1000):\n    print('\\n'.join(f'{line} {{block}}.{{n}} ' + '.' * 200 for n in range(400)))\nprint('the needle')\n"
        ),
    );
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
    terminal.wait_for("01_floods").keys("a").wait_for("1 fresh").wait_for("1 ran").wait_gone("ctrl-c stop");
    // All that is kept of it: the head and the tail.
    terminal.keys("3G").wait_for("bytes were left out of the middle").keys("gg").wait_for("number 0.0");
    terminal.keys("/needle\n").wait_for("the needle").keys("\x02").wait_for("number 999.39");
    terminal.keys("/ber 3.0\n").wait_for("number 3.0");
    terminal.keys("ww").wait_for("number 3.0");
    #[cfg(target_os = "linux")]
    assert!(memory(terminal.pid()) < 400, "{} MB", memory(terminal.pid()));
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn wrong_settings_are_told_where_they_stand_and_need_no_new_start() {
    let dir = run_dir();
    let own = dir.path().join(".home/config/reweave/config.toml");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "seed = -1\n").unwrap();
    let mut terminal = open(dir.path());
    terminal.keys("a").wait_for("config.toml:1: seed is -1");
    fs::write(&own, "seed = 1\n").unwrap();
    terminal.keys("a").wait_for("3 fresh");
    // Those of the run are watched.
    fs::write(dir.path().join("reweave.toml"), "seed = -2\n").unwrap();
    terminal.wait_for("reweave.toml:1: seed is -2");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn a_step_asks_and_waits_for_what_is_typed() {
    let dir = run_dir();
    step(dir.path(), "02_square", "name = input('who? ')\nprint('hello', name)\n");
    let mut terminal = open(dir.path());
    terminal.keys("a").wait_for("02_square asks: who?").wait_for("loaded 20");
    terminal.keys("I").wait_for("who?: ").keys("Ada\n").wait_for("3 fresh");
    terminal.keys("ggj").wait_for("2 Source  02_square").wait_for("hello Ada");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn a_replay_by_hand_stops_goes_on_and_goes_back() {
    let dir = run_dir();
    step(dir.path(), "02_square", "squares = {'of': n, 'list': [i * i for i in range(n)]}\n");
    step(dir.path(), "03_alone", "print('sum', sum(squares['list']))\n");
    step(dir.path(), "04_fail", "1 / 0\n");
    step(dir.path(), "05_last", "print('never')\n");
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
    terminal.wait_for("5 steps");
    // Stop before the second step; one more step; the value that it made, opened.
    terminal.keys("ggjb").wait_for("■").keys("a").wait_for("stopped before 02_square: a breakpoint");
    terminal.keys("s").wait_for("2 fresh").keys("4").wait_for("len 2").keys("l").wait_for("▾ squares");
    // Stop once the variable changes.
    terminal.keys("ggb").wait_for("■▾ squares").keys("1gg").wait_for("2 Source  01_load");
    step(dir.path(), "01_load", "n = 3\nprint('loaded', n)\n");
    terminal.wait_for("stale edited").keys("jb").wait_for("2 Source  02_square").keys("a");
    terminal.wait_for("stopped before 03_alone: 02_square changed squares");
    // On until something fails, and back in time without running anything.
    terminal.keys("!").wait_for("stopped before 05_last: 04_fail failed").wait_for("after 04_fail");
    terminal.keys("S").wait_for("after 03_alone").keys("S").wait_for("after 02_square").wait_for("after 02_square");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}
