//! What a workbench remembers of each step: what held, what it was before, what marks stand.
//!
//! Opening a run reads of each step only what it takes to say how it stands. What it printed and showed, and what it
//! did before that, is read when it is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Failure;
use super::book::{Book, Entry};
use super::marks::{Disk, Verdict};
use super::moment::now;
use crate::step::{
    Digest, Execution, ExecutionId, FileContent, Observation, Outcome, Reason, Status, StepId, VersionNumber,
};
use crate::store::{Hold, StoreError};

/// How many earlier executions of a step the engine is shown: an edit that is taken back finds its results
/// again, as long as it is not further away than this.
const REMEMBERED: usize = 16;

/// In a run of no more steps than this, all that is remembered is read before an update: what a mark calls fresh may
/// turn out not to hold, and then an earlier execution may.
const FEW: usize = 500;

/// Executions that printed and showed more than this are not held whole for longer than they are needed.
const LARGE: usize = 256 << 10;

/// What is remembered of a step.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The execution that held when the run last came to the step, and the text for which it held.
    pub held: Option<(Arc<Execution>, Digest)>,
    /// Why it was blocked when the run last came to it, and the text that it had.
    pub blocked: Option<(Reason, Digest)>,
    /// Why it is marked by hand.
    pub marked: Option<Reason>,
    /// Its last executions, newest first, with their numbers once the store has given them.
    pub past: Vec<(Option<ExecutionId>, Arc<Execution>)>,
    /// Whether there is an execution among them that was made elsewhere.
    pub recording: bool,
    /// How much of `past` is there.
    reach: Reach,
    /// What the store says of `held` and `blocked`.
    pub kept: Option<Hold>,
}

/// How much of a step's executions was read.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// What they used and made, not what they printed and showed.
    #[default]
    Observed,
    /// The one that holds, whole.
    Whole,
    /// As many as are remembered, whole.
    All,
}

/// The execution that holds, or held last.
#[derive(Debug, Clone)]
pub(super) enum Kept {
    /// Whole.
    Whole(Arc<Execution>),
    /// Where the store has it.
    At(ExecutionId),
}

impl Record {
    fn id_of(&self, execution: &Arc<Execution>) -> Option<ExecutionId> {
        self.past.iter().find(|(_, other)| Arc::ptr_eq(other, execution)).and_then(|(id, _)| *id)
    }

    /// The step was executed with the text of digest `text`.
    pub(super) fn executed(&mut self, execution: &Arc<Execution>, text: Digest) {
        self.past.insert(0, (None, Arc::clone(execution)));
        self.past.truncate(REMEMBERED);
        if execution.outcome != Outcome::Interrupted {
            self.marked = None;
        }
        self.kept(execution, text);
    }

    /// The step was found to hold as of `execution`, for the text of digest `text`.
    pub(super) fn kept(&mut self, execution: &Arc<Execution>, text: Digest) {
        self.blocked = None;
        self.held = Some((Arc::clone(execution), text));
        // What comes from the engine is whole.
        self.reach = self.reach.max(Reach::Whole);
    }

    /// The store has given an execution its number.
    pub(super) fn recorded(&mut self, execution: &Arc<Execution>, id: ExecutionId) {
        if let Some((known, _)) = self.past.iter_mut().find(|(_, known)| Arc::ptr_eq(known, execution)) {
            *known = Some(id);
        }
        // An execution says by itself what held, until something else does.
        self.kept = None;
    }

    /// What the store is to say: nothing where the newest execution says it by itself.
    pub(super) fn hold(&self, text_of: impl Fn(VersionNumber) -> Option<Digest>) -> Option<Hold> {
        if let Some((reason, source)) = &self.blocked {
            let execution = self.held.as_ref().and_then(|(execution, _)| self.id_of(execution));
            return Some(Hold { execution, source: *source, blocked: Some(reason.clone()) });
        }
        let (execution, source) = self.held.as_ref()?;
        let newest = self.past.first().is_some_and(|(_, newest)| Arc::ptr_eq(newest, execution));
        if newest && text_of(execution.version) == Some(*source) {
            return None;
        }
        Some(Hold { execution: Some(self.id_of(execution)?), source: *source, blocked: None })
    }

