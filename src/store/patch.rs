//! Patches: proposals known by their content, and what became of them.

use rusqlite::{OptionalExtension, Row, params, params_from_iter};

use super::event::kind;
use super::writer::{Durability, Write};
use super::{Reader, Store, StoreError, mark, provenance};
use crate::step::{Digest, FileChange, Millis, Patch, PatchId, PatchState, Provenance, StepId};

/// A proposal that comes in.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// Where it stands after reading and placing it.
    pub state: PatchState,
    /// One line for people.
    pub title: String,
    /// Who proposes it.
    pub provenance: Provenance,
    /// The text as it came. Its digest is what the patch is known by.
    pub text: Vec<u8>,
    /// What it would change.
    pub files: Vec<FileChange>,
    /// What is wrong with it, in words.
    pub problems: Vec<String>,
}

/// What became of a proposal that came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// It is new.
    New(PatchId),
    /// The same text came before.
    Known(PatchId),
}

impl Arrival {
    /// Which patch it is.
    pub fn id(self) -> PatchId {
        match self {
            Self::New(id) | Self::Known(id) => id,
        }
    }
}

/// What a trial of a patch showed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trial {
    /// When it ended.
    pub at: Millis,
    /// Tests that failed without the patch and passed with it.
    pub fixed: Vec<StepId>,
    /// Tests that passed without the patch and failed with it.
    pub broken: Vec<StepId>,
    /// The whole result, in whatever form the trial's author gives it.
    pub result: Vec<u8>,
    /// What the patch's author was shown: a blob in the store.
    pub context: Option<Digest>,
}

impl Store {
    /// Keeps a proposal, unless the same text was kept before.
    ///
    /// # Errors
    /// When it could not be committed.
    pub fn insert_patch(&self, proposal: &Proposal) -> Result<Arrival, StoreError> {
        let proposal = proposal.clone();
        self.submit(Durability::Full, move |write| write.patch(&proposal)).wait()
    }

    /// Says where a patch stands from now on, with a remark if there is one. What accepting and reverting do to
    /// files goes through [`Store::begin`].
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such patch.
    pub fn set_patch_state(
        &self,
        id: PatchId,
        state: PatchState,
        comment: Option<&str>,
        at: Millis,
    ) -> Result<(), StoreError> {
        let comment = comment.map(ToOwned::to_owned);
        self.submit(Durability::Full, move |write| write.patch_change(id, Some(state), comment.as_deref(), at)).wait()
    }

    /// Adds a remark to a patch.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such patch.
    pub fn comment_patch(&self, id: PatchId, comment: &str, at: Millis) -> Result<(), StoreError> {
        let comment = comment.to_owned();
        self.submit(Durability::Full, move |write| write.patch_change(id, None, Some(&comment), at)).wait()
    }

    /// Says what a patch would change now, since its base may have moved under it. What it said when it came in
    /// stays in its text.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such patch; [`StoreError::Refused`] for one that was accepted.
    pub fn place_patch(&self, id: PatchId, files: &[FileChange], problems: &[String]) -> Result<(), StoreError> {
        let (placed, files, problems) = (files.to_vec(), serde_json::to_vec(files)?, serde_json::to_string(problems)?);
        self.submit(Durability::Full, move |write| {
            if write.patch_state(id)? == PatchState::Accepted {
                return Err(StoreError::Refused { why: format!("patch {id} was accepted as it is") });
            }
            write.patch_steps(id, &placed)?;
            let files = write.content(&files)?;
            write
                .sql
                .prepare_cached("UPDATE patch SET files = ?, problems = ? WHERE id = ?")?
                .execute(params![files, problems, id.0])?;
            Ok(())
        })
        .wait()
    }

