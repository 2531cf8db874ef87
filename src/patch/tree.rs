//! The files that a patch may be placed on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What is at a path of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No file.
    Nothing,
    /// A text.
    Text(Arc<str>),
    /// Something that can't be patched, and why: "is a directory".
    Unfit(String),
}

/// Files by path, read and never written.
pub trait Tree {
    /// What is at `path`, which is relative, without `.` or `..`.
    fn get(&self, path: &str) -> Found;

    /// Whether anything is there.
    fn has(&self, path: &str) -> bool {
        self.get(path) != Found::Nothing
    }

    /// Where the tree lies, so that absolute paths into it can be read.
    fn root(&self) -> Option<&str> {
        None
    }
}

/// A tree that is held in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    files: BTreeMap<String, Arc<str>>,
    root: Option<String>,
}

impl MemoryTree {
    /// The given files.
    pub fn new<P: Into<String>, T: Into<Arc<str>>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        Self { files: files.into_iter().map(|(path, text)| (path.into(), text.into())).collect(), root: None }
    }

    /// As if it lay there.
    #[must_use]
    pub fn with_root(mut self, root: impl Into<String>) -> Self {
        self.root = Some(root.into());
        self
    }
}

impl Tree for MemoryTree {
    fn get(&self, path: &str) -> Found {
        self.files.get(path).map_or(Found::Nothing, |text| Found::Text(Arc::clone(text)))
    }

    fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }
}

/// Largest file that is read to be patched, in bytes.
const LARGEST: u64 = 256 << 20;

/// A directory. Symbolic links that lead out of it are not followed.
#[derive(Debug, Clone)]
pub struct DirectoryTree {
    root: PathBuf,
    real: PathBuf,
    shown: String,
}

impl DirectoryTree {
    /// The directory at `root`.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(root: &Path) -> io::Result<Self> {
        let real = root.canonicalize()?;
        if !real.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is not a directory", root.display())));
        }
        // Names are compared as people write them: the path given, made absolute but not resolved.
        let shown = std::path::absolute(root)?.display().to_string();
        Ok(Self { root: root.to_owned(), real, shown })
    }
}

impl DirectoryTree {
    /// Whether a resolved path is one that a patch must not reach.
    fn leads_away(&self, real: &Path) -> Option<String> {
        let Ok(inner) = real.strip_prefix(&self.real) else {
            return Some("is a link that leads out of the run".to_owned());
        };
        let first = inner.components().next();
        let state = inner.components().any(|part| part.as_os_str() == ".git")
            || first.is_some_and(|part| part.as_os_str() == ".reweave" || part.as_os_str() == "patches");
        state.then(|| "is a link into the run's own state".to_owned())
    }

    /// A path where nothing is: free to be made, unless a directory above it is a link that leads away.
    fn absent(&self, full: &Path) -> Found {
        let above = full.ancestors().skip(1).find_map(|dir| dir.canonicalize().ok());
        match above {
            Some(dir) if !dir.is_dir() => Found::Unfit("lies under a file".to_owned()),
            Some(dir) => self.leads_away(&dir).map_or(Found::Nothing, Found::Unfit),
            None => Found::Nothing,
        }
    }
}

impl Tree for DirectoryTree {
    fn get(&self, path: &str) -> Found {
        let relative = Path::new(path);
        if relative.components().any(|part| !matches!(part, Component::Normal(_))) {
            return Found::Unfit("is no path in the run".to_owned());
        }
        let full = self.root.join(relative);
        let real = match full.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&full).is_err() => {
                return self.absent(&full);
            }
            Err(error) => return Found::Unfit(format!("can't be read: {error}")),
        };
        if let Some(why) = self.leads_away(&real) {
            return Found::Unfit(why);
        }
        match fs::metadata(&real) {
            Ok(meta) if !meta.is_file() => Found::Unfit("is not a file".to_owned()),
            Ok(meta) if meta.len() > LARGEST => Found::Unfit("is too large to be patched".to_owned()),
            Ok(_) => match fs::read(&real).map(String::from_utf8) {
                Ok(Ok(text)) => Found::Text(text.into()),
                Ok(Err(error)) => Found::Unfit(format!("is not UTF-8 at byte {}", error.utf8_error().valid_up_to())),
                Err(error) => Found::Unfit(format!("can't be read: {error}")),
            },
            Err(error) => Found::Unfit(format!("can't be read: {error}")),
        }
    }

    fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.root.join(path)).is_ok()
    }

    fn root(&self) -> Option<&str> {
        Some(&self.shown)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_that_lead_out_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("run");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(root.join(".git/config"), "c").unwrap();
        fs::write(root.join("a.py"), "x = 1\n").unwrap();
        fs::write(root.join("bad.py"), [0xff, 0xfe]).unwrap();
        symlink(dir.path().join("secret"), root.join("out.py")).unwrap();
        symlink(dir.path(), root.join("dir")).unwrap();
        symlink(root.join(".git/config"), root.join("state.py")).unwrap();
        symlink("nowhere", root.join("broken.py")).unwrap();
        let tree = DirectoryTree::open(&root).unwrap();
        assert_eq!(tree.get("a.py"), Found::Text("x = 1\n".into()));
        assert_eq!(tree.get("b.py"), Found::Nothing);
        assert_eq!(tree.get("new/b.py"), Found::Nothing);
        for path in
            ["out.py", "dir/new.py", "dir/secret", "state.py", "bad.py", "broken.py", "a.py/x", "../secret", "dir"]
        {
            assert!(matches!(tree.get(path), Found::Unfit(_)), "{path}: {:?}", tree.get(path));
        }
    }
}
