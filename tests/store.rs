//! What a run's store keeps, and in which state it is found again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use reweave::step::*;
use reweave::store::query::{LogFilter, Moment};
use reweave::store::{Arrival, Notice, Proposal, Reader, SCHEMA, Store, StoreError, Subject};

fn id(text: &str) -> StepId {
    text.parse().unwrap()
}

fn by(at: Millis) -> Provenance {
    Provenance::new(Author::Person, at)
}

fn digest(text: &str) -> Digest {
    Digest::of(text)
}

fn database(run: &Path) -> std::path::PathBuf {
    run.join(".reweave/store.db")
}

/// An execution that reads and writes these names.
fn execution(step: &str, version: u32, reads: &[&str], writes: &[(&str, &str)]) -> Execution {
    let mut execution = Execution::new(id(step), VersionNumber(version), 1_000);
    for name in reads {
        execution.observation.reads.insert((*name).into(), Some(digest(name)));
    }
    for (name, value) in writes {
        let written = Written::alone(name, digest(value));
        execution.observation.writes.insert((*name).into(), Some(written));
    }
    execution
}

#[test]
fn everything_is_there_again_after_closing() {
    let dir = tempfile::tempdir().unwrap();
    let step = id("01_load");
    let mut full = execution("01_load", 1, &["pd"], &[("df", "v")]);
    full.duration_us = 1_500;
    full.why = vec![Reason::NeverRun];
    full.outcome = Outcome::Failed;
    full.output.chunks.push(Chunk { stream: Stream::Stdout, text: "hello \u{1b}[31m\n".repeat(50) });
    full.displays.push(Display { repr: "1".into(), mime: Default::default(), last: true });
    full.error = Some(StepError {
        type_name: "KeyError".into(),
        message: "'x'\nsecond line".into(),
        caused_by: Some(id("00")),
        ..StepError::default()
    });
    full.observation.nondeterministic.push("clock".into());
    full.effects.push(Effect::Write { path: "out.csv".into() });
    let recorded = {
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.notices(), []);
        store.record_version(&step, b"df = 1\n", &by(5)).unwrap();
        store.record_execution(Arc::new(full.clone())).wait().unwrap()
    };
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.notices(), []);
    let found = store.executions(&step, 9).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].id, recorded);
    assert_eq!(*found[0].execution, full);
    assert_eq!(store.execution(recorded).unwrap(), found[0]);
    assert_eq!(store.latest_executions().unwrap()[&step], found[0]);
    let latest = store.latest().unwrap();
    let brief = latest[0].execution.as_ref().unwrap();
    assert_eq!(brief.error.as_deref(), Some("KeyError: 'x'"));
    assert_eq!((&brief.caused_by, brief.duration_us), (&Some(id("00")), 1_500));
    assert_eq!(brief.nondeterministic, ["clock"]);
}

#[test]
fn equal_text_makes_no_version_and_an_earlier_text_makes_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let step = id("a");
    for (text, number) in [("1", 1), ("1", 1), ("2", 2), ("1", 3)] {
        assert_eq!(store.record_version(&step, text.as_bytes(), &by(1)).unwrap(), VersionNumber(number));
    }
    assert_eq!(store.record_removed(&step, &by(2)).unwrap(), VersionNumber(4));
    assert!(matches!(store.version_text(&step, VersionNumber(4)), Err(StoreError::Missing { .. })));
    // The step that comes back goes on from its history, even with the same text.
    assert_eq!(store.record_version(&step, b"1", &by(3)).unwrap(), VersionNumber(5));
    let numbers: Vec<_> = store.versions(&step).unwrap().iter().map(|v| (v.number.0, v.deleted)).collect();
    assert_eq!(numbers, [(5, false), (4, true), (3, false), (2, false), (1, false)]);
}

#[test]
fn provenance_comes_back_as_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let (context, receipt) = store.put_blob(b"what the agent was shown".to_vec());
    receipt.wait().unwrap();
    let given = Provenance {
        author: Author::Agent("fixer".into()),
        at: 7,
        model: Some("m-1".into()),
        call: Some("call_9".into()),
        patch: Some(PatchId(3)),
        reason: Some("it failed".into()),
        context: Some(context),
        tokens: Some(Tokens { input: 3, output: 322 }),
    };
    store.record_version(&id("a"), b"x", &given).unwrap();
    assert_eq!(store.head(&id("a")).unwrap().provenance, given);
}

