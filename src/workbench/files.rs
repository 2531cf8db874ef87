//! What is in files now, looked at no more often than they change.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::calls::StoreCalls;
use super::marks::Disk;
use crate::engine::{Calls as _, Contents, Origins, Surroundings, Vault, replaced_package};
use crate::step::{Digest, Execution, FileContent, Name, Package, Reason};

/// Files over this size are not read.
const LARGEST: u64 = 256 << 20;

/// How long what was found of a package is believed: every change of a step asks for all of them.
const PACKAGES_STAND: Duration = Duration::from_secs(5);

/// The files that a run's steps look at.
#[derive(Debug)]
pub(super) struct FileLook {
    root: PathBuf,
    contents: RefCell<Contents>,
    /// What there was before steps changed it.
    origins: Origins,
    /// Packages, with when they were looked at and what there was in their place.
    packages: RefCell<HashMap<Package, (Instant, Option<String>)>>,
    /// What a run finds that is begun now, and where it is told how it was.
    pub(super) around: Option<(Surroundings, Arc<dyn Vault>)>,
    /// The answers of calls, which steps look at as they do at files.
    pub(super) calls: Option<Arc<StoreCalls>>,
}

impl FileLook {
    /// The files of the run in `root`.
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            contents: RefCell::default(),
            origins: Origins::default(),
            packages: RefCell::default(),
            around: None,
            calls: None,
        }
    }

    /// Looks at what was noted by now.
    pub(super) fn renew(&mut self) {
        if let Some((_, vault)) = &self.around {
            self.origins.renew(&**vault);
        }
    }

    /// The bytes of a regular file within the run, if they are few enough to be kept.
    pub(super) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let inside = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let path = self.root.join(path);
        let found = fs::symlink_metadata(&path).ok().filter(|found| inside && found.is_file())?;
        (found.len() <= LARGEST).then(|| fs::read(&path).ok()).flatten()
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
        Some(*content == self.contents.borrow_mut().at(&self.root.join(path)))
    }

    fn start(&self, path: &str) -> Option<FileContent> {
        self.origins.at(path, || self.contents.borrow_mut().at(&self.root.join(path)))
    }

    fn changed(&self) -> Vec<Name> {
        self.origins.paths().map(Name::from).collect()
    }

    fn listing(
        &self,
        path: &str,
        itself: Option<&FileContent>,
        but: Vec<(String, FileContent)>,
    ) -> Option<FileContent> {
        Some(Contents::listing(&self.root.join(path), itself, but))
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
