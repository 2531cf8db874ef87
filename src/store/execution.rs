//! Executions: what each run of a step used, did and gave.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, params};
use zstd::bulk::Decompressor;

use super::blob::Packed;
use super::event::kind;
use super::names::{Names, Subject};
use super::record::{Record, Shown, restore};
use super::version::{Line, line};
use super::writer::{Durability, Receipt, Write};
use super::{Reader, Store, StoreError, blob, mark, unpacker};
use crate::step::{Digest, Execution, ExecutionId, FileContent, Millis, Outcome, Reason, StepId, VersionNumber};

/// An execution with its place in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Its number.
    pub id: ExecutionId,
    /// All about it.
    pub execution: Arc<Execution>,
}

/// The last execution of a step in short: what a list of steps shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Latest {
    /// Which step.
    pub step: StepId,
    /// Its present version.
    pub head: VersionNumber,
    /// Its last execution, if it has one.
    pub execution: Option<Brief>,
    /// Why it was marked stale by hand, if it is.
    pub invalidated: Option<Reason>,
}

/// An execution in short.
#[derive(Debug, Clone, PartialEq)]
pub struct Brief {
    /// Its number.
    pub id: ExecutionId,
    /// Which version ran.
    pub version: VersionNumber,
    /// When it began.
    pub started: Millis,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Type and message of its error on one line, cut; hostile.
    pub error: Option<String>,
    /// The failed step of which its failure is only a consequence.
    pub caused_by: Option<StepId>,
    /// What it consulted that no record can tell again.
    pub nondeterministic: Vec<String>,
}

/// Most characters of an error's message in a [`Brief`].
const BRIEF_MESSAGE: usize = 200;

impl Store {
    /// Records an execution and clears the mark that a person may have set on its step. Costs the caller only
    /// the handing over; the receipt tells the number when it is committed. The death of the process takes back
    /// nothing that a receipt told, a power cut may take the last few.
    ///
    /// ```
    /// # use reweave::step::*;
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = reweave::store::Store::open(dir.path())?;
    /// let step: StepId = "01_load".parse().unwrap();
    /// let version = store.record_version(&step, b"x = 1", &Provenance::new(Author::Person, 1_000))?;
    /// let execution = Execution::new(step.clone(), version, 2_000);
    /// let id = store.record_execution(execution.into()).wait()?;
    /// assert_eq!(store.executions(&step, 10)?[0].id, id);
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// The receipt's error is [`StoreError::Missing`] when the step or its version was never recorded.
    pub fn record_execution(&self, execution: Arc<Execution>) -> Receipt<ExecutionId> {
        self.submit(Durability::Normal, move |write| write.execution(&execution))
    }

    /// Marks steps stale by hand. The mark lasts until the step is executed or the mark is cleared.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when one of them is not there; then none is marked.
    pub fn set_invalidated(&self, steps: &[StepId], reason: &Reason, at: Millis) -> Result<(), StoreError> {
        let (steps, reason) = (steps.to_vec(), serde_json::to_string(reason)?);
        self.submit(Durability::Full, move |write| {
            for step in &steps {
                let line = present(write, step)?;
                write.event(at, kind::INVALIDATED, Some(line.id), None, Some(&reason))?;
                write
                    .sql
                    .prepare_cached("INSERT OR REPLACE INTO invalidated (line, at, reason) VALUES (?, ?, ?)")?
                    .execute(params![line.id, at, reason])?;
            }
            Ok(())
        })
        .wait()
    }

    /// Clears marks set by hand.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when one of the steps is not there.
    pub fn clear_invalidated(&self, steps: &[StepId]) -> Result<(), StoreError> {
        let steps = steps.to_vec();
        self.submit(Durability::Full, move |write| {
            for step in &steps {
                let line = present(write, step)?;
                write.sql.prepare_cached("DELETE FROM invalidated WHERE line = ?")?.execute([line.id])?;
            }
            Ok(())
        })
        .wait()
    }
}

