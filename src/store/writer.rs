//! The one thread of a process that writes to a store.
//!
//! Callers hand over work and get a [`Receipt`]; they wait for it only if they want to. What waits in the queue
//! is done together, in one transaction, each piece behind its own savepoint: a piece that fails takes nothing
//! else with it, and no receipt says "done" before the commit.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use zstd::bulk::Compressor;

use super::StoreError;
use crate::run::Faults;

/// How much a power cut may take back of what a receipt called done. The death of the process takes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Durability {
    /// The last few commits: `synchronous=NORMAL`.
    Normal,
    /// Nothing: `synchronous=FULL`.
    Full,
}

/// What a piece of work may use: the open transaction and what is dear to make anew.
pub(crate) struct Write<'a> {
    /// The connection, inside a transaction.
    pub(crate) sql: &'a Connection,
    /// Packs blobs.
    pub(crate) packer: &'a RefCell<Compressor<'static>>,
}

type Told = Box<dyn FnOnce(Option<StoreError>) + Send>;
type Work = Box<dyn FnOnce(Result<&Write<'_>, StoreError>) -> (bool, Told) + Send>;

enum Job {
    Write(Durability, Work),
    End,
}

/// A promise that a write will be done.
#[must_use = "a write may fail; wait for the receipt where that matters"]
#[derive(Debug)]
pub struct Receipt<T>(Receiver<Result<T, StoreError>>);

impl<T> Receipt<T> {
    /// Waits until the write is committed.
    ///
    /// # Errors
    /// When it could not be; then nothing of it was.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// The result if it is there already. Never waits.
    pub fn try_wait(&self) -> Option<Result<T, StoreError>> {
        match self.0.try_recv() {
            Ok(result) => Some(result),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(StoreError::Closed)),
        }
    }
}

/// How much was handed over and how much of it is settled, so that readers see what was written before.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    counts: Mutex<Counts>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    sent: u64,
    settled: u64,
    ended: bool,
}

impl Progress {
    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        self.settled.notify_all();
    }

    /// Waits until everything handed over so far is committed or has failed.
    pub(crate) fn settle(&self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let target = counts.sent;
        while counts.settled < target && !counts.ended {
            counts = self.settled.wait(counts).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The thread and the way to it. Dropping it does what waits, then closes the connection.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread on an open connection.
    pub(crate) fn start(sql: Connection, faults: Faults) -> Result<Self, StoreError> {
        let packer = Compressor::new(PACKING_LEVEL)
            .map_err(|error| StoreError::Sqlite { detail: format!("zstd can't be used: {error}") })?;
        let progress = Arc::new(Progress::default());
        let (jobs, queue) = mpsc::channel();
        let seen = Arc::clone(&progress);
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                let _ended = Ended(&seen);
                Desk { sql, packer: RefCell::new(packer), faults, level: None }.work_off(&queue, &seen);
            })
            .map_err(|error| StoreError::io(std::path::Path::new("the store's thread"), &error))?;
        Ok(Self { jobs, progress, thread: Some(thread) })
    }

    /// For readers of the same process.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Hands `work` over. It is done in the order of handing over.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Write<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Receipt<T> {
        let (tell, receipt): (SyncSender<Result<T, StoreError>>, _) = mpsc::sync_channel(1);
        let work: Work = Box::new(move |ready| {
            let result = ready.and_then(work);
            let failed = result.is_err();
            // Nobody may be waiting: then nobody is told.
            (failed, Box::new(move |lost| drop(tell.send(lost.map_or(result, Err)))))
        });
        self.progress.change(|counts| counts.sent += 1);
        if self.jobs.send(Job::Write(durability, work)).is_err() {
            self.progress.change(|counts| counts.settled += 1);
        }
        Receipt(receipt)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.jobs.send(Job::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Wakes those who wait if the thread ends in whatever way.
struct Ended<'a>(&'a Progress);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.change(|counts| counts.ended = true);
    }
}

