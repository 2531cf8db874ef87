//! Making a store smaller by a stated policy, and saying how large it is.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use zstd::bulk::Decompressor;

use super::open::{FILE, beside, check};
use super::writer::{Durability, Write};
use super::{Reader, Store, StoreError, blob};
use crate::run::STORE_DIR;
use crate::step::{Digest, Millis};

/// What may be cleared away.
///
/// Never: a version of a step, its provenance or what its author was shown; a patch in whatever state, its trials
/// and remarks; the journal that undo uses; what calls that are made once gave; a file's content kept because a person edited it, or named in a note of the
/// engine's (what was there before any step wrote it); what was renamed, marked or remarked. Of executions these are kept:
///
/// - those that ended within the last `days`;
/// - the newest `executions` of each step;
/// - the newest of each version of each step, so that going back to a version finds its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How many executions of a step are kept whatever their age.
    pub executions: u32,
    /// For how many days an execution is kept whatever else there is.
    pub days: u32,
    /// Most bytes of saved values; those used longest ago go first.
    pub saved: u64,
}

impl Default for Retention {
    /// 20 executions of a step, 30 days, 2 GiB of saved values.
    fn default() -> Self {
        Self { executions: 20, days: 30, saved: 2 << 30 }
    }
}

/// What was cleared away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freed {
    /// Executions.
    pub executions: usize,
    /// Saved values.
    pub saved_values: usize,
    /// Contents that nothing refers to any more.
    pub blobs: usize,
    /// Bytes by which the store became smaller on disk.
    pub bytes: u64,
}

/// How large a store is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of the database and its log on disk.
    pub bytes: u64,
    /// Versions of steps.
    pub versions: u64,
    /// Executions.
    pub executions: u64,
    /// Patches.
    pub patches: u64,
    /// Saved values, and their bytes before packing.
    pub saved: (u64, u64),
    /// Contents, their bytes before packing, and after.
    pub blobs: (u64, u64, u64),
    /// Stores that were set aside, with their bytes. They are never cleared away by reweave.
    pub aside: Vec<(PathBuf, u64)>,
}

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

impl Store {
    /// Makes the store smaller, as `policy` says. Not to be called while steps run: what an execution is about to
    /// refer to could be cleared away before it does.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::{Retention, Store};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "a".parse().unwrap();
    /// let version = store.record_version(&step, b"x = 1", &Provenance::new(Author::Person, 1))?;
    /// for _ in 0..5 {
    ///     store.record_execution(Execution::new(step.clone(), version, 1_000).into()).wait()?;
    /// }
    /// let freed = store.gc(&Retention { executions: 2, days: 1, ..Retention::default() }, 90_000_000)?;
    /// assert_eq!(freed.executions, 3);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When it could not be committed; then nothing was cleared away.
    pub fn gc(&self, policy: &Retention, now: Millis) -> Result<Freed, StoreError> {
        self.flush();
        let before = self.bytes_on_disk();
        let (policy, newest) = (*policy, self.newest_blob_at_opening);
        let mut freed = self.submit(Durability::Full, move |write| write.clear(&policy, now, newest)).wait()?;
        self.checkpoint();
        freed.bytes = before.saturating_sub(self.bytes_on_disk());
        Ok(freed)
    }

    /// How large the store is.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn sizes(&self) -> Result<Sizes, StoreError> {
        self.sizes_of(&self.home)
    }

    fn bytes_on_disk(&self) -> u64 {
        bytes_on_disk(&self.home)
    }
}

/// Bytes of the database and its log.
fn bytes_on_disk(home: &Path) -> u64 {
    let file = home.join(FILE);
    let files = [file.clone(), beside(&file, "-wal")];
    files.iter().filter_map(|path| fs::metadata(path).ok()).map(|kind| kind.len()).sum()
}

/// The stores that were set aside.
fn set_aside(home: &Path) -> Vec<(PathBuf, u64)> {
    let prefix = format!("{FILE}.");
    let Ok(entries) = fs::read_dir(home) else { return Vec::new() };
    let mut found: Vec<(PathBuf, u64)> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.len())))
        .collect();
    found.sort();
    found
}

