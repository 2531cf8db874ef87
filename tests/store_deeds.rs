//! What reweave does to step files: whole or not at all, in the history, undone and redone.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reweave::run::{Faults, Files, RunDir};
use reweave::step::*;
use reweave::store::{Change, Decision, DeedError, DeedKind, Plan, Proposal, Recovered, Store, StoreError};

fn id(text: &str) -> StepId {
    text.parse().unwrap()
}

fn change(step: &str, before: Option<&str>, after: Option<&str>) -> Change {
    Change {
        path: format!("{step}.py"),
        step: Some(id(step)),
        before: before.map(|text| text.as_bytes().to_vec()),
        after: after.map(|text| text.as_bytes().to_vec()),
    }
}

fn plan(kind: DeedKind, changes: Vec<Change>) -> Plan {
    let provenance = Provenance::new(Author::Agent("fixer".into()), 10);
    Plan { kind, title: "fit: use the right column".into(), provenance, decision: None, pin: None, changes }
}

/// A run with two steps, recorded.
struct Run {
    dir: tempfile::TempDir,
    store: Store,
    files: Files,
}

fn run() -> Run {
    run_with(Faults::none())
}

fn run_with(faults: Faults) -> Run {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.py"), "A").unwrap();
    fs::write(dir.path().join("b.py"), "B").unwrap();
    let store = Store::open(dir.path()).unwrap();
    let steps = [(id("a"), b"A"), (id("b"), b"B")];
    let by = Provenance::new(Author::Person, 1);
    store.record_run(steps.iter().map(|(step, text)| (step, text.as_slice())), &by).unwrap();
    let files = RunDir::open(dir.path()).unwrap().files().with_faults(faults);
    Run { dir, store, files }
}

impl Run {
    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.dir.path().join(path)).ok()
    }

    fn head(&self, step: &str) -> String {
        let head = self.store.head(&id(step)).unwrap();
        String::from_utf8(self.store.version_text(&id(step), head.number).unwrap()).unwrap()
    }
}

#[test]
fn a_deed_is_on_disk_in_the_history_and_can_be_undone_and_redone_after_a_restart() {
    let mut run = run();
    let deed = plan(
        DeedKind::Edit,
        vec![change("a", Some("A"), Some("A2")), change("b", Some("B"), None), change("c", None, Some("C"))],
    );
    let done = run.store.carry_out(&run.files, &deed).unwrap();
    assert_eq!(done.versions.len(), 3);
    assert_eq!((run.text("a.py"), run.text("b.py"), run.text("c.py")), (Some("A2".into()), None, Some("C".into())));
    let head = run.store.head(&id("a")).unwrap();
    assert_eq!((head.number, head.provenance.author), (VersionNumber(2), Author::Agent("fixer".into())));
    assert!(run.store.head(&id("b")).unwrap().deleted);

    let path = run.dir.path().to_owned();
    drop(run.store);
    run.store = Store::open(&path).unwrap();
    assert_eq!(run.store.undoable().unwrap().unwrap().title, "fit: use the right column");
    run.store.undo(&run.files, 20).unwrap();
    assert_eq!((run.text("a.py"), run.text("b.py"), run.text("c.py")), (Some("A".into()), Some("B".into()), None));
    assert_eq!(run.head("a"), "A");
    assert!(matches!(run.store.undo(&run.files, 21), Err(DeedError::Nothing("undo"))));

    run.store.redo(&run.files, 30).unwrap();
    assert_eq!((run.head("a"), run.text("b.py"), run.text("c.py")), ("A2".into(), None, Some("C".into())));
    assert_eq!(run.store.head(&id("a")).unwrap().provenance.author, Author::Agent("fixer".into()));
    assert!(matches!(run.store.redo(&run.files, 31), Err(DeedError::Nothing("redo"))));
    run.store.undo(&run.files, 40).unwrap();
    assert_eq!(run.head("a"), "A");
}

#[test]
fn undo_goes_back_deed_by_deed_and_something_new_ends_redo() {
    let run = run();
    for (before, after) in [("A", "1"), ("1", "2"), ("2", "3")] {
        run.store.carry_out(&run.files, &plan(DeedKind::Edit, vec![change("a", Some(before), Some(after))])).unwrap();
    }
    run.store.undo(&run.files, 1).unwrap();
    run.store.undo(&run.files, 1).unwrap();
    assert_eq!(run.head("a"), "1");
    run.store.redo(&run.files, 1).unwrap();
    assert_eq!(run.head("a"), "2");
    run.store.carry_out(&run.files, &plan(DeedKind::Edit, vec![change("a", Some("2"), Some("new"))])).unwrap();
    assert!(run.store.redoable().unwrap().is_none());
    run.store.undo(&run.files, 1).unwrap();
    run.store.undo(&run.files, 1).unwrap();
    run.store.undo(&run.files, 1).unwrap();
    assert_eq!(run.head("a"), "A");
}