#[test]
fn a_run_looked_at_as_a_whole_tells_edits_renames_and_removals() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let look = |steps: &[(&str, &str)]| {
        let steps: Vec<(StepId, &str)> = steps.iter().map(|(step, text)| (id(step), *text)).collect();
        store.record_run(steps.iter().map(|(step, text)| (step, text.as_bytes())), &by(1)).unwrap()
    };
    let first = look(&[("01", "A"), ("02", "B"), ("03", "C")]);
    assert_eq!(first.changed.len(), 3);
    assert_eq!(look(&[("01", "A"), ("02", "B"), ("03", "C")]).changed.len(), 0);
    // A step put in at 02: the later ones are numbered anew and keep their history.
    let shifted = look(&[("01", "A"), ("02", "N"), ("03", "B"), ("04", "C")]);
    assert_eq!(shifted.renamed, [(id("03"), id("04")), (id("02"), id("03"))]);
    assert_eq!(shifted.changed, [id("02")].into());
    assert_eq!(store.versions(&id("04")).unwrap().len(), 1);
    // A copy kept before an edit is a copy.
    let copied = look(&[("01", "A"), ("02", "N"), ("03", "B2"), ("04", "C"), ("old", "B")]);
    assert_eq!((copied.renamed.len(), copied.changed), (0, [id("03"), id("old")].into()));
    let renamed = look(&[("01", "A"), ("02", "N"), ("05", "B2"), ("04", "C2")]);
    assert_eq!(renamed.renamed, [(id("03"), id("05"))]);
    assert_eq!(renamed.changed, [id("04")].into());
    assert_eq!(store.versions(&id("05")).unwrap().len(), 2);
    let removed = look(&[("01", "A")]);
    assert_eq!(removed.removed.len(), 3);
    assert_eq!(store.heads().unwrap().len(), 1);
}

#[test]
fn steps_moved_up_in_a_row_keep_their_history() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let look = |steps: &[(&str, &str)]| {
        let steps: Vec<(StepId, &str)> = steps.iter().map(|(step, text)| (id(step), *text)).collect();
        store.record_run(steps.iter().map(|(step, text)| (step, text.as_bytes())), &by(1)).unwrap()
    };
    look(&[("01", "A"), ("02", "B"), ("03", "C0")]);
    look(&[("01", "A"), ("02", "B"), ("03", "C")]);
    store.record_execution(Arc::new(execution("03", 2, &[], &[]))).wait().unwrap();
    // 01 leaves its place; the others are numbered 03 and 04, and nothing is at 01.
    let seen = look(&[("02", "A"), ("03", "B"), ("04", "C")]);
    assert_eq!(seen.renamed.len(), 3, "{seen:?}");
    assert_eq!(seen.changed.len(), 0);
    assert_eq!(store.versions(&id("04")).unwrap().len(), 2);
    assert_eq!(store.executions(&id("04"), 5).unwrap()[0].execution.step, id("04"));
    // Where the last one's text is nowhere, one file was moved over another: no row of renames.
    let seen = look(&[("03", "A"), ("04", "B")]);
    assert_eq!((seen.renamed.len(), seen.removed.len(), seen.changed.len()), (0, 1, 2), "{seen:?}");
}

#[test]
fn a_rename_onto_a_step_that_once_was_goes_on_from_that_ones_history() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.record_version(&id("a"), b"A", &by(1)).unwrap();
    store.record_version(&id("b"), b"B", &by(1)).unwrap();
    assert!(matches!(store.record_rename(&id("a"), &id("b"), &by(2)), Err(StoreError::Refused { .. })));
    store.record_removed(&id("b"), &by(2)).unwrap();
    store.record_rename(&id("a"), &id("b"), &by(3)).unwrap();
    assert_eq!(store.versions(&id("b")).unwrap().len(), 3);
    assert!(store.head(&id("a")).unwrap().deleted);
    store.record_rename(&id("b"), &id("c"), &by(3)).unwrap();
    assert_eq!(store.versions(&id("c")).unwrap().len(), 3);
    assert_eq!(store.versions(&id("b")).unwrap(), []);
}

#[test]
fn an_execution_of_what_was_never_recorded_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let lost = store.record_execution(Arc::new(execution("a", 1, &[], &[]))).wait();
    assert!(matches!(lost, Err(StoreError::Missing { .. })));
    store.record_version(&id("a"), b"A", &by(1)).unwrap();
    assert!(store.record_execution(Arc::new(execution("a", 2, &[], &[]))).wait().is_err());
    assert!(store.record_execution(Arc::new(execution("a", 1, &[], &[]))).wait().is_ok());
}

#[test]
fn a_reader_sees_what_was_handed_over_before_it_asks() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.record_version(&id("a"), b"A", &by(1)).unwrap();
    let other = store.reader().unwrap();
    for number in 1..=50 {
        drop(store.record_execution(Arc::new(execution("a", 1, &["x"], &[("y", "1")]))));
        assert_eq!(other.executions(&id("a"), 100).unwrap().len(), number);
    }
}