/// zstd's own default: on step sources and observations higher levels gain a few percent and cost twice the time.
const PACKING_LEVEL: i32 = 3;

/// Most pieces of work in one transaction, so that the first does not wait long for the last.
const MOST_TOGETHER: usize = 256;

/// What the thread works with.
struct Desk {
    sql: Connection,
    packer: RefCell<Compressor<'static>>,
    faults: Faults,
    /// The level of `synchronous` that is set.
    level: Option<Durability>,
}

impl Desk {
    fn work_off(mut self, queue: &Receiver<Job>, progress: &Progress) {
        let mut waiting = VecDeque::new();
        let mut ending = false;
        while !ending {
            match queue.recv() {
                Ok(Job::Write(durability, work)) => waiting.push_back((durability, work)),
                Ok(Job::End) | Err(_) => ending = true,
            }
            while waiting.len() < MOST_TOGETHER {
                match queue.try_recv() {
                    Ok(Job::Write(durability, work)) => waiting.push_back((durability, work)),
                    Ok(Job::End) => ending = true,
                    Err(_) => break,
                }
            }
            let number = waiting.len() as u64;
            let Some(durability) = waiting.iter().map(|(durability, _)| *durability).max() else { continue };
            let mut told = Vec::with_capacity(waiting.len());
            let lost = self.together(durability, waiting.drain(..), &mut told).err();
            for (failed, tell) in told {
                // What failed by itself keeps its own reason.
                tell(if failed { None } else { lost.clone() });
            }
            progress.change(|counts| counts.settled += number);
        }
        // Leaves one file behind where nobody else has the store open.
        let _ = self.sql.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Does several pieces of work in one transaction. The error is for those that did not fail by themselves.
    fn together(
        &mut self,
        durability: Durability,
        pieces: impl Iterator<Item = (Durability, Work)>,
        told: &mut Vec<(bool, Told)>,
    ) -> Result<(), StoreError> {
        let begun = self.begin(durability);
        let mut planted = Ok(());
        let write = Write { sql: &self.sql, packer: &self.packer };
        for (_, work) in pieces {
            // A full disk rolls everything back at once; what comes after it has no transaction to be in.
            let ready = match &begun {
                Ok(()) if self.sql.is_autocommit() => Err(StoreError::Full),
                Ok(()) => self.sql.execute_batch("SAVEPOINT piece").map_err(StoreError::from),
                Err(error) => Err(error.clone()),
            };
            let (failed, tell) = work(ready.map(|()| &write));
            if !self.sql.is_autocommit() {
                if failed {
                    let _ = self.sql.execute_batch("ROLLBACK TO piece");
                }
                let _ = self.sql.execute_batch("RELEASE piece");
            }
            told.push((failed, tell));
            planted = planted.and(self.fault("store-write"));
        }
        begun?;
        if self.sql.is_autocommit() {
            return Err(StoreError::Full);
        }
        let committed = planted.and(self.fault("store-commit")).and_then(|()| Ok(self.sql.execute_batch("COMMIT")?));
        if committed.is_err() {
            let _ = self.sql.execute_batch("ROLLBACK");
        }
        // What is committed is committed: here a test can only make the process die.
        committed.inspect(|()| drop(self.fault("store-committed")))
    }

    fn begin(&mut self, durability: Durability) -> Result<(), StoreError> {
        if self.level != Some(durability) {
            let level = if durability == Durability::Full { "FULL" } else { "NORMAL" };
            self.sql.pragma_update(None, "synchronous", level)?;
            self.level = Some(durability);
        }
        self.fault("store-begin")?;
        Ok(self.sql.execute_batch("BEGIN IMMEDIATE")?)
    }

    fn fault(&self, point: &'static str) -> Result<(), StoreError> {
        self.faults.at(point).map_err(|error| StoreError::io(std::path::Path::new(".reweave/store.db"), &error))
    }
}
