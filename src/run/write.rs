//! Changing the files of a run so that each is whole at any moment, and no edit is lost unseen.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::dir::RunDir;
use super::faults::Faults;
use super::problem::{ProblemKind, plain, show};
use super::read::{ReadFault, read_within, resolve};
use crate::step::Digest;

/// What must be at a path for a change to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: a new file is made, never over another.
    Absent,
    /// A file of just this content.
    Content(Digest),
}

/// Why a file was not changed. It is as it was, except where [`WriteError::Unsure`] says so.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is not what the change was made for.
    #[error("{} was changed meanwhile", show(.0))]
    Changed(PathBuf),
    /// It is gone.
    #[error("{} is not there any more", show(.0))]
    Gone(PathBuf),
    /// Something is there already.
    #[error("{} exists already", show(.0))]
    Exists(PathBuf),
    /// The path leads out of the run, or to what is the workbench's own.
    #[error("{} is not a path for a step of this run", show(.0))]
    Outside(PathBuf),
    /// Its owner made it read-only.
    #[error("{} is read-only", show(.0))]
    ReadOnly(PathBuf),
    /// The operating system refused.
    #[error("{} can't be {doing}: {}", show(.path), plain(.error))]
    Io {
        /// Which file.
        path: PathBuf,
        /// What was tried, as a participle: "written", "renamed", "removed".
        doing: &'static str,
        /// Why.
        error: io::Error,
    },
    /// The change was made, but it could not be made sure that it outlasts a power cut.
    #[error("{} was {doing}, but may not outlast a power cut: {}", show(.path), plain(.error))]
    Unsure {
        /// Which file.
        path: PathBuf,
        /// What was done.
        doing: &'static str,
        /// Why it is unsure.
        error: io::Error,
    },
}

impl WriteError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Changed(_) => "look at it again, then repeat",
            Self::Gone(_) => "bring it back first: reweave restore",
            Self::Exists(_) => "choose another name",
            Self::Outside(_) => "a step lies in the run's directory, and no part of its path starts with a dot",
            Self::ReadOnly(_) => "chmod u+w, if it may be changed",
            Self::Io { error, .. } | Self::Unsure { error, .. } => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space, then repeat",
                io::ErrorKind::ReadOnlyFilesystem => "copy the run to where it may be written",
                io::ErrorKind::PermissionDenied => "check the directory's mode: ls -ld",
                _ => "see what the system says of the disk, then repeat",
            },
        }
    }
}

/// The files of a run, to be changed.
///
/// A write goes to a temporary file beside the target, is synced, and takes the target's place in one step. Where the
/// kernel can swap two names, the file that was replaced is looked at once more after the swap and put back if someone
/// changed it in between, so that no edit is lost even then.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
    faults: Faults,
}

const MARK: &str = ".reweave-";
const LIMIT: u64 = 1 << 30;

impl RunDir {
    /// The run's files, to be changed.
    pub fn files(&self) -> Files {
        Files { root: self.path().to_owned(), faults: Faults::none() }
    }
}

