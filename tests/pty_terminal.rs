//! The terminal is taken, lent, and given back as it was found, on every path on which a program ends.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use support::pty::{Modes, Setup, Terminal};

/// `examples/terminal.rs`, which cargo builds with the tests; built here when only this test is asked for.
fn example() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_reweave")).with_file_name("examples").join("terminal");
    if !path.exists() {
        let status = Command::new(env!("CARGO")).args(["build", "--locked", "--example", "terminal"]).status().unwrap();
        assert!(status.success());
    }
    path
}

fn setup(dir: &Path) -> Setup {
    Setup::program(example(), dir).env("REPORTS", dir.join("reports"))
}

#[track_caller]
fn assert_as_found(terminal: &Terminal) {
    assert_eq!(terminal.modes(), Modes::PLAIN);
    assert!(!terminal.is_raw());
    assert_eq!(terminal.asked().unknown, [""; 0]);
}

#[test]
fn keys_pastes_and_the_mouse_come_through_and_quitting_gives_everything_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).start();
    terminal.wait_for("ready: background Some(Dark), keyboard false");
    assert!(terminal.is_raw());
    let taken = Modes {
        alternate_screen: true,
        cursor_hidden: true,
        bracketed_paste: true,
        mouse: true,
        logical_order: true,
        keyboard: false,
    };
    assert_eq!(terminal.modes(), taken);
    terminal.keys("j").wait_for("key j");
    terminal.bytes("é".as_bytes()).wait_for("key é");
    terminal.bytes(b"\x1b[1;5C").wait_for("key ctrl-right");
    terminal.bytes(b"\x1b").wait_for("key esc");
    terminal.bytes(b"\x1b[200~q\rq\x1b[201~").wait_for("Paste(\"q\\nq\")");
    terminal.bytes(b"\x1b[<64;3;5M").wait_for("WheelUp, x: 2, y: 4");
    terminal.resize(40, 10).wait_for("size 40x10");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert_as_found(&terminal);
}

#[test]
fn a_terminal_that_knows_the_keyboard_protocol_is_asked_for_it_and_left_without() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).keyboard().background(Some([0xff; 3])).start();
    terminal.wait_for("background Some(Light), keyboard true");
    assert!(terminal.modes().keyboard);
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert_as_found(&terminal);
}

#[test]
fn a_terminal_that_answers_nothing_delays_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).background(None).start();
    terminal.wait_for("background None");
    // An answer that comes late is never taken for keys.
    terminal.bytes(b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62;22cj").wait_for("key j");
    assert!(!terminal.text().contains("key 1"), "{}", terminal.text());
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn signals_end_it_in_order() {
    for (signal, status) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130), (Signal::QUIT, 131)] {
        let dir = tempfile::tempdir().unwrap();
        let mut terminal = setup(dir.path()).start();
        terminal.wait_for("ready").signal(signal);
        assert_eq!(terminal.wait_exit(), status);
        assert_as_found(&terminal);
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_says_where_its_report_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).start();
    terminal.wait_for("ready").keys("p");
    assert_eq!(terminal.wait_exit(), 101);
    assert_as_found(&terminal);
    let text = terminal.text();
    assert!(text.contains("reweave crashed: as asked ␛]0;for␇"), "{text}");
    assert_eq!(terminal.asked().titles, [""; 0]);
    let report = fs::read_dir(dir.path().join("reports")).unwrap().next().unwrap().unwrap().path();
    assert!(text.replace(['\n', ' '], "").contains(&format!("Areportisin{}", report.display())), "{text}");
    assert!(fs::read_to_string(report).unwrap().contains("message: as asked"));
}

#[test]
fn a_panic_on_another_thread_leaves_the_screen_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).start();
    terminal.wait_for("ready").keys("w").wait_for("crashed: as asked ␛]0;for␇ in worker");
    assert!(terminal.modes().alternate_screen);
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert_as_found(&terminal);
}

