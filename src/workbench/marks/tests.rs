//! How steps stand, by hand-made records.

use proptest::prelude::*;

use super::*;
use crate::step::{FileWrite, Observation, Output, VersionNumber, Written};

/// Says of every file that it is as it was, but for those that were touched.
struct Touched(&'static [&'static str]);

impl Disk for Touched {
    fn kept(&self, _: &Digest) -> Option<Digest> {
        None
    }

    fn holds(&self, path: &str, _: &FileContent) -> Option<bool> {
        Some(!self.0.contains(&path))
    }
}

/// A step of a run in the making.
struct Made {
    id: StepId,
    source: Digest,
    execution: Option<Execution>,
    marked: bool,
    blocked: Option<(Reason, Digest)>,
    reads: Vec<Name>,
    writes: Vec<Name>,
    opaque: bool,
}

impl Made {
    fn subject(&self) -> Subject<'_> {
        Subject {
            id: &self.id,
            source: self.source,
            held: self.execution.as_ref().map(|execution| Held { execution, source: Digest::of(self.id.as_str()) }),
            marked: self.marked,
            blocked: self.blocked.as_ref().map(|(reason, text)| (reason, *text)),
            reads: &self.reads,
            writes: &self.writes,
            needs: &[],
            opaque: self.opaque,
            timeout: None,
        }
    }
}

fn file(content: &str) -> FileContent {
    FileContent::File { digest: Digest::of(content), mode: None }
}

/// A step that was executed, reading and writing names with these contents.
fn ran(id: &str, reads: &[(&str, &str)], writes: &[(&str, &str)]) -> Made {
    let id: StepId = id.parse().unwrap();
    let observation = Observation {
        reads: reads.iter().map(|(name, value)| (Name::from(*name), Some(Digest::of(value)))).collect(),
        writes: writes
            .iter()
            .map(|(name, value)| {
                let digest = Digest::of(value);
                (
                    Name::from(*name),
                    Some(Written {
                        digest,
                        members: vec![Name::from(*name)],
                        refs: Vec::new(),
                        uncarryable: None,
                        placed: None,
                    }),
                )
            })
            .collect(),
        ..Observation::default()
    };
    let execution = Execution {
        step: id.clone(),
        version: VersionNumber(1),
        started: 0,
        duration_us: 1,
        why: vec![],
        outcome: Outcome::Done,
        output: Output::default(),
        displays: vec![],
        error: None,
        observation,
        effects: vec![],
    };
    let names = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, _)| Name::from(*name)).collect();
    Made {
        source: Digest::of(id.as_str()),
        id,
        execution: Some(execution),
        marked: false,
        blocked: None,
        reads: names(reads),
        writes: names(writes),
        opaque: false,
    }
}

fn judged(made: &[Made], on_error: OnError, touched: &'static [&'static str]) -> Vec<Verdict> {
    let subjects: Vec<_> = made.iter().map(Made::subject).collect();
    judge(&subjects, on_error, &Touched(touched))
}

fn told(made: &[Made]) -> String {
    told_with(made, OnError::Block, &[])
}

fn told_with(made: &[Made], on_error: OnError, touched: &'static [&'static str]) -> String {
    let verdicts = judged(made, on_error, touched);
    let line = |(step, verdict): (&Made, Verdict)| {
        let reasons: Vec<_> = verdict.reasons.iter().map(ToString::to_string).collect();
        format!("{} {} {}", step.id, verdict.status, reasons.join("; ")).trim_end().to_owned()
    };
    made.iter().zip(verdicts).map(line).collect::<Vec<_>>().join("\n")
}

fn chain() -> Vec<Made> {
    vec![ran("a", &[], &[("x", "1")]), ran("b", &[("x", "1")], &[("y", "2")]), ran("c", &[("y", "2")], &[])]
}