impl Reader {
    /// When the run was first executed, if it was.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn first_execution(&self) -> Result<Option<Millis>, StoreError> {
        let query = "SELECT at FROM event WHERE kind = ? ORDER BY seq LIMIT 1";
        let found = self.sql().prepare_cached(query)?.query_row([kind::EXECUTED], |row| row.get(0));
        Ok(found.optional()?)
    }

    /// The executions of a step, newest first, at most `limit`; those under its earlier ids too.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn executions(&self, step: &StepId, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let Some(line) = line(self.sql(), step)? else { return Ok(Vec::new()) };
        let mut query = self.sql_now().prepare_cached(&format!(
            "SELECT {WHOLE}, {} FROM execution WHERE line = ? ORDER BY seq DESC LIMIT ?",
            mark::sound("execution")
        ))?;
        let mut rows = query.query(params![line.id, i64::try_from(limit).unwrap_or(i64::MAX)])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            mark::expect(row.get(11)?, || format!("an execution of {step}"))?;
            found.push(self.recorded(step, row)?);
        }
        Ok(found)
    }

    /// One execution.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is none of this number.
    pub fn execution(&self, id: ExecutionId) -> Result<Recorded, StoreError> {
        let mut query = self.sql().prepare_cached(&format!(
            "SELECT {WHOLE}, line.path, {} FROM execution JOIN line ON line.id = execution.line WHERE execution.id = ?",
            mark::sound("execution")
        ))?;
        let mut rows = query.query([id.0])?;
        let row = rows.next()?.ok_or_else(|| StoreError::missing(format!("execution {}", id.0)))?;
        let step: StepId = row.get::<_, String>(11)?.parse()?;
        mark::expect(row.get(12)?, || format!("execution {}", id.0))?;
        self.recorded(&step, row)
    }

    /// Every step that is there with its last execution in short, in the order of the run: one query, which is
    /// what makes opening fast. [`Reader::execution`] has the rest of each.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn latest(&self) -> Result<Vec<Latest>, StoreError> {
        let mut query = self.sql().prepare_cached(
            "SELECT line.path, line.head, invalidated.reason, e.id, e.version, e.started, e.duration_us, e.outcome,
                    e.error, e.caused_by, e.nondeterministic
             FROM line LEFT JOIN execution e ON e.id = line.latest LEFT JOIN invalidated ON invalidated.line = line.id
             WHERE line.source IS NOT NULL",
        )?;
        let mut rows = query.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let execution = match row.get::<_, Option<i64>>(3)? {
                None => None,
                Some(id) => Some(brief(ExecutionId(id), row, 4)?),
            };
            found.push(Latest {
                step: row.get::<_, String>(0)?.parse()?,
                head: VersionNumber(row.get(1)?),
                execution,
                invalidated: row.get::<_, Option<String>>(2)?.map(|text| serde_json::from_str(&text)).transpose()?,
            });
        }
        found.sort_unstable_by(|a, b| a.step.cmp(&b.step));
        Ok(found)
    }

    /// The steps that are marked stale by hand, with the reason of each.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn invalidated(&self) -> Result<BTreeMap<StepId, Reason>, StoreError> {
        let mut query = self.sql().prepare_cached(
            "SELECT line.path, invalidated.reason FROM invalidated JOIN line ON line.id = invalidated.line
             WHERE line.source IS NOT NULL",
        )?;
        let mut rows = query.query([])?;
        let mut found = BTreeMap::new();
        while let Some(row) = rows.next()? {
            found.insert(row.get::<_, String>(0)?.parse()?, serde_json::from_str(&row.get::<_, String>(1)?)?);
        }
        Ok(found)
    }

    /// The last execution of every step that is there and has one, in full.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn latest_executions(&self) -> Result<BTreeMap<StepId, Recorded>, StoreError> {
        self.latest_whole(true)
    }

    /// The same without what was printed and shown: what it takes to say how steps stand, in less than half the time.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn latest_observed(&self) -> Result<BTreeMap<StepId, Recorded>, StoreError> {
        self.latest_whole(false)
    }

    /// Steps that are there and have an execution that was made elsewhere and imported.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn steps_with_recordings(&self) -> Result<Vec<StepId>, StoreError> {
        let mut query = self.sql().prepare_cached(
            "SELECT DISTINCT line.path FROM execution JOIN line ON line.id = execution.line \
             WHERE execution.outcome = 'recorded' AND line.source IS NOT NULL",
        )?;
        let mut rows = query.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(row.get::<_, String>(0)?.parse()?);
        }
        Ok(found)
    }

    fn latest_whole(&self, shown: bool) -> Result<BTreeMap<StepId, Recorded>, StoreError> {
        let mut query = self.sql().prepare_cached(&format!(
            "SELECT {WHOLE}, line.path FROM line JOIN execution ON execution.id = line.latest WHERE line.source IS NOT NULL"
        ))?;
        let mut rows = query.query([])?;
        let mut found = Vec::new();
        self.read_names_at_once()?;
        while let Some(row) = rows.next()? {
            found.push(self.row(row.get::<_, String>(11)?.parse()?, row, shown)?);
        }
        let mut found = open_all(&found, &self.names.borrow())?;
        // Rows mostly come in the order of the run.
        found.sort_by(|a, b| a.execution.step.cmp(&b.execution.step));
        Ok(found.into_iter().map(|recorded| (recorded.execution.step.clone(), recorded)).collect())
    }

    /// An execution from a row of [`WHOLE`], with what it printed and showed.
    fn recorded(&self, step: &StepId, row: &Row<'_>) -> Result<Recorded, StoreError> {
        self.row(step.clone(), row, true)?.open(&self.names.borrow(), &mut self.unpacker.borrow_mut())
    }

    /// A row of [`WHOLE`], with what was printed and showed only if `shown`.
    fn row(&self, step: StepId, row: &Row<'_>, shown: bool) -> Result<WholeRow, StoreError> {
        let set = |at: usize| {
            let ids = self.nameset(row.get(at)?)?;
            let mut names = self.names.borrow_mut();
            for id in ids.iter() {
                if !names.is_known(*id) {
                    names.get(self.sql_now(), *id)?;
                }
            }
            Ok::<_, StoreError>(ids)
        };
        Ok(WholeRow {
            step,
            id: ExecutionId(row.get(0)?),
            version: VersionNumber(row.get(1)?),
            started: row.get(2)?,
            duration_us: row.get::<_, i64>(3)?.unsigned_abs(),
            outcome: outcome(row.get_ref(4)?.as_str().map_err(|error| StoreError::damaged(error.to_string()))?)?,
            why: row.get(5)?,
            shown: if shown { Some(self.packed(&Digest::from_bytes(row.get(6)?))?) } else { None },
            body: Packed::read(self.sql_now(), row.get(7)?)?,
            reads: set(8)?,
            writes: set(9)?,
            written: row.get(10)?,
        })
    }
}

