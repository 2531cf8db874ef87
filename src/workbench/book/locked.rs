//! A locked run: once it was executed, only accepted patches change its steps, and any other change is reported.

use super::{Book, Changes, Failure, FileProblem, Level, failure, now};
use crate::step::{Provenance, StepId};

impl Book {
    /// Locks the run, or unlocks it.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(in crate::workbench) fn lock(&mut self, locked: bool) -> Result<(), Failure> {
        if locked == self.locked {
            return Ok(());
        }
        self.locked = locked;
        self.outside.clear();
        if locked {
            let steps: Vec<StepId> = self.steps.iter().map(|entry| entry.file.id.clone()).collect();
            let found = self.find_outside(&steps)?;
            let new = std::mem::take(&mut self.new_at_opening);
            self.note_outside(found.into_iter().filter(|step| new.contains(step)))?;
        }
        Ok(())
    }

    /// That steps can't be changed by hand now, where the run is locked and was executed.
    pub(in crate::workbench) fn may_be_changed(&self) -> Result<(), Failure> {
        if self.locked && self.store.first_execution().map_err(failure)?.is_some() {
            return Err(Failure {
                what: "the run is locked: only accepted patches change its steps".to_owned(),
                hint: Some("propose a patch (`reweave patch add`), or take `locked` out of [run]".to_owned()),
            });
        }
        Ok(())
    }

    /// Reports what changed by other means than a patch.
    pub(super) fn watch_lock(&mut self, changes: &Changes) -> Result<(), Failure> {
        if !self.locked {
            return Ok(());
        }
        let renamed = changes.renamed.iter().map(|(_, to)| to);
        let changed: Vec<StepId> = changes.changed.iter().chain(renamed).cloned().collect();
        let new = self.find_outside(&changed)?;
        self.note_outside(new.into_iter())?;
        if self.store.first_execution().map_err(failure)?.is_some() {
            for step in &changes.removed {
                self.outside.insert(step.clone(), "was removed though the run is locked".to_owned());
            }
        }
        Ok(())
    }

    /// It is told as a problem too: the note is for the history.
    fn note_outside(&self, steps: impl Iterator<Item = StepId>) -> Result<(), Failure> {
        for step in steps {
            let note = self.store.record_note("locked", Some(&step), "changed by other means than a patch", now());
            note.wait().map_err(failure)?;
        }
        Ok(())
    }

    /// What is to be reported of a locked run.
    pub(in crate::workbench) fn reported(&self) -> impl Iterator<Item = FileProblem> {
        self.outside.iter().map(|(step, what)| FileProblem {
            path: step.to_string(),
            what: what.clone(),
            remedy: format!("`reweave restore DIR {step} --version N` takes it back; then propose it as a patch"),
            level: Level::Warning,
        })
    }

    /// Looks which of these steps have a text that no patch brought, since the run was first executed. Gives those
    /// that were not known.
    fn find_outside(&mut self, steps: &[StepId]) -> Result<Vec<StepId>, Failure> {
        let Some(since) = self.store.first_execution().map_err(failure)? else { return Ok(Vec::new()) };
        // What reweave wrote itself says why: it was refused here, or done before the run was locked.
        let outside = |by: &Provenance| by.at > since && by.patch.is_none() && by.reason.is_none();
        let mut new = Vec::new();
        for step in steps {
            let versions = self.store.versions(step).map_err(failure)?;
            let head = versions.iter().max_by_key(|version| version.number);
            if head.is_some_and(|head| outside(&head.provenance)) && self.step(step).is_some() {
                let what = "was changed by other means than a patch though the run is locked";
                if self.outside.insert(step.clone(), what.to_owned()).is_none() {
                    new.push(step.clone());
                }
            } else {
                self.outside.remove(step);
            }
        }
        Ok(new)
    }
}
