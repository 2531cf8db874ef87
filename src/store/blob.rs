//! Texts and bytes, each kept once, known by content, packed with zstd.

use rusqlite::{Connection, OptionalExtension, params};
use zstd::bulk::Decompressor;

use super::writer::{Durability, Receipt, Write};
use super::{Reader, Store, StoreError};
use crate::step::Digest;

/// Below this a zstd frame saves little, and building its tables takes longer than all else on the way to the bytes.
const WORTH_PACKING: usize = 512;

/// The most that one blob may hold, in bytes: what DESIGN.md keeps of a file. Also bounds what a planted frame
/// can unpack to.
pub const LARGEST_BLOB: usize = 256 << 20;

impl Store {
    /// Keeps `bytes` and says at once under which digest. The receipt tells when they are committed.
    ///
    /// The receipt's error is [`StoreError::Refused`] for more than [`LARGEST_BLOB`] bytes.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = reweave::store::Store::open(dir.path())?;
    /// let (digest, receipt) = store.put_blob(b"anything".to_vec());
    /// receipt.wait()?;
    /// assert_eq!(store.get_blob(&digest)?, b"anything");
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    pub fn put_blob(&self, bytes: Vec<u8>) -> (Digest, Receipt<()>) {
        let digest = Digest::of(&bytes);
        (digest, self.submit(Durability::Normal, move |write| write.blob(&digest, &bytes).map(drop)))
    }
}

impl Reader {
    /// The bytes with this digest, checked against it.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there are none, [`StoreError::Damaged`] when they are not what was written.
    pub fn get_blob(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.sql();
        self.get_blob_now(digest)
    }

    /// The same for a further content of one question.
    pub(crate) fn get_blob_now(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        self.packed(digest)?.open(&mut self.unpacker.borrow_mut())
    }

    /// The row of the bytes with this digest.
    pub(crate) fn packed(&self, digest: &Digest) -> Result<Packed, StoreError> {
        let missing = || StoreError::missing(format!("content {}", digest.short()));
        let found = Packed::read(self.sql_now(), blob_id(self.sql_now(), digest)?.ok_or_else(missing)?)?;
        // Through a damaged index one comes to another.
        match found.digest == *digest {
            true => Ok(found),
            false => Err(StoreError::damaged(format!("what is kept as content {} is another", digest.short()))),
        }
    }

    /// Whether the bytes with this digest are kept.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn has_blob(&self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(blob_id(self.sql(), digest)?.is_some())
    }

    /// The bytes of a blob by its row.
    pub(crate) fn blob(&self, id: i64) -> Result<Vec<u8>, StoreError> {
        read_blob(self.sql_now(), &mut self.unpacker.borrow_mut(), id)
    }
}

impl Write<'_> {
    /// Keeps `bytes`, of which `digest` is the digest, and gives the row.
    pub(crate) fn blob(&self, digest: &Digest, bytes: &[u8]) -> Result<i64, StoreError> {
        if let Some(id) = blob_id(self.sql, digest)? {
            return Ok(id);
        }
        if bytes.len() > LARGEST_BLOB {
            return Err(StoreError::Refused {
                why: format!("{} bytes are more than a store keeps of one thing", bytes.len()),
            });
        }
        let packed = (bytes.len() >= WORTH_PACKING)
            .then(|| self.packer.borrow_mut().compress(bytes).ok())
            .flatten()
            .filter(|packed| packed.len() < bytes.len());
        let (is_packed, data) = match &packed {
            Some(packed) => (1, packed.as_slice()),
            None => (0, bytes),
        };
        self.sql
            .prepare_cached("INSERT INTO blob (digest, size, packed, data) VALUES (?, ?, ?, ?)")?
            .execute(params![digest.as_bytes(), bytes.len() as i64, is_packed, data])?;
        Ok(self.sql.last_insert_rowid())
    }

    /// Keeps `bytes` and gives the row.
    pub(crate) fn content(&self, bytes: &[u8]) -> Result<i64, StoreError> {
        self.blob(&Digest::of(bytes), bytes)
    }
}

/// The row of the blob with this digest.
pub(crate) fn blob_id(sql: &Connection, digest: &Digest) -> Result<Option<i64>, StoreError> {
    Ok(sql
        .prepare_cached("SELECT id FROM blob WHERE digest = ?")?
        .query_row([digest.as_bytes()], |row| row.get(0))
        .optional()?)
}

/// The bytes of a blob by its row, unpacked and checked.
pub(crate) fn read_blob(sql: &Connection, unpacker: &mut Decompressor<'_>, id: i64) -> Result<Vec<u8>, StoreError> {
    Packed::read(sql, id)?.open(unpacker)
}

/// A blob as it stands in its row.
pub(crate) struct Packed {
    id: i64,
    digest: Digest,
    size: i64,
    is_packed: bool,
    data: Vec<u8>,
}

impl Packed {
    /// The row of this number.
    pub(crate) fn read(sql: &Connection, id: i64) -> Result<Self, StoreError> {
        let mut query = sql.prepare_cached("SELECT digest, size, packed, data FROM blob WHERE id = ?")?;
        let mut rows = query.query([id])?;
        let row = rows.next()?.ok_or_else(|| StoreError::damaged(format!("content {id} is gone")))?;
        let is_packed = row.get::<_, i64>(2)? != 0;
        Ok(Self { id, digest: Digest::from_bytes(row.get(0)?), size: row.get(1)?, is_packed, data: row.get(3)? })
    }

    /// The bytes, checked.
    pub(crate) fn open(&self, unpacker: &mut Decompressor<'_>) -> Result<Vec<u8>, StoreError> {
        let id = self.id;
        let bytes = if self.is_packed {
            let size = usize::try_from(self.size).ok().filter(|size| *size <= LARGEST_BLOB);
            let size = size.ok_or_else(|| StoreError::damaged(format!("content {id} has an impossible size")))?;
            unpacker
                .decompress(&self.data, size)
                .map_err(|error| StoreError::damaged(format!("content {id}: {error}")))?
        } else {
            self.data.clone()
        };
        if Digest::of(&bytes) != self.digest {
            return Err(StoreError::damaged(format!("content {} is not what was written", self.digest.short())));
        }
        Ok(bytes)
    }
}
