//! Doing, undoing and redoing something to the files of steps: intent, rename, commit.
//!
//! The intent is on disk before the first file changes, the versions and the decision after the last. Whatever
//! ends the process in between, [`Store::recover`] finds the intent and completes or undoes it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use super::journal::{self, Contents, Decision, Deed, DeedFile, DeedId, DeedKind, DeedState};
use super::writer::Durability;
use super::{Store, StoreError};
use crate::run::{Expect, Files, WriteError};
use crate::step::{Author, Digest, Millis, Provenance, StepId, VersionNumber};

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What sort of thing it is. [`DeedKind::Undo`] and [`DeedKind::Redo`] have methods of their own.
    pub kind: DeedKind,
    /// One line for people, as undo would name it.
    pub title: String,
    /// Who does it, and when.
    pub provenance: Provenance,
    /// What it decides of a patch.
    pub decision: Option<Decision>,
    /// What that decision was made on, in whatever form its author gives it.
    pub pin: Option<String>,
    /// The files, each once.
    pub changes: Vec<Change>,
}

/// What is to happen to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Path in the run, with its ending.
    pub path: String,
    /// The step whose file it is, if it is one's.
    pub step: Option<StepId>,
    /// What must be there now; `None` for nothing.
    pub before: Option<Vec<u8>>,
    /// What is there afterwards; `None` for nothing.
    pub after: Option<Vec<u8>>,
}

/// A deed that was done, and the versions that it made.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The journal's entry.
    pub deed: Deed,
    /// The version that each of its steps has now.
    pub versions: Vec<(StepId, VersionNumber)>,
}

/// Why a deed was not done. Unless it is [`DeedError::Half`], the files are as they were.
#[derive(Debug, thiserror::Error)]
pub enum DeedError {
    /// The store could not record it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be changed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// There is nothing to take back, or to do again.
    #[error("there is nothing to {0}")]
    Nothing(&'static str),
    /// A file could not be changed, and those that were could not be put back.
    #[error("{why}; and {} could not be put back", paths.join(", "))]
    Half {
        /// What went wrong first.
        why: String,
        /// The files that stand as they were to be.
        paths: Vec<String>,
    },
}

impl DeedError {
    /// What a person may do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Write(error) => Some(error.hint().to_owned()),
            Self::Nothing(_) => None,
            Self::Half { .. } => Some("open the run again: it completes what was begun".to_owned()),
        }
    }
}

/// What became of something that the death of a process had interrupted.
#[derive(Debug, Clone, PartialEq)]
pub enum Recovered {
    /// Its files were written, or some of them were and now all are: it is done.
    Completed(Done),
    /// None of its files had been written: nothing happened.
    Dropped(Deed),
    /// Some of its files were changed by somebody else since. They were not touched; the deed is closed.
    Changed {
        /// The journal's entry.
        deed: Deed,
        /// The files that are neither as before nor as after it.
        paths: Vec<String>,
    },
    /// Its files could not be looked at or written. It stays as it is until the run is opened again.
    Left {
        /// The journal's entry.
        deed: Deed,
        /// Why.
        why: String,
    },
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed(done) => write!(f, "{:?} was interrupted and is completed now", done.deed.title),
            Self::Dropped(deed) => write!(f, "{:?} was interrupted before it changed anything", deed.title),
            Self::Changed { deed, paths } => write!(
                f,
                "{:?} was interrupted, and {} changed since: it was left as it is; see `reweave log`",
                deed.title,
                paths.join(", ")
            ),
            Self::Left { deed, why } => write!(f, "{:?} was interrupted and can't be completed now: {why}", deed.title),
        }
    }
}

impl Store {
    /// Does something to files of the run so that it is done whole or not at all, is in the history with its
    /// provenance, and can be undone.
    ///
    /// # Errors
    /// When a file is not what `before` says, or can't be written, or the store can't be: then everything is as
    /// it was. [`DeedError::Half`] where not even that could be brought about.
    pub fn carry_out(&self, files: &Files, plan: &Plan) -> Result<Done, DeedError> {
        let mut seen = BTreeSet::new();
        let mut contents = Vec::new();
        for change in plan.changes.iter().filter(|change| change.before != change.after) {
            if !seen.insert(&change.path) {
                return Err(
                    StoreError::Refused { why: format!("{} is to be changed twice at once", change.path) }.into()
                );
            }
            let file = DeedFile {
                path: change.path.clone(),
                step: change.step.clone(),
                before: change.before.as_ref().map(Digest::of),
                after: change.after.as_ref().map(Digest::of),
            };
            contents.push((file, change.before.clone(), change.after.clone()));
        }
        if contents.is_empty() {
            return Err(StoreError::Refused { why: format!("{:?} would change nothing", plan.title) }.into());
        }
        let deed = Deed {
            id: DeedId(0),
            at: plan.provenance.at,
            kind: plan.kind,
            title: plan.title.clone(),
            state: DeedState::Intent,
            provenance: plan.provenance.clone(),
            decision: plan.decision,
            pin: plan.pin.clone(),
            files: contents.iter().map(|(file, ..)| file.clone()).collect(),
        };
        self.perform(files, deed, contents)
    }

