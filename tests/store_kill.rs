//! Kills a process that records, edits and accepts, at random moments, and looks at what is left.
//!
//! 20 kills by default; `REWEAVE_KILLS=500 cargo test --test store_kill -- --nocapture` for more.
//! `REWEAVE_KILL_SEED` starts from another place.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use reweave::run::{Expect, Faults, Files, RunDir};
use reweave::step::*;
use reweave::store::{Change, Decision, DeedKind, Plan, Proposal, Recovered, Store};
use serde::{Deserialize, Serialize};

/// What the child writes down, a line each, in a file that outlives it. `Begin` comes before it asks, the others
/// after it was told that it is done.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Line {
    Begin { patch: Option<PatchId>, saves: Option<(StepId, Digest)> },
    Version { step: StepId, number: VersionNumber, text: Digest },
    Execution { id: ExecutionId, step: StepId, version: VersionNumber, output: String },
    Patch { id: PatchId, text: Digest },
    Decided { id: PatchId, state: PatchState },
    Blob { digest: Digest },
    Marked { step: StepId },
}

/// A small generator, so that a seed tells the whole story.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A step's text that tells by itself whether it is whole.
fn text(seed: u64, length: u64) -> Vec<u8> {
    let body = format!("x = {seed}\n").repeat(usize::try_from(length).unwrap() + 1);
    format!("{body}# {}\n", Digest::of(&body)).into_bytes()
}

fn is_whole(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.trim_end().rsplit_once("# ").is_some_and(|(body, digest)| Digest::of(body).to_string() == digest)
}

fn path_of(step: &StepId) -> String {
    format!("{step}.py")
}

const STEPS: [&str; 4] = ["a", "b", "f/c", "f/d"];

/// The child's part: works until it is killed.
#[test]
#[ignore = "run by the other test"]
fn child() {
    let run = PathBuf::from(std::env::var_os("KILL_RUN").unwrap());
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    let faults = number("KILL_AT").map_or(Faults::none(), Faults::kill_at);
    let mut dice = Dice(number("KILL_DICE").unwrap());
    let store = Store::open_with_faults(&run, faults.clone()).unwrap();
    let files = RunDir::open(&run).unwrap().files().with_faults(faults);
    drop(store.recover(&files).unwrap());
    let told = fs::OpenOptions::new().append(true).open(run.join("told")).unwrap();
    let mut child = Child { run, store, files, told };
    loop {
        child.turn(&mut dice);
    }
}

struct Child {
    run: PathBuf,
    store: Store,
    files: Files,
    told: fs::File,
}

impl Child {
    fn tell(&mut self, line: &Line) {
        let text = serde_json::to_string(line).unwrap() + "\n";
        self.told.write_all(text.as_bytes()).unwrap();
    }

    fn now(&self, step: &StepId) -> Option<Vec<u8>> {
        fs::read(self.run.join(path_of(step))).ok()
    }

    fn turn(&mut self, dice: &mut Dice) {
        let step: StepId = STEPS[usize::try_from(dice.roll(4)).unwrap()].parse().unwrap();
        let (seed, length) = (dice.roll(1 << 30), dice.roll(400));
        match dice.roll(10) {
            0..=2 => self.edit(&step, &text(seed, length)),
            3..=5 => self.execute(&step, seed),
            6 | 7 => self.accept(dice),
            8 => self.undo_or_redo(dice.roll(3) == 0),
            _ => {
                let (digest, receipt) = self.store.put_blob(text(seed, length * 20));
                receipt.wait().unwrap();
                self.tell(&Line::Blob { digest });
                if self.store.versions(&step).unwrap().iter().any(|version| !version.deleted) {
                    self.store.set_invalidated(std::slice::from_ref(&step), &Reason::Invalidated, 1).unwrap();
                    self.tell(&Line::Marked { step });
                }
            }
        }
    }

