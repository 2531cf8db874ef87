//! The engine's vault on the run's store: values under the user's key, file contents, and its notes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::moment::now;
use crate::engine::Vault;
use crate::step::Digest;
use crate::store::{Key, Receipt, SavedValue, Store};

/// Values up to this size (in bytes, all together) stay in memory beside the store.
const NEAR: usize = 256 << 20;

/// What the engine keeps, on the store of the run.
#[derive(Debug)]
pub(super) struct StoreVault(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    store: Store,
    key: Key,
    interpreter: String,
    /// Values made or asked for lately, with the receipt of those that the store may not have yet.
    near: HashMap<Digest, (Vec<u8>, Option<Receipt<()>>)>,
    size: usize,
    blobs: HashMap<Digest, (Vec<u8>, Receipt<()>)>,
}

impl StoreVault {
    /// A vault on `store`, for values that `interpreter` makes.
    pub(super) fn new(store: Store, key: Key, interpreter: String) -> Self {
        let inner = Inner { store, key, interpreter, near: HashMap::new(), size: 0, blobs: HashMap::new() };
        Self(Mutex::new(inner))
    }

    /// Each operation leaves the map whole, so a panic elsewhere spoils nothing.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Lets go of values that the store has, while they are too many.
    fn make_room(&mut self) {
        if self.size <= NEAR {
            return;
        }
        self.near.retain(|_, (bytes, receipt)| {
            let safe = receipt.as_ref().is_none_or(|receipt| receipt.try_wait().is_some());
            if safe {
                self.size -= bytes.len();
            } else {
                return true;
            }
            false
        });
    }
}

impl Vault for StoreVault {
    fn put_value(&self, component: &Digest, pickle: &[u8]) {
        let mut inner = self.inner();
        if inner.near.contains_key(component) {
            return;
        }
        let value = SavedValue {
            digest: *component,
            interpreter: inner.interpreter.clone(),
            names: Vec::new(),
            bytes: pickle.to_vec(),
        };
        let receipt = inner.store.save_value(&inner.key, value, now());
        inner.size += pickle.len();
        inner.near.insert(*component, (pickle.to_vec(), Some(receipt)));
        inner.make_room();
    }

    fn value(&self, component: &Digest) -> Option<Vec<u8>> {
        let mut inner = self.inner();
        if let Some((bytes, _)) = inner.near.get(component) {
            return Some(bytes.clone());
        }
        // A store that can't be read has no value: the step is run again instead.
        let bytes = inner.store.saved_value(&inner.key, component, &inner.interpreter).ok()??.bytes;
        inner.size += bytes.len();
        inner.near.insert(*component, (bytes.clone(), None));
        inner.make_room();
        Some(bytes)
    }

    fn has_value(&self, component: &Digest) -> bool {
        let inner = self.inner();
        inner.near.contains_key(component)
            || inner.store.are_saved(&[*component], &inner.interpreter).is_ok_and(|found| found.first() == Some(&true))
    }

    fn put_blob(&self, content: &[u8]) -> Digest {
        let mut inner = self.inner();
        let (digest, receipt) = inner.store.put_blob(content.to_vec());
        inner.blobs.retain(|_, (_, receipt)| receipt.try_wait().is_none());
        inner.blobs.insert(digest, (content.to_vec(), receipt));
        digest
    }

    fn blob(&self, content: &Digest) -> Option<Vec<u8>> {
        let inner = self.inner();
        match inner.blobs.get(content) {
            Some((bytes, _)) => Some(bytes.clone()),
            None => inner.store.get_blob(content).ok(),
        }
    }

    fn put_note(&self, name: &str, note: &[u8]) {
        let inner = self.inner();
        // Where nothing can be written (a run on a read-only disk) the engine goes on with what it remembers.
        drop(inner.store.put_note(&inner.key, name, note.to_vec(), now()));
    }

    fn note(&self, name: &str) -> Option<Vec<u8>> {
        let inner = self.inner();
        inner.store.note(&inner.key, name).ok().flatten()
    }
}