/// An execution as its rows hold it. To make it out takes longer than to read it, and needs no database.
struct WholeRow {
    step: StepId,
    id: ExecutionId,
    version: VersionNumber,
    started: Millis,
    duration_us: u64,
    outcome: Outcome,
    why: String,
    shown: Option<Packed>,
    body: Packed,
    reads: Arc<[u32]>,
    writes: Arc<[u32]>,
    written: Vec<u8>,
}

impl WholeRow {
    fn open(&self, names: &Names, unpacker: &mut Decompressor<'_>) -> Result<Recorded, StoreError> {
        let Shown { output, displays } = match &self.shown {
            Some(shown) => serde_json::from_slice(&shown.open(unpacker)?)?,
            None => Shown::default(),
        };
        let set = |ids: &[u32]| ids.iter().map(|id| names.known(*id)).collect::<Result<Vec<Subject>, _>>();
        let (reads, writes) = (set(&self.reads)?, set(&self.writes)?);
        let (error, observation, effects) = restore(&reads, &writes, &self.written, &self.body.open(unpacker)?)?;
        let execution = Execution {
            step: self.step.clone(),
            version: self.version,
            started: self.started,
            duration_us: self.duration_us,
            why: serde_json::from_str(&self.why)?,
            outcome: self.outcome,
            output,
            displays,
            error,
            observation,
            effects,
        };
        Ok(Recorded { id: self.id, execution: Arc::new(execution) })
    }
}

/// So many rows are made out by one thread: for fewer, starting another costs more than it saves.
const ROWS_A_THREAD: usize = 1_000;

