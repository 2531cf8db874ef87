//! A record that is damaged, of a later schema, or on a disk that is full or can't be written: each is told, the step
//! files stay as they are, and work goes on.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod common;

use std::fs;
use std::process::Command;

use common::{Answer, Run};

const STEPS: [(&str, &str); 2] = [("a.py", "x = 1\n"), ("b.py", "print(x + 1)\n")];

/// Letters that can't be packed into little.
struct Dice(u64);

impl Dice {
    fn letter(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u8::try_from((self.0 >> 33) % 26).unwrap()
    }
}

fn recorded() -> Run {
    let run = Run::new(&STEPS);
    assert_eq!(run.json("run", &[])["ran"], 2);
    run
}

fn assert_files_are_whole(run: &Run) {
    STEPS.iter().for_each(|(path, text)| assert_eq!(run.read(path), *text));
}

/// Calls `reweave VERB .` in the run's directory by a shell, below `before`.
fn call_below(run: &Run, before: &str, verb: &str) -> Answer {
    let mut command = Command::new("sh");
    let text = format!("{before} '{}' {verb} .", env!("CARGO_BIN_EXE_reweave"));
    command.args(["-c", &text]).current_dir(run.path());
    common::answer(command, "")
}

#[test]
fn a_truncated_record_is_set_aside_and_the_run_goes_on() {
    let run = recorded();
    let path = run.file(".reweave/store.db");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let answer = run.call("run", &[]);
    assert_eq!(answer.status, Some(0), "{answer}");
    assert!(answer.stderr.contains("it was cut off after"), "{answer}");
    assert!(answer.stderr.contains("store.db.damaged-1 and a new store begun"), "{answer}");
    assert!(answer.stderr.contains("The step files are as they were"), "{answer}");
    assert!(answer.stdout.contains("2 steps: 2 ran"), "{answer}");
    assert_files_are_whole(&run);
    assert_eq!(run.call("run", &[]).stderr, "", "it is told once");
}

#[test]
fn a_record_whose_page_is_damaged_is_set_aside_with_its_versions_brought_over() {
    let run = recorded();
    let path = run.file(".reweave/store.db");
    let sql = rusqlite::Connection::open(&path).unwrap();
    let page: usize =
        sql.query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'execution'", [], |row| row.get(0)).unwrap();
    drop(sql);
    let mut bytes = fs::read(&path).unwrap();
    bytes[(page - 1) * 4096] ^= 0x40;
    fs::write(&path, &bytes).unwrap();
    let answer = run.call("status", &[]);
    assert_eq!(answer.status, Some(0), "{answer}");
    assert!(answer.stderr.contains("2 versions and 0 patches were brought over"), "{answer}");
    assert_files_are_whole(&run);
}

#[test]
fn a_record_of_which_a_content_is_damaged_is_set_aside_by_whoever_needs_it() {
    let run = recorded();
    // Every page stays as SQLite wants it; only what an execution left is another.
    let sql = rusqlite::Connection::open(run.file(".reweave/store.db")).unwrap();
    let changed =
        sql.execute("UPDATE blob SET data = zeroblob(length(data)) WHERE id IN (SELECT body FROM execution)", []);
    assert!(changed.unwrap() > 0);
    drop(sql);
    let answer = run.call("run", &[]);
    assert_eq!(answer.status, Some(0), "{answer}");
    assert!(answer.stderr.contains("content"), "{answer}");
    assert!(answer.stderr.contains("2 versions and 0 patches were brought over"), "{answer}");
    assert!(answer.stdout.contains("2 steps: 2 ran"), "{answer}");
    assert_files_are_whole(&run);
}

#[test]
fn a_record_of_a_later_schema_is_kept_aside_for_the_later_program() {
    let run = recorded();
    let sql = rusqlite::Connection::open(run.file(".reweave/store.db")).unwrap();
    sql.pragma_update(None, "user_version", 99).unwrap();
    drop(sql);
    let answer = run.call("run", &[]);
    assert_eq!(answer.status, Some(0), "{answer}");
    assert!(answer.stderr.contains("it has schema 99, this reweave knows schemas up to"), "{answer}");
    assert!(run.file(".reweave/store.db.schema-99-1").exists());
    assert_files_are_whole(&run);
}

#[test]
fn a_full_disk_is_told_and_what_was_recorded_stays() {
    let run = recorded();
    let mut noise = Dice(3);
    let long: String = (0..1_500_000).map(|_| char::from(b'a' + noise.letter())).collect();
    run.write("a.py", &format!("x = 1\n# {long}\n"));
    // No file may grow past 400 blocks of 512 bytes. The signal that would end the process is ignored, as a full disk
    // sends none.
    let answer = call_below(&run, "trap '' XFSZ; ulimit -f 400;", "run");
    assert_eq!(answer.status, Some(2), "{answer}");
    assert!(answer.stderr.contains(".reweave/store.db: the disk is full"), "{answer}");
    assert!(answer.stderr.contains("free some space"), "{answer}");
    assert!(run.read("a.py").len() > 1_500_000);
    let now = run.json("run", &[]);
    assert_eq!(now["kept"].as_u64().unwrap() + now["ran"].as_u64().unwrap(), 2, "with room again, all is as ever");
    assert_eq!(run.json("show", &["a", "--version", "1"])["source"], "x = 1\n");
}

#[test]
fn a_run_on_a_disk_that_cant_be_written_is_opened_without_a_memory() {
    let run = recorded();
    let before = fs::read(run.file(".reweave/store.db")).unwrap();
    let here = run.path().display();
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root may mount");
        return;
    }
    let mount = format!(
        "unshare -m sh -c 'mount --bind {here} {here} && mount -o remount,ro,bind {here} && cd {here} && exec \"$0\" \"$@\"'"
    );
    let answer = call_below(&run, &mount, "status");
    if answer.stderr.contains("unshare") || answer.stderr.contains("mount") {
        eprintln!("skipped: root may not mount here");
        return;
    }
    assert_eq!(answer.status, Some(0), "{answer}");
    assert!(answer.stderr.contains("can't be written: this session is not remembered"), "{answer}");
    assert!(answer.stdout.contains("2 steps: 2 fresh"), "{answer}");
    assert_eq!(fs::read(run.file(".reweave/store.db")).unwrap(), before);
}