#[test]
fn what_was_executed_and_has_not_changed_is_fresh() {
    let verdicts = judged(&chain(), OnError::Block, &[]);
    assert!(verdicts.iter().all(|verdict| verdict.status == Status::Fresh && verdict.reasons.is_empty()));
    assert_eq!(verdicts[1].used, [(0, Name::from("x"))]);
}

#[test]
fn an_edit_marks_its_step_and_what_may_follow_from_it() {
    let mut run = chain();
    run[1].source = Digest::of("edited");
    run.push(ran("d", &[("x", "1")], &[]));
    insta::assert_snapshot!(told(&run), @r"
    a fresh
    b stale its code changed
    c stale y from b
    d fresh
    ");
}

#[test]
fn a_value_that_came_out_otherwise_marks_its_readers_only() {
    let mut run = chain();
    run[0] = ran("a", &[], &[("x", "3")]);
    insta::assert_snapshot!(told(&run), @r"
    a fresh
    b stale x changed
    c stale y from b
    ");
}

#[test]
fn a_step_put_between_or_taken_away_marks_those_who_see_it() {
    let mut run = chain();
    let mut new = ran("a2", &[], &[("x", "9")]);
    new.execution = None;
    run.insert(1, new);
    insta::assert_snapshot!(told(&run), @r"
    a fresh
    a2 never never run
    b stale x from a2
    c stale y from b
    ");
    run.drain(..2);
    insta::assert_snapshot!(told(&run), @r"
    b stale x changed
    c stale y from b
    ");
}

#[test]
fn who_sees_the_order_of_names_is_unsure_while_one_before_it_may_bring_some() {
    let mut run = chain();
    run.insert(1, ran("a2", &[("x", "1")], &[]));
    let failed = run[1].execution.as_mut().unwrap();
    failed.outcome = Outcome::Failed;
    let seen = &mut run[3].execution.as_mut().unwrap().observation;
    (seen.saw_names, seen.saw_order) = (Some(vec!["x".into(), "y".into()]), true);
    // What failed left nothing.
    insta::assert_snapshot!(told(&run), @r"
    a fresh
    a2 failed
    b fresh
    c fresh
    ");
    run[0].source = Digest::of("edited");
    assert!(told(&run).contains("c stale needs a"), "{}", told(&run));
}

#[test]
fn a_text_that_may_write_anything_leaves_all_after_it_unsure() {
    let mut run = chain();
    run[0].source = Digest::of("exec(other)");
    run[0].opaque = true;
    insta::assert_snapshot!(told(&run), @r"
    a stale its code changed
    b stale x from a
    c stale y from b
    ");
    run[1].reads.clear();
    run[1].execution.as_mut().unwrap().observation.reads.clear();
    insta::assert_snapshot!(told(&run), @r"
    a stale its code changed
    b fresh
    c fresh
    ");
}

#[test]
fn a_mark_by_hand_is_a_reason() {
    let mut run = chain();
    run[1].marked = true;
    insta::assert_snapshot!(told(&run), @r"
    a fresh
    b stale marked by hand
    c stale y from b
    ");
}

#[test]
fn hidden_state_counts_and_its_beginning_is_taken_from_the_record() {
    let run = [ran("a", &[("@random", "0")], &[("@random", "1")]), ran("b", &[("@random", "1")], &[])];
    insta::assert_snapshot!(told(&run), @"
    a fresh
    b fresh
    ");
    let run = [ran("a", &[("@random", "0")], &[]), ran("b", &[("@random", "1")], &[])];
    insta::assert_snapshot!(told(&run), @"
    a fresh
    b stale random changed
    ");
}

#[test]
fn files_from_outside_and_between_steps_count() {
    let mut run = [ran("a", &[], &[]), ran("b", &[], &[]), ran("c", &[], &[])];
    let observation = |step: &mut Made, reads: &[(&str, &str)], writes: &[(&str, &str)]| {
        let seen = &mut step.execution.as_mut().unwrap().observation;
        seen.files_read = reads.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect();
        seen.files_written = writes
            .iter()
            .map(|(path, text)| ((*path).to_owned(), FileWrite { before: FileContent::Absent, after: file(text) }))
            .collect();
    };
    observation(&mut run[0], &[("data.csv", "d")], &[]);
    observation(&mut run[1], &[], &[("model", "m")]);
    observation(&mut run[2], &[("model", "m")], &[]);
    assert_eq!(judged(&run, OnError::Block, &[])[2].used_files, [(1, Name::from("model"))]);
    insta::assert_snapshot!(told_with(&run, OnError::Block, &["data.csv"]), @r"
    a stale file data.csv changed
    b fresh
    c fresh
    ");
    insta::assert_snapshot!(told_with(&run, OnError::Block, &["model"]), @r"
    a fresh
    b fresh
    c stale file model changed
    ");
    run[1].source = Digest::of("edited");
    insta::assert_snapshot!(told(&run), @r"
    a fresh
    b stale its code changed
    c stale model from b
    ");
}

#[test]
fn failures_block_stop_or_go_on() {
    let mut run = chain();
    run[1].execution.as_mut().unwrap().outcome = Outcome::Failed;
    let why = Reason::BlockedBy { step: "b".parse().unwrap(), names: vec!["y".into()] };
    run[2].blocked = Some((why, run[2].source));
    insta::assert_snapshot!(told_with(&run, OnError::Block, &[]), @r"
    a fresh
    b failed
    c blocked blocked by b: y
    ");
    insta::assert_snapshot!(told_with(&run, OnError::Stop, &[]), @r"
    a fresh
    b failed
    c blocked the run stopped at b
    ");
    run[2].blocked = None;
    insta::assert_snapshot!(told_with(&run, OnError::Continue, &[]), @r"
    a fresh
    b failed
    c fresh
    ");
}

#[test]
fn a_blocked_step_is_looked_at_again_once_the_failed_one_changes() {
    let mut run = chain();
    run[1].execution.as_mut().unwrap().outcome = Outcome::Failed;
    run[1].source = Digest::of("mended");
    run[2].execution = None;
    let why = Reason::BlockedBy { step: "b".parse().unwrap(), names: vec!["y".into()] };
    run[2].blocked = Some((why, run[2].source));
    insta::assert_snapshot!(told(&run), @r"
    a fresh
    b stale its code changed
    c never never run
    ");
}

/// What may happen to a step between two looks.
#[derive(Debug, Clone)]
enum Happening {
    Edited(usize, bool),
    Executed(usize, Vec<(usize, u8)>, Vec<(usize, u8)>),
    Failed(usize),
    Blocked(usize, usize),
    Marked(usize),
    Forgotten(usize),
    Wrote(usize, u8),
    Read(usize, u8),
    SawNames(usize, bool),
}

fn happening(steps: usize) -> impl Strategy<Value = Happening> {
    let step = 0..steps;
    let values = || prop::collection::vec((0..NAMES.len(), 0..3u8), 0..3);
    prop_oneof![
        1 => (step.clone(), any::<bool>()).prop_map(|(at, opaque)| Happening::Edited(at, opaque)),
        4 => (step.clone(), values(), values()).prop_map(|(at, reads, writes)| Happening::Executed(at, reads, writes)),
        1 => step.clone().prop_map(Happening::Failed),
        1 => (step.clone(), step.clone()).prop_map(|(at, by)| Happening::Blocked(at, by)),
        1 => step.clone().prop_map(Happening::Marked),
        1 => step.clone().prop_map(Happening::Forgotten),
        1 => (step.clone(), 0..3u8).prop_map(|(at, value)| Happening::Wrote(at, value)),
        1 => (step.clone(), 0..3u8).prop_map(|(at, value)| Happening::Read(at, value)),
        1 => (step, any::<bool>()).prop_map(|(at, order)| Happening::SawNames(at, order)),
    ]
}

const NAMES: [&str; 5] = ["x", "y", "z", "@random", "@cwd"];

impl Made {
    /// Lets something happen to it.
    fn happens(&mut self, what: &Happening) {
        let seen = self.execution.get_or_insert_with(|| ran(self.id.as_str(), &[], &[]).execution.unwrap());
        match what {
            Happening::Edited(_, opaque) => {
                self.source = Digest::of("edited");
                self.opaque = *opaque;
            }
            Happening::Executed(_, reads, writes) => {
                let pairs = |values: &[(usize, u8)]| -> Vec<(String, String)> {
                    values.iter().map(|(name, value)| (NAMES[*name].to_owned(), value.to_string())).collect()
                };
                let (reads, writes) = (pairs(reads), pairs(writes));
                let reads: Vec<(&str, &str)> = reads.iter().map(|(name, value)| (&**name, &**value)).collect();
                let writes: Vec<(&str, &str)> = writes.iter().map(|(name, value)| (&**name, &**value)).collect();
                *self = ran(self.id.as_str(), &reads, &writes);
            }
            Happening::Failed(_) => seen.outcome = Outcome::Failed,
            Happening::Blocked(_, by) => {
                let step = format!("{by:02}").parse().unwrap();
                self.blocked = Some((Reason::BlockedBy { step, names: Vec::new() }, self.source));
            }
            Happening::Marked(_) => self.marked = !self.marked,
            Happening::Forgotten(_) => self.execution = None,
            Happening::Wrote(_, value) => {
                let write = FileWrite { before: FileContent::Absent, after: file(&value.to_string()) };
                seen.observation.files_written = [("data".to_owned(), write)].into();
            }
            Happening::Read(_, value) => {
                seen.observation.files_read = [("data".to_owned(), file(&value.to_string()))].into();
            }
            Happening::SawNames(_, order) => {
                seen.observation.saw_names = Some(vec!["x".into(), "y".into()]);
                seen.observation.saw_order = *order;
            }
        }
    }

    fn place(what: &Happening) -> usize {
        match what {
            Happening::Edited(at, _)
            | Happening::Executed(at, ..)
            | Happening::Failed(at)
            | Happening::Blocked(at, _)
            | Happening::Marked(at)
            | Happening::Forgotten(at)
            | Happening::Wrote(at, _)
            | Happening::Read(at, _)
            | Happening::SawNames(at, _) => *at,
        }
    }
}

proptest! {
    /// Marks that followed what happened are those that a look at everything would give.
    #[test]
    fn marks_that_follow_are_those_of_a_look_at_everything(
        happenings in prop::collection::vec(happening(8), 1..24),
        together in 1usize..4,
        on_error in prop::sample::select(vec![OnError::Block, OnError::Continue, OnError::Stop]),
    ) {
        let mut made: Vec<Made> = (0..8).map(|at| ran(&format!("{at:02}"), &[], &[])).collect();
        let mut marks = Marks::default();
        marks.judge(&Course {
            len: made.len(),
            subject: &|place| made.get(place).map(Made::subject),
            place: &|step| made.iter().position(|made| made.id == *step),
            on_error,
            disk: &Touched(&[]),
        });
        for several in happenings.chunks(together) {
            for what in several {
                made[Made::place(what)].happens(what);
            }
            let before = marks.verdicts().to_vec();
            let other = marks.renew(
                &Course {
                    len: made.len(),
                    subject: &|place| made.get(place).map(Made::subject),
                    place: &|step| made.iter().position(|made| made.id == *step),
                    on_error,
                    disk: &Touched(&[]),
                },
                &several.iter().map(Made::place).collect(),
            );
            let whole = judged(&made, on_error, &[]);
            prop_assert_eq!(marks.verdicts(), &*whole, "after {:?}", several);
            for place in 0..made.len() {
                prop_assert_eq!(other.contains(&place), before[place] != whole[place], "{} after {:?}", place, several);
            }
        }
    }
}
