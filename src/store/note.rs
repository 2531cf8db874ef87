//! Small texts that the engine keeps between runs, marked with the user's key.

use rusqlite::{OptionalExtension, params};

use super::key::Key;
use super::writer::{Durability, Receipt};
use super::{Reader, Store, StoreError};
use crate::step::Millis;

impl Store {
    /// Keeps a note under a name; one kept before is replaced.
    ///
    /// ```
    /// # use reweave::store::{Key, Store};
    /// # let dir = tempfile::tempdir().unwrap();
    /// // In earnest it is `Key::of_user`.
    /// let (store, key) = (Store::open(dir.path())?, Key::new([7; 32]));
    /// store.put_note(&key, "files", b"{}".to_vec(), 1_000).wait()?;
    /// assert_eq!(store.note(&key, "files")?.as_deref(), Some(b"{}".as_slice()));
    /// // A run that came from elsewhere has notes that nobody here wrote.
    /// assert_eq!(store.note(&Key::new([8; 32]), "files")?, None);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    pub fn put_note(&self, key: &Key, name: &str, data: Vec<u8>, at: Millis) -> Receipt<()> {
        let mac = key.mac([b"note".as_slice(), name.as_bytes(), &data]);
        let name = name.to_owned();
        self.submit(Durability::Normal, move |write| {
            write
                .sql
                .prepare_cached("INSERT OR REPLACE INTO note (name, at, data, mac) VALUES (?, ?, ?, ?)")?
                .execute(params![name, at, data, mac.as_bytes()])?;
            Ok(())
        })
    }
}

impl Reader {
    /// The note of this name, if there is one that was kept with this key.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn note(&self, key: &Key, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found: Option<(Vec<u8>, Vec<u8>)> = self
            .sql()
            .prepare_cached("SELECT data, mac FROM note WHERE name = ?")?
            .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let right = |(data, mac): &(Vec<u8>, Vec<u8>)| key.mac([b"note".as_slice(), name.as_bytes(), data]).is(mac);
        Ok(found.filter(right).map(|(data, _)| data))
    }
}
