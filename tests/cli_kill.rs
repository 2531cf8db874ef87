//! Kills the whole program at random moments while it runs, edits and accepts, and looks at what is left.
//!
//! 20 kills by default; `REWEAVE_KILLS=500 cargo test --test cli_kill -- --nocapture` for more. `REWEAVE_KILL_SEED`
//! starts from another place. Every other time the program dies at a point of its own, around a write to the store or
//! to a step's file (`REWEAVE_KILL_AT`, which only builds for debugging know); the other times whenever it is.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::Run;
use reweave::step::{Digest, PatchState, StepId};
use reweave::store::Reader;
use reweave::store::query::{Happening, LogFilter};

/// A small generator, so that a seed tells the whole story.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[usize::try_from(self.roll(list.len() as u64)).unwrap()]
    }
}

/// A step's text that tells by itself whether it is whole.
fn text(dice: &mut Dice) -> String {
    let (number, length) = (dice.roll(1_000), dice.roll(60));
    let mut body = format!("v{} = {number}\nprint({number})\n", dice.roll(4));
    if dice.roll(3) == 0 {
        body.push_str(&format!("open('out_{}.txt', 'w').write('{number}' * 500)\n", dice.roll(3)));
    }
    body.push_str(&"# a line\n".repeat(usize::try_from(length).unwrap()));
    format!("{body}# {}\n", Digest::of(&body))
}

fn is_whole(text: &str) -> bool {
    text.trim_end().rsplit_once("# ").is_some_and(|(body, digest)| Digest::of(body).to_string() == digest)
}

fn steps(run: &Run) -> BTreeMap<String, String> {
    let files = fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap());
    let steps = files.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "py"));
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name.trim_end_matches(".py").to_owned(), fs::read_to_string(entry.path()).unwrap())
    };
    steps.map(read).collect()
}

/// A patch that replaces the whole of a file.
fn patch(path: &str, old: &str, new: &str) -> String {
    let side = |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    let (before, after) = (old.lines().count(), new.lines().count());
    format!("--- a/{path}\n+++ b/{path}\n@@ -1,{before} +1,{after} @@\n{}{}", side('-', old), side('+', new))
}

/// What is done in a round: arguments after the directory, and standard input.
fn deed(run: &Run, dice: &mut Dice, patches: bool) -> (&'static str, Vec<String>, String) {
    let there = steps(run);
    let names: Vec<&String> = there.keys().collect();
    let name = (*dice.of(&names)).clone();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match dice.roll(if patches { 14 } else { 11 }) {
        0..=3 => {
            // A person's edit, which the run that follows sees first.
            let editing = run.file("edited");
            fs::write(&editing, text(dice)).unwrap();
            fs::rename(&editing, run.file(&format!("{name}.py"))).unwrap();
            ("run", words(&["--json"]), String::new())
        }
        4 => ("replay", words(&["--from", &name, "--json"]), String::new()),
        5 => ("new", vec![format!("n{:03}", dice.roll(1_000))], text(dice)),
        6 if names.len() > 2 => ("delete", vec![name], String::new()),
        6 | 7 => ("rename", vec![name, format!("r{:03}", dice.roll(1_000))], String::new()),
        8 => ("restore", words(&["--version", &format!("@{}", dice.roll(30) + 1)]), String::new()),
        9 => ("undo", Vec::new(), String::new()),
        10 => ("redo", Vec::new(), String::new()),
        _ => {
            let new = text(dice);
            let path = format!("{name}.py");
            let mut add = Command::new(env!("CARGO_BIN_EXE_reweave"));
            add.args(["patch", "add", ".", "-"]).current_dir(run.path());
            let add = common::answer(add, &patch(&path, &there[&name], &new));
            assert_ne!(add.status, Some(2), "{add}");
            ("patch accept", vec![dice.roll(20).to_string()], String::new())
        }
    }
}

