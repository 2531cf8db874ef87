//! What code and which values stood at a moment.

use foldhash::HashMap;

use super::Moment;
use super::cut::CutStep;
use crate::step::{Digest, ExecutionId, Outcome, StepId, VersionNumber};
use crate::store::names::Subject;
use crate::store::{Reader, StoreError};

/// The code and the values that stood right after a step at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The steps up to the one asked for, in the order of the run.
    pub steps: Vec<StandingStep>,
    /// Names and files with what they held, by name.
    pub values: Vec<StandingValue>,
}

/// A step as it stood.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingStep {
    /// The id that it had then.
    pub step: StepId,
    /// The version that its file held.
    pub version: VersionNumber,
    /// The digest of that text.
    pub source: Digest,
    /// Its last execution then: which, of which version, and how it ended.
    pub execution: Option<(ExecutionId, VersionNumber, Outcome)>,
}

/// A value as it stood.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingValue {
    /// Which name or file.
    pub subject: Subject,
    /// The digest of the name's component, or of the file's content.
    pub digest: Digest,
    /// The step that wrote it last.
    pub step: StepId,
    /// In which execution.
    pub execution: ExecutionId,
}

impl Reader {
    /// What code and which values stood right after `step` (after the last one, if `None`) at `moment`. Values are
    /// those that the executions up to there were seen to write; what a failed execution wrote does not count.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Store, query::Moment};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "05_fit".parse().unwrap();
    /// let by = Provenance::new(Author::Person, 1_000);
    /// store.record_version(&step, b"model = 1", &by)?;
    /// let then = store.now()?;
    /// store.record_version(&step, b"model = 2", &by)?;
    ///
    /// // What code was at step 5 then?
    /// let standing = store.at(Some(&step), &then)?;
    /// assert_eq!(store.get_blob(&standing.steps[0].source)?, b"model = 1");
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such moment, or no such step at it.
    pub fn at(&self, step: Option<&StepId>, moment: &Moment) -> Result<Standing, StoreError> {
        let _now = self.snapshot()?;
        let mut cut = self.cut(self.seq_of(moment)?)?;
        if let Some(step) = step {
            let last = cut.partition_point(|row| row.step <= *step);
            cut.truncate(last);
            if cut.last().is_none_or(|row| row.step != *step) {
                return Err(StoreError::missing(format!("step {step} at {moment}")));
            }
        }
        let held = held(&cut);
        self.names_for(held.len())?;
        let mut names = self.names.borrow_mut();
        let mut values = Vec::with_capacity(held.len());
        for (name, value) in held {
            let Some(row) = cut.get(value.place) else { continue };
            values.push(StandingValue {
                subject: names.get(self.sql_now(), name)?,
                digest: value.digest,
                step: row.step.clone(),
                execution: value.execution,
            });
        }
        values.sort_unstable_by(|a, b| a.subject.cmp(&b.subject));
        let steps = cut
            .into_iter()
            .map(|row| StandingStep {
                step: row.step,
                version: row.version,
                source: row.source,
                execution: row.run.map(|run| (run.id, run.version, run.outcome)),
            })
            .collect();
        Ok(Standing { steps, values })
    }
}

/// What a name holds, and from where.
pub(crate) struct Held {
    pub(crate) digest: Digest,
    pub(crate) execution: ExecutionId,
    /// The place of the step that wrote it.
    pub(crate) place: usize,
}

/// What each name holds after the last step of a cut.
pub(crate) fn held(cut: &[CutStep]) -> HashMap<u32, Held> {
    let mut held = HashMap::default();
    for (place, row) in cut.iter().enumerate() {
        let Some(run) = row.run.as_ref().filter(|run| run.stands()) else { continue };
        for (name, digest) in run.written() {
            match digest {
                Some(digest) => drop(held.insert(name, Held { digest, execution: run.id, place })),
                None => drop(held.remove(&name)),
            }
        }
    }
    held
}
