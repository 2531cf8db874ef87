//! A private copy of a store, for a run whose disk can't be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::StoreError;
use super::open::beside;

/// A directory of our own, removed at the end.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new directory with a copy of the database at `file` and its log, if there is one.
    pub(crate) fn copy_of(file: &Path) -> Result<Self, StoreError> {
        let scratch = Self::make()?;
        let Some(name) = file.file_name() else { return Ok(scratch) };
        let copy = scratch.0.join(name);
        for ending in ["", "-wal"] {
            match fs::copy(beside(file, ending), beside(&copy, ending)) {
                Ok(_) => make_writable(&beside(&copy, ending)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(StoreError::io(&copy, &error)),
            }
        }
        Ok(scratch)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn make() -> Result<Self, StoreError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let parent = std::env::temp_dir();
        let mut last = None;
        for _ in 0..100 {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("reweave-{}-{number}", std::process::id()));
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            // Fails where anything is, so that nobody else's directory or link is ever used.
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => last = Some(error),
                Err(error) => return Err(StoreError::io(&path, &error)),
            }
        }
        let error = last.unwrap_or_else(|| std::io::ErrorKind::AlreadyExists.into());
        Err(StoreError::io(&parent, &error))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A copy has the permissions of what it copies.
fn make_writable(path: &Path) {
    #[cfg(unix)]
    let _ = fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600));
    #[cfg(not(unix))]
    let _ = path;
}
