//! Opening a store whatever is there: nothing, a store, a read-only disk, a damaged file, a later schema.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::gc::wrong;
use super::salvage::Salvaged;
use super::schema::{self, Found, SCHEMA};
use super::scratch::Scratch;
use super::writer::Writer;
use super::{Reader, Store, StoreError, mark};
use crate::run::{Faults, STORE_DIR};

/// The database in it.
pub(crate) const FILE: &str = "store.db";

/// Left in [`STORE_DIR`] when something could not be read: the next opening looks at every page.
const SUSPECT: &str = "store.suspect";

/// How long to wait for another process before giving up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Up to this many bytes every page is looked at whenever a store is opened; it takes about 2 ms a megabyte.
const ALWAYS_CHECKED: u64 = 4 << 20;

/// Something about how a store was opened that a person should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The run's disk can't be written: what was recorded before is there, what is recorded now is gone at the end.
    Temporary {
        /// What can't be written.
        path: PathBuf,
    },
    /// What was there could not be read. It was moved, untouched, and a new store begun.
    SetAside {
        /// Why.
        why: StoreError,
        /// Where it is now.
        to: PathBuf,
        /// What could be read of it and was brought over.
        salvaged: Salvaged,
    },
    /// The store was taken forward to this reweave's schema.
    Migrated {
        /// From which.
        from: i64,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Temporary { path } => {
                write!(f, "{} can't be written: this session is not remembered", path.display())
            }
            Self::SetAside { why, to, salvaged: Salvaged { versions, patches } } => {
                write!(f, "{why}; it was moved to {} and a new store begun. ", to.display())?;
                if (*versions, *patches) != (0, 0) {
                    write!(f, "{versions} versions and {patches} patches were brought over. ")?;
                }
                f.write_str("The step files are as they were")
            }
            Self::Migrated { from } => write!(f, ".reweave/store.db was taken from schema {from} to {SCHEMA}"),
        }
    }
}

impl Store {
    /// Opens the store of the run in `run_dir`, and makes it if there is none. Never touches a step's file.
    ///
    /// What could not be done as usual is told by [`Store::notices`]: a disk that can't be written (the store is
    /// then a copy that lasts as long as this value), a store that can't be read (moved aside), a migration.
    ///
    /// # Errors
    /// When `run_dir` is no directory, when something that is not reweave's is in the way, when the disk is full,
    /// or when another process won't let go of the store.
    pub fn open(run_dir: &Path) -> Result<Self, StoreError> {
        Self::open_with_faults(run_dir, Faults::none())
    }

    /// The same with faults planted, for tests. The points are `store-begin`, `store-write` (after each piece of
    /// work), `store-commit` and `store-committed`.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with_faults(run_dir: &Path, faults: Faults) -> Result<Self, StoreError> {
        let home = run_dir.join(STORE_DIR);
        let mut notices = Vec::new();
        if !prepare(run_dir, &home)? {
            let scratch = Scratch::copy_of(&home.join(FILE))?;
            notices.push(Notice::Temporary { path: home });
            let inside = scratch.path().to_owned();
            return Self::at(&inside, notices, Some(scratch), faults);
        }
        Self::at(&home, notices, None, faults)
    }

    fn at(home: &Path, mut notices: Vec<Notice>, scratch: Option<Scratch>, faults: Faults) -> Result<Self, StoreError> {
        let file = home.join(FILE);
        let mut aside = None;
        let sql = match usable(home, &file) {
            Ok(sql) => sql,
            Err(why @ (StoreError::Damaged { .. } | StoreError::Newer { .. })) => {
                let to = set_aside(&file, &why)?;
                aside = Some((why, to));
                usable(home, &file)?
            }
            Err(error) => return Err(error),
        };
        let from: i64 = sql.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if from < SCHEMA {
            schema::migrate(&sql, SCHEMA)?;
            if from > 0 {
                notices.push(Notice::Migrated { from });
            }
        }
        mark::set_by(&sql)?;
        let newest_blob_at_opening = sql.query_row("SELECT COALESCE(MAX(id), 0) FROM blob", [], |row| row.get(0))?;
        let writer = Writer::start(sql, faults)?;
        let reader = Reader::new(connect(&file, false)?, Some(writer.progress()))?;
        let mut store = Self {
            reader,
            writer: Arc::new(writer),
            home: home.to_owned(),
            newest_blob_at_opening,
            notices,
            _scratch: scratch.map(Arc::new),
        };
        if let Some((why, to)) = aside {
            let salvaged = store.salvage(&to);
            store.notices.push(Notice::SetAside { why, to, salvaged });
        }
        Ok(store)
    }

    /// Another reader of the same store, for another thread.
    ///
    /// # Errors
    /// When the store can't be opened once more.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        Reader::new(connect(&self.file(), false)?, Some(self.writer.progress()))
    }

    /// The database.
    pub(crate) fn file(&self) -> PathBuf {
        self.home.join(FILE)
    }

    /// Brings what the log holds into the database, as far as no reader is in the way.
    pub(crate) fn checkpoint(&self) {
        if let Ok(sql) = connect(&self.file(), true) {
            let _ = sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }

    /// Makes the next opening look at every page of the store. Call it when something could not be read.
    pub fn suspect(&self) {
        // A disk on which this can't be written will not be repaired by us either.
        let _ = fs::write(self.home.join(SUSPECT), "");
    }
}

