//! A file that is being read: how far, and whether to stop.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::ImportError;

/// How far the reading of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read, over all passes.
    pub read: u64,
    /// Bytes of the file.
    pub total: u64,
}

/// Watches a reading from outside: is told how far it is, and can stop it.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    progress: Option<&'a dyn Fn(Progress)>,
    stop: Option<&'a AtomicBool>,
}

impl<'a> Watch<'a> {
    /// Nobody watches.
    pub fn none() -> Self {
        Self { progress: None, stop: None }
    }

    /// `progress` is called about once a megabyte; the reading ends soon after `stop` is set.
    pub fn new(progress: &'a dyn Fn(Progress), stop: &'a AtomicBool) -> Self {
        Self { progress: Some(progress), stop: Some(stop) }
    }

    /// Whether someone asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// What the first bytes of a file say about how it is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// zstd.
    Zstd,
    /// A ZIP archive.
    Zip,
    /// An SQLite database.
    Sqlite,
}

/// A file that is being read.
pub struct Recording<'a> {
    path: PathBuf,
    total: u64,
    packing: Packing,
    watch: Watch<'a>,
}

impl<'a> Recording<'a> {
    /// Looks at the file at `path`.
    ///
    /// # Errors
    /// If it can't be read, is empty, or is no file.
    pub fn open(path: &Path, watch: &Watch<'a>) -> Result<Self, ImportError> {
        let unreadable = |source| ImportError::Unreadable { path: path.to_owned(), source };
        let metadata = std::fs::metadata(path).map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(unreadable(io::Error::other("it is a directory; a recording is a file")));
        }
        if !metadata.is_file() {
            return Err(unreadable(io::Error::other("it is not a regular file")));
        }
        if metadata.len() == 0 {
            return Err(ImportError::Empty { path: path.to_owned() });
        }
        let mut magic = Vec::new();
        File::open(path).and_then(|file| file.take(16).read_to_end(&mut magic)).map_err(unreadable)?;
        let packing = if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Packing::Zstd
        } else if magic.starts_with(b"PK\x03\x04") {
            Packing::Zip
        } else if magic.starts_with(b"SQLite format 3\0") {
            Packing::Sqlite
        } else {
            Packing::Plain
        };
        Ok(Self { path: path.to_owned(), total: metadata.len(), packing, watch: *watch })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is packed.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Who watches.
    pub fn watch(&self) -> &Watch<'a> {
        &self.watch
    }

    /// The file's bytes from the start, unpacked where it is one compressed stream.
    ///
    /// # Errors
    /// If it can't be opened any more.
    pub fn read(&self) -> Result<Box<dyn BufRead + 'a>, ImportError> {
        let file = File::open(&self.path).map_err(|source| self.unreadable(source))?;
        let watched = Watched { inner: file, watch: self.watch, read: 0, told: Cell::new(0), total: self.total };
        Ok(match self.packing {
            Packing::Zstd => {
                let unpacked = zstd::stream::read::Decoder::new(watched).map_err(|source| self.unreadable(source))?;
                Box::new(BufReader::with_capacity(1 << 16, unpacked))
            }
            _ => Box::new(BufReader::with_capacity(1 << 16, watched)),
        })
    }

    /// An error of the system about this file.
    pub fn unreadable(&self, source: io::Error) -> ImportError {
        if self.watch.is_stopped() {
            return ImportError::Stopped;
        }
        ImportError::Unreadable { path: self.path.clone(), source }
    }

    /// An error about what is in this file.
    pub fn malformed(&self, what: impl Into<String>) -> ImportError {
        if self.watch.is_stopped() {
            return ImportError::Stopped;
        }
        ImportError::Malformed { path: self.path.clone(), what: what.into() }
    }
}

/// Counts what is read and fails once someone asks to stop.
struct Watched<'a> {
    inner: File,
    watch: Watch<'a>,
    read: u64,
    told: Cell<u64>,
    total: u64,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.watch.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        let count = self.inner.read(buffer)?;
        self.read += count as u64;
        if self.read - self.told.get() >= 1 << 20 || (count == 0 && self.told.get() < self.read) {
            self.told.set(self.read);
            if let Some(progress) = self.watch.progress {
                progress(Progress { read: self.read, total: self.total });
            }
        }
        Ok(count)
    }
}
