//! The journal of what reweave itself did to the files of steps: what undo takes back and redo does again.

use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use super::version::line;
use super::writer::Write;
use super::{Reader, StoreError, mark, patch};
use crate::step::{Digest, Millis, PatchId, PatchState, Provenance, StepId, VersionNumber};

/// Which entry of the journal, counting up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeedId(pub i64);

/// What sort of thing was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeedKind {
    /// A patch, or part of it, was accepted.
    Accept,
    /// An accepted patch was taken back.
    Revert,
    /// A step's text was replaced.
    Edit,
    /// An earlier version was written back.
    Restore,
    /// A step was made.
    New,
    /// A step was given another id.
    Rename,
    /// A step was removed.
    Delete,
    /// Another deed was undone.
    Undo(DeedId),
    /// Another deed was done again.
    Redo(DeedId),
}

impl DeedKind {
    fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Revert => "revert",
            Self::Edit => "edit",
            Self::Restore => "restore",
            Self::New => "new",
            Self::Rename => "rename",
            Self::Delete => "delete",
            Self::Undo(_) => "undo",
            Self::Redo(_) => "redo",
        }
    }

    fn of(self) -> Option<DeedId> {
        match self {
            Self::Undo(of) | Self::Redo(of) => Some(of),
            _ => None,
        }
    }

    fn from_words(word: &str, of: Option<i64>) -> Result<Self, StoreError> {
        Ok(match (word, of.map(DeedId)) {
            ("accept", _) => Self::Accept,
            ("revert", _) => Self::Revert,
            ("edit", _) => Self::Edit,
            ("restore", _) => Self::Restore,
            ("new", _) => Self::New,
            ("rename", _) => Self::Rename,
            ("delete", _) => Self::Delete,
            ("undo", Some(of)) => Self::Undo(of),
            ("redo", Some(of)) => Self::Redo(of),
            _ => return Err(StoreError::damaged(format!("{word:?} is no entry of a journal"))),
        })
    }
}

/// How far a deed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeedState {
    /// Decided; the files may or may not be written yet.
    Intent,
    /// Done.
    Done,
    /// Done and taken back; it can be done again.
    Undone,
    /// Never done, or taken back with other things done since.
    Closed,
}

impl DeedState {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Done => "done",
            Self::Undone => "undone",
            Self::Closed => "closed",
        }
    }

    fn from_word(word: &str) -> Result<Self, StoreError> {
        [Self::Intent, Self::Done, Self::Undone, Self::Closed]
            .into_iter()
            .find(|state| state.word() == word)
            .ok_or_else(|| StoreError::damaged(format!("{word:?} is no state of a deed")))
    }
}

/// Where a patch stands once a deed is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Which patch.
    pub patch: PatchId,
    /// Where it stood.
    pub from: PatchState,
    /// Where it stands once the deed is done.
    pub to: PatchState,
}

/// One thing that reweave did, or is about to do, to files of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    /// Which.
    pub id: DeedId,
    /// When it was decided.
    pub at: Millis,
    /// What sort.
    pub kind: DeedKind,
    /// One line for people.
    pub title: String,
    /// How far it is.
    pub state: DeedState,
    /// Who did it, which becomes the provenance of the versions that it makes.
    pub provenance: Provenance,
    /// What it decides of a patch.
    pub decision: Option<Decision>,
    /// What that decision was made on, in whatever form its author gives it.
    pub pin: Option<String>,
    /// The files, each before and after.
    pub files: Vec<DeedFile>,
}

/// What a deed does to one file. The contents are blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeedFile {
    /// Path in the run, with its ending.
    pub path: String,
    /// The step whose file it is, if it is one's.
    pub step: Option<StepId>,
    /// Before; `None` where there was no file.
    pub before: Option<Digest>,
    /// After; `None` where there is no file then.
    pub after: Option<Digest>,
}

/// A file of a deed with what it holds before and after.
pub(crate) type Contents = (DeedFile, Option<Vec<u8>>, Option<Vec<u8>>);

impl Reader {
    /// One entry of the journal.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none of this number.
    pub fn deed(&self, id: DeedId) -> Result<Deed, StoreError> {
        self.read_deeds("id = ?", params![id.0])?.pop().ok_or_else(|| StoreError::missing(format!("deed {}", id.0)))
    }

