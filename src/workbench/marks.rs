//! How each step stands, from what is recorded alone: no process is asked.
//!
//! The engine decides what may be kept, with the truth before its eyes. These marks say the same as far as the
//! record and a look at the sources can tell, within a blink of a change: a step that they call fresh was
//! found to hold for exactly these sources, names and files; a stale one must be checked, for the reasons
//! given.
//!
//! It is one walk over the run in order. It carries along, for each name, the digest that it holds at that
//! point by the record, or the step that leaves it unsure; a step's recorded reads are compared with that.

use std::collections::BTreeMap;

use foldhash::HashMap;

use crate::engine::OnError;
use crate::step::{Digest, Execution, FileContent, Name, Outcome, Package, Reason, Status, StepId};

/// A step as the walk sees it.
#[derive(Debug, Clone)]
pub(super) struct Subject<'a> {
    pub id: &'a StepId,
    /// Digest of the text as it is now.
    pub source: Digest,
    /// The execution that held when the step was last brought up to date.
    pub held: Option<Held<'a>>,
    /// Marked by hand, and not executed since.
    pub marked: bool,
    /// Why it could not run when the run last came to it, and the text that it had then.
    pub blocked: Option<(&'a Reason, Digest)>,
    /// Names that its text may read from other steps.
    pub reads: &'a [Name],
    /// Names that its text writes or may write.
    pub writes: &'a [Name],
    /// Steps that its header says it needs.
    pub needs: &'a [StepId],
    /// Whether its text may write any name at all.
    pub opaque: bool,
}

/// An execution that held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'a> {
    pub execution: &'a Execution,
    /// Digest of the text that was executed.
    pub source: Digest,
}

/// How a step stands, why, and whom it needed by its record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    pub status: Status,
    pub reasons: Vec<Reason>,
    /// Names that its execution used, each with the step (by place) that wrote it; sorted by those.
    pub used: Used,
    /// The same for files.
    pub used_files: Used,
}

/// What a step used and whom it had it from, by place. A list: there are few for a step, and many steps.
pub(super) type Used = Vec<(usize, Name)>;

/// The files as they are.
pub(super) trait Disk {
    /// Whether `content` is at `path` now; `None` where that can't be told cheaply.
    fn holds(&self, path: &str, content: &FileContent) -> Option<bool>;

    /// What there is in place of a package, in words, if it is another.
    fn replaced(&self, package: &Package) -> Option<String> {
        let _ = package;
        None
    }

    /// Digest of the answer that is kept of a call.
    fn kept(&self, call: &Digest) -> Option<Digest>;
}

/// What a name holds at a point of the walk.
#[derive(Debug, Clone, Copy)]
enum Slot {
    /// A digest, or nothing, left by the step at this place.
    Known { digest: Option<Digest>, by: usize },
    /// The step at this place may change it.
    Unsure { by: usize },
    /// Hidden state as it was before the first step, by the first record that read it.
    Initial { digest: Option<Digest> },
}

/// What is at a path at a point of the walk.
#[derive(Debug, Clone)]
enum FileSlot<'a> {
    Known { content: &'a FileContent, by: usize },
    Unsure { by: usize },
}

/// How every step of the run stands, in order.
pub(super) fn judge(subjects: &[Subject<'_>], on_error: OnError, disk: &dyn Disk) -> Vec<Verdict> {
    let mut walk = Walk::new(subjects, on_error, disk);
    (0..subjects.len()).for_each(|place| walk.step(place));
    walk.verdicts
}

struct Walk<'a> {
    subjects: &'a [Subject<'a>],
    on_error: OnError,
    disk: &'a dyn Disk,
    names: HashMap<&'a str, Slot>,
    files: HashMap<&'a str, FileSlot<'a>>,
    /// For each path that records write: what was there before the first, and the place of the last.
    written: HashMap<&'a str, (&'a FileContent, usize)>,
    /// The first step whose text may write anything and that must be checked.
    fog: Option<usize>,
    /// The failed step at which the run stopped.
    stopped: Option<usize>,
    verdicts: Vec<Verdict>,
}