    /// Keeps what a trial of a patch showed. A patch that was only proposed is tried from then on.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such patch.
    pub fn record_trial(&self, id: PatchId, trial: &Trial) -> Result<(), StoreError> {
        let trial = trial.clone();
        self.submit(Durability::Full, move |write| {
            let state = (write.patch_state(id)? == PatchState::Proposed).then_some(PatchState::Tried);
            let seq = write.patch_changed(id, state, None, trial.at)?;
            let result = write.content(&trial.result)?;
            write
                .sql
                .prepare_cached(
                    "INSERT INTO trial (patch, seq, at, fixed, broken, result, context) VALUES (?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    id.0,
                    seq,
                    trial.at,
                    serde_json::to_string(&trial.fixed)?,
                    serde_json::to_string(&trial.broken)?,
                    result,
                    trial.context.map(|digest| digest.as_bytes().to_vec()),
                ])?;
            Ok(())
        })
        .wait()
    }
}

impl Reader {
    /// A patch in full.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such patch.
    pub fn patch(&self, id: PatchId) -> Result<Patch, StoreError> {
        self.read_patches("WHERE id = ?", params![id.0])?
            .pop()
            .ok_or_else(|| StoreError::missing(format!("patch {id}")))
    }

    /// All patches, oldest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn patches(&self) -> Result<Vec<Patch>, StoreError> {
        self.read_patches("ORDER BY id", params![])
    }

    /// The patch whose text has this digest.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn patch_by_content(&self, content: &Digest) -> Result<Option<Patch>, StoreError> {
        Ok(self.read_patches("WHERE content = ?", params![content.as_bytes()])?.pop())
    }

    /// The text of a patch as it came in.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such patch.
    pub fn patch_text(&self, id: PatchId) -> Result<Vec<u8>, StoreError> {
        let blob: Option<i64> = self
            .sql()
            .prepare_cached("SELECT proposal FROM patch WHERE id = ?")?
            .query_row([id.0], |row| row.get(0))
            .optional()?;
        self.blob(blob.ok_or_else(|| StoreError::missing(format!("patch {id}")))?)
    }

    /// The trials of a patch, newest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn trials(&self, id: PatchId) -> Result<Vec<Trial>, StoreError> {
        let mut query = self
            .sql()
            .prepare_cached("SELECT at, fixed, broken, result, context FROM trial WHERE patch = ? ORDER BY id DESC")?;
        let mut rows = query.query([id.0])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(Trial {
                at: row.get(0)?,
                fixed: serde_json::from_str(&row.get::<_, String>(1)?)?,
                broken: serde_json::from_str(&row.get::<_, String>(2)?)?,
                result: self.blob(row.get(3)?)?,
                context: row.get::<_, Option<[u8; 32]>>(4)?.map(Digest::from_bytes),
            });
        }
        Ok(found)
    }

    fn read_patches(&self, which: &str, values: impl rusqlite::Params) -> Result<Vec<Patch>, StoreError> {
        let _now = self.snapshot()?;
        let sql = self.sql_now();
        let mut query = sql.prepare_cached(&format!(
            "SELECT id, state, title, content, files, problems, {}, {} AS sound FROM patch {which}",
            provenance::COLUMNS,
            mark::sound("patch")
        ))?;
        let mut rows = query.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let patch = self.patch_from(row)?;
            mark::expect(row.get("sound")?, || format!("patch {}", patch.id))?;
            found.push(patch);
        }
        Ok(found)
    }

    fn patch_from(&self, row: &Row<'_>) -> Result<Patch, StoreError> {
        let id: u32 = row.get(0)?;
        let mut query = self.sql_now().prepare_cached(
            "SELECT at, comment FROM patch_change WHERE patch = ? AND comment IS NOT NULL ORDER BY seq",
        )?;
        let comments = query.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        Ok(Patch {
            id: PatchId(id),
            state: state(&row.get::<_, String>(1)?)?,
            title: row.get(2)?,
            provenance: provenance::read(row, 6)?,
            content: Digest::from_bytes(row.get(3)?),
            files: serde_json::from_slice(&self.blob(row.get(4)?)?)?,
            problems: serde_json::from_str(&row.get::<_, String>(5)?)?,
            comments,
        })
    }
}

