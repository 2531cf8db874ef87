//! Which of the run's files are opened while a step runs, by whomever.
//!
//! Python tells what it opens itself. Native code of libraries (polars, DuckDB, HDF5, OpenCV) opens files without a word, so
//! the kernel is asked as well. It does not say who opened a file: one that somebody else reads meanwhile counts as read by
//! the step, which at worst has it run again for nothing. Where no kernel tells, or not of every directory, all files of the
//! run may have been opened.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use super::inotify::Watch;
#[cfg(not(target_os = "linux"))]
use super::no_inotify::Watch;

/// Most files of a run that are followed where any may have been opened.
const MOST_FOLLOWED: usize = 5_000;
/// Directories that hold nothing which a step reads by native code.
const LEFT_OUT: [&str; 5] = [".reweave", ".git", "__pycache__", "node_modules", "patches"];

/// Files that were opened, by their paths relative to the root. `.py` files are Python's own.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) opened: BTreeSet<String>,
    /// Those that came to be there.
    pub(super) made: BTreeSet<String>,
    /// Directories that may have been listed.
    pub(super) listed: BTreeSet<String>,
    /// Why there may be more of them, if so.
    pub(super) doubt: Option<String>,
}

/// Follows what is opened in a directory and below it.
#[derive(Debug, Default)]
pub(super) struct Opens {
    watch: Option<Watch>,
    tried: bool,
    found: Opened,
    /// What there was when the step began, where the kernel does not tell all.
    before: Option<Tree>,
}

impl Opens {
    /// From now on; what was opened before is forgotten.
    pub(super) fn begin(&mut self, root: &Path) {
        self.look();
        // Directories that came while more happened than was told are not known.
        if !std::mem::replace(&mut self.tried, true) || self.watch.as_ref().is_some_and(Watch::is_overrun) {
            self.watch = Watch::new(root);
        }
        self.found = Opened::default();
        let is_told = self.watch.as_ref().is_some_and(Watch::is_whole);
        self.before = (!is_told).then(|| Tree::of(root));
    }

    /// Takes from the kernel what it has to tell: it keeps only so much.
    pub(super) fn look(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.take(&mut self.found);
        }
    }

    /// What was opened since.
    pub(super) fn end(&mut self, root: &Path) -> Opened {
        self.look();
        let mut found = std::mem::take(&mut self.found);
        let is_told = self.watch.as_ref().is_some_and(Watch::is_whole);
        let Some(before) = self.before.take() else {
            if !is_told {
                found.doubt = Some("more files were opened while it ran than the system tells of".into());
            }
            return found;
        };
        if before.is_whole {
            let after = Tree::of(root).files;
            found.made.extend(after.difference(&before.files).cloned());
            found.opened.extend(before.files);
            found.listed.extend(before.directories);
        } else {
            let most = MOST_FOLLOWED;
            found.doubt = Some(format!("the libraries that it uses may read more files than are followed ({most})"));
        }
        found
    }
}

/// Whether `path` is a directory whose files are followed.
pub(super) fn is_followed(path: &Path) -> bool {
    let is_left_out = path.file_name().is_none_or(|name| LEFT_OUT.iter().any(|out| name == *out));
    !is_left_out && fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) && !path.join("pyvenv.cfg").exists()
}

/// Whether a file may be opened by other than Python itself.
pub(super) fn is_data(name: &str) -> bool {
    !name.ends_with(".py")
}

/// What there is in a directory and below it, by paths relative to it.
#[derive(Debug)]
struct Tree {
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
    /// Not so where there was more than is followed.
    is_whole: bool,
}