impl<'a> Walk<'a> {
    fn new(subjects: &'a [Subject<'a>], on_error: OnError, disk: &'a dyn Disk) -> Self {
        let mut written: HashMap<&str, (&FileContent, usize)> = HashMap::default();
        for (place, subject) in subjects.iter().enumerate() {
            let Some(held) = &subject.held else { continue };
            for (path, write) in &held.execution.observation.files_written {
                written.entry(path).and_modify(|entry| entry.1 = place).or_insert((&write.before, place));
            }
        }
        Self {
            subjects,
            on_error,
            disk,
            names: HashMap::default(),
            files: HashMap::default(),
            written,
            fog: None,
            stopped: None,
            verdicts: Vec::with_capacity(subjects.len()),
        }
    }

    fn step(&mut self, place: usize) {
        let subjects = self.subjects;
        let Some(subject) = subjects.get(place) else { return };
        let (mut used, mut used_files) = (Used::new(), Used::new());
        let mut reasons = Reasons::default();
        let held = subject.held.filter(|held| held.execution.outcome != Outcome::Recorded);
        let same_text = held.is_some_and(|held| held.source == subject.source);
        match held {
            None => reasons.first(Reason::NeverRun),
            Some(_) if !same_text => reasons.first(Reason::SourceChanged),
            Some(held) => {
                self.compare_names(held.execution, &mut reasons, &mut used);
                self.compare_files(held.execution, &mut reasons, &mut used_files);
                self.compare_calls(held.execution, &mut reasons);
                let mut packages = held.execution.observation.packages.iter();
                if let Some(what) = packages.find_map(|package| self.disk.replaced(package)) {
                    reasons.push(Reason::InterpreterChanged { what });
                }
            }
        }
        if subject.marked {
            reasons.first(Reason::Invalidated);
        }
        if !same_text {
            self.look_up_text(subject, &mut reasons, &mut used);
        }
        for need in subject.needs {
            if let Some(other) = self.place_before(need, place)
                && self.verdicts.get(other).is_some_and(|verdict| !is_settled(verdict.status))
            {
                reasons.upstream(other, None);
            }
        }
        let (status, reasons) = self.verdict(place, subject, held, reasons);
        match (status, held) {
            (Status::Fresh, Some(held)) => self.apply(place, held.execution),
            (Status::Failed, Some(held)) => {
                match self.on_error {
                    // Its changes were undone.
                    OnError::Block => {}
                    OnError::Continue => self.apply(place, held.execution),
                    OnError::Stop => self.stopped = Some(place),
                };
            }
            (Status::Blocked, _) => {}
            _ => self.unsettle(place, subject, held),
        }
        for used in [&mut used, &mut used_files] {
            used.sort_by_key(|(by, _)| *by);
        }
        self.verdicts.push(Verdict { status, reasons, used, used_files });
    }

    fn verdict(
        &self,
        place: usize,
        subject: &Subject<'_>,
        held: Option<Held<'_>>,
        reasons: Reasons,
    ) -> (Status, Vec<Reason>) {
        if let Some(at) = self.stopped {
            let at = self.subjects.get(at).unwrap_or(subject).id.clone();
            return (Status::Blocked, vec![Reason::Stopped { at }]);
        }
        if !subject.marked
            && let Some((reason, text)) = subject.blocked
            && text == subject.source
            && self.still_blocks(reason, place)
        {
            return (Status::Blocked, vec![reason.clone()]);
        }
        let reasons = reasons.finish(self.subjects);
        let status = match held {
            None => Status::Never,
            Some(_) if !reasons.is_empty() => Status::Stale,
            Some(held) if held.execution.outcome == Outcome::Done => Status::Fresh,
            Some(held) if held.execution.outcome == Outcome::Failed => Status::Failed,
            Some(_) => Status::Stale,
        };
        (status, reasons)
    }

    /// The place of a step that stands before another.
    fn place_before(&self, step: &StepId, place: usize) -> Option<usize> {
        self.subjects.get(..place)?.binary_search_by(|subject| subject.id.cmp(step)).ok()
    }

    /// Whether what stood in a step's way still stands there.
    fn still_blocks(&self, reason: &Reason, place: usize) -> bool {
        let Reason::BlockedBy { step, .. } = reason else { return false };
        self.place_before(step, place)
            .and_then(|other| self.verdicts.get(other))
            .is_some_and(|verdict| matches!(verdict.status, Status::Failed | Status::Blocked))
    }

    fn compare_names(
        &mut self,
        execution: &'a Execution,
        reasons: &mut Reasons,
        used: &mut Used,
    ) {
        for (name, &digest) in &execution.observation.reads {
            match self.slot(name) {
                Some(Slot::Unsure { by }) => {
                    reasons.upstream(by, Some(name.clone()));
                    used.push((by, name.clone()));
                }
                Some(Slot::Known { digest: now, by }) => {
                    if now != digest {
                        reasons.changed(name.clone());
                    }
                    if now.is_some() {
                        used.push((by, name.clone()));
                    }
                }
                Some(Slot::Initial { digest: now }) if now != digest => reasons.hidden(name),
                Some(Slot::Initial { .. }) => {}
                None if name.starts_with('@') => {
                    self.names.insert(name, Slot::Initial { digest });
                }
                None => {
                    if digest.is_some() {
                        reasons.changed(name.clone());
                    }
                }
            }
        }
        if let Some(seen) = &execution.observation.saw_names {
            let mut there: Vec<&str> = self
                .names
                .iter()
                .filter(|(name, slot)| {
                    !name.starts_with('@') && !matches!(slot, Slot::Known { digest: None, .. } | Slot::Initial { .. })
                })
                .map(|(name, _)| *name)
                .collect();
            there.sort_unstable();
            let mut seen: Vec<&str> = seen.iter().map(|name| &**name).filter(|name| !name.starts_with('@')).collect();
            seen.sort_unstable();
            if there != seen {
                let differ = |left: &[&str], right: &[&str]| -> Vec<Name> {
                    left.iter()
                        .filter(|name| right.binary_search(name).is_err())
                        .map(|name| Name::from(*name))
                        .collect()
                };
                let mut names = differ(&there, &seen);
                names.extend(differ(&seen, &there));
                names.into_iter().for_each(|name| reasons.changed(name));
            }
        }
    }

    /// What a name holds here, taking into account a step before that may have written anything.
    fn slot(&self, name: &str) -> Option<Slot> {
        let slot = self.names.get(name).copied();
        match (self.fog, slot) {
            (Some(by), None) => Some(Slot::Unsure { by }),
            (Some(fog), Some(Slot::Known { by, .. })) if by < fog => Some(Slot::Unsure { by: fog }),
            (Some(by), Some(Slot::Initial { .. })) => Some(Slot::Unsure { by }),
            (_, slot) => slot,
        }
    }

    fn compare_files(&self, execution: &'a Execution, reasons: &mut Reasons, used: &mut Used) {
        for (path, content) in &execution.observation.files_read {
            let last = self.written.get(path.as_str());
            let same = match self.files.get(path.as_str()) {
                Some(FileSlot::Unsure { by }) => {
                    reasons.upstream(*by, Some(Name::from(path.as_str())));
                    used.push((*by, Name::from(path.as_str())));
                    continue;
                }
                Some(FileSlot::Known { content: now, by }) => {
                    used.push((*by, Name::from(path.as_str())));
                    // What the last step left may have been changed from outside since.
                    let untouched =
                        last.is_none_or(|(_, last)| last != by) || self.disk.holds(path, now) != Some(false);
                    untouched && agrees(content, now)
                }
                // A later step writes it, so what was there at the start is no longer on the disk.
                None if last.is_some() => last.is_none_or(|(before, _)| agrees(content, before)),
                None => self.disk.holds(path, content) != Some(false),
            };
            if !same {
                reasons.push(Reason::FileChanged { path: path.clone() });
            }
        }
    }

    fn compare_calls(&self, execution: &Execution, reasons: &mut Reasons) {
        for frame in &execution.observation.calls {
            if frame.rounds.iter().any(|round| self.disk.kept(&round.key) != Some(round.answer)) {
                reasons.push(Reason::AmbientChanged { what: format!("the answer of {}", frame.name) });
            }
        }
    }

    /// For a text that has no record yet: whom it needs, as far as the text says.
    fn look_up_text(&self, subject: &Subject<'_>, reasons: &mut Reasons, used: &mut Used) {
        for name in subject.reads {
            match self.slot(name) {
                Some(Slot::Unsure { by }) => {
                    // For a step that has to run anyway, only its own reason is worth telling.
                    if reasons.own.is_empty() {
                        reasons.upstream(by, Some(name.clone()));
                    }
                    used.push((by, name.clone()));
                }
                Some(Slot::Known { digest: Some(_), by }) => used.push((by, name.clone())),
                _ => {}
            }
        }
    }

    /// The record holds: what it wrote is what is there after it.
    fn apply(&mut self, place: usize, execution: &'a Execution) {
        for (name, written) in &execution.observation.writes {
            let digest = written.as_ref().map(|written| written.digest);
            self.names.insert(name, Slot::Known { digest, by: place });
        }
        for (path, write) in &execution.observation.files_written {
            self.files.insert(path, FileSlot::Known { content: &write.after, by: place });
        }
    }

    /// The record may not hold: what it wrote, and what the text may write, is unsure after it.
    fn unsettle(&mut self, place: usize, subject: &'a Subject<'a>, held: Option<Held<'a>>) {
        for name in subject.writes {
            self.names.insert(name, Slot::Unsure { by: place });
        }
        if let Some(held) = held {
            for name in held.execution.observation.writes.keys() {
                self.names.insert(name, Slot::Unsure { by: place });
            }
            for path in held.execution.observation.files_written.keys() {
                self.files.insert(path, FileSlot::Unsure { by: place });
            }
        }
        if subject.opaque {
            self.fog = Some(place);
        }
    }
}