/// The state that this word stands for.
pub(crate) fn state(word: &str) -> Result<PatchState, StoreError> {
    PatchState::ALL
        .into_iter()
        .find(|state| state.word() == word)
        .ok_or_else(|| StoreError::damaged(format!("{word:?} is no state of a patch")))
}

impl Write<'_> {
    pub(crate) fn patch(&self, proposal: &Proposal) -> Result<Arrival, StoreError> {
        let content = Digest::of(&proposal.text);
        let known: Option<u32> = self
            .sql
            .prepare_cached("SELECT id FROM patch WHERE content = ?")?
            .query_row([content.as_bytes()], |row| row.get(0))
            .optional()?;
        if let Some(id) = known {
            return Ok(Arrival::Known(PatchId(id)));
        }
        let mut values = provenance::bind(&proposal.provenance);
        values.push(Box::new(content.as_bytes().to_vec()));
        values.push(Box::new(proposal.state.word()));
        values.push(Box::new(&proposal.title));
        values.push(Box::new(self.content(&serde_json::to_vec(&proposal.files)?)?));
        values.push(Box::new(serde_json::to_string(&proposal.problems)?));
        values.push(Box::new(self.blob(&content, &proposal.text)?));
        self.sql
            .prepare_cached(&format!(
                "INSERT INTO patch ({}, content, state, title, files, problems, proposal)
                 VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                provenance::COLUMNS
            ))?
            .execute(params_from_iter(values))?;
        let row = self.sql.last_insert_rowid();
        let id = PatchId(
            u32::try_from(row).map_err(|_| StoreError::Refused { why: "the store holds too many patches".into() })?,
        );
        self.patch_steps(id, &proposal.files)?;
        self.patch_changed(id, Some(proposal.state), None, proposal.provenance.at)?;
        Ok(Arrival::New(id))
    }

    fn patch_steps(&self, id: PatchId, files: &[FileChange]) -> Result<(), StoreError> {
        for file in files {
            let step = file.path.strip_suffix(".py").or_else(|| file.path.strip_suffix(".sh")).unwrap_or(&file.path);
            self.sql
                .prepare_cached("INSERT OR IGNORE INTO patch_step (step, patch) VALUES (?, ?)")?
                .execute(params![step, id.0])?;
        }
        Ok(())
    }

    pub(crate) fn patch_state(&self, id: PatchId) -> Result<PatchState, StoreError> {
        let word: Option<String> = self
            .sql
            .prepare_cached("SELECT state FROM patch WHERE id = ?")?
            .query_row([id.0], |row| row.get(0))
            .optional()?;
        state(&word.ok_or_else(|| StoreError::missing(format!("patch {id}")))?)
    }

    pub(crate) fn patch_change(
        &self,
        id: PatchId,
        state: Option<PatchState>,
        comment: Option<&str>,
        at: Millis,
    ) -> Result<(), StoreError> {
        self.patch_state(id)?;
        self.patch_changed(id, state, comment, at).map(drop)
    }

    fn patch_changed(
        &self,
        id: PatchId,
        state: Option<PatchState>,
        comment: Option<&str>,
        at: Millis,
    ) -> Result<i64, StoreError> {
        let seq = self.event(at, kind::PATCH, None, Some(id.0.into()), None)?;
        self.sql
            .prepare_cached("INSERT INTO patch_change (patch, seq, at, state, comment) VALUES (?, ?, ?, ?, ?)")?
            .execute(params![id.0, seq, at, state.map(PatchState::word), comment])?;
        if let Some(state) = state {
            self.sql.prepare_cached("UPDATE patch SET state = ? WHERE id = ?")?.execute(params![state.word(), id.0])?;
        }
        Ok(seq)
    }
}
