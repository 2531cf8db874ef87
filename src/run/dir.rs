//! A run's directory: opened, and its one-off questions.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::exclude::Exclude;
use super::problem::{Problem, ProblemKind, RunError};
use super::read::{ReadFault, read_within};
use super::step_file::Scan;
use super::tree::Tree;
use crate::step::Digest;

/// A directory that is a run, or may become one.
#[derive(Debug, Clone)]
pub struct RunDir {
    root: PathBuf,
    given: PathBuf,
    exclude: Exclude,
}

/// The largest proposal that is read from `patches/`, in bytes.
const PROPOSAL_LIMIT: u64 = 64 << 20;

/// A file in the run's inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its path in the run: `patches/…`.
    pub path: PathBuf,
    /// Its bytes, of whatever format. Hostile.
    pub bytes: Vec<u8>,
    /// Hash of the bytes: a proposal is known by its content.
    pub digest: Digest,
}

impl RunDir {
    /// Opens a directory. Nothing is made in it, and what it holds is not looked at yet.
    ///
    /// # Errors
    /// When there is no such directory, or it can't be listed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RunError> {
        let given = path.as_ref();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => RunError::Missing(given.to_owned()),
            io::ErrorKind::NotADirectory => RunError::NotADirectory(given.to_owned()),
            _ => RunError::Unreadable { dir: given.to_owned(), error },
        };
        let root = fs::canonicalize(given).map_err(failed)?;
        if !fs::metadata(&root).map_err(failed)?.is_dir() {
            return Err(RunError::NotADirectory(given.to_owned()));
        }
        fs::read_dir(&root).map_err(failed)?;
        Ok(Self { root, given: given.to_owned(), exclude: Exclude::default() })
    }

    /// The same run without what these globs name.
    #[must_use]
    pub fn excluding(mut self, exclude: Exclude) -> Self {
        self.exclude = exclude;
        self
    }

    /// The directory, absolute and without symbolic links.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The directory as the person named it: for messages.
    pub fn shown(&self) -> &Path {
        &self.given
    }

    /// What is left out beside the fixed names.
    pub fn exclude(&self) -> &Exclude {
        &self.exclude
    }

    /// Looks at the whole directory. What can't be used is among the scan's problems, each with its file and remedy.
    pub fn scan(&self) -> Scan {
        Tree::read(self).scan()
    }

    /// Whether something can be made in the directory. It is tried with a file that is removed at once.
    ///
    /// # Errors
    /// [`RunError::NotWritable`].
    pub fn check_writable(&self) -> Result<(), RunError> {
        let probe = self.root.join(format!(".reweave-probe-{}", std::process::id()));
        let tried = OpenOptions::new().write(true).create_new(true).open(&probe).and_then(|_| fs::remove_file(&probe));
        tried.map_err(|error| RunError::NotWritable { dir: self.given.clone(), error })
    }

    /// The proposals in `patches/`, by name, and what is wrong with the others there. They are never moved or deleted.
    pub fn proposals(&self) -> (Vec<Proposal>, Vec<Problem>) {
        let inbox = self.root.join(super::PATCHES);
        let (mut proposals, mut problems) = (Vec::new(), Vec::new());
        let mut names: Vec<_> = match fs::read_dir(&inbox) {
            Ok(entries) => entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let kind = ProblemKind::DirectoryUnreadable(error.to_string());
                problems.push(Problem { path: super::PATCHES.into(), kind });
                Vec::new()
            }
        };
        names.sort();
        for name in names {
            // An editor's or a writer's temporary file is not meant to be read.
            if name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().ends_with(b"~") {
                continue;
            }
            let path = Path::new(super::PATCHES).join(&name);
            match read_within(&self.root, &path, PROPOSAL_LIMIT) {
                Ok((bytes, _)) => proposals.push(Proposal { path, digest: Digest::of(&bytes), bytes }),
                Err(ReadFault::Gone | ReadFault::Directory) => {}
                Err(ReadFault::Problem(kind)) => problems.push(Problem { path, kind }),
                Err(ReadFault::TooLarge(found)) => {
                    let kind = ProblemKind::TooLarge { bytes: found.len(), limit: PROPOSAL_LIMIT };
                    problems.push(Problem { path, kind });
                }
            }
        }
        (proposals, problems)
    }
}