    /// Takes back the last thing that [`Store::carry_out`] did and that still stands.
    ///
    /// # Errors
    /// [`DeedError::Nothing`] when there is none; otherwise as [`Store::carry_out`], above all when a person has
    /// changed one of the files since.
    pub fn undo(&self, files: &Files, at: Millis) -> Result<Done, DeedError> {
        let deed = self.undoable()?.ok_or(DeedError::Nothing("undo"))?;
        self.again(files, &deed, Way::Back, at)
    }

    /// Does again what was undone last.
    ///
    /// # Errors
    /// As [`Store::undo`].
    pub fn redo(&self, files: &Files, at: Millis) -> Result<Done, DeedError> {
        let deed = self.redoable()?.ok_or(DeedError::Nothing("redo"))?;
        self.again(files, &deed, Way::Forth, at)
    }

    fn again(&self, files: &Files, deed: &Deed, way: Way, at: Millis) -> Result<Done, DeedError> {
        let mut contents = Vec::new();
        for file in &deed.files {
            let file = if way == Way::Back { file.swapped() } else { file.clone() };
            let before = file.before.map(|digest| self.get_blob(&digest)).transpose()?;
            let after = file.after.map(|digest| self.get_blob(&digest)).transpose()?;
            contents.push((file, before, after));
        }
        // What is written again is what its author wrote; what is written back is a person's decision.
        let (kind, by, decision, reason) = match way {
            Way::Back => (
                DeedKind::Undo(deed.id),
                Provenance::new(Author::Person, at),
                deed.decision.map(|decision| Decision { from: decision.to, to: decision.from, ..decision }),
                format!("undo: {}", deed.title),
            ),
            Way::Forth => {
                (DeedKind::Redo(deed.id), deed.provenance.clone(), deed.decision, format!("redo: {}", deed.title))
            }
        };
        let deed = Deed {
            id: DeedId(0),
            at,
            kind,
            title: deed.title.clone(),
            state: DeedState::Intent,
            provenance: Provenance { at, reason: Some(reason), ..by },
            decision,
            pin: deed.pin.clone(),
            files: contents.iter().map(|(file, ..)| file.clone()).collect(),
        };
        self.perform(files, deed, contents)
    }

    /// Intent, rename, commit.
    fn perform(&self, files: &Files, mut deed: Deed, contents: Vec<Contents>) -> Result<Done, DeedError> {
        for file in &deed.files {
            match (files.content(Path::new(&file.path))?, file.before) {
                (found, before) if found == before => {}
                (Some(_), None) => return Err(WriteError::Exists(file.path.clone().into()).into()),
                (None, Some(_)) => return Err(WriteError::Gone(file.path.clone().into()).into()),
                _ => return Err(WriteError::Changed(file.path.clone().into()).into()),
            }
        }
        let (intent, kept) = (deed.clone(), contents.clone());
        deed.id = self.submit(Durability::Full, move |write| write.intent(&intent, &kept)).wait()?;
        let mut written = Vec::new();
        let mut outcome = Ok(());
        for turn in turns(&contents) {
            if let Err(error) = turn.make(files) {
                outcome = Err(DeedError::Write(error));
                break;
            }
            written.push(turn);
        }
        let outcome = outcome.and_then(|()| Ok(self.commit(&deed)?));
        match outcome {
            Ok(versions) => Ok(Done { deed: Deed { state: DeedState::Done, ..deed }, versions }),
            Err(error) => {
                let stuck: Vec<String> = written
                    .iter()
                    .rev()
                    .filter(|turn| turn.inverse().make(files).is_err())
                    .map(|turn| turn.path().to_owned())
                    .collect();
                if !stuck.is_empty() {
                    return Err(DeedError::Half { why: error.to_string(), paths: stuck });
                }
                // Where even this can't be recorded, the next recovery finds that nothing happened.
                drop(self.close(deed.id));
                Err(error)
            }
        }
    }

    fn commit(&self, deed: &Deed) -> Result<Vec<(StepId, VersionNumber)>, StoreError> {
        let deed = deed.clone();
        self.submit(Durability::Full, move |write| write.done(&deed)).wait()
    }

    fn close(&self, id: DeedId) -> Result<(), StoreError> {
        self.submit(Durability::Full, move |write| write.deed_state(id, DeedState::Closed)).wait()
    }

