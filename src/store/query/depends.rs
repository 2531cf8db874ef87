//! What depends on a step, and what a step depends on, by what executions were seen to read and write.

use foldhash::{HashMap, HashSet};

use super::Moment;
use super::cut::CutStep;
use crate::step::StepId;
use crate::store::names::{Subject, name_id};
use crate::store::{Reader, StoreError};

/// A step that would have to be looked at if another gave something else.
#[derive(Debug, Clone, PartialEq)]
pub struct Affected {
    /// Which.
    pub step: StepId,
    /// Whose values it read: the step asked about, or one that is affected itself.
    pub because: StepId,
    /// The names and files that it read from affected steps.
    pub subjects: Vec<Subject>,
}

/// A step that another needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Needed {
    /// Which.
    pub step: StepId,
    /// What of its writes is needed, directly or by a step between.
    pub subjects: Vec<Subject>,
}

impl Reader {
    /// If `step` (or only `subject` as it leaves it) were another, what else would have to be looked at? Every step
    /// that read something that it wrote, and so on, in replay order, as of the last executions.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Store, Subject};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// # fn wrote(name: &str) -> (Name, Option<Written>) {
    /// #     (name.into(), Some(Written::alone(name, Digest::of(name))))
    /// # }
    /// for (step, reads, writes) in [("1_load", "", "df"), ("2_plot", "df", "ax"), ("3_other", "", "n")] {
    ///     let step: StepId = step.parse().unwrap();
    ///     let version = store.record_version(&step, b"", &Provenance::new(Author::Person, 1))?;
    ///     let mut execution = Execution::new(step, version, 2);
    ///     execution.observation.reads.extend((!reads.is_empty()).then(|| (reads.into(), None)));
    ///     execution.observation.writes.extend([wrote(writes)]);
    ///     store.record_execution(execution.into()).wait()?;
    /// }
    /// // If this function is written anew, what else must run?
    /// let affected = store.affected_by(&"1_load".parse().unwrap(), Some(&Subject::name("df")))?;
    /// assert_eq!(affected.len(), 1);
    /// assert_eq!(affected[0].step.as_str(), "2_plot");
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such step.
    pub fn affected_by(&self, step: &StepId, subject: Option<&Subject>) -> Result<Vec<Affected>, StoreError> {
        let _now = self.snapshot()?;
        let cut = self.cut(self.seq_of(&Moment::Now)?)?;
        let (first, later) = split(&cut, step)?;
        // Names that hold something that depends on the step, with the place in `later` of the one that made it so.
        let mut tainted: HashMap<u32, Option<usize>> = HashMap::default();
        match subject {
            Some(subject) => {
                tainted.extend(name_id(self.sql_now(), subject)?.and_then(|id| Some((u32::try_from(id).ok()?, None))))
            }
            None => tainted.extend(first.run.iter().flat_map(|run| run.writes.iter().map(|name| (*name, None)))),
        }
        let mut found = Vec::new();
        for (place, row) in later.iter().enumerate() {
            let Some(run) = &row.run else { continue };
            let read: Vec<u32> = run.reads.iter().copied().filter(|name| tainted.contains_key(name)).collect();
            if let Some(cause) = read.first().and_then(|name| tainted.get(name).copied()) {
                found.push((place, cause, read));
                tainted.extend(run.writes.iter().map(|name| (*name, Some(place))));
            } else if run.stands() {
                for name in run.writes.iter() {
                    tainted.remove(name);
                }
            }
        }
        self.names_for(found.iter().map(|(.., read)| read.len()).sum())?;
        let mut answer = Vec::with_capacity(found.len());
        for (place, cause, read) in found {
            let Some(row) = later.get(place) else { continue };
            let because = cause.and_then(|place| later.get(place)).unwrap_or(first);
            answer.push(Affected {
                step: row.step.clone(),
                because: because.step.clone(),
                subjects: self.subjects(&read)?,
            });
        }
        Ok(answer)
    }

