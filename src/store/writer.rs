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

use super::{StoreError, fault};

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
    pub(crate) fn start(sql: Connection) -> Result<Self, StoreError> {
        let packer = Compressor::new(PACKING_LEVEL)
            .map_err(|error| StoreError::Sqlite { detail: format!("zstd can't be used: {error}") })?;
        let progress = Arc::new(Progress::default());
        let (jobs, queue) = mpsc::channel();
        let seen = Arc::clone(&progress);
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                let _ended = Ended(&seen);
                work_off(&sql, &RefCell::new(packer), &queue, &seen);
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

fn work_off(sql: &Connection, packer: &RefCell<Compressor<'static>>, queue: &Receiver<Job>, progress: &Progress) {
    let mut waiting = VecDeque::new();
    let mut ending = false;
    let mut level = None;
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
        let lost = together(sql, packer, durability, &mut level, waiting.drain(..), &mut told).err();
        for (failed, tell) in told {
            // What failed by itself keeps its own reason.
            tell(if failed { None } else { lost.clone() });
        }
        progress.change(|counts| counts.settled += number);
    }
    // Leaves one file behind where nobody else has the store open.
    let _ = sql.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
}

/// Does several pieces of work in one transaction. The error is for those that did not fail by themselves.
fn together(
    sql: &Connection,
    packer: &RefCell<Compressor<'static>>,
    durability: Durability,
    level: &mut Option<Durability>,
    pieces: impl Iterator<Item = (Durability, Work)>,
    told: &mut Vec<(bool, Told)>,
) -> Result<(), StoreError> {
    let begun = begin(sql, durability, level);
    let write = Write { sql, packer };
    for (_, work) in pieces {
        // A full disk rolls everything back at once; what comes after it has no transaction to be in.
        let ready = match &begun {
            Ok(()) if sql.is_autocommit() => Err(StoreError::Full),
            Ok(()) => sql.execute_batch("SAVEPOINT piece").map_err(StoreError::from),
            Err(error) => Err(error.clone()),
        };
        let (failed, tell) = work(ready.map(|()| &write));
        if !sql.is_autocommit() {
            if failed {
                let _ = sql.execute_batch("ROLLBACK TO piece");
            }
            let _ = sql.execute_batch("RELEASE piece");
        }
        told.push((failed, tell));
        fault::point("inside a transaction");
    }
    begun?;
    if sql.is_autocommit() {
        return Err(StoreError::Full);
    }
    fault::point("before a commit");
    if let Err(error) = sql.execute_batch("COMMIT") {
        let _ = sql.execute_batch("ROLLBACK");
        return Err(error.into());
    }
    fault::point("after a commit");
    Ok(())
}

fn begin(sql: &Connection, durability: Durability, level: &mut Option<Durability>) -> Result<(), StoreError> {
    if *level != Some(durability) {
        sql.pragma_update(None, "synchronous", if durability == Durability::Full { "FULL" } else { "NORMAL" })?;
        *level = Some(durability);
    }
    fault::point("before a transaction");
    Ok(sql.execute_batch("BEGIN IMMEDIATE")?)
}