/// Makes out executions on as many threads as there are processors for it.
fn open_all(rows: &[WholeRow], names: &Names) -> Result<Vec<Recorded>, StoreError> {
    let work = |rows: &[WholeRow]| {
        let mut unpacker = unpacker()?;
        rows.iter().map(|row| row.open(names, &mut unpacker)).collect::<Result<Vec<_>, StoreError>>()
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let share = rows.len().div_ceil(processors).max(ROWS_A_THREAD);
    if rows.len() <= share {
        return work(rows);
    }
    let (own, others) = rows.split_at(share);
    std::thread::scope(|scope| {
        let others: Vec<_> = others.chunks(share).map(|rows| scope.spawn(move || work(rows))).collect();
        let mut found = work(own)?;
        for other in others {
            let lost = |_| StoreError::Sqlite { detail: "a thread that read executions died".into() };
            found.extend(other.join().map_err(lost)??);
        }
        Ok(found)
    })
}

/// The columns of a whole execution.
const WHOLE: &str = "execution.id, execution.version, execution.started, execution.duration_us, execution.outcome,
    execution.why, execution.output, execution.body, execution.reads, execution.writes, execution.written";

/// An execution in short, its columns from `first` on: version, started, duration, outcome, error, caused_by,
/// nondeterministic.
pub(crate) fn brief(id: ExecutionId, row: &Row<'_>, first: usize) -> Result<Brief, StoreError> {
    let words: Option<String> = row.get(first + 6)?;
    Ok(Brief {
        id,
        version: VersionNumber(row.get(first)?),
        started: row.get(first + 1)?,
        duration_us: row.get::<_, i64>(first + 2)?.unsigned_abs(),
        outcome: outcome(row.get_ref(first + 3)?.as_str().map_err(|error| StoreError::damaged(error.to_string()))?)?,
        error: row.get(first + 4)?,
        caused_by: row.get::<_, Option<String>>(first + 5)?.map(|text| text.parse()).transpose()?,
        nondeterministic: words.map(|text| serde_json::from_str(&text)).transpose()?.unwrap_or_default(),
    })
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::Interrupted => "interrupted",
        Outcome::Recorded => "recorded",
    }
}

/// The outcome that this word stands for.
pub(crate) fn outcome(word: &str) -> Result<Outcome, StoreError> {
    Ok(match word {
        "done" => Outcome::Done,
        "failed" => Outcome::Failed,
        "interrupted" => Outcome::Interrupted,
        "recorded" => Outcome::Recorded,
        other => return Err(StoreError::damaged(format!("{other:?} is no outcome"))),
    })
}

/// The line of a step that must have been recorded.
fn present(write: &Write<'_>, step: &StepId) -> Result<Line, StoreError> {
    line(write.sql, step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))
}

impl Write<'_> {
    pub(crate) fn execution(&self, execution: &Execution) -> Result<ExecutionId, StoreError> {
        let line = present(self, &execution.step)?;
        let version: Option<i64> = self
            .sql
            .prepare_cached("SELECT 1 FROM version WHERE line = ? AND number = ?")?
            .query_row(params![line.id, execution.version.0], |row| row.get(0))
            .optional()?;
        if version.is_none() {
            return Err(StoreError::missing(format!("version {} of step {}", execution.version, execution.step)));
        }
        let observation = &execution.observation;
        let record = Record::of(execution)?;
        let shown = Digest::of(&record.shown);
        self.blob(&shown, &record.shown)?;
        let error = execution.error.as_ref().map(|error| {
            let message: String =
                error.message.lines().next().unwrap_or_default().chars().take(BRIEF_MESSAGE).collect();
            if message.is_empty() { error.type_name.clone() } else { format!("{}: {message}", error.type_name) }
        });
        let duration = i64::try_from(execution.duration_us).unwrap_or(i64::MAX);
        let ended = execution.started.saturating_add(duration / 1_000);
        let seq = self.event(ended, kind::EXECUTED, Some(line.id), None, None)?;
        let nondeterministic = &observation.nondeterministic;
        self.sql
            .prepare_cached(
                "INSERT INTO execution (line, version, seq, started, duration_us, outcome, why, error, caused_by,
                     nondeterministic, reads, writes, written, output, body)
                 VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            )?
            .execute(params![
                line.id,
                execution.version.0,
                seq,
                execution.started,
                duration,
                outcome_word(execution.outcome),
                serde_json::to_string(&execution.why)?,
                error,
                execution.error.as_ref().and_then(|error| error.caused_by.as_ref()).map(StepId::as_str),
                (!nondeterministic.is_empty()).then(|| serde_json::to_string(nondeterministic)).transpose()?,
                self.nameset(&record.reads)?,
                self.nameset(&record.writes)?,
                record.written,
                shown.as_bytes(),
                self.content(&record.body)?,
            ])?;
        let id = self.sql.last_insert_rowid();
        self.sql.prepare_cached("UPDATE line SET latest = ? WHERE id = ?")?.execute(params![id, line.id])?;
        self.sql.prepare_cached("DELETE FROM invalidated WHERE line = ?")?.execute([line.id])?;
        for file in observation.files_written.values() {
            for content in [&file.before, &file.after] {
                if let FileContent::File { digest, .. } = content
                    && let Some(blob) = blob::blob_id(self.sql, digest)?
                {
                    self.sql
                        .prepare_cached("INSERT OR IGNORE INTO holds (execution, blob) VALUES (?, ?)")?
                        .execute(params![id, blob])?;
                }
            }
        }
        Ok(ExecutionId(id))
    }
}
