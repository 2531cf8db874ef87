//! Contents of files that no execution left: a person's edit of what a step wrote, kept before it is overwritten.

use rusqlite::params;

use super::writer::{Durability, Receipt};
use super::{Reader, Store, StoreError};
use crate::step::{Digest, Millis};

/// A content that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptFile {
    /// When.
    pub at: Millis,
    /// Its digest: a blob of the store.
    pub content: Digest,
}

impl Store {
    /// Keeps what is at `path` of the run now, since something is about to overwrite it. Never cleared away.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = reweave::store::Store::open(dir.path())?;
    /// let (digest, receipt) = store.keep_file("out.csv", b"edited by hand".to_vec(), 1_000);
    /// receipt.wait()?;
    /// assert_eq!(store.kept_files("out.csv")?[0].content, digest);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    pub fn keep_file(&self, path: &str, content: Vec<u8>, at: Millis) -> (Digest, Receipt<()>) {
        let (path, digest) = (path.to_owned(), Digest::of(&content));
        let receipt = self.submit(Durability::Full, move |write| {
            let blob = write.blob(&digest, &content)?;
            let text = format!("kept-file\n{path}");
            let seq = write.event(at, super::event::kind::NOTE, None, None, Some(&text))?;
            write
                .sql
                .prepare_cached("INSERT INTO kept_file (path, seq, at, blob) VALUES (?, ?, ?, ?)")?
                .execute(params![path, seq, at, blob])?;
            Ok(())
        });
        (digest, receipt)
    }
}

impl Reader {
    /// What was kept of a path, newest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn kept_files(&self, path: &str) -> Result<Vec<KeptFile>, StoreError> {
        let mut query = self.sql().prepare_cached(
            "SELECT k.at, blob.digest FROM kept_file k JOIN blob ON blob.id = k.blob WHERE path = ? ORDER BY seq DESC",
        )?;
        let rows = query
            .query_map([path], |row| Ok(KeptFile { at: row.get(0)?, content: Digest::from_bytes(row.get(1)?) }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