#[test]
fn a_rename_takes_the_history_along_and_back() {
    let run = run();
    let rename = vec![change("a", Some("A"), None), change("z", None, Some("A"))];
    run.store.carry_out(&run.files, &plan(DeedKind::Rename, rename)).unwrap();
    assert_eq!((run.text("a.py"), run.text("z.py")), (None, Some("A".into())));
    assert_eq!(run.store.versions(&id("z")).unwrap().len(), 1);
    assert_eq!(run.store.versions(&id("a")).unwrap().len(), 0);
    run.store.undo(&run.files, 2).unwrap();
    assert_eq!((run.text("a.py"), run.text("z.py")), (Some("A".into()), None));
    assert_eq!(run.store.versions(&id("a")).unwrap().len(), 1);
}

#[test]
fn a_file_that_a_person_changed_is_left_alone() {
    let run = run();
    run.store.carry_out(&run.files, &plan(DeedKind::Edit, vec![change("a", Some("A"), Some("A2"))])).unwrap();
    fs::write(run.dir.path().join("a.py"), "mine").unwrap();
    let refused = run.store.undo(&run.files, 2).unwrap_err();
    assert_eq!(refused.to_string(), "a.py was changed meanwhile");
    assert_eq!(run.text("a.py"), Some("mine".into()));
    let both = vec![change("b", Some("B"), Some("B2")), change("a", Some("A2"), Some("A3"))];
    assert!(run.store.carry_out(&run.files, &plan(DeedKind::Edit, both)).is_err());
    assert_eq!(run.text("b.py"), Some("B".into()), "all or nothing");
}

#[test]
fn an_accept_decides_the_patch_and_undo_takes_the_decision_back() {
    let run = run();
    let proposal = Proposal {
        state: PatchState::Proposed,
        title: "t".into(),
        provenance: Provenance::new(Author::Agent("fixer".into()), 3),
        text: b"patch".to_vec(),
        files: vec![],
        problems: vec![],
    };
    let patch = run.store.insert_patch(&proposal).unwrap().id();
    let decision = Some(Decision { patch, from: PatchState::Proposed, to: PatchState::Accepted });
    let accept = Plan { decision, ..plan(DeedKind::Accept, vec![change("a", Some("A"), Some("A2"))]) };
    run.store.carry_out(&run.files, &accept).unwrap();
    assert_eq!(run.store.patch(patch).unwrap().state, PatchState::Accepted);
    let again = Plan { changes: vec![change("b", Some("B"), Some("B2"))], ..accept };
    let refused = run.store.carry_out(&run.files, &again).unwrap_err();
    assert_eq!(refused.to_string(), "patch #1 is accepted by now");
    run.store.undo(&run.files, 9).unwrap();
    assert_eq!(run.store.patch(patch).unwrap().state, PatchState::Proposed);
}

/// Fails at the `n`th point of this name.
fn fail_at(name: &'static str, n: u64) -> Faults {
    let passed = AtomicU64::new(0);
    Faults::new(move |point| {
        if point == name && passed.fetch_add(1, Ordering::SeqCst) == n {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    })
}

#[test]
fn a_full_disk_at_the_second_file_puts_the_first_back() {
    for point in ["create", "write", "sync", "swap"] {
        let run = run_with(fail_at(point, 1));
        let both = vec![change("a", Some("A"), Some("A2")), change("b", Some("B"), Some("B2"))];
        let error = run.store.carry_out(&run.files, &plan(DeedKind::Edit, both)).unwrap_err();
        assert!(matches!(error, DeedError::Write(_)), "{point}: {error}");
        assert_eq!((run.text("a.py"), run.text("b.py")), (Some("A".into()), Some("B".into())), "{point}");
        assert_eq!((run.head("a"), run.store.undoable().unwrap()), ("A".into(), None));
        assert_eq!(run.store.recover(&run.files).unwrap(), []);
    }
}

#[test]
fn a_store_that_fills_up_leaves_the_files_as_they_were() {
    let dir = run().dir;
    fs::write(dir.path().join("a.py"), "A").unwrap();
    // The first commit is the intent's, the second the deed's.
    for n in 0..2 {
        let store = Store::open_with_faults(dir.path(), fail_at("store-commit", n)).unwrap();
        let files = RunDir::open(dir.path()).unwrap().files();
        let edit = plan(DeedKind::Edit, vec![change("a", Some("A"), Some("A2"))]);
        let error = store.carry_out(&files, &edit).unwrap_err();
        assert!(matches!(error, DeedError::Store(StoreError::Full)), "{error}");
        assert!(error.hint().unwrap().contains("free some space"));
        assert_eq!(fs::read_to_string(dir.path().join("a.py")).unwrap(), "A");
        assert_eq!(store.head(&id("a")).unwrap().number, VersionNumber(1));
    }
}

/// Where a process died: an intent in the store and files in these states.
fn interrupted(at: &[(&str, &str)]) -> (Run, Vec<Recovered>) {
    // A disk that stays full from the second commit on leaves the intent as a death would.
    let run = run();
    let path = run.dir.path().to_owned();
    drop(run.store);
    let commits = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&commits);
    let faults = Faults::new(move |point| match point {
        "store-commit" if counted.fetch_add(1, Ordering::SeqCst) > 0 => Err(io::ErrorKind::StorageFull.into()),
        _ => Ok(()),
    });
    let store = Store::open_with_faults(&path, faults).unwrap();
    let both = vec![change("a", Some("A"), Some("A2")), change("b", Some("B"), Some("B2"))];
    assert!(store.carry_out(&run.files, &plan(DeedKind::Edit, both)).is_err());
    drop(store);
    for (name, text) in at {
        fs::write(path.join(name), text).unwrap();
    }
    let store = Store::open(&path).unwrap();
    let recovered = store.recover(&run.files).unwrap();
    (Run { store, ..run }, recovered)
}