    /// A person saves a file, and it is seen.
    fn edit(&mut self, step: &StepId, new: &[u8]) {
        self.tell(&Line::Begin { patch: None, saves: Some((step.clone(), Digest::of(new))) });
        let expect = self.now(step).map_or(Expect::Absent, |old| Expect::Content(Digest::of(old)));
        self.files.write(Path::new(&path_of(step)), new, expect).unwrap();
        let number = self.store.record_version(step, new, &Provenance::new(Author::Person, 1)).unwrap();
        self.tell(&Line::Version { step: step.clone(), number, text: Digest::of(new) });
    }

    fn execute(&mut self, step: &StepId, seed: u64) {
        let Ok(head) = self.store.head(step) else { return };
        let mut execution = Execution::new(step.clone(), head.number, 1);
        let output = format!("{seed}");
        execution.output.chunks.push(Chunk { stream: Stream::Stdout, text: output.clone() });
        execution.observation.reads.insert(format!("n{}", seed % 50).into(), None);
        let id = self.store.record_execution(Arc::new(execution)).wait().unwrap();
        self.tell(&Line::Execution { id, step: step.clone(), version: head.number, output });
    }

    /// A patch over several steps comes in and is accepted.
    fn accept(&mut self, dice: &mut Dice) {
        let mut steps: Vec<StepId> = STEPS.iter().map(|step| step.parse().unwrap()).collect();
        steps.rotate_left(usize::try_from(dice.roll(4)).unwrap());
        steps.truncate(1 + usize::try_from(dice.roll(3)).unwrap());
        let changes: Vec<Change> = steps
            .iter()
            .map(|step| Change {
                path: path_of(step),
                step: Some(step.clone()),
                before: self.now(step),
                after: (dice.roll(6) > 0).then(|| text(dice.roll(1 << 30), dice.roll(300))),
            })
            .filter(|change| change.before != change.after)
            .collect();
        if changes.is_empty() {
            return;
        }
        let proposal = Proposal {
            state: PatchState::Proposed,
            title: "a patch".into(),
            provenance: Provenance::new(Author::Agent("agent".into()), 1),
            text: text(dice.roll(1 << 30), 50),
            files: Vec::new(),
            problems: Vec::new(),
        };
        let patch = self.store.insert_patch(&proposal).unwrap().id();
        self.tell(&Line::Patch { id: patch, text: Digest::of(&proposal.text) });
        let from = self.store.patch(patch).unwrap().state;
        let plan = Plan {
            kind: DeedKind::Accept,
            title: "a patch".into(),
            provenance: Provenance { patch: Some(patch), ..proposal.provenance },
            decision: Some(Decision { patch, from, to: PatchState::Accepted }),
            pin: None,
            changes,
        };
        self.tell(&Line::Begin { patch: Some(patch), saves: None });
        let done = self.store.carry_out(&self.files, &plan).unwrap();
        self.tell(&Line::Decided { id: patch, state: PatchState::Accepted });
        for (step, number) in done.versions {
            if let Some(text) = self.now(&step) {
                self.tell(&Line::Version { step, number, text: Digest::of(text) });
            }
        }
    }

    fn undo_or_redo(&mut self, redo: bool) {
        let deed = if redo { self.store.redoable() } else { self.store.undoable() };
        let Some(deed) = deed.unwrap() else { return };
        self.tell(&Line::Begin { patch: deed.decision.map(|decision| decision.patch), saves: None });
        let done = if redo { self.store.redo(&self.files, 1) } else { self.store.undo(&self.files, 1) };
        // A person's edit since then stands in the way.
        let Ok(done) = done else { return };
        if let Some(decision) = done.deed.decision {
            self.tell(&Line::Decided { id: decision.patch, state: decision.to });
        }
    }
}

