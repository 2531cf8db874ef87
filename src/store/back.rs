//! The run, or a step of it, as it stood at a moment: as a change to look at, make, and undo like any other.

use std::collections::{BTreeMap, BTreeSet};

use super::query::Moment;
use super::{Change, Reader, StoreError};
use crate::step::{Digest, StepId};

impl Reader {
    /// What would have to change for `step` (for the whole run, if `None`) to stand as it did at `moment`: texts
    /// that are another now, steps that are gone, steps that were not there yet, and steps under the ids that they
    /// had then. Empty where nothing would change. [`crate::store::Store::carry_out`] does it.
    ///
    /// `path_of` says where a step's file is, or was.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Change, Store};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let (a, b): (StepId, StepId) = ("a".parse().unwrap(), "b".parse().unwrap());
    /// let by = Provenance::new(Author::Person, 1_000);
    /// store.record_version(&a, b"x = 1", &by)?;
    /// let then = store.now()?;
    /// store.record_version(&a, b"x = 2", &by)?;
    /// store.record_version(&b, b"y = 1", &by)?;
    /// let change = |path: &str, step: &StepId, before: &str, after: Option<&str>| Change {
    ///     path: path.into(),
    ///     step: Some(step.clone()),
    ///     before: Some(before.into()),
    ///     after: after.map(Into::into),
    /// };
    /// let back = store.changes_back_to(&then, None, |step| format!("{step}.py"))?;
    /// assert_eq!(back, [change("a.py", &a, "x = 2", Some("x = 1")), change("b.py", &b, "y = 1", None)]);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such moment, or when `step` neither stood then nor stands now;
    /// [`StoreError::Refused`] when another step stands now under the id that it had.
    pub fn changes_back_to(
        &self,
        moment: &Moment,
        step: Option<&StepId>,
        path_of: impl Fn(&StepId) -> String,
    ) -> Result<Vec<Change>, StoreError> {
        let _now = self.snapshot()?;
        let then = self.cut(self.seq_of(moment)?)?;
        let now = self.cut(None)?;
        // A step is followed through its names: those of its line are meant.
        let lines: Option<BTreeSet<i64>> = step.map(|step| {
            let named = |side: &[super::query::CutStep]| side.iter().find(|row| row.step == *step).map(|row| row.line);
            named(&now).or_else(|| named(&then)).into_iter().collect()
        });
        if let (Some(step), Some(lines)) = (step, &lines)
            && lines.is_empty()
        {
            return Err(StoreError::missing(format!("step {step}, now or at {moment}")));
        }
        let meant = |row: &&super::query::CutStep| lines.as_ref().is_none_or(|lines| lines.contains(&row.line));
        let mut sides: BTreeMap<&StepId, (Option<Digest>, Option<Digest>)> = BTreeMap::new();
        for row in now.iter().filter(meant) {
            sides.entry(&row.step).or_default().0 = Some(row.source);
        }
        for row in then.iter().filter(meant) {
            sides.entry(&row.step).or_default().1 = Some(row.source);
        }
        if let Some(other) = now.iter().find(|row| !meant(row) && sides.contains_key(&row.step)) {
            let why = format!("{} is another step now; rename it first", other.step);
            return Err(StoreError::Refused { why });
        }
        sides
            .into_iter()
            .filter(|(_, (before, after))| before != after)
            .map(|(step, (before, after))| {
                let text = |digest: Option<Digest>| digest.map(|digest| self.get_blob_now(&digest)).transpose();
                Ok(Change { path: path_of(step), step: Some(step.clone()), before: text(before)?, after: text(after)? })
            })
            .collect()
    }
}
