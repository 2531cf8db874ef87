//! What was recorded elsewhere and is brought in.

use super::writer::Durability;
use super::{Arrival, Proposal, Store, StoreError};
use crate::step::{Digest, Execution, Provenance, StepId, VersionNumber};

impl Store {
    /// Records a step of an import: its text and, where there is one, what was recorded of it, whose version is
    /// set to the one that the text gets.
    ///
    /// Unlike [`Store::record_version`] this does not wait for the disk: an import that a power cut takes back
    /// can be done again.
    ///
    /// # Errors
    /// When it could not be committed; then nothing of it was.
    pub fn import_step(
        &self,
        step: &StepId,
        text: &[u8],
        provenance: &Provenance,
        recorded: Option<Execution>,
    ) -> Result<VersionNumber, StoreError> {
        let (step, text, provenance) = (step.clone(), text.to_vec(), provenance.clone());
        self.submit(Durability::Normal, move |write| {
            let version = write.version(&step, Some((&Digest::of(&text), &text)), &provenance)?;
            if let Some(mut execution) = recorded {
                execution.version = version;
                write.execution(&execution)?;
            }
            Ok(version)
        })
        .wait()
    }

    /// Keeps a patch of an import, in the state that it had there. As [`Store::import_step`], it does not wait
    /// for the disk.
    ///
    /// # Errors
    /// When it could not be committed.
    pub fn import_patch(&self, proposal: &Proposal) -> Result<Arrival, StoreError> {
        let proposal = proposal.clone();
        self.submit(Durability::Normal, move |write| write.patch(&proposal)).wait()
    }
}