/// Everything that was told since the first child.
fn told(run: &Path) -> Vec<Line> {
    let text = fs::read_to_string(run.join("told")).unwrap();
    // The last line may have been cut off in the middle.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What must hold after every kill.
fn look(run: &Path, round: u64) {
    let store = Store::open(run).unwrap();
    assert_eq!(store.notices(), [], "round {round}");
    let files = RunDir::open(run).unwrap().files();
    for recovered in store.recover(&files).unwrap() {
        assert!(matches!(recovered, Recovered::Completed(_) | Recovered::Dropped(_)), "round {round}: {recovered}");
    }
    assert_eq!(store.recover(&files).unwrap(), []);
    assert_eq!(store.check().unwrap(), Vec::<String>::new(), "round {round}");

    let lines = told(run);
    let mut decided: BTreeMap<PatchId, Option<PatchState>> = BTreeMap::new();
    let mut saving = None;
    for line in &lines {
        match line {
            Line::Begin { patch, saves } => {
                saving = saves.clone();
                decided.extend(patch.map(|patch| (patch, None)));
            }
            Line::Version { step, number, text } => {
                let kept = store.version_text(step, *number).unwrap();
                assert_eq!(Digest::of(kept), *text, "round {round}: {step} {number}");
            }
            Line::Execution { id, step, version, output } => {
                let found = store.execution(*id).unwrap().execution;
                assert_eq!((&found.step, found.version), (step, *version), "round {round}: {id:?}");
                assert_eq!(found.output.text(Stream::Stdout), *output);
            }
            Line::Patch { id, text } => assert_eq!(Digest::of(store.patch_text(*id).unwrap()), *text),
            Line::Decided { id, state } => drop(decided.insert(*id, Some(*state))),
            Line::Blob { digest } => assert!(store.has_blob(digest).unwrap()),
            Line::Marked { step } => assert!(!store.versions(step).unwrap().is_empty()),
        }
    }
    for (id, state) in decided {
        // What was begun last and never told may be done or not, but nothing else.
        if let Some(state) = state {
            assert_eq!(store.patch(id).unwrap().state, state, "round {round}: {id}");
        }
    }
    for step in STEPS {
        let step: StepId = step.parse().unwrap();
        let there = fs::read(run.join(path_of(&step))).ok();
        let head = store.head(&step).ok().filter(|head| !head.deleted).map(|head| head.source);
        if let Some(there) = &there {
            assert!(is_whole(there), "round {round}: {step} is half written");
        }
        let digest = there.as_ref().map(Digest::of);
        // A person's save may not have been seen yet: the last one, and no other text.
        let unseen = digest.is_some_and(|digest| saving == Some((step.clone(), digest)));
        assert!(digest == head || unseen, "round {round}: {step} is neither as recorded nor as saved");
        if digest != head {
            store.record_version(&step, &there.unwrap(), &Provenance::new(Author::Person, 1)).unwrap();
        }
    }
    drop(store);
    let sql = rusqlite::Connection::open(run.join(".reweave/store.db")).unwrap();
    let verdict: String = sql.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "round {round}");
}

#[test]
fn what_was_told_is_there_after_every_kill() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let kills = number("REWEAVE_KILLS", 20);
    let mut dice = Dice(number("REWEAVE_KILL_SEED", 7));
    let mut dir = tempfile::tempdir().unwrap();
    let mut by_point = 0;
    for round in 0..kills {
        // A run that has seen many kills is as good as many runs; now and then a new one, for what happens at first.
        if round % 25 == 0 {
            dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("told"), "").unwrap();
        }
        let run = dir.path();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--ignored", "--nocapture"]).env("KILL_RUN", run);
        command.env("KILL_DICE", dice.roll(1 << 40).to_string()).stdout(Stdio::null()).stderr(Stdio::null());
        // Every other time at a point of the child's own, around a write to the store or to a step's file; the
        // other times whenever it is.
        let at_point = round % 2 == 0;
        if at_point {
            command.env("KILL_AT", dice.roll(150).to_string());
        }
        let mut child = command.spawn().unwrap();
        if !at_point {
            let wanted = fs::metadata(run.join("told")).unwrap().len() + dice.roll(6_000);
            while fs::metadata(run.join("told")).unwrap().len() < wanted && child.try_wait().unwrap().is_none() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(dice.roll(4_000)));
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "round {round}: {status}");
        by_point += u64::from(at_point);
        look(run, round);
    }
    let lines = told(dir.path()).len();
    println!("{kills} kills, {by_point} of them at a point; the last run was told {lines} things and kept them all");
}
