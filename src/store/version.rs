//! Versions of steps: every text ever seen, and the names that a step went by.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::event::kind;
use super::writer::{Durability, Write};
use super::{Reader, Store, StoreError, mark, provenance};
use crate::step::{Digest, Provenance, StepId, Version, VersionNumber};

impl Store {
    /// Records that `step` has this text, by `provenance`, and gives the version. A text equal to the step's
    /// present one makes no new version. Returns when it would survive a power cut.
    ///
    /// ```
    /// use reweave::step::{Author, Provenance, VersionNumber};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = reweave::store::Store::open(dir.path())?;
    /// let step = "01_load".parse().unwrap();
    /// let by = Provenance::new(Author::Person, 1_000);
    /// assert_eq!(store.record_version(&step, b"x = 1\n", &by)?, VersionNumber(1));
    /// assert_eq!(store.record_version(&step, b"x = 1\n", &by)?, VersionNumber(1));
    /// assert_eq!(store.record_version(&step, b"x = 2\n", &by)?, VersionNumber(2));
    /// assert_eq!(store.version_text(&step, VersionNumber(1))?, b"x = 1\n");
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// When it could not be committed; then nothing of it was.
    pub fn record_version(
        &self,
        step: &StepId,
        text: &[u8],
        provenance: &Provenance,
    ) -> Result<VersionNumber, StoreError> {
        let (step, text, provenance) = (step.clone(), text.to_vec(), provenance.clone());
        self.submit(Durability::Full, move |write| write.version(&step, Some((&Digest::of(&text), &text)), &provenance))
            .wait()
    }

    /// Records that the file of `step` is gone. Its history stays.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when it never was; or when it could not be committed.
    pub fn record_removed(&self, step: &StepId, provenance: &Provenance) -> Result<VersionNumber, StoreError> {
        let (step, provenance) = (step.clone(), provenance.clone());
        self.submit(Durability::Full, move |write| match line(write.sql, &step)? {
            Some(_) => write.version(&step, None, &provenance),
            None => Err(StoreError::missing(format!("step {step}"))),
        })
        .wait()
    }

    /// Records that a step goes by another id from now on. Its history goes with it, unless another step has
    /// gone by `to` before: then `to` goes on from that one's history, and `from` ends.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no step `from`; [`StoreError::Refused`] when `to` is there.
    pub fn record_rename(&self, from: &StepId, to: &StepId, provenance: &Provenance) -> Result<(), StoreError> {
        let (from, to, provenance) = (from.clone(), to.clone(), provenance.clone());
        self.submit(Durability::Full, move |write| {
            let Some(old) = line(write.sql, &from)?.filter(|old| old.source.is_some()) else {
                return Err(StoreError::missing(format!("step {from}")));
            };
            match line(write.sql, &to)? {
                _ if from == to => Ok(()),
                Some(new) if new.source.is_some() => {
                    Err(StoreError::Refused { why: format!("there is a step {to} already") })
                }
                Some(_) => {
                    write.version(&from, None, &provenance)?;
                    write.version_of_blob(&to, old.source, &provenance).map(drop)
                }
                None => write.rename(old.id, &from, &to, &provenance),
            }
        })
        .wait()
    }
}