    /// Completes or undoes what the death of a process interrupted. To be called by the owner of a run, once,
    /// before it looks at the steps: a file that was written by an accepted patch would else be taken for a
    /// person's edit.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub fn recover(&self, files: &Files) -> Result<Vec<Recovered>, StoreError> {
        self.intents()?.into_iter().map(|deed| self.recover_one(files, deed)).collect()
    }

    fn recover_one(&self, files: &Files, deed: Deed) -> Result<Recovered, StoreError> {
        let (mut before, mut after, mut other) = (Vec::new(), Vec::new(), Vec::new());
        for file in &deed.files {
            match files.content(Path::new(&file.path)) {
                Ok(found) if found == file.after => after.push(file),
                Ok(found) if found == file.before => before.push(file),
                Ok(_) | Err(WriteError::Changed(_)) => other.push(file.path.clone()),
                Err(error) => return Ok(Recovered::Left { why: error.to_string(), deed: deed.clone() }),
            }
        }
        if !other.is_empty() {
            let (closed, standing) = (deed.clone(), after.into_iter().cloned().collect::<Vec<_>>());
            self.submit(Durability::Full, move |write| {
                write.deed_versions(&closed, &standing)?;
                write.deed_state(closed.id, DeedState::Closed)
            })
            .wait()?;
            return Ok(Recovered::Changed { deed, paths: other });
        }
        if after.is_empty() {
            self.close(deed.id)?;
            return Ok(Recovered::Dropped(deed));
        }
        let mut contents = Vec::new();
        for file in before {
            let after = file.after.map(|digest| self.get_blob(&digest)).transpose()?;
            // What was there is not needed: nothing of this is taken back.
            contents.push((file.clone(), None, after));
        }
        for turn in turns(&contents) {
            if let Err(error) = turn.make(files) {
                return Ok(Recovered::Left { why: error.to_string(), deed: deed.clone() });
            }
        }
        let versions = self.commit(&deed)?;
        Ok(Recovered::Completed(Done { deed: Deed { state: DeedState::Done, ..deed }, versions }))
    }
}

/// Undoing or redoing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Back,
    Forth,
}

impl DeedFile {
    fn swapped(&self) -> Self {
        Self { before: self.after, after: self.before, ..self.clone() }
    }
}

/// One change of the files of a run.
enum Turn<'a> {
    Put { path: &'a str, expect: Expect, bytes: &'a [u8], was: Option<&'a [u8]> },
    Remove { path: &'a str, digest: Digest, was: Option<&'a [u8]> },
    Rename { from: &'a str, to: &'a str, digest: Digest },
}

/// What must be done, in an order in which nothing is ever only in memory: renames, then what is put, then what
/// goes.
fn turns(contents: &[Contents]) -> Vec<Turn<'_>> {
    let files: Vec<DeedFile> = contents.iter().map(|(file, ..)| file.clone()).collect();
    let renames: Vec<(String, String)> =
        journal::renames(&files).into_iter().map(|(from, to)| (from.path.clone(), to.path.clone())).collect();
    let (mut first, mut puts, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for (file, before, after) in contents {
        let path = file.path.as_str();
        if let Some(digest) = file.before
            && let Some((_, to)) = renames.iter().find(|(from, _)| from == path)
            && let Some((to, ..)) = contents.iter().find(|(file, ..)| file.path == *to)
        {
            first.push(Turn::Rename { from: path, to: &to.path, digest });
        } else if renames.iter().any(|(_, to)| to == path) {
            // It comes by the rename.
        } else if let Some(bytes) = after {
            let expect = file.before.map_or(Expect::Absent, Expect::Content);
            puts.push(Turn::Put { path, expect, bytes, was: before.as_deref() });
        } else if let Some(digest) = file.before {
            last.push(Turn::Remove { path, digest, was: before.as_deref() });
        }
    }
    first.append(&mut puts);
    first.append(&mut last);
    first
}

impl<'a> Turn<'a> {
    fn path(&self) -> &str {
        match self {
            Self::Put { path, .. } | Self::Remove { path, .. } => path,
            Self::Rename { to, .. } => to,
        }
    }

    /// Does it. That a change may not outlast a power cut is no reason to take it back.
    fn make(&self, files: &Files) -> Result<(), WriteError> {
        let result = match self {
            Self::Put { path, expect, bytes, .. } => files.write(Path::new(path), bytes, *expect).map(drop),
            Self::Remove { path, digest, .. } => files.remove(Path::new(path), *digest),
            Self::Rename { from, to, digest } => files.rename(Path::new(from), Path::new(to), *digest),
        };
        match result {
            Err(WriteError::Unsure { .. }) => Ok(()),
            other => other,
        }
    }

    /// What takes it back.
    fn inverse(&self) -> Turn<'a> {
        match *self {
            Self::Put { path, bytes, was: Some(was), .. } => {
                Turn::Put { path, expect: Expect::Content(Digest::of(bytes)), bytes: was, was: Some(bytes) }
            }
            Self::Put { path, bytes, was: None, .. } => {
                Turn::Remove { path, digest: Digest::of(bytes), was: Some(bytes) }
            }
            Self::Remove { path, was, .. } => {
                Turn::Put { path, expect: Expect::Absent, bytes: was.unwrap_or_default(), was: None }
            }
            Self::Rename { from, to, digest } => Turn::Rename { from: to, to: from, digest },
        }
    }
}
