//! How steps stood when the run last came to them.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};

use super::version::line;
use super::writer::{Durability, Receipt};
use super::{Reader, Store, StoreError};
use crate::step::{Digest, ExecutionId, Reason, StepId};

/// What held for a step when the run last came to it, where its newest execution does not say that by itself: an
/// earlier one came back, its text is another that means the same, or it could not run.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// The execution that held.
    pub execution: Option<ExecutionId>,
    /// Digest of the text that the step had.
    pub source: Digest,
    /// Why it could not run, if so.
    pub blocked: Option<Reason>,
}

impl Store {
    /// Keeps what held for steps; `None` where the newest execution says it by itself. It counts until a step is
    /// executed again. Steps that were never recorded are passed over.
    ///
    /// ```
    /// # use reweave::step::*;
    /// # use reweave::store::{Hold, Store};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "01_load".parse().unwrap();
    /// let version = store.record_version(&step, b"x = 1", &Provenance::new(Author::Person, 1_000))?;
    /// let id = store.record_execution(Execution::new(step.clone(), version, 2_000).into()).wait()?;
    /// let hold = Hold { execution: Some(id), source: Digest::of("x = 1 # same"), blocked: None };
    /// store.set_holds(vec![(step.clone(), Some(hold.clone()))]).wait()?;
    /// assert_eq!(store.holds()?.get(&step), Some(&hold));
    /// store.record_execution(Execution::new(step.clone(), version, 3_000).into()).wait()?;
    /// assert_eq!(store.holds()?.get(&step), None);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    pub fn set_holds(&self, holds: Vec<(StepId, Option<Hold>)>) -> Receipt<()> {
        self.submit(Durability::Normal, move |write| {
            for (step, hold) in &holds {
                let Some(line) = line(write.sql, step)? else { continue };
                let Some(hold) = hold else {
                    write.sql.prepare_cached("DELETE FROM hold WHERE line = ?")?.execute([line.id])?;
                    continue;
                };
                let latest: Option<Option<i64>> = write
                    .sql
                    .prepare_cached("SELECT latest FROM line WHERE id = ?")?
                    .query_row([line.id], |row| row.get(0))
                    .optional()?;
                write
                    .sql
                    .prepare_cached(
                        "INSERT OR REPLACE INTO hold (line, latest, execution, source, blocked) VALUES (?, ?, ?, ?, ?)",
                    )?
                    .execute(params![
                        line.id,
                        latest.flatten(),
                        hold.execution.map(|id| id.0),
                        hold.source.as_bytes(),
                        hold.blocked.as_ref().map(serde_json::to_string).transpose()?,
                    ])?;
            }
            Ok(())
        })
    }
}

impl Reader {
    /// What held for each step that is there, where its newest execution does not say that by itself.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn holds(&self) -> Result<BTreeMap<StepId, Hold>, StoreError> {
        let mut query = self.sql().prepare_cached(
            "SELECT line.path, hold.execution, hold.source, hold.blocked FROM hold JOIN line ON line.id = hold.line
             WHERE line.source IS NOT NULL AND line.latest IS hold.latest",
        )?;
        let mut rows = query.query([])?;
        let mut found = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let step: StepId = row.get::<_, String>(0)?.parse()?;
            let blocked: Option<String> = row.get(3)?;
            let hold = Hold {
                execution: row.get::<_, Option<i64>>(1)?.map(ExecutionId),
                source: Digest::from_bytes(row.get(2)?),
                blocked: blocked.map(|text| serde_json::from_str(&text)).transpose()?,
            };
            found.insert(step, hold);
        }
        Ok(found)
    }
}
