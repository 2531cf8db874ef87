//! What can go wrong with a store, and what to do about it.

use rusqlite::ErrorCode;

use crate::step::InvalidStepId;

/// Why a store could not do what was asked. Step files are never harmed by any of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file system is full, or a limit on the size of files was hit. The store is as before.
    #[error(".reweave/store.db: the disk is full; nothing was recorded of this")]
    Full,
    /// Another process held the store for longer than we waited.
    #[error(".reweave/store.db: another process has held it for too long")]
    Busy,
    /// The store can't be written.
    #[error(".reweave/store.db: it can't be written")]
    ReadOnly,
    /// What the store holds is not what was written to it.
    #[error(".reweave/store.db: it is damaged: {detail}")]
    Damaged {
        /// What was found.
        detail: String,
    },
    /// The store was written by a later reweave.
    #[error(".reweave/store.db: it has schema {found}, this reweave knows schemas up to {known}")]
    Newer {
        /// The schema found.
        found: i64,
        /// The newest that this reweave knows.
        known: i64,
    },
    /// Something is at the store's path that is no store of ours, and it is not ours to move.
    #[error("{path}: {why}")]
    Foreign {
        /// Where.
        path: String,
        /// What is there.
        why: String,
    },
    /// Reading or writing failed otherwise.
    #[error("{place}: {detail}")]
    Io {
        /// The file or directory.
        place: String,
        /// What the system said.
        detail: String,
    },
    /// There is no such thing in the store.
    #[error("the store holds no {what}")]
    Missing {
        /// What was asked for.
        what: String,
    },
    /// What was asked can't be done as things stand.
    #[error("{why}")]
    Refused {
        /// Why not.
        why: String,
    },
    /// SQLite refused for a reason of its own.
    #[error(".reweave/store.db: {detail}")]
    Sqlite {
        /// What it said.
        detail: String,
    },
    /// The store's writer has ended.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// What a person may do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Full => "free some space (`reweave gc` makes the store smaller) and do it again",
            Self::Busy => "see which reweave is working on this run (`reweave doctor`), or try again",
            Self::ReadOnly => "make `.reweave/` writable, or copy the run to where it can be written",
            Self::Damaged { .. } => "open the run again: what can't be read is set aside and a new store begun",
            Self::Newer { .. } => "use the newer reweave for this run",
            Self::Foreign { .. } => "move it away; reweave makes its own",
            Self::Io { .. } | Self::Missing { .. } | Self::Refused { .. } | Self::Sqlite { .. } | Self::Closed => {
                return None;
            }
        };
        Some(text.to_owned())
    }

    /// That something in the store is not as it was written.
    pub(crate) fn damaged(detail: impl Into<String>) -> Self {
        Self::Damaged { detail: detail.into() }
    }

    /// That there is no such thing.
    pub(crate) fn missing(what: impl Into<String>) -> Self {
        Self::Missing { what: what.into() }
    }

    /// That the system refused something at `place`.
    pub(crate) fn io(place: &std::path::Path, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded | std::io::ErrorKind::FileTooLarge => {
                Self::Full
            }
            _ => Self::Io { place: place.display().to_string(), detail: error.to_string() },
        }
    }
}

/// Extended result codes of a failed `write(2)`, and of a log's index that can't grow: SQLite reports a hit limit on
/// file size so, not as a full disk.
const NO_ROOM: [i32; 2] = [778, 4874];

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match &error {
            rusqlite::Error::SqliteFailure(cause, message) => match cause.code {
                ErrorCode::DiskFull => Self::Full,
                ErrorCode::SystemIoFailure if NO_ROOM.contains(&cause.extended_code) => Self::Full,
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                    Self::damaged(message.clone().unwrap_or_else(|| cause.to_string()))
                }
                ErrorCode::ReadOnly => Self::ReadOnly,
                _ => Self::Sqlite { detail: error.to_string() },
            },
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => Self::damaged(error.to_string()),
            _ => Self::Sqlite { detail: error.to_string() },
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::damaged(error.to_string())
    }
}

impl From<InvalidStepId> for StoreError {
    fn from(error: InvalidStepId) -> Self {
        Self::damaged(error.to_string())
    }
}
