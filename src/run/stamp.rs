//! Whether a file is what it was, told by its size and times.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file changed less than this before it was read may change again without another time stamp: file systems count
/// time in steps of up to two seconds.
const RACY: Duration = Duration::from_secs(2);

/// What tells that a file is what it was, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: (u64, u64),
    #[cfg(unix)]
    changed: (i64, i64),
    /// Set when the file changed so shortly before it was read that its times prove nothing.
    racy: bool,
}

impl Stamp {
    /// The stamp of a file as it is found now.
    pub fn of(found: &Metadata) -> Self {
        Self::settled_after(found, RACY)
    }

    /// The stamp of a file as it is found now, where its times prove something so long after it was changed.
    pub fn settled_after(found: &Metadata, wait: Duration) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        let modified = found.modified().ok();
        let age = modified.map(|at| at.elapsed());
        Self {
            size: found.len(),
            modified,
            #[cfg(unix)]
            inode: (found.dev(), found.ino()),
            #[cfg(unix)]
            changed: (found.ctime(), found.ctime_nsec()),
            racy: !matches!(age, Some(Ok(age)) if age > wait),
        }
    }

    /// Whether a file that had this stamp when it was read, and has the other now, need not be read again.
    pub fn shows_the_same(&self, now: &Self) -> bool {
        !self.racy && self.settled() == now.settled()
    }

    /// The same as if the file had been left alone long before.
    pub fn settled(self) -> Self {
        Self { racy: false, ..self }
    }
}

/// Files that are no steps, as they stood.
#[derive(Debug)]
pub(super) struct OtherFiles(pub(super) BTreeMap<PathBuf, Stamp>);

impl OtherFiles {
    /// The paths that came, went or changed from `self` to `later`, and those of `named` that are in either.
    pub fn since(&self, later: &Self, named: &[PathBuf]) -> Vec<PathBuf> {
        let named: BTreeSet<&PathBuf> = named.iter().collect();
        let all: BTreeSet<&PathBuf> = self.0.keys().chain(later.0.keys()).collect();
        let differs = |path: &&PathBuf| match (self.0.get(*path), later.0.get(*path)) {
            (Some(then), Some(now)) => then.settled() != now.settled() || named.contains(path),
            _ => true,
        };
        all.into_iter().filter(differs).cloned().collect()
    }
}

/// The run's inbox and its configuration, as they stand.
pub(super) fn own_files(root: &Path) -> OtherFiles {
    let proposals = fs::read_dir(root.join(super::PATCHES)).into_iter().flatten().filter_map(Result::ok);
    let mut found: BTreeMap<PathBuf, Stamp> = proposals
        .filter_map(|entry| Some((Path::new(super::PATCHES).join(entry.file_name()), entry.metadata().ok()?)))
        .map(|(path, at)| (path, Stamp::of(&at)))
        .collect();
    if let Ok(at) = fs::metadata(root.join(super::CONFIG_FILE)) {
        found.insert(super::CONFIG_FILE.into(), Stamp::of(&at));
    }
    OtherFiles(found)
}