    /// What `step` needs: the steps whose writes it read, and those that they needed, in replay order, as of the
    /// last executions. With `subjects`, what is needed to have these as they stand right after `step`, which may
    /// be `step` itself.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Store, Subject};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// # fn wrote(name: &str) -> (Name, Option<Written>) {
    /// #     (name.into(), Some(Written::alone(name, Digest::of(name))))
    /// # }
    /// for (step, reads, writes) in [("1_load", "", "df"), ("2_other", "", "n"), ("3_fit", "df", "model")] {
    ///     let step: StepId = step.parse().unwrap();
    ///     let version = store.record_version(&step, b"", &Provenance::new(Author::Person, 1))?;
    ///     let mut execution = Execution::new(step, version, 2);
    ///     execution.observation.reads.extend((!reads.is_empty()).then(|| (reads.into(), None)));
    ///     execution.observation.writes.extend([wrote(writes)]);
    ///     store.record_execution(execution.into()).wait()?;
    /// }
    /// let fit: StepId = "3_fit".parse().unwrap();
    /// let steps = |needed: Vec<reweave::store::query::Needed>| needed.into_iter().map(|n| n.step.to_string()).collect::<Vec<_>>();
    /// assert_eq!(steps(store.needs(&fit, &[])?), ["1_load"]);
    /// assert_eq!(steps(store.needs(&fit, &[Subject::name("model")])?), ["1_load", "3_fit"]);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such step.
    pub fn needs(&self, step: &StepId, subjects: &[Subject]) -> Result<Vec<Needed>, StoreError> {
        let _now = self.snapshot()?;
        let cut = self.cut(self.seq_of(&Moment::Now)?)?;
        let (last, later) = split(&cut, step)?;
        let upto = cut.len() - later.len();
        let mut wanted: HashSet<u32> = HashSet::default();
        let earlier = if subjects.is_empty() {
            wanted.extend(last.run.iter().flat_map(|run| run.reads.iter().copied()));
            cut.get(..upto.saturating_sub(1)).unwrap_or_default()
        } else {
            for subject in subjects {
                wanted.extend(name_id(self.sql_now(), subject)?.and_then(|id| u32::try_from(id).ok()));
            }
            cut.get(..upto).unwrap_or_default()
        };
        let mut found = Vec::new();
        for row in earlier.iter().rev() {
            let Some(run) = row.run.as_ref().filter(|run| run.stands()) else { continue };
            let given: Vec<u32> = run.writes.iter().copied().filter(|name| wanted.contains(name)).collect();
            if given.is_empty() {
                continue;
            }
            // What it gave needs no one before it, unless it read it itself: then it is wanted again.
            for name in &given {
                wanted.remove(name);
            }
            wanted.extend(run.reads.iter().copied());
            found.push((row, given));
        }
        self.names_for(found.iter().map(|(_, given)| given.len()).sum())?;
        found
            .into_iter()
            .rev()
            .map(|(row, given)| Ok(Needed { step: row.step.clone(), subjects: self.subjects(&given)? }))
            .collect()
    }

    fn subjects(&self, ids: &[u32]) -> Result<Vec<Subject>, StoreError> {
        let mut names = self.names.borrow_mut();
        let mut subjects = ids.iter().map(|id| names.get(self.sql_now(), *id)).collect::<Result<Vec<_>, _>>()?;
        subjects.sort_unstable();
        Ok(subjects)
    }

    /// Makes ready to look up about `wanted` names.
    pub(crate) fn names_for(&self, wanted: usize) -> Result<(), StoreError> {
        if wanted < MANY_NAMES { Ok(()) } else { self.read_names_at_once() }
    }
}

/// From this many names on, reading all that the store knows is faster than asking for each.
const MANY_NAMES: usize = 2_000;

/// A step of a cut, and those after it.
fn split<'a>(cut: &'a [CutStep], step: &StepId) -> Result<(&'a CutStep, &'a [CutStep]), StoreError> {
    let at = cut.partition_point(|row| row.step < *step);
    match cut.get(at..).and_then(<[_]>::split_first) {
        Some((row, later)) if row.step == *step => Ok((row, later)),
        _ => Err(StoreError::missing(format!("step {step}"))),
    }
}
