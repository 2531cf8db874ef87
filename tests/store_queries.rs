//! Questions over time, against runs made up on the spot.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use reweave::step::*;
use reweave::store::query::{Happening, LogFilter, Moment};
use reweave::store::{Proposal, Reader, Store, StoreError, Subject, Trial};

fn id(text: &str) -> StepId {
    text.parse().unwrap()
}

fn by(at: Millis) -> Provenance {
    Provenance::new(Author::Person, at)
}

fn execution(step: &str, version: u32, reads: &[&str], writes: &[(&str, &str)]) -> Arc<Execution> {
    let mut execution = Execution::new(id(step), VersionNumber(version), 1_000);
    for name in reads {
        execution.observation.reads.insert((*name).into(), Some(Digest::of(name)));
    }
    for (name, value) in writes {
        let written = Written::alone(name, Digest::of(value));
        execution.observation.writes.insert((*name).into(), (!value.is_empty()).then_some(written));
    }
    Arc::new(execution)
}

/// A store whose steps `s0`, `s1`, … have run once with these reads and writes.
fn store_of(steps: &[(Vec<String>, Vec<String>)]) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let ids: Vec<StepId> = (0..steps.len()).map(|n| id(&format!("s{n}"))).collect();
    store.record_run(ids.iter().map(|step| (step, b"".as_slice())), &by(1)).unwrap();
    for (step, (reads, writes)) in ids.iter().zip(steps) {
        let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
        let writes: Vec<(&str, &str)> = writes.iter().map(|name| (name.as_str(), step.as_str())).collect();
        drop(store.record_execution(execution(step.as_str(), 1, &reads, &writes)));
    }
    (dir, store)
}

/// Who read from whom, by the plain definition: the last writer before.
fn edges(steps: &[(Vec<String>, Vec<String>)]) -> BTreeSet<(usize, usize, String)> {
    let mut edges = BTreeSet::new();
    for (to, (reads, _)) in steps.iter().enumerate() {
        for name in reads {
            if let Some(from) = (0..to).rev().find(|from| steps[*from].1.contains(name)) {
                edges.insert((from, to, name.clone()));
            }
        }
    }
    edges
}

fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(vec!["a", "b", "c", "d"], 0..3)
        .prop_map(|names| names.into_iter().map(String::from).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn needs_and_affected_by_are_the_closures_of_last_writers(
        steps in proptest::collection::vec((names(), names()), 1..12),
        at in 0..12_usize,
    ) {
        let at = at % steps.len();
        let (_dir, store) = store_of(&steps);
        let edges = edges(&steps);
        let reach = |forward: bool| {
            let mut reached = BTreeSet::from([at]);
            loop {
                let more: Vec<usize> = edges.iter()
                    .map(|(from, to, _)| if forward { (*from, *to) } else { (*to, *from) })
                    .filter(|(near, far)| reached.contains(near) && !reached.contains(far))
                    .map(|(_, far)| far)
                    .collect();
                if more.is_empty() { break }
                reached.extend(more);
            }
            reached.remove(&at);
            reached.into_iter().map(|n| format!("s{n}")).collect::<Vec<_>>()
        };
        let needed: Vec<String> = store.needs(&id(&format!("s{at}")), &[]).unwrap().iter().map(|n| n.step.to_string()).collect();
        prop_assert_eq!(needed, reach(false));
        let affected = store.affected_by(&id(&format!("s{at}")), None).unwrap();
        prop_assert_eq!(affected.iter().map(|a| a.step.to_string()).collect::<Vec<_>>(), reach(true));
        // Each says truly through what.
        for one in affected {
            prop_assert!(!one.subjects.is_empty());
            let place = |step: &StepId| step.as_str()[1..].parse::<usize>().unwrap();
            let (from, to) = (place(&one.because), place(&one.step));
            prop_assert!(one.subjects.iter().any(|s| edges.contains(&(from, to, s.text().to_string()))));
        }
    }

    #[test]
    fn what_stands_at_a_moment_is_what_stood_then(
        runs in proptest::collection::vec((0..4_usize, names(), 0..3_u8), 1..15),
        look in 0..15_usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let mut versions = [0_u32; 4];
        let mut last: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
        let mut remembered = None;
        for (n, (step, names, text)) in runs.iter().enumerate() {
            let name = format!("s{step}");
            versions[*step] = store.record_version(&id(&name), &[*text], &by(1)).unwrap().0;
            let writes: Vec<(String, String)> = names.iter().map(|name| (name.clone(), n.to_string())).collect();
            let borrowed: Vec<(&str, &str)> = writes.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            drop(store.record_execution(execution(&name, versions[*step], &[], &borrowed)));
            last.insert(*step, writes);
            if n == look % runs.len() {
                let values: BTreeMap<String, String> = last.values().flatten().cloned().collect();
                remembered = Some((store.now().unwrap(), versions, values));
            }
        }
        let (moment, versions, values) = remembered.unwrap();
        let standing = store.at(None, &moment).unwrap();
        for step in &standing.steps {
            let place: usize = step.step.as_str()[1..].parse().unwrap();
            prop_assert_eq!(step.version.0, versions[place]);
            prop_assert_eq!(step.execution.unwrap().1.0, versions[place]);
        }
        let found: BTreeMap<String, Digest> = standing.values.iter().map(|v| (v.subject.text().to_string(), v.digest)).collect();
        let expected: BTreeMap<String, Digest> = values.iter().map(|(name, value)| (name.clone(), Digest::of(value))).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(store.diff(&moment, &moment).unwrap().is_empty(), true);
        // Now is the last event, whichever way it is asked for.
        prop_assert_eq!(store.at(None, &Moment::Now).unwrap(), store.at(None, &store.now().unwrap()).unwrap());
    }
}

#[test]
fn a_run_is_seen_under_the_names_that_its_steps_had_then() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    store.record_version(&id("a"), b"A", &by(1)).unwrap();
    let then = store.now().unwrap();
    store.record_rename(&id("a"), &id("z"), &by(2)).unwrap();
    store.record_version(&id("b"), b"B", &by(3)).unwrap();
    assert_eq!(store.at(None, &then).unwrap().steps[0].step, id("a"));
    assert!(matches!(store.at(Some(&id("b")), &then), Err(StoreError::Missing { .. })));
    let difference = store.diff(&then, &Moment::Now).unwrap();
    assert_eq!(difference.steps.len(), 2);
    let renamed = &difference.steps[1];
    assert_eq!((renamed.before.as_ref().map(|at| &at.step), renamed.source), (Some(&id("a")), false));
}

#[test]
fn a_deleted_name_and_a_failed_steps_writes_do_not_stand() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for step in ["a", "b", "c"] {
        store.record_version(&id(step), b"", &by(1)).unwrap();
    }
    drop(store.record_execution(execution("a", 1, &[], &[("x", "1"), ("y", "1")])));
    drop(store.record_execution(execution("b", 1, &[], &[("x", "")])));
    let mut failed = Execution::clone(&execution("c", 1, &[], &[("y", "2")]));
    failed.outcome = Outcome::Failed;
    drop(store.record_execution(Arc::new(failed)));
    let standing = store.at(None, &Moment::Now).unwrap();
    let [y] = &standing.values[..] else { unreachable!("{:?}", standing.values) };
    assert_eq!((&y.subject, &y.step), (&Subject::name("y"), &id("a")));
    let before = store.at(Some(&id("a")), &Moment::Now).unwrap();
    assert_eq!(before.values.len(), 2);
}

