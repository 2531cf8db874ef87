//! Who wrote a name, and who read it.

use rusqlite::params;

use crate::step::{Digest, ExecutionId, Millis, StepId, VersionNumber};
use crate::store::names::{Subject, name_id};
use crate::store::{Reader, StoreError};

/// An execution that wrote or read a name or a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Touch {
    /// Of which step, by its present id.
    pub step: StepId,
    /// Which execution.
    pub execution: ExecutionId,
    /// Of which version.
    pub version: VersionNumber,
    /// When it began.
    pub started: Millis,
    /// Whether it is its step's last one.
    pub latest: bool,
    /// What it wrote: the digest of the value's component or of the file; `None` where it deleted it, and for
    /// readers.
    pub digest: Option<Digest>,
    /// Whether that is another value than the step's execution before left; true for a step's first, and for
    /// readers always false.
    pub changed: bool,
}

impl Reader {
    /// The executions that wrote a name or a file, newest first, at most `limit`: when did this value change, and
    /// who did it?
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Store, Subject};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "1_load".parse().unwrap();
    /// let version = store.record_version(&step, b"", &Provenance::new(Author::Person, 1))?;
    /// for value in ["1", "1", "2"] {
    ///     let mut execution = Execution::new(step.clone(), version, 2);
    ///     let written = Written::alone("x", Digest::of(value));
    ///     execution.observation.writes.insert("x".into(), Some(written));
    ///     store.record_execution(execution.into()).wait()?;
    /// }
    /// let writers = store.writers(&Subject::name("x"), 10)?;
    /// assert_eq!(writers.iter().map(|touch| touch.changed).collect::<Vec<_>>(), [true, false, true]);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn writers(&self, subject: &Subject, limit: usize) -> Result<Vec<Touch>, StoreError> {
        self.touches("writes", subject, limit)
    }

    /// The executions that read a name or a file, newest first, at most `limit`; those that found it absent too.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Store, Subject};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "2_plot".parse().unwrap();
    /// let version = store.record_version(&step, b"", &Provenance::new(Author::Person, 1))?;
    /// let mut execution = Execution::new(step, version, 2);
    /// execution.observation.files_read.insert("data.csv".into(), FileContent::Absent);
    /// store.record_execution(execution.into()).wait()?;
    /// assert_eq!(store.readers(&Subject::file("data.csv"), 10)?.len(), 1);
    /// assert_eq!(store.readers(&Subject::name("data.csv"), 10)?.len(), 0);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn readers(&self, subject: &Subject, limit: usize) -> Result<Vec<Touch>, StoreError> {
        self.touches("reads", subject, limit)
    }

    fn touches(&self, column: &str, subject: &Subject, limit: usize) -> Result<Vec<Touch>, StoreError> {
        let _now = self.snapshot()?;
        let sql = self.sql_now();
        let Some(name) = name_id(sql, subject)? else { return Ok(Vec::new()) };
        // A name that is everywhere is found fastest by going back from the newest execution until there are
        // enough, any other through the sets that hold it. The unary plus keeps SQLite from the other way. Numbers
        // of executions rise as their `seq` does, and need no sorting.
        let from = if self.is_everywhere(name)? {
            format!("execution e CROSS JOIN member m ON m.name = ?1 AND m.nameset = +e.{column} WHERE true")
        } else {
            format!("member m JOIN execution e ON e.{column} = m.nameset WHERE m.name = ?1")
        };
        let mut query = sql.prepare_cached(&format!(
            "SELECT line.path, t.id, t.version, t.started, t.id = line.latest, t.digest,
                    t.digest IS NOT (SELECT substr(p.written, 32 * pm.place + 1, 32)
                                     FROM execution p JOIN member pm ON pm.name = ?1 AND pm.nameset = p.writes
                                     WHERE p.line = t.line AND p.seq < t.seq ORDER BY p.seq DESC LIMIT 1)
             FROM (SELECT e.id, e.version, e.started, e.line, e.seq, substr(e.written, 32 * m.place + 1, 32) AS digest
                   FROM {from} ORDER BY e.id DESC LIMIT ?2) t
             JOIN line ON line.id = t.line ORDER BY t.seq DESC"
        ))?;
        let mut rows = query.query(params![name, i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let writes = column == "writes";
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let digest =
                if writes { row.get::<_, Option<[u8; 32]>>(5)?.filter(|bytes| *bytes != [0; 32]) } else { None };
            found.push(Touch {
                step: row.get::<_, String>(0)?.parse()?,
                execution: ExecutionId(row.get(1)?),
                version: VersionNumber(row.get(2)?),
                started: row.get(3)?,
                latest: row.get::<_, Option<bool>>(4)?.unwrap_or(false),
                digest: digest.map(Digest::from_bytes),
                changed: writes && row.get(6)?,
            });
        }
        Ok(found)
    }
}

impl Reader {
    /// Whether a name is in so many sets that a page of executions that have it is never far.
    pub(crate) fn is_everywhere(&self, name: i64) -> Result<bool, StoreError> {
        let sets: i64 = self
            .sql_now()
            .prepare_cached("SELECT COUNT(*) FROM (SELECT 1 FROM member WHERE name = ? LIMIT ?)")?
            .query_row(params![name, MANY_SETS], |row| row.get(0))?;
        Ok(sets >= MANY_SETS)
    }
}

/// From this many sets on a name counts as being everywhere.
const MANY_SETS: i64 = 256;
