//! Values that steps wrote, saved so that a run opened tomorrow need not start from nothing.
//!
//! They are pickles, made and opened by workers only. One without a right mark of the user's key is not there.

use rusqlite::{OptionalExtension, params};

use super::key::{Key, Mac};
use super::writer::{Durability, Receipt};
use super::{Reader, Store, StoreError};
use crate::step::{Digest, Millis, Name};

/// A component as a worker packed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedValue {
    /// The component's digest.
    pub digest: Digest,
    /// The interpreter, and all of its packages that matter, in one line: what may unpack it.
    pub interpreter: String,
    /// The names of the component, sorted.
    pub names: Vec<Name>,
    /// The pickle.
    pub bytes: Vec<u8>,
}

impl SavedValue {
    fn mac(&self, key: &Key) -> Mac {
        let parts = [self.digest.as_bytes().as_slice(), self.interpreter.as_bytes(), &self.bytes];
        key.mac(parts.into_iter().chain(self.names.iter().map(|name| name.as_bytes())))
    }
}

impl Store {
    /// Saves a value, marked with the user's key. One saved before for the same digest and interpreter is replaced.
    ///
    /// ```
    /// use reweave::step::Digest;
    /// use reweave::store::{Key, SavedValue, Store};
    /// # let dir = tempfile::tempdir().unwrap();
    /// // In earnest it is `Key::of_user`.
    /// let (store, key) = (Store::open(dir.path())?, Key::new([7; 32]));
    /// let value = SavedValue {
    ///     digest: Digest::of("x"),
    ///     interpreter: "CPython 3.12.1".into(),
    ///     names: vec!["x".into()],
    ///     bytes: b"a pickle".to_vec(),
    /// };
    /// store.save_value(&key, value.clone(), 1_000).wait()?;
    /// assert_eq!(store.saved_value(&key, &value.digest, "CPython 3.12.1")?, Some(value.clone()));
    /// // Another user's key, as with a run that came from elsewhere: nothing is there.
    /// assert_eq!(store.saved_value(&Key::new([8; 32]), &value.digest, "CPython 3.12.1")?, None);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    pub fn save_value(&self, key: &Key, value: SavedValue, at: Millis) -> Receipt<()> {
        let mac = value.mac(key);
        self.submit(Durability::Normal, move |write| {
            let blob = write.content(&value.bytes)?;
            write
                .sql
                .prepare_cached(
                    "INSERT OR REPLACE INTO saved (digest, interpreter, names, at, used, size, blob, mac)
                     VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    value.digest.as_bytes(),
                    value.interpreter,
                    serde_json::to_string(&value.names)?,
                    at,
                    value.bytes.len() as i64,
                    blob,
                    mac.as_bytes(),
                ])?;
            Ok(())
        })
    }

    /// Says that saved values were used, so that [`Store::gc`] drops others first.
    pub fn used_values(&self, digests: &[Digest], at: Millis) -> Receipt<()> {
        let digests = digests.to_vec();
        self.submit(Durability::Normal, move |write| {
            for digest in digests {
                write
                    .sql
                    .prepare_cached("UPDATE saved SET used = ? WHERE digest = ?")?
                    .execute(params![at, digest.as_bytes()])?;
            }
            Ok(())
        })
    }
}

impl Reader {
    /// The saved value with this digest for this interpreter, if there is one that was saved with this key.
    ///
    /// # Errors
    /// When the store can't be read. A value that is damaged or not marked right is none.
    pub fn saved_value(&self, key: &Key, digest: &Digest, interpreter: &str) -> Result<Option<SavedValue>, StoreError> {
        let found: Option<(String, i64, Vec<u8>)> = self
            .sql()
            .prepare_cached("SELECT names, blob, mac FROM saved WHERE digest = ? AND interpreter = ?")?
            .query_row(params![digest.as_bytes(), interpreter], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((names, blob, mac)) = found else { return Ok(None) };
        let Ok(names) = serde_json::from_str(&names) else { return Ok(None) };
        let bytes = match self.blob(blob) {
            Ok(bytes) => bytes,
            Err(StoreError::Damaged { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let value = SavedValue { digest: *digest, interpreter: interpreter.to_owned(), names, bytes };
        Ok(value.mac(key).is(&mac).then_some(value))
    }

    /// Which of these are saved for this interpreter, without looking at their marks: enough to plan with.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn are_saved(&self, digests: &[Digest], interpreter: &str) -> Result<Vec<bool>, StoreError> {
        let mut query = self.sql().prepare_cached("SELECT 1 FROM saved WHERE digest = ? AND interpreter = ?")?;
        let found = |digest: &Digest| query.exists(params![digest.as_bytes(), interpreter]);
        Ok(digests.iter().map(found).collect::<Result<_, _>>()?)
    }
}