#[test]
fn a_mark_set_by_hand_lasts_until_the_step_is_executed() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.record_version(&id("a"), b"A", &by(1)).unwrap();
    store.set_invalidated(&[id("a")], &Reason::Invalidated, 2).unwrap();
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.latest().unwrap()[0].invalidated, Some(Reason::Invalidated));
    store.record_execution(Arc::new(execution("a", 1, &[], &[]))).wait().unwrap();
    assert_eq!(store.latest().unwrap()[0].invalidated, None);
    assert!(store.set_invalidated(&[id("a"), id("nowhere")], &Reason::Invalidated, 2).is_err());
    assert_eq!(store.latest().unwrap()[0].invalidated, None, "all or none");
}

#[test]
fn a_patch_is_known_by_its_content() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let proposal = Proposal {
        state: PatchState::Proposed,
        title: "fix".into(),
        provenance: Provenance::new(Author::Agent("a".into()), 3),
        text: b"--- a\n+++ b\n".to_vec(),
        files: vec![FileChange { path: "a.py".into(), base: Some("x".into()), result: None }],
        problems: vec!["odd".into()],
    };
    let first = store.insert_patch(&proposal).unwrap();
    assert_eq!(first, Arrival::New(PatchId(1)));
    assert_eq!(store.insert_patch(&proposal).unwrap(), Arrival::Known(PatchId(1)));
    store.set_patch_state(PatchId(1), PatchState::Rejected, Some("no"), 4).unwrap();
    store.comment_patch(PatchId(1), "really", 5).unwrap();
    let patch = store.patch(PatchId(1)).unwrap();
    assert_eq!((patch.state, patch.files, patch.problems), (PatchState::Rejected, proposal.files, proposal.problems));
    assert_eq!(patch.comments, [(4, "no".to_owned()), (5, "really".to_owned())]);
    assert_eq!(store.patch_text(PatchId(1)).unwrap(), proposal.text);
    assert!(matches!(store.patch(PatchId(2)), Err(StoreError::Missing { .. })));
}

#[test]
fn a_truncated_store_is_set_aside_and_said_so() {
    let dir = tempfile::tempdir().unwrap();
    {
        let store = Store::open(dir.path()).unwrap();
        store.record_version(&id("a"), b"A", &by(1)).unwrap();
    }
    let whole = fs::read(database(dir.path())).unwrap();
    for keep in [1, 50, 99, 100, 4_096, whole.len() / 2, whole.len() - 1] {
        fs::write(database(dir.path()), &whole[..keep]).unwrap();
        let store = Store::open(dir.path()).unwrap();
        let [Notice::SetAside { why: StoreError::Damaged { .. }, to, .. }] = store.notices() else {
            unreachable!("{keep}: {:?}", store.notices())
        };
        assert_eq!(fs::read(to).unwrap(), whole[..keep], "moved as it was");
        assert!(store.heads().unwrap().len() <= 1, "what could be read was brought over");
        store.record_version(&id("a"), b"A", &by(1)).unwrap();
    }
}

#[test]
fn a_store_of_a_later_schema_is_set_aside_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let sql = rusqlite::Connection::open(database(dir.path())).unwrap();
    sql.pragma_update(None, "user_version", SCHEMA + 1).unwrap();
    // While the later program has it open, it is left alone.
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Newer { .. })));
    sql.execute_batch("ROLLBACK").unwrap();
    drop(sql);
    let store = Store::open(dir.path()).unwrap();
    let [notice @ Notice::SetAside { why: StoreError::Newer { .. }, to, .. }] = store.notices() else { unreachable!() };
    assert!(to.exists());
    assert!(notice.to_string().contains("schema"), "{notice}");
}

#[test]
fn a_store_of_an_earlier_schema_is_taken_forward() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".reweave")).unwrap();
    let sql = rusqlite::Connection::open(database(dir.path())).unwrap();
    for schema in [
        include_str!("../src/store/schema.sql"),
        include_str!("../src/store/schema_2.sql"),
        include_str!("../src/store/schema_3.sql"),
        include_str!("../src/store/schema_4.sql"),
    ] {
        sql.execute_batch(schema).unwrap();
    }
    sql.execute_batch("PRAGMA application_id = 0x72777665; PRAGMA user_version = 4").unwrap();
    sql.execute("INSERT INTO event (at, kind, text) VALUES (5, 'note', 'import\nfrom a notebook')", []).unwrap();
    drop(sql);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.notices(), [Notice::Migrated { from: 4 }]);
    store.record_version(&id("a"), b"A", &by(9)).unwrap();
    assert_eq!(store.log(&LogFilter::default()).unwrap().len(), 2);
    assert_eq!(store.check().unwrap(), [""; 0]);
    drop(store);
    assert_eq!(Store::open(dir.path()).unwrap().notices(), []);
}