    /// Lets go of what its executions printed and showed, where that is much and the store has it.
    fn unload(&mut self) {
        let all = || self.past.iter().map(|(_, execution)| execution).chain(self.held.iter().map(|(held, _)| held));
        let large = all().any(|execution| execution.shown_bytes() > LARGE);
        let held = self.held.as_ref().map(|(execution, _)| self.id_of(execution));
        if !large || held == Some(None) || self.past.iter().any(|(id, _)| id.is_none()) {
            return;
        }
        for (id, execution) in &mut self.past {
            *execution = Arc::new(execution.unshown());
            if let Some((of, _)) = self.held.as_mut().filter(|_| held == Some(*id)) {
                *of = Arc::clone(execution);
            }
        }
        self.reach = Reach::Observed;
    }

    /// Takes whole executions in the place of those that were read in part.
    fn take(&mut self, found: Vec<(ExecutionId, Arc<Execution>)>, reach: Reach) {
        let held = self.held.as_ref().and_then(|(execution, _)| self.id_of(execution));
        for (id, execution) in found {
            if Some(id) == held
                && let Some((held, _)) = &mut self.held
            {
                *held = Arc::clone(&execution);
            }
            match self.past.iter_mut().find(|(known, _)| *known == Some(id)) {
                Some((_, known)) => *known = execution,
                None => self.past.push((Some(id), execution)),
            }
        }
        self.reach = reach;
    }
}

impl Book {
    /// Lets go of what steps printed, where that is much: it is read again where it is needed.
    pub(super) fn unload(&mut self) {
        self.records.values_mut().for_each(Record::unload);
    }

    /// The execution that holds, or held last, whole.
    pub(super) fn held(&mut self, id: &StepId) -> Option<Arc<Execution>> {
        let record = self.records.get_mut(id)?;
        let (execution, _) = record.held.as_ref()?;
        if record.reach == Reach::Observed
            && let Some(number) = record.id_of(execution)
        {
            // What can't be read now is told by what needs the rest of it.
            let whole = self.store.execution(number).ok()?;
            record.take(vec![(number, whole.execution)], Reach::Whole);
        }
        record.held.as_ref().map(|(execution, _)| Arc::clone(execution))
    }

    /// The same, to be read where it is needed.
    pub(super) fn kept_of(&self, id: &StepId) -> Option<Kept> {
        let record = self.records.get(id)?;
        let (execution, _) = record.held.as_ref()?;
        Some(match record.id_of(execution) {
            Some(id) if record.reach == Reach::Observed => Kept::At(id),
            _ => Kept::Whole(Arc::clone(execution)),
        })
    }

    /// The text for which the execution held that holds, or held last, and what that used and made.
    pub(super) fn held_for(&self, id: &StepId) -> Option<(Digest, &Observation)> {
        let (execution, text) = self.records.get(id)?.held.as_ref()?;
        Some((*text, &execution.observation))
    }

    /// The version and the length of the execution that holds, or held last.
    pub(super) fn held_in_short(&self, id: &StepId) -> Option<(VersionNumber, u64)> {
        let (execution, _) = self.records.get(id)?.held.as_ref()?;
        Some((execution.version, execution.duration_us))
    }

    /// Takes the last executions, what held, and marks from the store.
    pub(super) fn remember(&mut self) -> Result<(), StoreError> {
        let latest = self.store.latest_observed()?;
        let holds = self.store.holds()?;
        for (id, recorded) in latest {
            let text = self.text_digest(&id, recorded.execution.version)?;
            let record = self.records.entry(id).or_default();
            record.past = vec![(Some(recorded.id), Arc::clone(&recorded.execution))];
            record.held = Some((recorded.execution, text));
        }
        for step in self.store.steps_with_recordings()? {
            self.records.entry(step).or_default().recording = true;
        }
        for (step, hold) in holds {
            let record = self.records.entry(step).or_default();
            if let Some(reason) = &hold.blocked {
                record.blocked = Some((reason.clone(), hold.source));
            } else if let Some(id) = hold.execution {
                let known = record.past.iter().find(|(known, _)| *known == Some(id));
                let execution = match known {
                    Some((_, execution)) => Arc::clone(execution),
                    None => match self.store.execution(id) {
                        Ok(recorded) => {
                            record.past.push((Some(id), Arc::clone(&recorded.execution)));
                            recorded.execution
                        }
                        // It was cleared away: the step is looked at anew.
                        Err(StoreError::Missing { .. }) => continue,
                        Err(error) => return Err(error),
                    },
                };
                record.held = Some((execution, hold.source));
            }
            record.kept = Some(hold);
        }
        for (step, reason) in self.store.invalidated()? {
            self.records.entry(step).or_default().marked = Some(reason);
        }
        Ok(())
    }

