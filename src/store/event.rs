//! The run's one clock: everything that happens gets the next number.

use rusqlite::params;

use super::version::line;
use super::writer::{Durability, Receipt, Write};
use super::{Store, StoreError};
use crate::step::{Millis, StepId};

/// The words for kinds of events, as they are kept.
pub(crate) mod kind {
    pub(crate) const VERSION: &str = "version";
    pub(crate) const RENAMED: &str = "renamed";
    pub(crate) const EXECUTED: &str = "executed";
    pub(crate) const INVALIDATED: &str = "invalidated";
    pub(crate) const PATCH: &str = "patch";
    pub(crate) const NOTE: &str = "note";
}

impl Store {
    /// Keeps a remark on what happened that is no version, execution or patch: a policy's question and its
    /// answer, an import, a gate passed over. `topic` is one word to find it by.
    ///
    /// The receipt's error is [`StoreError::Missing`] when the step was never recorded.
    pub fn record_note(&self, topic: &str, step: Option<&StepId>, text: &str, at: Millis) -> Receipt<()> {
        let (step, text) = (step.cloned(), format!("{topic}\n{text}"));
        self.submit(Durability::Normal, move |write| {
            let line = match &step {
                None => None,
                Some(step) => {
                    Some(line(write.sql, step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?.id)
                }
            };
            write.event(at, kind::NOTE, line, None, Some(&text)).map(drop)
        })
    }
}

impl Write<'_> {
    /// Something happened: gives its number.
    pub(crate) fn event(
        &self,
        at: Millis,
        kind: &str,
        line: Option<i64>,
        item: Option<i64>,
        text: Option<&str>,
    ) -> Result<i64, StoreError> {
        self.sql
            .prepare_cached("INSERT INTO event (at, kind, line, item, text) VALUES (?, ?, ?, ?, ?)")?
            .execute(params![at, kind, line, item, text])?;
        Ok(self.sql.last_insert_rowid())
    }
}