    /// The journal, newest first, at most `limit` entries.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn deeds(&self, limit: usize) -> Result<Vec<Deed>, StoreError> {
        self.read_deeds("1 ORDER BY id DESC LIMIT ?", params![i64::try_from(limit).unwrap_or(i64::MAX)])
    }

    /// What undo would take back: the last thing done that stands.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn undoable(&self) -> Result<Option<Deed>, StoreError> {
        Ok(self.read_deeds("state = 'done' AND of IS NULL ORDER BY id DESC LIMIT 1", params![])?.pop())
    }

    /// What redo would do again: the first thing of those taken back.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn redoable(&self) -> Result<Option<Deed>, StoreError> {
        Ok(self.read_deeds("state = 'undone' AND of IS NULL ORDER BY id LIMIT 1", params![])?.pop())
    }

    /// What was done because of a patch, newest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn deeds_of(&self, patch: PatchId) -> Result<Vec<Deed>, StoreError> {
        self.read_deeds("patch = ? ORDER BY id DESC", params![patch.0])
    }

    /// What was done after an entry, oldest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn deeds_since(&self, id: DeedId) -> Result<Vec<Deed>, StoreError> {
        self.read_deeds("id > ? ORDER BY id", params![id.0])
    }

    /// What was decided but not seen to its end, oldest first.
    pub(crate) fn intents(&self) -> Result<Vec<Deed>, StoreError> {
        self.read_deeds("state = 'intent' ORDER BY id", params![])
    }

    fn read_deeds(&self, which: &str, values: impl rusqlite::Params) -> Result<Vec<Deed>, StoreError> {
        let _now = self.snapshot()?;
        let mut query = self.sql_now().prepare_cached(&format!(
            "SELECT id, at, kind, title, state, of, provenance, patch, patch_from, patch_to, pin, {}
             FROM deed WHERE {which}",
            mark::sound("deed")
        ))?;
        let mut rows = query.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let mut deed = deed(row)?;
            mark::expect(row.get(11)?, || format!("deed {}", deed.id.0))?;
            deed.files = self.deed_files(deed.id)?;
            found.push(deed);
        }
        Ok(found)
    }

    fn deed_files(&self, id: DeedId) -> Result<Vec<DeedFile>, StoreError> {
        let mut query = self.sql_now().prepare_cached(&format!(
            "SELECT path, step, b.digest, a.digest, {} FROM deed_file
             LEFT JOIN blob b ON b.id = before LEFT JOIN blob a ON a.id = after WHERE deed = ? ORDER BY place",
            mark::sound("deed_file")
        ))?;
        let mut rows = query.query([id.0])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            mark::expect(row.get(4)?, || format!("a file of deed {}", id.0))?;
            found.push(DeedFile {
                path: row.get(0)?,
                step: row.get::<_, Option<String>>(1)?.map(|step| step.parse()).transpose()?,
                before: row.get::<_, Option<[u8; 32]>>(2)?.map(Digest::from_bytes),
                after: row.get::<_, Option<[u8; 32]>>(3)?.map(Digest::from_bytes),
            });
        }
        Ok(found)
    }
}

fn deed(row: &Row<'_>) -> Result<Deed, StoreError> {
    let decision = match (row.get(7)?, row.get::<_, Option<String>>(8)?, row.get::<_, Option<String>>(9)?) {
        (Some(id), Some(from), Some(to)) => {
            Some(Decision { patch: PatchId(id), from: patch::state(&from)?, to: patch::state(&to)? })
        }
        _ => None,
    };
    Ok(Deed {
        id: DeedId(row.get(0)?),
        at: row.get(1)?,
        kind: DeedKind::from_words(&row.get::<_, String>(2)?, row.get(5)?)?,
        title: row.get(3)?,
        state: DeedState::from_word(&row.get::<_, String>(4)?)?,
        provenance: serde_json::from_str(&row.get::<_, String>(6)?)?,
        decision,
        pin: row.get(10)?,
        files: Vec::new(),
    })
}