#[test]
fn an_editor_gets_every_key_and_the_terminal_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("step.py");
    fs::write(&file, "a\nb\nc\n").unwrap();
    // An "editor" that says what it was given, and takes a line from the keyboard.
    let editor = dir.path().join("vi");
    fs::write(
        &editor,
        "#!/bin/sh\necho \"editing $*\"; stty -a | grep -o -- '[-]*echo '; read line; echo \"$line\" > \"$2\"\n",
    )
    .unwrap();
    fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut terminal = setup(dir.path()).arg(&file).env("VISUAL", &editor).start();
    terminal.wait_for("ready").keys("e").wait_for("editing +3");
    terminal.wait_for("echo ");
    assert_eq!(terminal.modes(), Modes::PLAIN);
    // Keys that would quit, and the interrupt key, are the editor's.
    terminal.keys("quit pqpq\n").wait_for("edited: Some(0)");
    assert_eq!(fs::read_to_string(&file).unwrap(), "quit pqpq\n");
    assert!(terminal.modes().alternate_screen && terminal.is_raw());
    terminal.keys("jq");
    assert_eq!(terminal.wait_exit(), 0);
    assert_as_found(&terminal);
}

#[test]
fn control_z_goes_to_the_shell_and_fg_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = Setup::program("/bin/bash", dir.path())
        .arg("--norc")
        .arg("--noprofile")
        .arg("-i")
        .env("PS1", "shell> ")
        .start();
    terminal.wait_for("shell>").keys(&format!("{}\n", example().display())).wait_for("ready");
    terminal.bytes(b"\x1a").wait_for("Stopped");
    assert!(!terminal.modes().alternate_screen);
    assert!(!terminal.modes().mouse && !terminal.modes().cursor_hidden);
    terminal.keys("echo in the $((40 + 2))\n").wait_for("in the 42");
    terminal.keys("fg\n").wait_for("back");
    assert!(terminal.modes().alternate_screen && terminal.modes().mouse && terminal.is_raw());
    terminal.keys("j").wait_for("key j");
    terminal.keys("q").wait_for("shell>");
    terminal.keys("echo status $?\n").wait_for("status 0");
    terminal.keys("exit\n");
    terminal.wait_exit();
    assert!(!terminal.modes().alternate_screen);
}

#[test]
fn without_a_shell_there_is_nothing_to_go_back_to() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).start();
    terminal.wait_for("ready").bytes(b"\x1a").wait_for("no shell to come back from");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn being_stopped_and_continued_from_outside_takes_the_terminal_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).start();
    terminal.wait_for("ready").signal(Signal::STOP).signal(Signal::CONT).wait_for("continued");
    assert!(terminal.modes().alternate_screen && terminal.is_raw());
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert_as_found(&terminal);
}

#[test]
fn without_unicode_nothing_but_ascii_is_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).env("LANG", "C").start();
    terminal.wait_for("ready").bytes("é世".as_bytes()).wait_for("key ?");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert!(terminal.raw().is_ascii());
}

#[test]
fn the_clipboard_is_reached_through_the_terminal_over_ssh() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).env("SSH_CONNECTION", "1 2 3 4").start();
    terminal.wait_for("ready").keys("c").wait_for("copied 5 bytes through the terminal");
    assert_eq!(terminal.asked().clipboard, ["aGVsbG8="]);
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn without_a_terminal_it_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let out = Command::new(example()).current_dir(dir.path()).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&out.stderr), "terminal: standard input and output are not a terminal\n");
}

#[test]
fn a_terminal_that_listens_for_nothing_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut terminal = setup(dir.path()).start();
    terminal.wait_for("ready").keys("j").wait_for("key j");
    let ticks = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        // User and system time, in hundredths of a second.
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    let before = ticks(terminal.pid());
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert!(ticks(terminal.pid()) - before <= 1);
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}
