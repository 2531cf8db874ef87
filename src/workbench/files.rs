//! What is in files now, looked at no more often than they change.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::calls::StoreCalls;
use super::marks::Disk;
use crate::engine::{Calls as _, Surroundings, Vault, replaced_package};
use crate::run::mode;
use crate::step::{Digest, Execution, FileContent, Package, Reason};

/// Files over this size are told by size and time alone: what is not kept is not compared either.
const LARGEST: u64 = 256 << 20;

/// How long what was found of a package is believed: every change of a step asks for all of them.
const PACKAGES_STAND: Duration = Duration::from_secs(5);

/// The files that a run's steps look at.
#[derive(Debug)]
pub(super) struct FileLook {
    root: PathBuf,
    known: RefCell<HashMap<PathBuf, (Stamp, Digest)>>,
    /// Packages, with when they were looked at and what there was in their place.
    packages: RefCell<HashMap<Package, (Instant, Option<String>)>>,
    /// What a run finds that is begun now, and where it is told how it was.
    pub(super) around: Option<(Surroundings, Arc<dyn Vault>)>,
    /// The answers of calls, which steps look at as they do at files.
    pub(super) calls: Option<Arc<StoreCalls>>,
}

/// What tells that a file is as it was, without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: u64,
    #[cfg(unix)]
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            size: found.len(),
            modified: found.modified().ok(),
            #[cfg(unix)]
            inode: found.ino(),
            #[cfg(unix)]
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Whether the file changed so shortly ago that it may change again without another stamp.
    fn is_racy(&self) -> bool {
        let age = self.modified.and_then(|at| at.elapsed().ok());
        age.is_none_or(|age| age.as_millis() < 20)
    }
}

impl FileLook {
    /// The files of the run in `root`.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, known: RefCell::default(), packages: RefCell::default(), around: None, calls: None }
    }

    /// The bytes of a regular file within the run, if they are few enough to be kept.
    pub(super) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let inside = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let path = self.root.join(path);
        let found = fs::symlink_metadata(&path).ok().filter(|found| inside && found.is_file())?;
        (found.len() <= LARGEST).then(|| fs::read(&path).ok()).flatten()
    }

    /// The digest of a file's bytes; `None` where it can't be read.
    fn digest(&self, path: &Path, found: &Metadata) -> Option<Digest> {
        let stamp = Stamp::of(found);
        if let Some((known, digest)) = self.known.borrow().get(path)
            && *known == stamp
        {
            return Some(*digest);
        }
        let digest = Digest::of(fs::read(path).ok()?);
        if !stamp.is_racy() {
            self.known.borrow_mut().insert(path.to_owned(), (stamp, digest));
        }
        Some(digest)
    }
}

impl Disk for FileLook {
    fn replaced(&self, package: &Package) -> Option<String> {
        let mut known = self.packages.borrow_mut();
        if let Some((at, what)) = known.get(package)
            && at.elapsed() < PACKAGES_STAND
        {
            return what.clone();
        }
        let what = replaced_package(package);
        known.insert(package.clone(), (Instant::now(), what.clone()));
        what
    }

    fn surroundings(&self, execution: &Execution, timeout: Option<Duration>) -> Option<Reason> {
        let (found, vault) = self.around.as_ref()?;
        found.changed(execution, timeout, &**vault)
    }

    fn kept(&self, call: &Digest) -> Option<Digest> {
        self.calls.as_ref().and_then(|calls| calls.kept(call))
    }

    fn holds(&self, path: &str, content: &FileContent) -> Option<bool> {
        let path = self.root.join(path);
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Some(*content == FileContent::Absent);
            }
            Err(_) => return None,
        };
        match content {
            FileContent::Absent => Some(false),
            FileContent::Present => Some(true),
            FileContent::File { digest, mode } => {
                let found = fs::metadata(&path).ok()?;
                if !found.is_file() || mode::of(&found) != *mode {
                    return Some(false);
                }
                if found.len() > LARGEST {
                    return None;
                }
                Some(self.digest(&path, &found)? == *digest)
            }
            FileContent::Link { target } => {
                let there = found.is_symlink().then(|| fs::read_link(&path).ok()).flatten();
                Some(there.is_some_and(|there| there.as_os_str() == target.as_str()))
            }
            // How these are told is the engine's; it looks when the run is brought up to date.
            FileContent::Directory { .. } | FileContent::External { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told_from_what_was() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "one").unwrap();
        let look = FileLook::new(dir.path().to_owned());
        let file = |text: &str| FileContent::File { digest: Digest::of(text), mode: None };
        assert_eq!(look.holds("a", &file("one")), Some(true));
        assert_eq!(look.holds("a", &file("two")), Some(false));
        assert_eq!(look.holds("a", &FileContent::Absent), Some(false));
        assert_eq!(look.holds("b", &FileContent::Absent), Some(true));
        assert_eq!(look.holds("b", &file("one")), Some(false));
        fs::write(dir.path().join("a"), "two").unwrap();
        assert_eq!(look.holds("a", &file("two")), Some(true));
    }
}