impl Write<'_> {
    /// Records what is about to be done. `files` come with their contents.
    pub(crate) fn intent(&self, deed: &Deed, files: &[Contents]) -> Result<DeedId, StoreError> {
        let decision = deed.decision;
        if let Some(decision) = decision {
            // Another process may have decided meanwhile.
            let now = self.patch_state(decision.patch)?;
            if now != decision.from {
                return Err(StoreError::Refused { why: format!("patch {} is {} by now", decision.patch, now.word()) });
            }
        }
        self.sql
            .prepare_cached(
                "INSERT INTO deed (at, kind, title, state, of, provenance, patch, patch_from, patch_to, pin)
                 VALUES (?, ?, ?, 'intent', ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                deed.at,
                deed.kind.word(),
                deed.title,
                deed.kind.of().map(|of| of.0),
                serde_json::to_string(&deed.provenance)?,
                decision.map(|decision| decision.patch.0),
                decision.map(|decision| decision.from.word()),
                decision.map(|decision| decision.to.word()),
                deed.pin,
            ])?;
        let id = self.sql.last_insert_rowid();
        for (place, (file, before, after)) in (0_i64..).zip(files) {
            let keep = |content: &Option<Vec<u8>>| content.as_ref().map(|content| self.content(content)).transpose();
            self.sql
                .prepare_cached(
                    "INSERT INTO deed_file (deed, place, path, step, before, after) VALUES (?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    id,
                    place,
                    file.path,
                    file.step.as_ref().map(StepId::as_str),
                    keep(before)?,
                    keep(after)?
                ])?;
        }
        Ok(DeedId(id))
    }

    /// Records that a deed was done: its versions, its decision, and what it means for undo and redo.
    pub(crate) fn done(&self, deed: &Deed) -> Result<Vec<(StepId, VersionNumber)>, StoreError> {
        let versions = self.deed_versions(deed, &deed.files)?;
        if let Some(decision) = deed.decision {
            self.patch_change(decision.patch, Some(decision.to), None, deed.at)?;
        }
        match deed.kind {
            DeedKind::Undo(of) => self.deed_state(of, DeedState::Undone)?,
            DeedKind::Redo(of) => self.deed_state(of, DeedState::Done)?,
            _ => {
                // What was taken back before can't be done again on top of this.
                self.sql.execute("UPDATE deed SET state = 'closed' WHERE state = 'undone'", [])?;
            }
        }
        self.deed_state(deed.id, DeedState::Done)?;
        Ok(versions)
    }

    /// Records versions for those files of a deed that are as it leaves them.
    pub(crate) fn deed_versions(
        &self,
        deed: &Deed,
        files: &[DeedFile],
    ) -> Result<Vec<(StepId, VersionNumber)>, StoreError> {
        let renames = renames(files);
        let mut versions = Vec::new();
        for (from, to) in &renames {
            if let (Some(from), Some(to)) = (&from.step, &to.step)
                && let Some(old) = line(self.sql, from)?.filter(|old| old.source.is_some())
                && line(self.sql, to)?.is_none()
            {
                self.rename(old.id, from, to, &deed.provenance)?;
            }
        }
        for file in files {
            let Some(step) = &file.step else { continue };
            let number = match &file.after {
                Some(after) => self.version_of_blob(step, Some(*after), &deed.provenance)?,
                None if line(self.sql, step)?.is_some() => self.version_of_blob(step, None, &deed.provenance)?,
                None => continue,
            };
            versions.push((step.clone(), number));
        }
        Ok(versions)
    }

    /// Says how far a deed is.
    pub(crate) fn deed_state(&self, id: DeedId, state: DeedState) -> Result<(), StoreError> {
        self.sql.prepare_cached("UPDATE deed SET state = ? WHERE id = ?")?.execute(params![state.word(), id.0])?;
        Ok(())
    }
}

/// The pairs of files in which one goes where the other comes from: the same content removed here and made there.
pub(crate) fn renames(files: &[DeedFile]) -> Vec<(&DeedFile, &DeedFile)> {
    let mut made: Vec<&DeedFile> = files.iter().filter(|file| file.before.is_none() && file.after.is_some()).collect();
    files
        .iter()
        .filter(|file| file.after.is_none() && file.before.is_some())
        .filter_map(|gone| {
            let at = made.iter().position(|new| new.after == gone.before)?;
            Some((gone, made.remove(at)))
        })
        .collect()
}