impl Reader {
    /// The versions of a step, newest first; empty when there never was such a step.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn versions(&self, step: &StepId) -> Result<Vec<Version>, StoreError> {
        let Some(line) = line(self.sql(), step)? else { return Ok(Vec::new()) };
        read_versions(self.sql_now(), step, "line = ? ORDER BY number DESC", params![line.id])
    }

    /// The present version of a step; of one that was removed, the removal.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there never was such a step.
    pub fn head(&self, step: &StepId) -> Result<Version, StoreError> {
        let row = line(self.sql(), step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?;
        self.version_in(step, row.id, VersionNumber(row.head))
    }

    /// One version of a step.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such step or version.
    pub fn version(&self, step: &StepId, number: VersionNumber) -> Result<Version, StoreError> {
        let row = line(self.sql(), step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?;
        self.version_in(step, row.id, number)
    }

    fn version_in(&self, step: &StepId, line: i64, number: VersionNumber) -> Result<Version, StoreError> {
        read_versions(self.sql_now(), step, "line = ? AND number = ?", params![line, number.0])?
            .pop()
            .ok_or_else(|| StoreError::missing(format!("version {number} of step {step}")))
    }

    /// The text of a version, byte for byte.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such step or version, or when it is the step's removal.
    pub fn version_text(&self, step: &StepId, number: VersionNumber) -> Result<Vec<u8>, StoreError> {
        let row = line(self.sql(), step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?;
        let source: Option<Option<[u8; 32]>> = self
            .sql_now()
            .prepare_cached(&format!(
                "SELECT source, {} FROM version WHERE line = ? AND number = ?",
                mark::sound("version")
            ))?
            .query_row(params![row.id, number.0], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .map(|(source, sound)| mark::expect(sound, || format!("version {number} of {step}")).map(|()| source))
            .transpose()?;
        match source {
            Some(Some(digest)) => self.get_blob(&Digest::from_bytes(digest)),
            Some(None) => Err(StoreError::missing(format!("text of {step} {number}: it is the step's removal"))),
            None => Err(StoreError::missing(format!("version {number} of step {step}"))),
        }
    }

    /// The present version of every step that is there, in the order of the run.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn heads(&self) -> Result<BTreeMap<StepId, (VersionNumber, Digest)>, StoreError> {
        let heads = heads(self.sql())?;
        Ok(heads.into_values().filter_map(|head| Some((head.step, (head.number, head.source?)))).collect())
    }
}

impl Write<'_> {
    /// Records a version unless it equals the present one. `None` is the step's removal.
    pub(crate) fn version(
        &self,
        step: &StepId,
        source: Option<(&Digest, &[u8])>,
        provenance: &Provenance,
    ) -> Result<VersionNumber, StoreError> {
        if let Some((digest, text)) = source {
            self.blob(digest, text)?;
        }
        self.version_of_blob(step, source.map(|(digest, _)| *digest), provenance)
    }

    /// The same for a text that is kept already.
    pub(crate) fn version_of_blob(
        &self,
        step: &StepId,
        source: Option<Digest>,
        provenance: &Provenance,
    ) -> Result<VersionNumber, StoreError> {
        let old = line(self.sql, step)?;
        if let Some(old) = &old
            && old.source == source
        {
            return Ok(VersionNumber(old.head));
        }
        let is_new = old.is_none();
        let (line, number) = match old {
            Some(old) => (old.id, old.head.saturating_add(1)),
            None => {
                self.sql
                    .prepare_cached("INSERT INTO line (path, named, head, head_seq) VALUES (?, 0, 0, 0)")?
                    .execute([step.as_str()])?;
                (self.sql.last_insert_rowid(), 1)
            }
        };
        let seq = self.event(provenance.at, kind::VERSION, Some(line), None, None)?;
        if is_new {
            self.named(line, seq, step)?;
        }
        let mut values = provenance::bind(provenance);
        values.push(Box::new(line));
        values.push(Box::new(number));
        values.push(Box::new(seq));
        values.push(Box::new(source.map(|digest| digest.as_bytes().to_vec())));
        self.sql
            .prepare_cached(&format!(
                "INSERT INTO version ({}, line, number, seq, source) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                provenance::COLUMNS
            ))?
            .execute(params_from_iter(values))?;
        self.sql
            .prepare_cached("UPDATE line SET head = ?, head_seq = ?, source = ? WHERE id = ?")?
            .execute(params![number, seq, source.map(|digest| digest.as_bytes().to_vec()), line])?;
        Ok(VersionNumber(number))
    }

    fn named(&self, line: i64, seq: i64, step: &StepId) -> Result<(), StoreError> {
        self.sql
            .prepare_cached("INSERT OR REPLACE INTO path (line, since, path) VALUES (?, ?, ?)")?
            .execute(params![line, seq, step.as_str()])?;
        self.sql.prepare_cached("UPDATE line SET path = ?, named = ? WHERE id = ?")?.execute(params![
            step.as_str(),
            seq,
            line
        ])?;
        Ok(())
    }

    /// Gives a line another id. The caller knows that no line has it.
    pub(crate) fn rename(
        &self,
        line: i64,
        from: &StepId,
        to: &StepId,
        provenance: &Provenance,
    ) -> Result<(), StoreError> {
        let told = serde_json::to_string(&(from, to, provenance))?;
        let seq = self.event(provenance.at, kind::RENAMED, Some(line), None, Some(&told))?;
        self.named(line, seq, to)?;

        Ok(())
    }
}

/// A line by its present id.
pub(crate) struct Line {
    pub(crate) id: i64,
    pub(crate) head: u32,
    /// The text of its newest version, `None` where it was removed.
    pub(crate) source: Option<Digest>,
}

/// The line that goes, or went last, by this id.
pub(crate) fn line(sql: &Connection, step: &StepId) -> Result<Option<Line>, StoreError> {
    let found = sql
        .prepare_cached(&format!("SELECT id, head, source, {} FROM line WHERE path = ?", mark::sound("line")))?
        .query_row([step.as_str()], |row| {
            let source = row.get::<_, Option<[u8; 32]>>(2)?.map(Digest::from_bytes);
            Ok((Line { id: row.get(0)?, head: row.get(1)?, source }, row.get(3)?))
        })
        .optional()?;
    let found = found.map(|(line, sound)| mark::expect(sound, || format!("step {step}")).map(|()| line)).transpose()?;
    if let Some(line) = &found {
        // Through a damaged index one comes to another step, and would take its texts for this one's.
        let mut path = sql.prepare_cached("SELECT path = ?2 FROM line WHERE id = ?1")?;
        if !path.query_row(params![line.id, step.as_str()], |row| row.get(0))? {
            return Err(StoreError::damaged(format!("what is recorded of {step} is another step's")));
        }
    }
    Ok(found)
}

/// A line with its newest version.
pub(crate) struct Head {
    pub(crate) line: i64,
    pub(crate) step: StepId,
    pub(crate) number: VersionNumber,
    pub(crate) source: Option<Digest>,
}

/// Every line with its newest version.
pub(crate) fn heads(sql: &Connection) -> Result<BTreeMap<StepId, Head>, StoreError> {
    let mut query = sql.prepare_cached("SELECT id, path, head, source FROM line")?;
    let mut rows = query.query([])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let step: StepId = row.get_ref(1)?.as_str().map_err(|error| StoreError::damaged(error.to_string()))?.parse()?;
        let head = Head {
            line: row.get(0)?,
            step: step.clone(),
            number: VersionNumber(row.get(2)?),
            source: row.get::<_, Option<[u8; 32]>>(3)?.map(Digest::from_bytes),
        };
        found.insert(step, head);
    }
    Ok(found)
}

/// Versions of one step, by a condition on `version`.
pub(crate) fn read_versions(
    sql: &Connection,
    step: &StepId,
    which: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<Version>, StoreError> {
    let mut query = sql.prepare_cached(&format!(
        "SELECT {}, number, source, {} FROM version WHERE {which}",
        mark::sound("version"),
        provenance::COLUMNS
    ))?;
    let mut rows = query.query(values)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        mark::expect(row.get(0)?, || format!("a version of {step}"))?;
        let source = row.get::<_, Option<[u8; 32]>>(2)?.map(Digest::from_bytes);
        found.push(Version {
            step: step.clone(),
            number: VersionNumber(row.get(1)?),
            deleted: source.is_none(),
            source: source.unwrap_or_else(|| Digest::of(b"")),
            provenance: provenance::read(row, 3)?,
        });
    }
    Ok(found)
}
