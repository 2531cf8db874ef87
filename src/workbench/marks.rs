//! How each step stands, from what is recorded alone: no process is asked.
//!
//! The engine decides what may be kept, with the truth before its eyes. These marks say the same as far as the
//! record and a look at the sources can tell, within a blink of a change: a step that they call fresh was
//! found to hold for exactly these sources, names and files; a stale one must be checked, for the reasons
//! given.
//!
//! # Architecture
//!
//! - [`Course`]: the run as it is looked at: a [`Subject`] for each step, and the [`Disk`].
//! - [`Marks`]: a [`Verdict`] for each step. [`Marks::judge`] walks over the run in order: each step's recorded reads are
//!   compared with what the steps before it leave, by their own records, or leave unsure. [`Marks::renew`] comes to the
//!   same from the marks before, by way of the steps that changed and those alone that look at what these leave.
//! - `index.rs`: who leaves a name, and who looks at it.

mod files;
mod index;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;

pub(super) use self::files::directory;
use self::index::Index;

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
    /// The time limit of its own.
    pub timeout: Option<Duration>,
}

/// An execution that held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'a> {
    pub execution: &'a Execution,
    /// Digest of the text that was executed.
    pub source: Digest,
}

impl Held<'_> {
    /// The paths that it wrote.
    fn written(&self) -> impl Iterator<Item = Name> + use<'_> {
        self.execution.observation.files_written.keys().map(|path| path.as_str().into())
    }
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

    /// What was at `path` before any step changed it; `None` where that is not known, or no step did.
    fn start(&self, path: &str) -> Option<FileContent> {
        let _ = path;
        None
    }

    /// The paths that steps changed, also such that are gone, as far as that is known.
    fn changed(&self) -> Vec<Name> {
        Vec::new()
    }

    /// What there is in a directory, where `itself` is there for a step, if that is known, and some of what is in it is not,
    /// or more is: by name, `but` tells so. `None` where that can't be told.
    fn listing(
        &self,
        path: &str,
        itself: Option<&FileContent>,
        but: Vec<(String, FileContent)>,
    ) -> Option<FileContent> {
        let _ = (path, itself, but);
        None
    }

    /// What there is in place of a package, in words, if it is another.
    fn replaced(&self, package: &Package) -> Option<String> {
        let _ = package;
        None
    }

    /// What of an execution's surroundings is another now; `timeout` is the step's own.
    fn surroundings(&self, execution: &Execution, timeout: Option<Duration>) -> Option<Reason> {
        let _ = (execution, timeout);
        None
    }

    /// Digest of the answer that is kept of a call.
    fn kept(&self, call: &Digest) -> Option<Digest>;
}

/// The run as it is looked at.
pub(super) struct Course<'a> {
    /// How many steps.
    pub len: usize,
    /// The step at a place.
    pub subject: &'a dyn Fn(usize) -> Option<Subject<'a>>,
    /// The place of a step.
    pub place: &'a dyn Fn(&StepId) -> Option<usize>,
    pub on_error: OnError,
    pub disk: &'a dyn Disk,
}

