//! Where an engine keeps bytes between runs: values that steps made, and contents of files.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Mutex;

use crate::step::Digest;

/// A place for bytes that an engine made. What comes back must be what was put, or nothing: values are
/// unpickled, so an implementation that outlives the process vouches for them (a MAC, see the store).
pub trait Vault: Debug + Send + Sync {
    /// Keeps a pickled component under the digest of its content.
    fn put_value(&self, component: &Digest, pickle: &[u8]);
    /// The pickled component, if it is kept.
    fn value(&self, component: &Digest) -> Option<Vec<u8>>;
    /// Whether a component is kept.
    fn has_value(&self, component: &Digest) -> bool;
    /// Keeps a file's content under its own digest.
    fn put_blob(&self, content: &[u8]) -> Digest;
    /// A file's content, if it is kept.
    fn blob(&self, content: &Digest) -> Option<Vec<u8>>;
    /// Keeps a small note of the engine's own.
    fn put_note(&self, name: &str, note: &[u8]);
    /// A note of the engine's own.
    fn note(&self, name: &str) -> Option<Vec<u8>>;
}

/// A vault that lives as long as the process.
#[derive(Debug, Default)]
pub struct MemoryVault {
    values: Mutex<HashMap<Digest, Vec<u8>>>,
    blobs: Mutex<HashMap<Digest, Vec<u8>>>,
    notes: Mutex<HashMap<String, Vec<u8>>>,
}

/// The map behind a lock, also after a panic elsewhere: each operation on it is whole by itself.
fn open<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Vault for MemoryVault {
    fn put_value(&self, component: &Digest, pickle: &[u8]) {
        open(&self.values).insert(*component, pickle.to_vec());
    }

    fn value(&self, component: &Digest) -> Option<Vec<u8>> {
        open(&self.values).get(component).cloned()
    }

    fn has_value(&self, component: &Digest) -> bool {
        open(&self.values).contains_key(component)
    }

    fn put_blob(&self, content: &[u8]) -> Digest {
        let digest = Digest::of(content);
        open(&self.blobs).entry(digest).or_insert_with(|| content.to_vec());
        digest
    }

    fn blob(&self, content: &Digest) -> Option<Vec<u8>> {
        open(&self.blobs).get(content).cloned()
    }

    fn put_note(&self, name: &str, note: &[u8]) {
        open(&self.notes).insert(name.to_owned(), note.to_vec());
    }

    fn note(&self, name: &str) -> Option<Vec<u8>> {
        open(&self.notes).get(name).cloned()
    }
}
