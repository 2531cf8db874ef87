//! What reads a store: one connection that never writes.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use rusqlite::{Connection, Transaction};
use zstd::bulk::Decompressor;

use super::StoreError;
use super::names::Names;
use super::scratch::Scratch;
use super::writer::Progress;

/// Reads a store. Every answer counts in all that the same process handed to the store's writer before the
/// question, and all that other processes have committed.
///
/// It can be sent to another thread, and each thread has its own ([`super::Store::reader`]).
pub struct Reader {
    sql: Connection,
    progress: Option<Arc<Progress>>,
    /// Making one anew for each blob would cost more than unpacking it.
    pub(crate) unpacker: RefCell<Decompressor<'static>>,
    /// Sets of names that were read once.
    pub(crate) sets: RefCell<foldhash::HashMap<i64, Arc<[u32]>>>,
    /// Names that were read once.
    pub(crate) names: RefCell<Names>,
    /// The copy that is read, removed with the reader.
    _scratch: Option<Scratch>,
}

impl Reader {
    /// A reader on an open connection; `progress` where this process also writes.
    pub(crate) fn new(sql: Connection, progress: Option<Arc<Progress>>) -> Result<Self, StoreError> {
        sql.set_prepared_statement_cache_capacity(128);
        Ok(Self {
            sql,
            progress,
            unpacker: RefCell::new(super::unpacker()?),
            sets: RefCell::default(),
            names: RefCell::default(),
            _scratch: None,
        })
    }

    /// A reader of a copy.
    pub(crate) fn on_copy(sql: Connection, scratch: Scratch) -> Result<Self, StoreError> {
        Ok(Self { _scratch: Some(scratch), ..Self::new(sql, None)? })
    }

    /// The connection, once all that was handed over before is there to be seen.
    pub(crate) fn sql(&self) -> &Connection {
        if let Some(progress) = &self.progress {
            progress.settle();
        }
        &self.sql
    }

    /// The connection, for a further statement of a question that has begun with [`Reader::sql`].
    pub(crate) fn sql_now(&self) -> &Connection {
        &self.sql
    }

    /// Holds the store as it is now for several statements, until the transaction is dropped.
    pub(crate) fn snapshot(&self) -> Result<Transaction<'_>, StoreError> {
        Ok(self.sql().unchecked_transaction()?)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("sql", &self.sql).finish_non_exhaustive()
    }
}