#[test]
fn files_and_names_of_the_same_spelling_are_kept_apart() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for step in ["a", "b", "c"] {
        store.record_version(&id(step), b"", &by(1)).unwrap();
    }
    let mut writer = Execution::clone(&execution("a", 1, &[], &[]));
    let content = FileContent::File { digest: Digest::of("csv"), mode: None };
    writer
        .observation
        .files_written
        .insert("out".into(), FileWrite { before: FileContent::Absent, after: content.clone() });
    drop(store.record_execution(Arc::new(writer)));
    let mut reader = Execution::clone(&execution("b", 1, &[], &[]));
    reader.observation.files_read.insert("out".into(), content);
    drop(store.record_execution(Arc::new(reader)));
    drop(store.record_execution(execution("c", 1, &["out"], &[])));
    let affected = store.affected_by(&id("a"), None).unwrap();
    assert_eq!(affected.len(), 1);
    assert_eq!((&affected[0].step, &affected[0].subjects[..]), (&id("b"), &[Subject::file("out")][..]));
    let writers = store.writers(&Subject::file("out"), 5).unwrap();
    assert_eq!(writers[0].digest, Some(Digest::of("csv")));
    assert_eq!(store.readers(&Subject::name("out"), 5).unwrap()[0].step, id("c"));
}

#[test]
fn writers_of_a_name_that_is_everywhere_are_found_the_same_way() {
    // Beyond 256 sets of names the other plan is taken.
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let steps: Vec<StepId> = (0..300).map(|n| id(&format!("s{n}"))).collect();
    store.record_run(steps.iter().map(|step| (step, b"".as_slice())), &by(1)).unwrap();
    for (n, step) in steps.iter().enumerate() {
        let own = format!("own{n}");
        drop(store.record_execution(execution(step.as_str(), 1, &["df", &own], &[("df", "1"), (&own, "1")])));
    }
    drop(store.record_execution(execution("s7", 1, &["df", "own7"], &[("df", "2"), ("own7", "1")])));
    let writers = store.writers(&Subject::name("df"), 3).unwrap();
    let told: Vec<(&str, bool, bool)> = writers.iter().map(|t| (t.step.as_str(), t.changed, t.latest)).collect();
    assert_eq!(told, [("s7", true, true), ("s299", true, true), ("s298", true, true)]);
    assert_eq!(store.writers(&Subject::name("df"), 1_000).unwrap().len(), 301);
    assert_eq!(store.readers(&Subject::name("df"), 1_000).unwrap().len(), 301);
    let own = store.writers(&Subject::name("own7"), 9).unwrap();
    assert_eq!(own.iter().map(|t| (t.changed, t.latest)).collect::<Vec<_>>(), [(false, true), (true, false)]);
}

#[test]
fn the_story_of_a_step_and_of_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let v = store.record_version(&id("a"), b"A", &by(10)).unwrap();
    store.record_version(&id("other"), b"O", &by(11)).unwrap();
    drop(store.record_execution(execution("a", v.0, &[], &[("x", "1")])));
    store.set_invalidated(&[id("a")], &Reason::Invalidated, 20).unwrap();
    let proposal = Proposal {
        state: PatchState::Proposed,
        title: "fix".into(),
        provenance: Provenance::new(Author::Agent("f".into()), 30),
        text: b"p".to_vec(),
        files: vec![FileChange { path: "a.py".into(), base: None, result: None }],
        problems: vec![],
    };
    let patch = store.insert_patch(&proposal).unwrap().id();
    store.set_patch_state(patch, PatchState::Rejected, Some("no"), 31).unwrap();
    store.record_note("policy", Some(&id("a")), "network asked for, denied", 40).wait().unwrap();
    store.record_rename(&id("a"), &id("b"), &by(50)).unwrap();
    let words = |filter: &LogFilter| -> Vec<String> {
        let story = store.log(filter).unwrap();
        story
            .iter()
            .map(|entry| match &entry.what {
                Happening::Version(version) => format!("version {}", version.number),
                Happening::Renamed { from, to, .. } => format!("renamed {from} {to}"),
                Happening::Executed { execution, .. } => format!("executed {}", execution.version),
                Happening::Invalidated(_) => "invalidated".into(),
                Happening::Patch { state, .. } => format!("patch {}", state.unwrap().word()),
                Happening::Note { topic, .. } => format!("note {topic}"),
            })
            .collect()
    };
    let mine = LogFilter { step: Some(id("b")), ..LogFilter::default() };
    let expected =
        ["renamed a b", "note policy", "patch rejected", "patch proposed", "invalidated", "executed v1", "version v1"];
    assert_eq!(words(&mine), expected, "patches under the old name too");
    assert_eq!(words(&LogFilter { since: Some(30), ..LogFilter::default() }).len(), 5, "the execution ended at 1 s");
    let x = LogFilter { subject: Some(Subject::name("x")), ..LogFilter::default() };
    assert_eq!(words(&x), ["executed v1"]);
    let all = words(&LogFilter::default());
    assert_eq!(all.len(), 8);
    let first = store.log(&LogFilter { limit: 3, ..LogFilter::default() }).unwrap();
    let next = LogFilter { before: Some(first[2].seq), ..LogFilter::default() };
    assert_eq!(words(&next), all[3..]);
}