impl Reader {
    /// Reads the store of the run in `run_dir` without changing anything there.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is none, [`StoreError::Damaged`] and [`StoreError::Newer`] as they are.
    pub fn open(run_dir: &Path) -> Result<Self, StoreError> {
        let file = run_dir.join(STORE_DIR).join(FILE);
        if regular(&file)?.is_none() {
            return Err(StoreError::missing(format!("record: {} was never run", run_dir.display())));
        }
        whole(&file)?;
        if writable(&run_dir.join(STORE_DIR)) {
            let sql = connect(&file, false)?;
            if schema::look(&sql)? == Found::Store(SCHEMA) {
                if regular(&file)?.is_some_and(|length| length <= ALWAYS_CHECKED) {
                    check(&sql)?;
                }
                return Self::new(sql, None);
            }
        }
        // An older schema is read through a copy that was taken forward, and so is what a read-only disk holds.
        let scratch = Scratch::copy_of(&file)?;
        let copy = scratch.path().join(FILE);
        let sql = usable(scratch.path(), &copy)?;
        schema::migrate(&sql, SCHEMA)?;
        Self::on_copy(sql, scratch)
    }
}

/// Makes the home of the store. Says whether it can be written.
fn prepare(run_dir: &Path, home: &Path) -> Result<bool, StoreError> {
    let kind = fs::metadata(run_dir).map_err(|error| StoreError::io(run_dir, &error))?;
    if !kind.is_dir() {
        return Err(StoreError::Foreign { path: run_dir.display().to_string(), why: "it is no directory".into() });
    }
    match fs::symlink_metadata(home) {
        Ok(kind) if kind.is_dir() => {}
        // Following a link would write outside the run.
        Ok(_) => {
            return Err(StoreError::Foreign {
                path: home.display().to_string(),
                why: "it is no directory of reweave's".into(),
            });
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => match fs::create_dir(home) {
            // The store is no part of the work that a person keeps in git.
            Ok(()) => drop(fs::write(home.join(".gitignore"), "*\n")),
            Err(error) if is_read_only(&error) => return Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::io(home, &error)),
        },
        Err(error) => return Err(StoreError::io(home, &error)),
    }
    let file = home.join(FILE);
    Ok(writable(home) && (regular(&file)?.is_none() || writable(&file)))
}

fn is_read_only(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied)
}

/// Whether this process may write at `path`.
fn writable(path: &Path) -> bool {
    #[cfg(unix)]
    return rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    #[cfg(not(unix))]
    return fs::metadata(path).is_ok_and(|kind| !kind.permissions().readonly());
}

/// The length of the file at `path`, `None` where nothing is.
fn regular(path: &Path) -> Result<Option<u64>, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(kind) if kind.is_file() => Ok(Some(kind.len())),
        Ok(_) => Err(StoreError::Foreign { path: path.display().to_string(), why: "it is no regular file".into() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path, &error)),
    }
}

/// Opens the database for writing, if it is one of ours and whole as far as that can be seen in time.
fn usable(home: &Path, file: &Path) -> Result<Connection, StoreError> {
    let length = regular(file)?.unwrap_or_default();
    whole(file)?;
    let sql = connect(file, true)?;
    let found = schema::look(&sql)?;
    let suspect = home.join(SUSPECT);
    let is_suspect = fs::symlink_metadata(&suspect).is_ok();
    if found == Found::Empty {
        sql.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    } else if is_suspect {
        check(&sql)?;
        contents(&sql)?;
    } else if length <= ALWAYS_CHECKED {
        check(&sql)?;
    }
    if is_suspect {
        let _ = fs::remove_file(&suspect);
    }
    begin_wal(&sql)?;
    sql.pragma_update(None, "journal_size_limit", 16 << 20)?;
    Ok(sql)
}