/// Everything that is recorded, by its place: what was told once is told for ever.
fn story(run: &Run) -> (BTreeMap<i64, String>, BTreeSet<Digest>) {
    let store = Reader::open(run.path()).unwrap();
    let log = store.log(&LogFilter::default()).unwrap();
    let texts = log.iter().filter_map(|entry| match &entry.what {
        Happening::Version(version) if !version.deleted => Some(version.source),
        _ => None,
    });
    let texts = texts.collect();
    // By its present id: a rename tells it anew.
    let told = log.into_iter().map(|entry| (entry.seq, format!("{:?}", what(entry.what)))).collect();
    (told, texts)
}

/// What does not change with a later rename.
fn what(happening: Happening) -> String {
    match happening {
        Happening::Version(version) => format!("{} {:?} {:?}", version.number, version.source, version.provenance),
        Happening::Executed { execution, .. } => format!("{execution:?}"),
        Happening::Patch { patch, state, .. } => format!("{patch} {:?}", state.map(PatchState::word)),
        other => format!("{other:?}"),
    }
}

fn look(run: &Run, round: u64, known: &mut BTreeMap<i64, String>) {
    // Whoever opens the run next finds it whole, and brings to its end what was begun.
    let status = run.call("status", &["--json"]);
    assert_eq!(status.status, Some(0), "round {round}: {status}");
    for word in ["damaged", "set aside", "new store", "can't be completed", "not remembered"] {
        assert!(!status.stderr.contains(word), "round {round}: {}", status.stderr);
    }
    let (told, texts) = story(run);
    for (seq, what) in known.iter() {
        assert_eq!(told.get(seq), Some(what), "round {round}: event {seq} was told and is gone or another");
    }
    *known = told;
    let store = Reader::open(run.path()).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new(), "round {round}");
    assert!(texts.iter().all(|text| store.has_blob(text).unwrap()), "round {round}: a version has no text");
    let heads = store.heads().unwrap();
    for (name, text) in steps(run) {
        assert!(is_whole(&text), "round {round}: {name} is half written:\n{text}");
        let id: StepId = name.parse().unwrap();
        assert_eq!(heads[&id].1, Digest::of(&text), "round {round}: {name} is not as recorded");
    }
    assert_eq!(heads.len(), steps(run).len(), "round {round}");
    let left = fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.ends_with(".tmp")).collect();
    assert_eq!(left, Vec::<String>::new(), "round {round}: halves are left");
    let sql = rusqlite::Connection::open(run.file(".reweave/store.db")).unwrap();
    let verdict: String = sql.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "round {round}");
}

#[test]
fn what_the_program_told_is_there_after_every_kill() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let wanted = number("REWEAVE_KILLS", 20);
    let mut dice = Dice(number("REWEAVE_KILL_SEED", 11));
    let program = env!("CARGO_BIN_EXE_reweave");
    let help = Command::new(program).args(["patch", "--help"]).output().unwrap();
    let patches = String::from_utf8_lossy(&help.stdout).contains("Usage: reweave patch");
    let (mut kills, mut at_points, mut round) = (0, 0, 0);
    let mut run = Run::empty();
    let mut known = BTreeMap::new();
    let mut usual = Duration::from_millis(300);
    while kills < wanted {
        if round % 40 == 0 {
            run = Run::new(&[("a.py", &text(&mut dice)), ("b.py", &text(&mut dice)), ("c.py", &text(&mut dice))]);
            known.clear();
        }
        let (verb, rest, input) = deed(&run, &mut dice, patches);
        let mut command = Command::new(program);
        command.args(verb.split(' ')).arg(".").args(rest).current_dir(run.path());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let at_point = round % 2 == 0;
        if at_point {
            command.env("REWEAVE_KILL_AT", dice.roll(24).to_string());
        }
        let begun = Instant::now();
        let mut child = command.spawn().unwrap();
        // It may be dead by now.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        if !at_point {
            let most = u64::try_from(usual.as_micros()).unwrap();
            std::thread::sleep(Duration::from_micros(dice.roll(most)));
            let _ = child.kill();
        }
        let status = child.wait().unwrap();
        if status.signal() == Some(9) {
            kills += 1;
            at_points += u64::from(at_point);
        } else {
            usual = begun.elapsed();
        }
        look(&run, round, &mut known);
        round += 1;
    }
    println!("{kills} kills in {round} rounds, {at_points} of them at a point; {} events kept", known.len());
}