#[test]
fn credit_counts_what_became_of_patches() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let propose = |text: &str, agent: &str| {
        let proposal = Proposal {
            state: PatchState::Proposed,
            title: text.into(),
            provenance: Provenance { model: Some("m".into()), ..Provenance::new(Author::Agent(agent.into()), 1) },
            text: text.as_bytes().to_vec(),
            files: vec![],
            problems: vec![],
        };
        store.insert_patch(&proposal).unwrap().id()
    };
    let ids = [propose("1", "f"), propose("2", "f"), propose("3", "f"), propose("4", "g")];
    let trial = Trial { at: 2, fixed: vec![id("t1"), id("t2")], broken: vec![id("t3")], ..Trial::default() };
    store.record_trial(ids[0], &trial).unwrap();
    assert_eq!(store.patch(ids[0]).unwrap().state, PatchState::Tried);
    assert_eq!(store.trials(ids[0]).unwrap(), [trial]);
    store.set_patch_state(ids[0], PatchState::Accepted, None, 3).unwrap();
    store.set_patch_state(ids[1], PatchState::Accepted, None, 3).unwrap();
    store.set_patch_state(ids[1], PatchState::Reverted, None, 4).unwrap();
    store.set_patch_state(ids[2], PatchState::Rejected, None, 4).unwrap();
    let f = &store.by_agent().unwrap()["f"];
    assert_eq!((f.proposed, f.accepted, f.reverted, f.rejected, f.open), (3, 2, 1, 1, 0));
    assert_eq!((&f.tests_fixed[..], &f.tests_broken[..]), (&[id("t1"), id("t2")][..], &[id("t3")][..]));
    let m = &store.by_model().unwrap()["m"];
    assert_eq!((m.proposed, m.open), (4, 1));
}

#[test]
fn two_runs_are_set_side_by_side() {
    let (one, store) = store_of(&[(vec![], vec!["x".into()]), (vec!["x".into()], vec!["y".into()])]);
    let (two, other) = store_of(&[(vec![], vec!["x".into()]), (vec![], vec!["y".into()])]);
    drop(other.record_execution(execution("s1", 1, &[], &[("y", "another")])));
    other.flush();
    let (a, b) = (Reader::open(one.path()).unwrap(), Reader::open(two.path()).unwrap());
    assert!(a.diff_with(&Moment::Now, &store, &Moment::Now).unwrap().is_empty());
    let difference = a.diff_with(&Moment::Now, &b, &Moment::Now).unwrap();
    assert_eq!(difference.steps.len(), 0, "neither source nor output differ");
    assert_eq!(difference.values.len(), 1);
    assert_eq!(difference.values[0].subject, Subject::name("y"));
    assert_eq!(difference.edges.len(), 1);
    assert_eq!((&difference.edges[0].from, difference.edges[0].after.len()), (&id("s0"), 0));
}