/// Looks at every page and every row.
pub(crate) fn check(sql: &Connection) -> Result<(), StoreError> {
    // Not `quick_check`: that does not see an index that leads to another row, and so to another step's text.
    let verdict: String = sql.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(StoreError::damaged(verdict));
    }
    // An earlier reweave's rows have no marks yet.
    let schema: i64 = sql.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if schema == SCHEMA { mark::check(sql) } else { Ok(()) }
}

/// Looks at every content: a page may be whole and what stands on it not.
fn contents(sql: &Connection) -> Result<(), StoreError> {
    match wrong(sql, &mut super::unpacker()?)?.first() {
        None => Ok(()),
        Some(wrong) => Err(StoreError::damaged(wrong.clone())),
    }
}

/// Two processes that make the same store at once may find it locked here without SQLite's own waiting.
fn begin_wal(sql: &Connection) -> Result<(), StoreError> {
    for _ in 0..200 {
        match sql
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
            .map_err(StoreError::from)
        {
            Ok(_) => return Ok(()),
            Err(StoreError::Busy) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Busy)
}

/// A connection set up so that what a planted database holds can't make SQLite do more than read tables.
pub(crate) fn connect(file: &Path, write: bool) -> Result<Connection, StoreError> {
    let mode = if write {
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
    } else {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    };
    let sql = Connection::open_with_flags(file, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    sql.busy_timeout(PATIENCE)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    sql.pragma_update(None, "cell_size_check", true)?;
    // Several are open at once, and the system keeps what they read as well.
    sql.pragma_update(None, "cache_size", if write { -8_192 } else { -4_096 })?;
    sql.set_prepared_statement_cache_capacity(128);
    mark::make_known(&sql)?;
    Ok(sql)
}

/// Compares the file with what its own header says of it. SQLite would notice only on reaching the missing part.
fn whole(file: &Path) -> Result<(), StoreError> {
    let Some(length) = regular(file)?.filter(|length| *length > 0) else { return Ok(()) };
    let mut header = [0; 100];
    let read = fs::File::open(file).and_then(|mut file| file.read_exact(&mut header));
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Err(StoreError::damaged(format!("it was cut off after {length} bytes")));
        }
        Err(error) => return Err(StoreError::io(file, &error)),
        Ok(()) => {}
    }
    let [b'S', b'Q', b'L', b'i', b't', b'e', ..] = header else {
        return Err(StoreError::damaged("it is no SQLite database"));
    };
    let page = match u64::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        size => size,
    };
    let pages = u64::from(u32::from_be_bytes([header[28], header[29], header[30], header[31]]));
    // What a log beside it holds may not have reached the file yet.
    let log = regular(&beside(file, "-wal"))?.unwrap_or_default();
    if log == 0 && pages * page > length {
        return Err(StoreError::damaged(format!("it was cut off after {length} of {} bytes", pages * page)));
    }
    Ok(())
}

/// The path of a file that SQLite keeps beside the database.
pub(crate) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Moves a store that can't be used out of the way, with its log, and says where it is.
fn set_aside(file: &Path, why: &StoreError) -> Result<PathBuf, StoreError> {
    let label = match why {
        StoreError::Newer { found, .. } => format!("schema-{found}"),
        _ => "damaged".to_owned(),
    };
    if let StoreError::Newer { .. } = why {
        // A later reweave may have it open now: moving it would split one store in two.
        let sql =
            Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        if sql.execute_batch("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK").is_err() {
            return Err(why.clone());
        }
    }
    let to = (1..)
        .map(|number| beside(file, &format!(".{label}-{number}")))
        .find(|path| fs::symlink_metadata(path).is_err());
    let to = to.unwrap_or_else(|| beside(file, ".aside"));
    fs::rename(file, &to).map_err(|error| StoreError::io(file, &error))?;
    for ending in ["-wal", "-shm"] {
        match fs::rename(beside(file, ending), beside(&to, ending)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(StoreError::io(file, &error)),
            _ => {}
        }
    }
    Ok(to)
}
