//! What happened, newest first: for a run, a step or a variable.

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::step::{ExecutionId, Millis, PatchId, PatchState, Provenance, Reason, StepId, Version, VersionNumber};
use crate::store::event::kind;
use crate::store::execution::{Brief, brief};
use crate::store::names::{Subject, name_id};
use crate::store::version::{line, read_versions};
use crate::store::{Reader, StoreError};

/// Which part of the story.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogFilter {
    /// Only what happened to this step, under all its ids: its versions, executions, marks and patches.
    pub step: Option<StepId>,
    /// Only executions that wrote this name or file.
    pub subject: Option<Subject>,
    /// Only what happened at or after this time.
    pub since: Option<Millis>,
    /// Only what came before this event: for the next page.
    pub before: Option<i64>,
    /// At most this many entries; 0 for all.
    pub limit: usize,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its place in the run's history, counting up.
    pub seq: i64,
    /// When.
    pub at: Millis,
    /// To which step, by its present id.
    pub step: Option<StepId>,
    /// What.
    pub what: Happening,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// A step got a new text, or was removed. What it replaced is the version before.
    Version(Version),
    /// A step was given another id.
    Renamed {
        /// The old one.
        from: StepId,
        /// The new one.
        to: StepId,
        /// By whom.
        by: Provenance,
    },
    /// A step was executed.
    Executed {
        /// How it went.
        execution: Brief,
        /// Why it was executed.
        why: Vec<Reason>,
    },
    /// A step was marked stale by hand.
    Invalidated(Reason),
    /// A patch came in, was decided on, or was remarked upon.
    Patch {
        /// Which.
        patch: PatchId,
        /// Its line for people.
        title: String,
        /// Where it stands since then, if that changed.
        state: Option<PatchState>,
        /// The remark, if one was made.
        comment: Option<String>,
    },
    /// A remark of reweave's.
    Note {
        /// One word to find it by.
        topic: String,
        /// The remark.
        text: String,
    },
}

