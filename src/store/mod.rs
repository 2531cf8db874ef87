//! The store of a run: versions, executions, blobs, patches and events, in SQLite.
//!
//! # Architecture
//!
//! - [`Store`]: the one place of a process that writes to a run's store. Work goes to a thread of its own and
//!   comes back as a [`Receipt`]; a caller waits only where it must know.
//! - [`Reader`]: all that can be asked. A store is a reader too; other threads get their own.
//! - [`StoreError`], [`Notice`]: what can go wrong, and what was unusual about opening.
//! - [`Seen`], [`Recorded`], [`Latest`], [`Brief`]: versions and executions as they are kept.
//! - [`Proposal`], [`Arrival`], [`Trial`]: patches as they come in and are tried.
//! - [`Plan`], [`Done`], [`Deed`]: what reweave itself does to step files: intent, rename, commit; undo and redo.
//! - [`SavedValue`], [`Key`]: values kept for tomorrow, marked with the user's key.
//! - [`Hold`]: what held for a step when the run last came to it.
//! - [`Retention`], [`Freed`], [`Sizes`]: housekeeping.
//! - [`claim`], [`Ownership`], [`Incumbent`]: who owns a run, and where it listens.
//! - [`query`]: questions over time.
//!
//! The tables are described in `schema.sql`. Two processes may use one store at once: SQLite's log lets readers
//! go on while one writes, and writers wait for each other.

mod back;
mod blob;
mod call;
mod deed;
mod error;
mod event;
mod execution;
mod gc;
mod hold;
mod import;
mod journal;
mod kept_file;
mod key;
mod mark;
mod names;
mod note;
mod open;
mod owner;
mod patch;
mod provenance;
pub mod query;
mod reader;
mod record;
mod salvage;
mod saved;
mod scan;
mod schema;
mod scratch;
mod version;
mod writer;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

pub use blob::LARGEST_BLOB;
pub use call::KeptCall;
pub use deed::{Change, DeedError, Done, Plan, Recovered};
pub use error::StoreError;
pub use execution::{Brief, Latest, Recorded};
pub use gc::{Freed, Retention, Sizes};
pub use hold::Hold;
pub use journal::{Decision, Deed, DeedFile, DeedId, DeedKind, DeedState};
pub use kept_file::KeptFile;
pub use key::{Key, Mac};
pub use names::Subject;
pub use open::Notice;
pub use owner::{Claim, Incumbent, OwnerError, Ownership, claim};
pub use patch::{Arrival, Proposal, Trial};
pub use reader::Reader;
pub use salvage::Salvaged;
pub use saved::SavedValue;
pub use scan::Seen;
pub use schema::SCHEMA;
pub use writer::Receipt;

use scratch::Scratch;
use writer::{Durability, Write, Writer};

/// Unpacks blobs. One can be used for many.
pub(crate) fn unpacker() -> Result<zstd::bulk::Decompressor<'static>, StoreError> {
    zstd::bulk::Decompressor::new()
        .map_err(|error| StoreError::Sqlite { detail: format!("zstd can't be used: {error}") })
}

/// The store of one run, open for writing. Everything that a [`Reader`] can be asked, it can be asked too.
///
/// It can be sent to another thread. [`Store::another`] gives a further one on the same thread of writing.
#[derive(Debug)]
pub struct Store {
    reader: Reader,
    writer: Arc<Writer>,
    home: PathBuf,
    newest_blob_at_opening: i64,
    notices: Vec<Notice>,
    _scratch: Option<Arc<Scratch>>,
}

impl Store {
    /// What was unusual about opening, for a person to know.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Another handle of the same store, for another thread.
    ///
    /// # Errors
    /// When the store can't be opened once more.
    pub fn another(&self) -> Result<Self, StoreError> {
        Ok(Self {
            reader: self.reader()?,
            writer: Arc::clone(&self.writer),
            home: self.home.clone(),
            newest_blob_at_opening: self.newest_blob_at_opening,
            notices: Vec::new(),
            _scratch: self._scratch.clone(),
        })
    }

    /// Waits until all that was handed over is committed, or has failed and its receipt says so.
    pub fn flush(&self) {
        self.writer.progress().settle();
    }

    /// Hands work to the writer.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Write<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Receipt<T> {
        self.writer.submit(durability, work)
    }
}

impl Deref for Store {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}