/// How every step of a run stands, in order.
pub(super) fn judge(subjects: &[Subject<'_>], on_error: OnError, disk: &dyn Disk) -> Vec<Verdict> {
    let mut marks = Marks::default();
    marks.judge(&Course {
        len: subjects.len(),
        subject: &|place| subjects.get(place).cloned(),
        place: &|step| subjects.binary_search_by(|subject| subject.id.cmp(step)).ok(),
        on_error,
        disk,
    });
    marks.verdicts
}

/// How the steps of a run stand, with what it takes to tell it again when some of them changed.
#[derive(Debug, Default)]
pub(super) struct Marks {
    verdicts: Vec<Verdict>,
    traces: Vec<Trace>,
    /// By names: who leaves them, and who looks at them.
    names: Index,
    /// The same for files, by path.
    files: Index,
    /// For each path that records write, whether or not they hold: the places of their steps.
    written: HashMap<Name, BTreeSet<usize>>,
    /// Hidden state as it was before the first step, by the first record that read it.
    first: HashMap<Name, (usize, Option<Digest>)>,
    /// Steps whose text may write anything and that must be checked.
    fog: BTreeSet<usize>,
    /// Steps that must be looked at whatever changed: what they depend on is not told by names.
    restless: BTreeSet<usize>,
    /// The failed step at which the run stopped.
    stopped: Option<usize>,
    /// What the step that was looked at last found of hidden state.
    found: Hidden,
}

/// What a step leaves and looks at, as it stands.
#[derive(Debug, Default, PartialEq)]
struct Trace {
    /// Whether what it leaves is what its record says; it is unsure otherwise.
    holds: bool,
    names: Vec<Name>,
    files: Vec<Name>,
    /// Names that it looks at, but for hidden state.
    reads: Vec<Name>,
    /// Of hidden state, what its record says that it found, by name.
    hidden: Hidden,
    files_read: Vec<Name>,
    /// Paths that its record writes, whether or not it holds.
    written: Vec<Name>,
    fog: bool,
    restless: bool,
}

/// What was found of hidden state. Most steps of a run find the same, so they share it.
type Hidden = Arc<[(Name, Option<Digest>)]>;

impl Trace {
    /// All names that it looks at.
    fn looks(&self) -> impl Iterator<Item = &Name> + Clone {
        self.hidden.iter().map(|(name, _)| name).chain(&self.reads)
    }

    /// What its record says that it found of hidden state under a name, if that was asked for.
    fn found(&self, name: &Name) -> Option<Option<Digest>> {
        let at = self.hidden.binary_search_by(|(other, _)| other.cmp(name)).ok()?;
        self.hidden.get(at).map(|(_, digest)| *digest)
    }
}

/// What a name holds at a point of the run.
#[derive(Debug, Clone, Copy)]
enum Slot {
    /// A digest, or nothing, left by the step at this place.
    Known { digest: Option<Digest>, by: usize },
    /// The step at this place may change it.
    Unsure { by: usize },
    /// Hidden state as it was before the first step.
    Initial { digest: Option<Digest> },
}

impl Marks {
    /// How the steps stand.
    pub(super) fn verdicts(&self) -> &[Verdict] {
        &self.verdicts
    }

    /// Looks at every step.
    pub(super) fn judge(&mut self, course: &Course<'_>) {
        *self = Self::default();
        self.verdicts.reserve(course.len);
        self.traces.reserve(course.len);
        for place in 0..course.len {
            let subject = (course.subject)(place);
            for path in subject.iter().filter_map(|subject| subject.held.as_ref()).flat_map(|held| held.written()) {
                self.written.entry(path).or_default().insert(place);
            }
        }
        for place in 0..course.len {
            let Some(subject) = (course.subject)(place) else { return };
            let (verdict, trace) = self.look_and_share(course, place, &subject);
            self.names.put(place, &trace.names, trace.looks());
            self.files.put(place, &trace.files, &trace.files_read);
            for (name, digest) in trace.hidden.iter() {
                self.first.entry(name.clone()).or_insert((place, *digest));
            }
            self.settle(place, &verdict, &trace, course.on_error);
            self.verdicts.push(verdict);
            self.traces.push(trace);
        }
    }

    /// Looks again at the steps at these places, at those that may stand otherwise because of them, and at those that
    /// depend on more than steps. Gives the places that stand otherwise, or for other reasons.
    pub(super) fn renew(&mut self, course: &Course<'_>, changed: &BTreeSet<usize>) -> BTreeSet<usize> {
        if course.len != self.verdicts.len() || course.on_error == OnError::Stop {
            // Where a failure stops the run, it stops it for all.
            let before = std::mem::take(&mut self.verdicts);
            self.judge(course);
            return (0..course.len).filter(|place| before.get(*place) != self.verdicts.get(*place)).collect();
        }
        let mut queue: BTreeSet<usize> = changed.union(&self.restless).copied().collect();
        let mut other = BTreeSet::new();
        // What earlier steps find at a path depends on who writes it later.
        for &place in changed {
            let subject = (course.subject)(place);
            let new: Vec<Name> =
                subject.and_then(|subject| subject.held).map(|held| held.written().collect()).unwrap_or_default();
            let old = self.traces.get(place).map(|trace| trace.written.clone()).unwrap_or_default();
            for path in old.iter().chain(&new) {
                queue.extend(self.files.lookers(path));
            }
            for path in old {
                self.written.entry(path).or_default().remove(&place);
            }
            for path in new {
                self.written.entry(path).or_default().insert(place);
            }
        }
        while let Some(place) = queue.pop_first() {
            let Some(subject) = (course.subject)(place) else { continue };
            let (verdict, trace) = self.look_and_share(course, place, &subject);
            self.follow(place, &trace, changed.contains(&place), &mut queue);
            self.settle(place, &verdict, &trace, course.on_error);
            if let Some(slot) = self.traces.get_mut(place) {
                *slot = trace;
            }
            if let Some(slot) = self.verdicts.get_mut(place).filter(|slot| **slot != verdict) {
                *slot = verdict;
                other.insert(place);
            }
        }
        other
    }

    /// Notes what a step that was looked at means for all after it.
    fn settle(&mut self, place: usize, verdict: &Verdict, trace: &Trace, on_error: OnError) {
        for (set, is) in [(&mut self.fog, trace.fog), (&mut self.restless, trace.restless)] {
            if is {
                set.insert(place);
            } else {
                set.remove(&place);
            }
        }
        if on_error == OnError::Stop && verdict.status == Status::Failed && self.stopped.is_none() {
            self.stopped = Some(place);
        }
    }

    /// Takes what a step leaves and looks at now in the place of what it did, and queues who may stand otherwise for it.
    /// `changed` says that its record may be another, so that the same names may hold other values.
    fn follow(&mut self, place: usize, trace: &Trace, changed: bool, queue: &mut BTreeSet<usize>) {
        let Some(old) = self.traces.get(place) else { return };
        if old.fog != trace.fog {
            queue.extend(place + 1..self.traces.len());
        }
        let all = changed || old.holds != trace.holds;
        for (index, before, now) in
            [(&mut self.names, &old.names, &trace.names), (&mut self.files, &old.files, &trace.files)]
        {
            if all || before != now {
                for name in before.iter().filter(|name| all || !now.contains(name)) {
                    index.queue_lookers(name, place, queue);
                }
                for name in now.iter().filter(|name| all || !before.contains(name)) {
                    index.queue_lookers(name, place, queue);
                }
                index.leaves(place, before, now);
            }
        }
        self.names.looks(place, old.looks(), trace.looks());
        self.files.looks(place, &old.files_read, &trace.files_read);
        if old.hidden == trace.hidden {
            return;
        }
        // Another step may be the first now that says what there was at the beginning.
        let hidden: BTreeSet<Name> =
            old.hidden.iter().chain(trace.hidden.iter()).map(|(name, _)| name.clone()).collect();
        for name in hidden {
            let own = trace.found(&name).map(|digest| (place, digest));
            let others = self
                .names
                .lookers(&name)
                .filter(|other| *other != place)
                .filter_map(|other| Some((other, self.traces.get(other)?.found(&name)?)));
            let first = others.chain(own).min_by_key(|(place, _)| *place);
            let before = self.first.get(&name).copied();
            if before == first {
                continue;
            }
            queue.extend(self.names.lookers(&name).filter(|other| *other > place));
            match first {
                Some(first) => self.first.insert(name, first),
                None => self.first.remove(&name),
            };
        }
    }

    fn look_and_share(&mut self, course: &Course<'_>, place: usize, subject: &Subject<'_>) -> (Verdict, Trace) {
        let (verdict, mut trace) = self.look(course, place, subject);
        if trace.hidden == self.found {
            trace.hidden = Arc::clone(&self.found);
        } else {
            self.found = Arc::clone(&trace.hidden);
        }
        (verdict, trace)
    }

    /// How a step stands, and what it leaves and looks at.
    fn look(&self, course: &Course<'_>, place: usize, subject: &Subject<'_>) -> (Verdict, Trace) {
        let (mut used, mut used_files) = (Used::new(), Used::new());
        let mut reasons = Reasons::default();
        let held = subject.held.filter(|held| held.execution.outcome != Outcome::Recorded);
        let same_text = held.is_some_and(|held| held.source == subject.source);
        let step = At { marks: self, course, place };
        match held {
            None => reasons.first(Reason::NeverRun),
            Some(_) if !same_text => reasons.first(Reason::SourceChanged),
            Some(held) => {
                if held.execution.observation.called.as_ref().is_some_and(|called| called != subject.id) {
                    reasons.push(Reason::AmbientChanged { what: "what the step is called".into() });
                }
                step.compare_names(held.execution, &mut reasons, &mut used);
                step.compare_files(held.execution, &mut reasons, &mut used_files);
                step.compare_calls(held.execution, &mut reasons);
                let mut packages = held.execution.observation.packages.iter();
                if let Some(what) = packages.find_map(|package| course.disk.replaced(package)) {
                    reasons.push(Reason::InterpreterChanged { what });
                }
                if let Some(reason) = course.disk.surroundings(held.execution, subject.timeout) {
                    reasons.push(reason);
                }
            }
        }
        if subject.marked {
            reasons.first(Reason::Invalidated);
        }
        if !same_text {
            step.look_up_text(subject, &mut reasons, &mut used);
        }
        for need in subject.needs {
            if let Some(other) = step.place_before(need)
                && self.verdicts.get(other).is_some_and(|verdict| !is_settled(verdict.status))
            {
                reasons.upstream(other, None);
            }
        }
        let (status, reasons) = step.verdict(subject, held, reasons);
        for used in [&mut used, &mut used_files] {
            used.sort_by_key(|(by, _)| *by);
        }
        let trace = trace(subject, held, same_text, status, course.on_error);
        (Verdict { status, reasons, used, used_files }, trace)
    }

    /// What a name holds just before a step, taking into account one that may have written anything.
    fn slot(&self, course: &Course<'_>, name: &str, place: usize) -> Option<Slot> {
        let found = match self.names.before(name, place) {
            Some(by) if self.traces.get(by).is_some_and(|trace| trace.holds) => {
                let left = (course.subject)(by).and_then(|subject| subject.held);
                let written = left.and_then(|held| held.execution.observation.writes.get(name));
                Some(Slot::Known { digest: written.and_then(Option::as_ref).map(|written| written.digest), by })
            }
            Some(by) => Some(Slot::Unsure { by }),
            None if name.starts_with('@') => {
                let first = self.first.get(name).filter(|(first, _)| *first < place);
                first.map(|(_, digest)| Slot::Initial { digest: *digest })
            }
            None => None,
        };
        match (self.fog.range(..place).next_back(), found) {
            (Some(&by), None | Some(Slot::Initial { .. })) => Some(Slot::Unsure { by }),
            (Some(&fog), Some(Slot::Known { by, .. })) if by < fog => Some(Slot::Unsure { by: fog }),
            (_, found) => found,
        }
    }
}

/// What a step that stands like this leaves and looks at.
fn trace(subject: &Subject<'_>, held: Option<Held<'_>>, same_text: bool, status: Status, on_error: OnError) -> Trace {
    let mut trace = Trace::default();
    let seen = held.map(|held| &held.execution.observation);
    trace.written = subject.held.iter().flat_map(Held::written).collect();
    match seen.filter(|_| same_text) {
        Some(seen) => {
            let is_hidden = |name: &Name| name.starts_with('@');
            trace.reads = seen.reads.keys().filter(|name| !is_hidden(name)).cloned().collect();
            let hidden = seen.reads.iter().filter(|(name, _)| is_hidden(name));
            trace.hidden = hidden.map(|(name, digest)| (name.clone(), *digest)).collect();
            trace.files_read = seen.files_read.keys().map(|path| path.as_str().into()).collect();
            trace.restless = !trace.files_read.is_empty()
                || !seen.packages.is_empty()
                || !seen.calls.is_empty()
                || seen.saw_names.is_some();
        }
        None => trace.reads = subject.reads.to_vec(),
    }
    trace.restless |= !subject.needs.is_empty() || subject.blocked.is_some();
    let leaves = match (status, held) {
        (Status::Fresh, Some(_)) => Some(true),
        // Its changes were undone, or are those of the step at which the run stopped.
        (Status::Failed, Some(_)) => (on_error == OnError::Continue).then_some(true),
        (Status::Blocked, _) => None,
        _ => Some(false),
    };
    let Some(holds) = leaves else { return trace };
    trace.holds = holds;
    trace.names = seen.iter().flat_map(|seen| seen.writes.keys()).cloned().collect();
    trace.files = seen.iter().flat_map(|seen| seen.files_written.keys()).map(|path| path.as_str().into()).collect();
    if !holds {
        // Of a record that may not hold, both it and the text say what may be written.
        trace.names.extend(subject.writes.iter().cloned());
        trace.names.sort_unstable();
        trace.names.dedup();
        trace.fog = subject.opaque;
    }
    trace
}

/// A point of the run: just before the step at a place.
struct At<'a, 'c> {
    marks: &'a Marks,
    course: &'a Course<'c>,
    place: usize,
}

impl At<'_, '_> {
    fn verdict(&self, subject: &Subject<'_>, held: Option<Held<'_>>, reasons: Reasons) -> (Status, Vec<Reason>) {
        if let Some(at) = self.marks.stopped {
            let at = (self.course.subject)(at).map_or_else(|| subject.id.clone(), |subject| subject.id.clone());
            return (Status::Blocked, vec![Reason::Stopped { at }]);
        }
        if !subject.marked
            && let Some((reason, text)) = subject.blocked
            && text == subject.source
            && self.still_blocks(reason)
        {
            return (Status::Blocked, vec![reason.clone()]);
        }
        let reasons = reasons.finish(self.course);
        let status = match held {
            None => Status::Never,
            Some(_) if !reasons.is_empty() => Status::Stale,
            Some(held) if held.execution.outcome == Outcome::Done => Status::Fresh,
            Some(held) if held.execution.outcome == Outcome::Failed => Status::Failed,
            Some(_) => Status::Stale,
        };
        (status, reasons)
    }

    /// The place of a step that stands before this one.
    fn place_before(&self, step: &StepId) -> Option<usize> {
        (self.course.place)(step).filter(|other| *other < self.place)
    }

    /// Whether what stood in a step's way still stands there.
    fn still_blocks(&self, reason: &Reason) -> bool {
        let Reason::BlockedBy { step, .. } = reason else { return false };
        self.place_before(step)
            .and_then(|other| self.marks.verdicts.get(other))
            .is_some_and(|verdict| matches!(verdict.status, Status::Failed | Status::Blocked))
    }

    fn slot(&self, name: &str) -> Option<Slot> {
        self.marks.slot(self.course, name, self.place)
    }

    fn compare_names(&self, execution: &Execution, reasons: &mut Reasons, used: &mut Used) {
        for (name, digest) in execution.observation.names_used() {
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
                // This record is the one that says what there was at the beginning.
                None if name.starts_with('@') => {}
                None => {
                    if digest.is_some() {
                        reasons.changed(name.clone());
                    }
                }
            }
        }
        if let Some(seen) = &execution.observation.saw_names {
            let mut there: Vec<&str> = self.names_there().collect();
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
            } else if execution.observation.saw_order {
                // In which order they come to be there only those tell that are as they were.
                // One that failed and whose changes were undone leaves nothing.
                let open = |trace: &Trace| !trace.holds && (trace.fog || !trace.names.is_empty());
                if let Some(by) = self.marks.traces.iter().take(self.place).position(open) {
                    reasons.upstream(by, None);
                }
            }
        }
    }

    /// The names that there are, or may be.
    fn names_there(&self) -> impl Iterator<Item = &str> {
        self.marks.names.left().map(|name| &**name).filter(|name| {
            let Some(by) = self.marks.names.before(name, self.place).filter(|_| !name.starts_with('@')) else {
                return false;
            };
            let holds = self.marks.traces.get(by).is_some_and(|trace| trace.holds);
            let held = (self.course.subject)(by).and_then(|subject| subject.held);
            // A name that was deleted is not there.
            !holds || held.is_some_and(|held| matches!(held.execution.observation.writes.get(*name), Some(Some(_))))
        })
    }

    fn compare_calls(&self, execution: &Execution, reasons: &mut Reasons) {
        for frame in &execution.observation.calls {
            if frame.rounds.iter().any(|round| self.course.disk.kept(&round.key) != Some(round.answer)) {
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
}

/// Whether a step's result is decided: nothing has to be done for it.
fn is_settled(status: Status) -> bool {
    matches!(status, Status::Fresh | Status::Failed | Status::Blocked)
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

    fn finish(self, course: &Course<'_>) -> Vec<Reason> {
        let mut reasons = self.own;
        if !self.changed.is_empty() {
            reasons.push(Reason::ValueChanged { names: self.changed });
        }
        for (by, names) in self.upstream {
            if let Some(subject) = (course.subject)(by) {
                reasons.push(Reason::Upstream { step: subject.id.clone(), names });
            }
        }
        reasons
    }
}