impl Reader {
    /// How large the store of the run in `run_dir` is, which this reads.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn sizes_in(&self, run_dir: &Path) -> Result<Sizes, StoreError> {
        self.sizes_of(&run_dir.join(STORE_DIR))
    }

    fn sizes_of(&self, home: &Path) -> Result<Sizes, StoreError> {
        let _now = self.snapshot()?;
        let sql = self.sql_now();
        let one = |text: &str| Ok::<_, StoreError>(sql.query_row(text, [], |row| row.get::<_, i64>(0))?.unsigned_abs());
        Ok(Sizes {
            bytes: bytes_on_disk(home),
            versions: one("SELECT COUNT(*) FROM version")?,
            executions: one("SELECT COUNT(*) FROM execution")?,
            patches: one("SELECT COUNT(*) FROM patch")?,
            saved: (one("SELECT COUNT(*) FROM saved")?, one("SELECT COALESCE(SUM(size), 0) FROM saved")?),
            blobs: (
                one("SELECT COUNT(*) FROM blob")?,
                one("SELECT COALESCE(SUM(size), 0) FROM blob")?,
                one("SELECT COALESCE(SUM(LENGTH(data)), 0) FROM blob")?,
            ),
            aside: set_aside(home),
        })
    }

    /// Looks at every page and every content, and says what is wrong: nothing, if all is as it was written. Takes
    /// as long as reading the whole store.
    ///
    /// # Errors
    /// When the store can't be read at all.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        wrong(self.sql(), &mut self.unpacker.borrow_mut())
    }
}

/// What is wrong with a store, looking at every page and every content.
pub(crate) fn wrong(sql: &Connection, unpacker: &mut Decompressor<'_>) -> Result<Vec<String>, StoreError> {
    let mut wrong = Vec::new();
    if let Err(error) = check(sql) {
        wrong.push(error.to_string());
    }
    let mut query = sql.prepare("SELECT id FROM blob")?;
    let ids = query.query_map([], |row| row.get::<_, i64>(0))?.collect::<Result<Vec<_>, _>>()?;
    wrong.extend(
        ids.into_iter().filter_map(|id| blob::read_blob(sql, unpacker, id).err()).map(|error| error.to_string()),
    );
    for (what, text) in [
        (
            "versions without their text",
            "SELECT COUNT(*) FROM version v WHERE source IS NOT NULL AND NOT EXISTS (SELECT 1 FROM blob WHERE digest = v.source)",
        ),
        (
            "executions without their record",
            "SELECT COUNT(*) FROM execution e WHERE NOT EXISTS (SELECT 1 FROM blob WHERE id = e.body) OR NOT EXISTS (SELECT 1 FROM blob WHERE digest = e.output)",
        ),
        (
            "steps without their newest version",
            "SELECT COUNT(*) FROM line WHERE NOT EXISTS (SELECT 1 FROM version v WHERE v.line = line.id AND v.number = line.head AND v.source IS line.source)",
        ),
        (
            "patches without their text",
            "SELECT COUNT(*) FROM patch p WHERE NOT EXISTS (SELECT 1 FROM blob WHERE id = p.files)",
        ),
    ] {
        let count: i64 = sql.query_row(text, [], |row| row.get(0))?;
        if count > 0 {
            wrong.push(format!("{count} {what}"));
        }
    }
    Ok(wrong)
}