#[cfg(unix)]
#[test]
fn what_is_not_reweaves_is_never_followed_or_moved() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), dir.path().join(".reweave")).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Foreign { .. })));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    fs::remove_file(dir.path().join(".reweave")).unwrap();
    fs::create_dir(dir.path().join(".reweave")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("x.db"), database(dir.path())).unwrap();
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Foreign { .. })));
}

#[test]
fn a_run_that_was_never_recorded_can_be_asked_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Reader::open(dir.path()), Err(StoreError::Missing { .. })));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "asking makes nothing");
}

/// The bytes of a small store.
fn small_store() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    {
        let store = Store::open(dir.path()).unwrap();
        let steps: Vec<(StepId, String)> = (0..20).map(|n| (id(&format!("s{n}")), format!("x = {n}"))).collect();
        store.record_run(steps.iter().map(|(step, text)| (step, text.as_bytes())), &by(1)).unwrap();
        drop(store.record_execution(Arc::new(execution("s3", 1, &["x", "y"], &[("z", "1")]))));
        store.insert_patch(&small_patch()).unwrap();
    }
    fs::read(database(dir.path())).unwrap()
}

fn small_patch() -> Proposal {
    Proposal {
        state: PatchState::Proposed,
        title: "fix".into(),
        provenance: by(3),
        text: b"--- s1.py\n+++ s1.py\n".to_vec(),
        files: vec![FileChange { path: "s1.py".into(), base: Some("x = 1".into()), result: Some("x = 7".into()) }],
        problems: vec![],
    }
}

/// Flips a bit of a store, and asks it everything: each answer is right, or a typed error; never a panic.
fn flip(mut bytes: Vec<u8>, at: usize, bit: u8) {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".reweave")).unwrap();
    bytes[at] ^= 1 << bit;
    fs::write(database(dir.path()), &bytes).unwrap();
    let store = Store::open(dir.path()).unwrap_or_else(|error| panic!("bit {bit} of byte {at}: {error:?}"));
    for number in 0..20 {
        let step = id(&format!("s{number}"));
        if let Ok(text) = store.version_text(&step, VersionNumber(1)) {
            assert_eq!(text, format!("x = {number}").into_bytes(), "bit {bit} of byte {at}");
        }
        if let Ok(versions) = store.versions(&step) {
            let expected = digest(&format!("x = {number}"));
            assert!(versions.iter().all(|version| version.source == expected), "bit {bit} of byte {at}");
        }
        if let Ok(found) = store.executions(&step, 9) {
            let expected = execution("s3", 1, &["x", "y"], &[("z", "1")]);
            assert!(found.iter().all(|one| *one.execution == expected), "bit {bit} of byte {at}: {found:?}");
        }
    }
    let heads = store.heads().unwrap_or_default();
    for (step, (_, source)) in heads {
        let text = step.as_str().replace('s', "x = ");
        assert_eq!(source, digest(&text), "bit {bit} of byte {at}");
    }
    for patch in store.patches().unwrap_or_default() {
        let expected = small_patch();
        assert_eq!((patch.state, patch.title, patch.files), (expected.state, expected.title, expected.files));
        if let Ok(text) = store.patch_text(patch.id) {
            assert_eq!(text, expected.text, "bit {bit} of byte {at}");
        }
    }
    for touch in store.writers(&Subject::name("z"), 9).unwrap_or_default() {
        assert_eq!((touch.step, touch.digest), (id("s3"), Some(digest("1"))), "bit {bit} of byte {at}");
    }
    let _ = (store.latest(), store.latest_observed(), store.log(&LogFilter::default()));
    let _ = (store.at(None, &Moment::Now), store.holds());
    // Where nothing was seen at opening, a new text can still be recorded, or the error says what is wrong.
    let _ = store.record_version(&id("s1"), b"x = 100", &by(9));
}

/// One bit of each byte takes minutes: `REWEAVE_FLIP_EVERY=1 cargo test --test store wherever`.
#[test]
fn no_flipped_bit_breaks_opening_wherever_it_is() {
    let bytes = small_store();
    let every = std::env::var("REWEAVE_FLIP_EVERY").map_or(2_503, |text| text.parse().unwrap());
    for (count, at) in (0..bytes.len()).step_by(every).enumerate() {
        flip(bytes.clone(), at, u8::try_from(count % 8).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_flipped_bit_never_breaks_opening(at in 0.0..1.0_f64, bit in 0..8_u8) {
        let bytes = small_store();
        let at = (at * bytes.len() as f64) as usize;
        flip(bytes, at, bit);
    }

    #[test]
    fn what_is_put_comes_back(bytes in proptest::collection::vec(any::<u8>(), 0..4_000), again in 1..40_usize) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let bytes = bytes.repeat(again);
        let (digest, receipt) = store.put_blob(bytes.clone());
        receipt.wait().unwrap();
        prop_assert_eq!(store.get_blob(&digest).unwrap(), bytes);
    }
}
