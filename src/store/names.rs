//! Sets of names that executions read or wrote.
//!
//! An execution may read thousands of names, and most executions of a step read the same ones: a set is kept
//! once, and an execution points to it.

use std::sync::Arc;

use foldhash::HashMap;
use rusqlite::{Connection, OptionalExtension, params};

use super::writer::Write;
use super::{Reader, StoreError};
use crate::step::{Digest, Name};

/// A variable or a file: what an execution can read or write.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// A name in the run's namespace. Hidden state has names that begin with `@`.
    Name(Name),
    /// A file, by its path relative to the run where it is inside.
    File(Arc<str>),
}

impl Subject {
    /// The variable `name`.
    pub fn name(name: &str) -> Self {
        Self::Name(name.into())
    }

    /// The file at `path`.
    pub fn file(path: &str) -> Self {
        Self::File(path.into())
    }

    /// The name or path.
    pub fn text(&self) -> &Arc<str> {
        match self {
            Self::Name(text) | Self::File(text) => text,
        }
    }

    fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
    }
}

impl Write<'_> {
    /// Keeps a set. The order of `subjects` is kept and counts.
    pub(crate) fn nameset(&self, subjects: &[Subject]) -> Result<i64, StoreError> {
        let digest = digest_of(subjects);
        let known = self
            .sql
            .prepare_cached("SELECT id FROM nameset WHERE digest = ?")?
            .query_row([digest.as_bytes()], |row| row.get::<_, i64>(0))
            .optional()?;
        if let Some(id) = known {
            return Ok(id);
        }
        let ids = subjects.iter().map(|subject| self.name(subject)).collect::<Result<Vec<i64>, _>>()?;
        let mut packed = Vec::with_capacity(ids.len() * 4);
        for id in &ids {
            let id =
                u32::try_from(*id).map_err(|_| StoreError::Refused { why: "the store knows too many names".into() })?;
            packed.extend_from_slice(&id.to_le_bytes());
        }
        self.sql
            .prepare_cached("INSERT INTO nameset (digest, names) VALUES (?, ?)")?
            .execute(params![digest.as_bytes(), packed])?;
        let set = self.sql.last_insert_rowid();
        let mut insert =
            self.sql.prepare_cached("INSERT OR IGNORE INTO member (name, nameset, place) VALUES (?, ?, ?)")?;
        for (place, id) in (0_i64..).zip(&ids) {
            insert.execute(params![id, set, place])?;
        }
        Ok(set)
    }

    fn name(&self, subject: &Subject) -> Result<i64, StoreError> {
        if let Some(id) = name_id(self.sql, subject)? {
            return Ok(id);
        }
        self.sql
            .prepare_cached("INSERT INTO name (file, text) VALUES (?, ?)")?
            .execute(params![subject.is_file(), &**subject.text()])?;
        Ok(self.sql.last_insert_rowid())
    }
}

/// The digest of a set: of all that is in it, in its order.
pub(crate) fn digest_of(subjects: &[Subject]) -> Digest {
    let kind = |subject: &Subject| if subject.is_file() { [1] } else { [0] };
    let kinds: Vec<[u8; 1]> = subjects.iter().map(kind).collect();
    let parts = kinds.iter().zip(subjects).flat_map(|(kind, subject)| [kind.as_slice(), subject.text().as_bytes()]);
    Digest::of_parts(parts)
}

/// The row of a name.
pub(crate) fn name_id(sql: &Connection, subject: &Subject) -> Result<Option<i64>, StoreError> {
    Ok(sql
        .prepare_cached("SELECT id FROM name WHERE file = ? AND text = ?")?
        .query_row(params![subject.is_file(), &**subject.text()], |row| row.get(0))
        .optional()?)
}

/// The ids of a set, as `nameset.names` holds them.
pub(crate) fn unpack(packed: &[u8]) -> impl Iterator<Item = u32> + '_ {
    packed.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

impl Reader {
    /// A set of names by its row. Sets never change, and their numbers are never used again, so that what was read
    /// once need not be read again.
    pub(crate) fn nameset(&self, id: i64) -> Result<Arc<[u32]>, StoreError> {
        let mut known = self.sets.borrow_mut();
        if let Some(names) = known.get(&id) {
            return Ok(Arc::clone(names));
        }
        let packed: Option<Vec<u8>> = self
            .sql_now()
            .prepare_cached("SELECT names FROM nameset WHERE id = ?")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        let packed = packed.ok_or_else(|| StoreError::damaged(format!("set of names {id} is gone")))?;
        let names: Arc<[u32]> = unpack(&packed).collect();
        known.insert(id, Arc::clone(&names));
        Ok(names)
    }

    /// Reads all sets, if none was read yet: for many, faster than one by one.
    pub(crate) fn read_sets_at_once(&self) -> Result<(), StoreError> {
        let mut known = self.sets.borrow_mut();
        if known.is_empty() {
            let mut query = self.sql_now().prepare_cached("SELECT id, names FROM nameset")?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let packed = row.get_ref(1)?.as_blob().map_err(|error| StoreError::damaged(error.to_string()))?;
                known.insert(row.get(0)?, unpack(packed).collect());
            }
        }
        Ok(())
    }

    /// Reads all names, and all sets of them, if none was read yet.
    pub(crate) fn read_names_at_once(&self) -> Result<(), StoreError> {
        self.read_sets_at_once()?;
        let mut names = self.names.borrow_mut();
        if names.is_empty() {
            *names = Names::all(self.sql_now())?;
        }
        Ok(())
    }
}

/// From ids back to names, each looked up once.
#[derive(Default)]
pub(crate) struct Names(HashMap<u32, Subject>);

impl Names {
    /// Whether none is known yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All names that a store knows.
    pub(crate) fn all(sql: &Connection) -> Result<Self, StoreError> {
        let mut names = Self::default();
        let mut query = sql.prepare_cached("SELECT id, file, text FROM name")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let text = row.get_ref(2)?.as_str().map_err(|error| StoreError::damaged(error.to_string()))?;
            names.0.insert(row.get(0)?, subject(row.get(1)?, text));
        }
        Ok(names)
    }

    /// The ids of those that are known, by name.
    pub(crate) fn reversed(&self) -> HashMap<&Subject, u32> {
        self.0.iter().map(|(id, subject)| (subject, *id)).collect()
    }

    /// Whether the name with this id was read.
    pub(crate) fn is_known(&self, id: u32) -> bool {
        self.0.contains_key(&id)
    }

    /// All that were read.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Subject)> {
        self.0.iter().map(|(id, subject)| (*id, subject))
    }

    /// The name with this id, if it was read.
    pub(crate) fn known(&self, id: u32) -> Result<Subject, StoreError> {
        self.0.get(&id).cloned().ok_or_else(|| StoreError::damaged(format!("name {id} is gone")))
    }

    /// The name with this id.
    pub(crate) fn get(&mut self, sql: &Connection, id: u32) -> Result<Subject, StoreError> {
        if let Some(subject) = self.0.get(&id) {
            return Ok(subject.clone());
        }
        let found = sql
            .prepare_cached("SELECT file, text FROM name WHERE id = ?")?
            .query_row([id], |row| Ok(subject(row.get(0)?, &row.get::<_, String>(1)?)))
            .optional()?
            .ok_or_else(|| StoreError::damaged(format!("name {id} is gone")))?;
        self.0.insert(id, found.clone());
        Ok(found)
    }
}

/// The subject that a row of `name` stands for.
pub(crate) fn subject(is_file: bool, text: &str) -> Subject {
    if is_file { Subject::file(text) } else { Subject::name(text) }
}