#[test]
fn what_was_interrupted_is_completed_or_undone() {
    let (run, recovered) = interrupted(&[]);
    assert!(matches!(recovered[..], [Recovered::Dropped(_)]));
    assert_eq!(run.text("a.py"), Some("A".into()));

    for files in [&[("a.py", "A2")][..], &[("b.py", "B2")], &[("a.py", "A2"), ("b.py", "B2")]] {
        let (run, recovered) = interrupted(files);
        assert!(matches!(recovered[..], [Recovered::Completed(_)]), "{recovered:?}");
        assert_eq!((run.text("a.py"), run.text("b.py")), (Some("A2".into()), Some("B2".into())));
        assert_eq!((run.head("a"), run.head("b")), ("A2".into(), "B2".into()));
        assert_eq!(run.store.recover(&run.files).unwrap(), []);
        run.store.undo(&run.files, 9).unwrap();
        assert_eq!(run.text("b.py"), Some("B".into()));
    }

    let (run, recovered) = interrupted(&[("a.py", "A2"), ("b.py", "mine")]);
    let [changed @ Recovered::Changed { paths, .. }] = &recovered[..] else { unreachable!("{recovered:?}") };
    assert_eq!(paths, &["b.py"]);
    insta::assert_snapshot!(changed, @r#""fit: use the right column" was interrupted, and b.py changed since: it was left as it is; see `reweave log`"#);
    assert_eq!((run.text("b.py"), run.head("a")), (Some("mine".into()), "A2".into()));
}

#[test]
fn the_whole_run_goes_back_to_a_moment_and_forth_again() {
    let run = run();
    let then = run.store.now().unwrap();
    let changes = vec![
        change("a", Some("A"), None),
        change("z", None, Some("A")),
        change("b", Some("B"), Some("B2")),
        change("c", None, Some("C")),
    ];
    run.store.carry_out(&run.files, &plan(DeedKind::Edit, changes)).unwrap();
    let path_of = |step: &StepId| format!("{step}.py");
    let back = run.store.changes_back_to(&then, None, path_of).unwrap();
    assert_eq!(back.len(), 4);
    let plan = Plan { title: "back".into(), ..plan(DeedKind::Restore, back) };
    run.store.carry_out(&run.files, &plan).unwrap();
    assert_eq!((run.text("a.py"), run.text("b.py")), (Some("A".into()), Some("B".into())));
    assert_eq!((run.text("z.py"), run.text("c.py")), (None, None));
    assert_eq!(run.store.changes_back_to(&then, None, path_of).unwrap(), []);
    // The renamed step went back to its name with its history.
    assert_eq!(run.store.versions(&id("a")).unwrap().len(), 1);
    run.store.undo(&run.files, 9).unwrap();
    assert_eq!((run.text("z.py"), run.text("b.py")), (Some("A".into()), Some("B2".into())));
    // One step, by the name that it has now.
    let back = run.store.changes_back_to(&then, Some(&id("z")), path_of).unwrap();
    assert_eq!(back.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), ["a.py", "z.py"]);
    assert!(run.store.changes_back_to(&then, Some(&id("nowhere")), path_of).is_err());
    run.store.record_version(&id("a"), b"another", &Provenance::new(Author::Person, 9)).unwrap();
    let refused = run.store.changes_back_to(&then, Some(&id("z")), path_of).unwrap_err();
    assert_eq!(refused.to_string(), "a is another step now; rename it first");
}

#[test]
fn what_leads_out_of_the_run_is_refused() {
    let run = run();
    let mut out = change("a", None, Some("x"));
    out.path = "../escaped.py".into();
    assert!(run.store.carry_out(&run.files, &plan(DeedKind::New, vec![out])).is_err());
    assert!(!Path::new(run.dir.path()).join("../escaped.py").exists());
}