/// Every reference to a blob by its row.
const REFERENCES: &str = "
    SELECT body FROM execution
    UNION ALL SELECT blob FROM holds
    UNION ALL SELECT files FROM patch UNION ALL SELECT proposal FROM patch WHERE proposal IS NOT NULL
    UNION ALL SELECT result FROM trial
    UNION ALL SELECT before FROM deed_file WHERE before IS NOT NULL
    UNION ALL SELECT after FROM deed_file WHERE after IS NOT NULL
    UNION ALL SELECT question FROM call UNION ALL SELECT answer FROM call
    UNION ALL SELECT blob FROM kept_file UNION ALL SELECT blob FROM saved
    UNION ALL SELECT blob.id FROM blob JOIN (
        SELECT source AS context FROM version WHERE source IS NOT NULL
        UNION SELECT output FROM execution
        UNION SELECT context FROM version WHERE context IS NOT NULL
        UNION SELECT context FROM patch WHERE context IS NOT NULL
        UNION SELECT context FROM trial WHERE context IS NOT NULL
        UNION SELECT digest FROM temp.noted) c ON blob.digest = c.context";

/// The contents that a note names, in whatever form: 64 hexadecimal digits in a row.
fn digests_in(note: &[u8]) -> impl Iterator<Item = Digest> + '_ {
    note.split(|byte| !byte.is_ascii_hexdigit())
        .filter(|word| word.len() == 64)
        .filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}

impl Write<'_> {
    /// Lists the contents that notes name.
    fn noted(&self) -> Result<(), StoreError> {
        self.sql
            .execute_batch("CREATE TEMP TABLE IF NOT EXISTS noted (digest BLOB PRIMARY KEY); DELETE FROM temp.noted")?;
        let mut insert = self.sql.prepare("INSERT OR IGNORE INTO temp.noted (digest) VALUES (?)")?;
        let mut query = self.sql.prepare("SELECT data FROM note")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            for digest in digests_in(&row.get::<_, Vec<u8>>(0)?) {
                insert.execute([digest.as_bytes()])?;
            }
        }
        Ok(())
    }

    /// `newest` is the newest blob that was there when the store was opened: later ones may be about to be used.
    fn clear(&self, policy: &Retention, now: Millis, newest: i64) -> Result<Freed, StoreError> {
        let sql = self.sql;
        let young = now.saturating_sub(i64::from(policy.days) * DAY);
        sql.execute_batch(
            "CREATE TEMP TABLE IF NOT EXISTS doomed (id INTEGER PRIMARY KEY, seq INTEGER); DELETE FROM doomed",
        )?;
        let executions = sql.execute(
            "INSERT INTO doomed SELECT id, seq FROM (
                 SELECT id, seq, started + duration_us / 1000 AS ended,
                        ROW_NUMBER() OVER (PARTITION BY line ORDER BY seq DESC) AS place,
                        ROW_NUMBER() OVER (PARTITION BY line, version ORDER BY seq DESC) AS place_in_version
                 FROM execution)
             WHERE ended < ?1 AND place > ?2 AND place_in_version > 1",
            params![young, policy.executions],
        )?;
        sql.execute_batch(
            "DELETE FROM event WHERE seq IN (SELECT seq FROM doomed);
             DELETE FROM holds WHERE execution IN (SELECT id FROM doomed);
             DELETE FROM execution WHERE id IN (SELECT id FROM doomed);
             DELETE FROM doomed;
             DELETE FROM nameset WHERE id NOT IN (SELECT reads FROM execution UNION SELECT writes FROM execution);
             DELETE FROM member WHERE nameset NOT IN (SELECT id FROM nameset);
             DELETE FROM name WHERE id NOT IN (SELECT name FROM member);",
        )?;
        let saved_values = sql.execute(
            "DELETE FROM saved WHERE (digest, interpreter) IN (
                 SELECT digest, interpreter FROM (
                     SELECT digest, interpreter, SUM(size) OVER (ORDER BY used DESC, digest, interpreter) AS so_far FROM saved)
                 WHERE so_far > ?1)",
            [i64::try_from(policy.saved).unwrap_or(i64::MAX)],
        )?;
        self.noted()?;
        let blobs = sql.execute(&format!("DELETE FROM blob WHERE id <= ?1 AND id NOT IN ({REFERENCES})"), [newest])?;
        let mut pages = sql.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = pages.query([])?;
        while rows.next()?.is_some() {}
        Ok(Freed { executions, saved_values, blobs, bytes: 0 })
    }
}
