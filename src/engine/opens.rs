//! Which of the run's files are opened while a step runs, by whomever.
//!
//! Python tells what it opens itself. Native code of libraries (polars, DuckDB, HDF5, OpenCV) opens files without a word, so
//! the kernel is asked as well (inotify). It does not say who opened a file: one that somebody else reads meanwhile counts as
//! read by the step, which at worst has it run again for nothing.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;

/// Most directories of a run that are watched: one that has more holds something else than data.
const MOST: usize = 2_000;
/// Directories that hold nothing which a step reads by native code.
const LEFT_OUT: [&str; 5] = [".reweave", ".git", "__pycache__", "node_modules", "patches"];

/// Files that were opened, by their paths relative to the root. `.py` files are Python's own.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) opened: BTreeSet<String>,
    /// Those that came to be there.
    pub(super) made: BTreeSet<String>,
}

/// Follows what is opened in a directory and below it.
#[derive(Debug, Default)]
pub(super) struct Opens {
    watch: Option<Watch>,
    tried: bool,
}

#[derive(Debug)]
struct Watch {
    root: PathBuf,
    fd: OwnedFd,
    /// Paths relative to the root.
    directories: HashMap<i32, PathBuf>,
}

impl Opens {
    /// From now on; what was opened before is forgotten.
    pub(super) fn begin(&mut self, root: &Path) {
        if !std::mem::replace(&mut self.tried, true) {
            // Where the system has no more of them, Python's own word has to do.
            self.watch = Watch::new(root);
        }
        self.end();
    }

    /// What was opened since.
    pub(super) fn end(&mut self) -> Opened {
        self.watch.as_mut().map(Watch::take).unwrap_or_default()
    }
}

impl Watch {
    fn new(root: &Path) -> Option<Self> {
        let fd = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let mut watch = Self { root: root.to_owned(), fd, directories: HashMap::new() };
        watch.follow(PathBuf::new());
        Some(watch)
    }

    /// Watches a directory and those below it.
    fn follow(&mut self, top: PathBuf) {
        let mut todo = vec![top];
        while let Some(inner) = todo.pop() {
            let full = self.root.join(&inner);
            let flags = WatchFlags::OPEN | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
            if self.directories.len() >= MOST {
                return;
            }
            let Ok(number) = add_watch(&self.fd, &full, flags | WatchFlags::DONT_FOLLOW) else { continue };
            self.directories.insert(number, inner.clone());
            for entry in fs::read_dir(&full).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let is_left_out = LEFT_OUT.iter().any(|out| name == *out) || entry.path().join("pyvenv.cfg").exists();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_left_out {
                    todo.push(inner.join(name));
                }
            }
        }
    }

    fn take(&mut self) -> Opened {
        let mut found = Opened::default();
        let mut new = Vec::new();
        let mut buffer = [MaybeUninit::<u8>::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.fd, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => break,
            };
            let directory = self.directories.get(&event.wd());
            let (Some(directory), Some(name)) = (directory, event.file_name()) else { continue };
            let Ok(name) = name.to_str() else { continue };
            let path = directory.join(name);
            let came = event.events().intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
            if event.events().contains(ReadFlags::ISDIR) {
                if came && !LEFT_OUT.contains(&name) {
                    new.push(path);
                }
            } else if !name.ends_with(".py") {
                let files = if came { &mut found.made } else { &mut found.opened };
                files.insert(path.to_string_lossy().into_owned());
            }
        }
        for path in new {
            self.follow(path);
        }
        found
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_is_told_also_in_new_directories() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        fs::write(dir.path().join("data/old.csv"), "1").unwrap();
        fs::write(dir.path().join("step.py"), "").unwrap();
        let mut opens = Opens::default();
        opens.begin(dir.path());
        fs::read(dir.path().join("data/old.csv")).unwrap();
        fs::read(dir.path().join("step.py")).unwrap();
        fs::create_dir(dir.path().join("new")).unwrap();
        let said = |found: Opened| (Vec::from_iter(found.opened), Vec::from_iter(found.made));
        assert_eq!(said(opens.end()), (vec!["data/old.csv".to_owned()], vec![]));
        fs::write(dir.path().join("new/made.csv"), "2").unwrap();
        let path = vec!["new/made.csv".to_owned()];
        assert_eq!(said(opens.end()), (path.clone(), path));
        fs::read(dir.path().join("data/old.csv")).unwrap();
        opens.begin(dir.path());
        assert_eq!(said(opens.end()), (vec![], vec![]));
    }
}