    /// Reads what an update needs: of steps that stand before the first that is not fresh, the execution that holds;
    /// of the others also those before it, since one of them may hold again. `marked` are not fresh either. What fresh
    /// steps printed and showed is read only if `told`: in a long run that is most of it.
    pub(super) fn recall(&mut self, marked: &BTreeSet<StepId>, told: bool) -> Result<(), Failure> {
        let is_open =
            |(entry, verdict): (&Entry, &Verdict)| verdict.status != Status::Fresh || marked.contains(&entry.file.id);
        let first = self.steps.iter().zip(self.verdicts()).position(is_open);
        let first = first.unwrap_or_else(|| self.steps.len().min(self.verdicts().len()));
        for place in 0..self.steps.len() {
            let Some(entry) = self.steps.get(place) else { break };
            let id = entry.file.id.clone();
            let Some(record) = self.records.get_mut(&id) else { continue };
            // Where another than the newest holds, either may hold now, and each is told whole.
            let settled = place < first && self.steps.len() > FEW && record.past.len() <= 1;
            let wanted = match settled {
                true if told => Reach::Whole,
                true => Reach::Observed,
                false => Reach::All,
            };
            if record.reach >= wanted {
                continue;
            }
            let held = record.held.as_ref().and_then(|(execution, _)| record.id_of(execution));
            let found = match (wanted, held) {
                (Reach::Whole, Some(number)) => self.store.execution(number).map(|one| vec![one]),
                (Reach::Whole, None) => Ok(Vec::new()),
                _ => self.store.executions(&id, REMEMBERED),
            };
            match found {
                Ok(mut found) => {
                    // What held may be older than all of these.
                    if let Some(number) = held.filter(|held| found.iter().all(|one| one.id != *held)) {
                        found.extend(self.store.execution(number));
                    }
                    record.take(found.into_iter().map(|one| (one.id, one.execution)).collect(), wanted);
                }
                Err(error) => return Err(self.failure(error)),
            }
        }
        Ok(())
    }

    /// Keeps what a person or another program left in files that steps write: an update may overwrite it.
    pub(super) fn keep_edits(&self) -> Result<(), Failure> {
        let mut left: BTreeMap<&str, &FileContent> = BTreeMap::new();
        for entry in &self.steps {
            let held = self.records.get(&entry.file.id).and_then(|record| record.held.as_ref());
            let written = held.map(|(execution, _)| &execution.observation.files_written);
            left.extend(written.into_iter().flatten().map(|(path, write)| (path.as_str(), &write.after)));
        }
        for (path, content) in left {
            if self.files.holds(path, content) != Some(false) {
                continue;
            }
            let Some(bytes) = self.files.bytes(path) else { continue };
            // What an execution left, or was kept before, is there already.
            if self.store.has_blob(&Digest::of(&bytes)).map_err(|error| self.failure(error))? {
                continue;
            }
            let (_, kept) = self.store.keep_file(path, bytes, now());
            kept.wait().map_err(|error| self.failure(error))?;
        }
        Ok(())
    }

    /// The digest of a version's text.
    pub(super) fn text_digest(&self, id: &StepId, version: VersionNumber) -> Result<Digest, StoreError> {
        if let Some(entry) = self.step(id).filter(|entry| entry.version == version) {
            return Ok(entry.file.digest);
        }
        Ok(self.store.version(id, version)?.source)
    }
}