impl Files {
    /// The same with faults planted, for tests. The points are `create`, `write`, `sync`, `swap`, `remove`, `rename`
    /// and `sync-dir`.
    #[must_use]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Puts `bytes` at `path` (relative to the run) if what is there is as expected. Directories are made as needed; a
    /// replaced file's mode and owner are kept. Gives the digest of the new content.
    ///
    /// # Errors
    /// The file is as it was, except for [`WriteError::Unsure`].
    pub fn write(&self, path: &Path, bytes: &[u8], expect: Expect) -> Result<Digest, WriteError> {
        let io = |error| WriteError::Io { path: path.to_owned(), doing: "written", error };
        let target = self.target(path)?;
        self.check(path, expect)?;
        let parent = target.parent().ok_or_else(|| WriteError::Outside(path.to_owned()))?;
        let replaced = fs::metadata(&target).ok();
        if replaced.as_ref().is_some_and(|found| found.permissions().readonly()) {
            return Err(WriteError::ReadOnly(path.to_owned()));
        }
        let (temporary, mut file) = self.temporary(&target).map_err(io)?;
        let guard = Removed(&temporary);
        (|| {
            self.faults.at("write")?;
            file.write_all(bytes)?;
            if let Some(found) = &replaced {
                keep_owner_and_mode(&file, found)?;
            }
            self.faults.at("sync")?;
            file.sync_all()
        })()
        .map_err(io)?;
        drop(file);
        self.check(path, expect)?;
        self.faults.at("swap").map_err(io)?;
        match expect {
            Expect::Absent => match rename_to_nothing(&temporary, &target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(WriteError::Exists(path.to_owned()));
                }
                other => other.map_err(io)?,
            },
            Expect::Content(expected) => self.swap(path, &temporary, &target, expected)?,
        }
        drop(guard);
        self.sync(parent).map_err(|error| WriteError::Unsure { path: path.to_owned(), doing: "written", error })?;
        Ok(Digest::of(bytes))
    }

    /// The digest of what is at `path` (relative to the run), `None` where nothing is.
    ///
    /// # Errors
    /// When what is there is no file, can't be read, or lies outside the run.
    pub fn content(&self, path: &Path) -> Result<Option<Digest>, WriteError> {
        match read_within(&self.root, path, LIMIT) {
            Ok((bytes, _)) => Ok(Some(Digest::of(bytes))),
            Err(ReadFault::Gone) => Ok(None),
            Err(ReadFault::Problem(ProblemKind::LinkOutside { .. })) => Err(WriteError::Outside(path.to_owned())),
            Err(_) => Err(WriteError::Changed(path.to_owned())),
        }
    }

    /// Removes a file if it still has this content.
    ///
    /// # Errors
    /// The file is as it was, except for [`WriteError::Unsure`].
    pub fn remove(&self, path: &Path, expected: Digest) -> Result<(), WriteError> {
        let io = |error| WriteError::Io { path: path.to_owned(), doing: "removed", error };
        self.check(path, Expect::Content(expected))?;
        // The name itself goes, not what a link leads to.
        let target = self.root.join(path);
        let aside = aside(&target);
        self.faults.at("remove").map_err(io)?;
        rename_to_nothing(&target, &aside).map_err(io)?;
        let unchanged = fs::read(&aside).is_ok_and(|bytes| Digest::of(bytes) == expected);
        if !unchanged {
            rename_to_nothing(&aside, &target).map_err(io)?;
            return Err(WriteError::Changed(path.to_owned()));
        }
        fs::remove_file(&aside).map_err(io)?;
        let parent = target.parent().unwrap_or(&self.root);
        self.sync(parent).map_err(|error| WriteError::Unsure { path: path.to_owned(), doing: "removed", error })
    }

    /// Gives a file another path if it still has this content and nothing is at the other. Directories are made as
    /// needed; an emptied one stays.
    ///
    /// # Errors
    /// Both are as they were, except for [`WriteError::Unsure`].
    pub fn rename(&self, from: &Path, to: &Path, expected: Digest) -> Result<(), WriteError> {
        let io = |error| WriteError::Io { path: from.to_owned(), doing: "renamed", error };
        self.check(from, Expect::Content(expected))?;
        let target = self.target(to)?;
        self.check(to, Expect::Absent)?;
        self.faults.at("rename").map_err(io)?;
        match rename_to_nothing(&self.root.join(from), &target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(WriteError::Exists(to.to_owned()));
            }
            other => other.map_err(io)?,
        }
        let unsure = |error| WriteError::Unsure { path: to.to_owned(), doing: "renamed", error };
        self.sync(target.parent().unwrap_or(&self.root)).map_err(unsure)?;
        let source = self.root.join(from);
        self.sync(source.parent().unwrap_or(&self.root)).map_err(unsure)
    }

    /// Removes temporary files that a process left behind when it died, in these directories of the run. One whose
    /// content is not `kept` anywhere else stays, and is given back: it may hold the only copy of an edit.
    pub fn sweep<'d>(
        &self,
        directories: impl IntoIterator<Item = &'d Path>,
        kept: impl Fn(&[u8]) -> bool,
    ) -> Vec<PathBuf> {
        let mut left = Vec::new();
        for directory in directories {
            let Ok(entries) = fs::read_dir(self.root.join(directory)) else { continue };
            for entry in entries.filter_map(Result::ok) {
                let name = entry.file_name();
                let ours = name
                    .to_str()
                    .is_some_and(|name| name.starts_with('.') && name.ends_with(".tmp") && name.contains(MARK));
                if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                    continue;
                }
                let known = fs::read(entry.path()).is_ok_and(|bytes| kept(&bytes));
                if !known || fs::remove_file(entry.path()).is_err() {
                    left.push(directory.join(name));
                }
            }
        }
        left
    }

    /// Where `path` really is, with its directories made. Links within the run are followed, none out of it.
    fn target(&self, path: &Path) -> Result<PathBuf, WriteError> {
        let outside = || WriteError::Outside(path.to_owned());
        let io = |error| WriteError::Io { path: path.to_owned(), doing: "written", error };
        let plain = path.components().all(|part| match part {
            Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
            _ => false,
        });
        let name = path.file_name().filter(|_| plain).ok_or_else(outside)?;
        let full = self.root.join(path);
        if fs::symlink_metadata(&full).is_ok_and(|found| found.is_symlink()) {
            return resolve(&self.root, path).map_err(|_| outside());
        }
        // Checked part by part before anything is made, so that no directory is made outside.
        let parent = path.parent().unwrap_or(Path::new(""));
        let mut real = self.root.clone();
        for part in parent {
            real = match fs::canonicalize(real.join(part)) {
                Ok(real) if real.starts_with(&self.root) => real,
                Ok(_) => return Err(outside()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::create_dir(real.join(part)).map_err(io)?;
                    real.join(part)
                }
                Err(error) => return Err(io(error)),
            };
        }
        Ok(real.join(name))
    }

    fn check(&self, path: &Path, expect: Expect) -> Result<(), WriteError> {
        let found = match read_within(&self.root, path, LIMIT) {
            Ok((bytes, _)) => Some(Digest::of(bytes)),
            Err(ReadFault::Gone) => None,
            Err(ReadFault::Problem(ProblemKind::LinkOutside { .. })) => {
                return Err(WriteError::Outside(path.to_owned()));
            }
            Err(_) if expect == Expect::Absent => return Err(WriteError::Exists(path.to_owned())),
            Err(_) => return Err(WriteError::Changed(path.to_owned())),
        };
        match (expect, found) {
            (Expect::Absent, None) => Ok(()),
            (Expect::Absent, Some(_)) => Err(WriteError::Exists(path.to_owned())),
            (Expect::Content(_), None) => Err(WriteError::Gone(path.to_owned())),
            (Expect::Content(expected), Some(found)) if expected == found => Ok(()),
            (Expect::Content(_), Some(_)) => Err(WriteError::Changed(path.to_owned())),
        }
    }

    fn temporary(&self, target: &Path) -> io::Result<(PathBuf, File)> {
        self.faults.at("create")?;
        let path = aside(target);
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((path, file))
    }

    /// Puts `temporary` in the place of `target`, whose content is still `expected`.
    fn swap(&self, path: &Path, temporary: &Path, target: &Path, expected: Digest) -> Result<(), WriteError> {
        let io = |error| WriteError::Io { path: path.to_owned(), doing: "written", error };
        if !exchange(temporary, target).map_err(io)? {
            return fs::rename(temporary, target).map_err(io);
        }
        let unchanged = fs::read(temporary).is_ok_and(|bytes| Digest::of(bytes) == expected);
        if !unchanged {
            exchange(temporary, target).map_err(io)?;
            return Err(WriteError::Changed(path.to_owned()));
        }
        Ok(())
    }

    fn sync(&self, directory: &Path) -> io::Result<()> {
        self.faults.at("sync-dir")?;
        // Only Unix opens a directory to sync it; elsewhere the file system orders renames itself.
        if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
    }
}

/// A name beside `target` that no scan takes for a step and no other process uses.
fn aside(target: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // A long name must not become longer than a file system takes.
    let short: String = name.chars().take(40).collect();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".{short}{MARK}{}-{count}.tmp", std::process::id()))
}

/// Removes a temporary file on every way out; after a swap it holds what was replaced.
struct Removed<'p>(&'p Path);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        // Gone already after a rename; nothing can be done about another failure, and a sweep finds it later.
        let _ = fs::remove_file(self.0);
    }
}

#[cfg(unix)]
fn keep_owner_and_mode(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
        // Only root can; for others the file becomes theirs, as with any editor that saves by renaming.
        let _ = std::os::unix::fs::fchown(file, Some(replaced.uid()), Some(replaced.gid()));
    }
    file.set_permissions(replaced.permissions())
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

/// Swaps two names in one step; `false` where the system can't.
#[cfg(target_os = "linux")]
fn exchange(left: &Path, right: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(_left: &Path, _right: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Renames, and fails with `AlreadyExists` when something is at the new name.
fn rename_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // A second name can't be made over another file; where there are no hard links, a check must do.
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}
