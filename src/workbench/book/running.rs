//! What the engine is given of the run, and what it says of it taken down.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::{Book, Entry};
use crate::engine::Task;
use crate::run::StepFile;
use crate::step::{Digest, Execution, Outcome, Reason, Status, StepId};
use crate::store::StoreError;
use crate::workbench::moment::now;
use crate::workbench::{Failure, code};

/// The time limit that a step's header says.
pub(super) fn own_timeout(file: &StepFile) -> Option<Duration> {
    file.header.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

impl Book {
    /// The whole run as the engine is given it; `marked` are looked at as if they had been marked by hand.
    /// Results of steps that hold are whole only if they are to be `told`.
    pub(in crate::workbench) fn tasks(&mut self, marked: &BTreeSet<StepId>, told: bool) -> Result<Vec<Task>, Failure> {
        self.recall(marked, told)?;
        Ok(self.steps.iter().map(|entry| self.task(entry, marked.contains(&entry.file.id))).collect())
    }

    /// A step as the engine is given it. What is remembered of it was recalled before.
    pub(super) fn task(&self, entry: &Entry, marked: bool) -> Task {
        let id = &entry.file.id;
        let record = self.records.get(id);
        let held = record.and_then(|record| record.held.as_ref()).map(|(execution, _)| execution);
        let past = record.into_iter().flat_map(|record| &record.past).map(|(_, execution)| execution);
        // What held last comes first, though others may have been executed since.
        let answers = held.map(|held| held.observation.answers.clone()).unwrap_or_default();
        let holds = |execution: &&Arc<Execution>| matches!(execution.outcome, Outcome::Done | Outcome::Failed);
        let others = past.filter(|other| held.is_none_or(|held| !Arc::ptr_eq(held, other)));
        let held = held.into_iter().chain(others).filter(holds).cloned().collect();
        let forced = record.and_then(|record| record.marked.clone());
        Task {
            id: id.clone(),
            kind: entry.file.kind,
            source: code::executable(&entry.file),
            version: entry.version,
            timeout: own_timeout(&entry.file),
            produces: entry.file.header.produces.clone(),
            answers,
            held,
            forced: forced.or_else(|| marked.then_some(Reason::Invalidated)),
        }
    }

    /// A step was executed, with the text of digest `text`. It is handed to the store; [`Book::settle`] waits.
    pub(in crate::workbench) fn executed(&mut self, execution: &Arc<Execution>, text: Digest) {
        let mut written = execution.observation.files_written.keys();
        self.made_more |= written.any(|path| path.ends_with(".py") || path.ends_with(".sh"));
        let receipt = self.store.record_execution(Arc::clone(execution));
        self.receipts.push((Arc::clone(execution), receipt));
        self.records.entry(execution.step.clone()).or_default().executed(execution, text);
        self.touch(&execution.step);
    }

    /// A step was found to hold as of `execution`, for the text of digest `text`.
    pub(in crate::workbench) fn kept(&mut self, step: &StepId, execution: &Arc<Execution>, text: Digest) {
        self.records.entry(step.clone()).or_default().kept(execution, text);
        self.touch(step);
    }

    /// A step could not run.
    pub(in crate::workbench) fn blocked(&mut self, step: &StepId, why: &Reason, text: Digest) {
        self.records.entry(step.clone()).or_default().blocked = Some((why.clone(), text));
        self.touch(step);
    }

    /// Waits until all that was executed is in the store, and keeps how the steps stand now.
    pub(in crate::workbench) fn settle(&mut self) -> Result<(), Failure> {
        for (execution, receipt) in std::mem::take(&mut self.receipts) {
            let step = &execution.step;
            match receipt.wait() {
                Ok(id) => {
                    self.records.entry(step.clone()).or_default().recorded(&execution, id);
                }
                // The step went away while it ran: there is nothing left to record it under.
                Err(StoreError::Missing { .. }) => {}
                Err(error) => {
                    let hint = error.hint();
                    return Err(Failure { what: format!("the execution of {step} was not recorded: {error}"), hint });
                }
            }
        }
        if std::mem::take(&mut self.made_more) {
            self.made = self.store.made_code().map_err(|error| self.failure(error))?;
            self.take_in(false).map_err(|error| self.failure(error))?;
        }
        let mut changed = Vec::new();
        for (step, record) in &self.records {
            let text_of = |version| self.text_digest(step, version).ok();
            let hold = record.hold(text_of);
            if hold != record.kept {
                changed.push((step.clone(), hold));
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        for (step, hold) in &changed {
            if let Some(record) = self.records.get_mut(step) {
                record.kept.clone_from(hold);
            }
        }
        self.store.set_holds(changed).wait().map_err(|error| self.failure(error))
    }

    /// Marks steps by hand. The mark lasts until they are executed.
    pub(in crate::workbench) fn mark(&mut self, steps: &BTreeSet<StepId>) -> Result<(), Failure> {
        let list: Vec<StepId> = steps.iter().cloned().collect();
        self.store.set_invalidated(&list, &Reason::Invalidated, now()).map_err(|error| self.failure(error))?;
        for step in steps {
            self.records.entry(step.clone()).or_default().marked = Some(Reason::Invalidated);
            self.touch(step);
        }
        Ok(())
    }

    /// All steps that are stale because of these, and these themselves where they are not up to date.
    pub(in crate::workbench) fn following(&self, steps: &BTreeSet<StepId>) -> BTreeSet<StepId> {
        let mut found = steps.clone();
        for (entry, verdict) in self.steps.iter().zip(self.verdicts()) {
            let waits = |reason: &Reason| match reason {
                Reason::Upstream { step, .. } | Reason::BlockedBy { step, .. } => found.contains(step),
                _ => false,
            };
            if verdict.status != Status::Fresh && verdict.reasons.iter().any(waits) {
                found.insert(entry.file.id.clone());
            }
        }
        found
    }
}