impl Reader {
    /// What happened, newest first, as `filter` says.
    ///
    /// ```
    /// use reweave::step::*;
    /// use reweave::store::Store;
    /// use reweave::store::query::{Happening, LogFilter};
    /// # let dir = tempfile::tempdir().unwrap();
    /// let store = Store::open(dir.path())?;
    /// let step: StepId = "1_load".parse().unwrap();
    /// let version = store.record_version(&step, b"x = 1", &Provenance::new(Author::Person, 1))?;
    /// store.record_execution(Execution::new(step.clone(), version, 2).into()).wait()?;
    /// let story = store.log(&LogFilter { step: Some(step), ..LogFilter::default() })?;
    /// assert!(matches!(story[0].what, Happening::Executed { .. }));
    /// assert!(matches!(story[1].what, Happening::Version(_)));
    /// # Ok::<(), reweave::store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such step.
    pub fn log(&self, filter: &LogFilter) -> Result<Vec<Entry>, StoreError> {
        let _now = self.snapshot()?;
        let sql = self.sql_now();
        let (before, since) = (filter.before.unwrap_or(i64::MAX), filter.since.unwrap_or(i64::MIN));
        let limit = if filter.limit == 0 { i64::MAX } else { i64::try_from(filter.limit).unwrap_or(i64::MAX) };
        let step = match &filter.step {
            None => None,
            Some(step) => Some(line(sql, step)?.ok_or_else(|| StoreError::missing(format!("step {step}")))?.id),
        };
        let mut values: Vec<Value> = vec![before.into(), since.into(), limit.into()];
        let which = match (&filter.subject, step) {
            (None, None) => "SELECT seq FROM event WHERE seq < ?1 AND at >= ?2 ORDER BY seq DESC LIMIT ?3".to_owned(),
            (None, Some(line)) => {
                values.push(line.into());
                "SELECT seq FROM event WHERE line = ?4 AND seq < ?1 AND at >= ?2
                 UNION SELECT e.seq FROM patch_step p JOIN event e ON e.item = p.patch
                 WHERE p.step IN (SELECT path FROM path WHERE path.line = ?4) AND e.seq < ?1 AND e.at >= ?2 ORDER BY 1 DESC LIMIT ?3"
                    .to_owned()
            }
            (Some(subject), step) => {
                let Some(name) = name_id(sql, subject)? else { return Ok(Vec::new()) };
                values.push(name.into());
                // As for `Reader::writers`, a name that is everywhere is found by going back from the newest.
                let from = match step {
                    Some(line) => {
                        values.push(line.into());
                        "execution x CROSS JOIN member m ON m.name = ?4 AND m.nameset = +x.writes WHERE x.line = ?5"
                    }
                    None if self.is_everywhere(name)? => {
                        "execution x CROSS JOIN member m ON m.name = ?4 AND m.nameset = +x.writes WHERE true"
                    }
                    None => "member m JOIN execution x ON x.writes = m.nameset WHERE m.name = ?4",
                };
                format!(
                    "SELECT x.seq FROM {from} AND x.seq < ?1 AND (SELECT at FROM event e WHERE e.seq = x.seq) >= ?2
                     ORDER BY x.id DESC LIMIT ?3"
                )
            }
        };
        let mut query = sql.prepare_cached(&format!(
            "SELECT event.seq, event.at, event.kind, event.item, event.text, line.id, line.path
             FROM ({which}) w JOIN event ON event.seq = w.seq LEFT JOIN line ON line.id = event.line
             ORDER BY event.seq DESC"
        ))?;
        let mut rows = query.query(params_from_iter(values))?;
        let mut story = Vec::new();
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            let step: Option<StepId> = row.get::<_, Option<String>>(6)?.map(|path| path.parse()).transpose()?;
            let event = Event { seq, kind: row.get(2)?, item: row.get(3)?, text: row.get(4)?, line: row.get(5)? };
            // What was cleared away leaves no entry.
            if let Some(what) = self.happening(event, step.as_ref())? {
                story.push(Entry { seq, at: row.get(1)?, step, what });
            }
        }
        Ok(story)
    }

    fn happening(&self, event: Event, step: Option<&StepId>) -> Result<Option<Happening>, StoreError> {
        let text = event.text.unwrap_or_default();
        Ok(match (event.kind.as_str(), event.line, step) {
            (kind::VERSION, Some(line), Some(step)) => {
                read_versions(self.sql_now(), step, "line = ? AND seq = ?", [line, event.seq])?
                    .pop()
                    .map(Happening::Version)
            }
            (kind::EXECUTED, Some(line), _) => self.executed(line, event.seq)?,
            (kind::RENAMED, ..) => {
                let (from, to, by) = serde_json::from_str(&text)?;
                Some(Happening::Renamed { from, to, by })
            }
            (kind::INVALIDATED, ..) => Some(Happening::Invalidated(serde_json::from_str(&text)?)),
            (kind::PATCH, ..) => self.patch_happening(event.item.unwrap_or_default(), event.seq)?,
            (kind::NOTE, ..) => {
                let (topic, text) = text.split_once('\n').unwrap_or(("", &text));
                Some(Happening::Note { topic: topic.to_owned(), text: text.to_owned() })
            }
            (other, ..) => return Err(StoreError::damaged(format!("{other:?} is no kind of event"))),
        })
    }

    fn executed(&self, line: i64, seq: i64) -> Result<Option<Happening>, StoreError> {
        let mut query = self.sql_now().prepare_cached(
            "SELECT id, why, version, started, duration_us, outcome, error, caused_by, nondeterministic
             FROM execution WHERE line = ? AND seq = ?",
        )?;
        let mut rows = query.query([line, seq])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(Happening::Executed {
            execution: brief(ExecutionId(row.get(0)?), row, 2)?,
            why: serde_json::from_str(&row.get::<_, String>(1)?)?,
        }))
    }

    fn patch_happening(&self, patch: i64, seq: i64) -> Result<Option<Happening>, StoreError> {
        let mut query = self.sql_now().prepare_cached(
            "SELECT patch.id, title, c.state, comment FROM patch JOIN patch_change c ON c.patch = patch.id
             WHERE patch.id = ? AND c.seq = ?",
        )?;
        let mut rows = query.query([patch, seq])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(Happening::Patch {
            patch: PatchId(row.get(0)?),
            title: row.get(1)?,
            state: row.get::<_, Option<String>>(2)?.map(|word| crate::store::patch::state(&word)).transpose()?,
            comment: row.get(3)?,
        }))
    }

    /// The version that `version` replaced, with its text, for a timeline that shows what changed.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn replaced(&self, version: &Version) -> Result<Option<(VersionNumber, Vec<u8>)>, StoreError> {
        let number = VersionNumber(version.number.0.saturating_sub(1));
        if number.0 == 0 {
            return Ok(None);
        }
        match self.version_text(&version.step, number) {
            Ok(text) => Ok(Some((number, text))),
            // It was the step's removal: the text is new.
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

struct Event {
    seq: i64,
    kind: String,
    item: Option<i64>,
    text: Option<String>,
    line: Option<i64>,
}
