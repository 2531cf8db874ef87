//! The run's one clock: everything that happens gets the next number.

use rusqlite::params;

use super::StoreError;
use super::writer::Write;
use crate::step::Millis;

/// The words for kinds of events, as they are kept.
pub(crate) mod kind {
    pub(crate) const VERSION: &str = "version";
    pub(crate) const RENAMED: &str = "renamed";
    pub(crate) const EXECUTED: &str = "executed";
    pub(crate) const INVALIDATED: &str = "invalidated";
    pub(crate) const PATCH: &str = "patch";
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