impl Tree {
    fn of(root: &Path) -> Self {
        let mut tree = Self { files: BTreeSet::new(), directories: BTreeSet::from([".".to_owned()]), is_whole: false };
        let mut todo = vec![PathBuf::new()];
        while let Some(inner) = todo.pop() {
            for entry in fs::read_dir(root.join(&inner)).into_iter().flatten().flatten() {
                let path = inner.join(entry.file_name());
                let text = path.to_string_lossy().into_owned();
                if is_followed(&entry.path()) {
                    tree.directories.insert(text);
                    todo.push(path);
                } else if entry.file_type().is_ok_and(|kind| !kind.is_dir()) && is_data(&text) {
                    tree.files.insert(text);
                }
                if tree.files.len() + tree.directories.len() > MOST_FOLLOWED {
                    return tree;
                }
            }
        }
        Self { is_whole: true, ..tree }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
mod tests {
    use super::*;

    fn said(found: Opened) -> (Vec<String>, Vec<String>) {
        assert_eq!(found.doubt, None);
        (found.opened.into_iter().collect(), found.made.into_iter().collect())
    }

    /// One that no kernel tells anything.
    fn untold() -> Opens {
        Opens { tried: true, ..Opens::default() }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_opened_is_told_also_in_new_directories() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        fs::write(dir.path().join("data/old.csv"), "1").unwrap();
        fs::write(dir.path().join("step.py"), "").unwrap();
        let mut opens = Opens::default();
        opens.begin(dir.path());
        fs::read(dir.path().join("data/old.csv")).unwrap();
        fs::read(dir.path().join("step.py")).unwrap();
        assert_eq!(said(opens.end(dir.path())), (vec!["data/old.csv".to_owned()], vec![]));
        opens.begin(dir.path());
        // Before the directory that came can be watched.
        fs::create_dir_all(dir.path().join("new/inner")).unwrap();
        fs::write(dir.path().join("new/inner/made.csv"), "2").unwrap();
        assert_eq!(said(opens.end(dir.path())), (vec![], vec!["new/inner/made.csv".to_owned()]));
        opens.begin(dir.path());
        fs::write(dir.path().join("new/other.csv"), "2").unwrap();
        let path = vec!["new/other.csv".to_owned()];
        assert_eq!(said(opens.end(dir.path())), (path.clone(), path));
        fs::read(dir.path().join("data/old.csv")).unwrap();
        opens.begin(dir.path());
        assert_eq!(said(opens.end(dir.path())), (vec![], vec![]));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn more_than_the_kernel_keeps_is_in_doubt_unless_it_is_taken_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| dir.path().join(name));
        for path in &paths {
            fs::write(path, "1").unwrap();
        }
        let most: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
        let mut opens = Opens::default();
        for (looks, is_doubted) in [(false, true), (true, false)] {
            opens.begin(dir.path());
            for at in 0..most + 10 {
                // The kernel tells once of what happens twice in turn.
                for path in &paths[at % 2..=at % 2] {
                    fs::File::open(path).unwrap();
                }
                if looks && at % 1_000 == 0 {
                    opens.look();
                }
            }
            assert_eq!(opens.end(dir.path()).doubt.is_some(), is_doubted);
        }
    }

    #[test]
    fn where_no_kernel_tells_all_files_may_have_been_opened() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("data")).unwrap();
        fs::create_dir_all(dir.path().join(".git")).unwrap();
        for path in ["data/a.csv", "step.py", ".git/config"] {
            fs::write(dir.path().join(path), "1").unwrap();
        }
        let mut opens = untold();
        opens.begin(dir.path());
        fs::write(dir.path().join("data/b.csv"), "1").unwrap();
        let found = opens.end(dir.path());
        assert_eq!(Vec::from_iter(&found.listed), [".", "data"]);
        assert_eq!(said(found), (vec!["data/a.csv".to_owned()], vec!["data/b.csv".to_owned()]));
    }

    #[test]
    fn more_files_than_are_followed_are_in_doubt() {
        let dir = tempfile::tempdir().unwrap();
        for at in 0..=MOST_FOLLOWED {
            fs::write(dir.path().join(at.to_string()), "").unwrap();
        }
        let mut opens = untold();
        opens.begin(dir.path());
        let found = opens.end(dir.path());
        assert!(found.doubt.unwrap().contains("5000"));
        assert!(found.made.is_empty());
    }
}