/// Whether a step's result is decided: nothing has to be done for it.
fn is_settled(status: Status) -> bool {
    matches!(status, Status::Fresh | Status::Failed | Status::Blocked)
}

/// Whether what was seen at a path is what is there.
fn agrees(seen: &FileContent, there: &FileContent) -> bool {
    match (seen, there) {
        (FileContent::Present, FileContent::Absent) => false,
        (FileContent::Present, _) => true,
        (seen, there) => seen == there,
    }
}

/// Reasons as they are found: those of the step itself first, then one for each step that it waits for.
#[derive(Debug, Default)]
struct Reasons {
    own: Vec<Reason>,
    changed: Vec<Name>,
    upstream: BTreeMap<usize, Vec<Name>>,
}

impl Reasons {
    fn first(&mut self, reason: Reason) {
        self.own.insert(0, reason);
    }

    fn push(&mut self, reason: Reason) {
        self.own.push(reason);
    }

    fn upstream(&mut self, by: usize, name: Option<Name>) {
        self.upstream.entry(by).or_default().extend(name);
    }

    fn changed(&mut self, name: Name) {
        match name.strip_prefix('@') {
            Some(_) => self.hidden(&name),
            None => self.changed.push(name),
        }
    }

    fn hidden(&mut self, name: &str) {
        self.own.push(Reason::AmbientChanged { what: name.trim_start_matches('@').to_owned() });
    }

    fn finish(self, subjects: &[Subject<'_>]) -> Vec<Reason> {
        let mut reasons = self.own;
        if !self.changed.is_empty() {
            reasons.push(Reason::ValueChanged { names: self.changed });
        }
        for (by, names) in self.upstream {
            if let Some(subject) = subjects.get(by) {
                reasons.push(Reason::Upstream { step: subject.id.clone(), names });
            }
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
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

    fn file(content: &str) -> FileContent {
        FileContent::File { digest: Digest::of(content) }
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
                        Some(Written { digest, members: vec![Name::from(*name)], refs: Vec::new(), uncarryable: None }),
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
        let subjects: Vec<_> = made
            .iter()
            .map(|step| Subject {
                id: &step.id,
                source: step.source,
                held: step.execution.as_ref().map(|execution| Held { execution, source: Digest::of(step.id.as_str()) }),
                marked: step.marked,
                blocked: step.blocked.as_ref().map(|(reason, text)| (reason, *text)),
                reads: &step.reads,
                writes: &step.writes,
                needs: &[],
                opaque: step.opaque,
            })
            .collect();
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
}
