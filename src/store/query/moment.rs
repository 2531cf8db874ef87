//! When: a place in the run's history.

use std::fmt;
use std::str::FromStr;

use rusqlite::{OptionalExtension, params};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::step::{ExecutionId, Millis, StepId, VersionNumber};
use crate::store::event::kind;
use crate::store::version::line;
use crate::store::{Reader, StoreError};

/// A place in the run's history. Everything that happened up to it, itself included, counts.
///
/// ```
/// use reweave::store::query::Moment;
/// assert_eq!("now".parse(), Ok(Moment::Now));
/// assert_eq!("@12".parse(), Ok(Moment::Event(12)));
/// assert_eq!("2026-11-27T10:00:00Z".parse(), Ok(Moment::Time(1_795_773_600_000)));
/// assert!("e7".parse::<Moment>().is_ok(), "an execution");
/// assert!("01_load:v3".parse::<Moment>().is_ok(), "when a version came to be");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// Now.
    Now,
    /// After this event: its `seq`.
    Event(i64),
    /// At this time.
    Time(Millis),
    /// When this execution was recorded.
    Execution(ExecutionId),
    /// When this version of a step came to be.
    Version(StepId, VersionNumber),
}

/// Why a text is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no moment; say now, a time (2026-11-27T10:00), an execution (e12), a version (01_load:v3) or an event (@40)"
)]
pub struct InvalidMoment(String);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::Event(seq) => write!(f, "@{seq}"),
            Self::Time(at) => match jiff::Timestamp::from_millisecond(*at) {
                Ok(time) => write!(f, "{time}"),
                Err(_) => write!(f, "{at} ms"),
            },
            Self::Execution(id) => write!(f, "e{}", id.0),
            Self::Version(step, number) => write!(f, "{step}:{number}"),
        }
    }
}

impl FromStr for Moment {
    type Err = InvalidMoment;

    /// A time without a zone is taken in the system's.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidMoment(text.to_owned());
        if text == "now" {
            return Ok(Self::Now);
        }
        if let Some(seq) = text.strip_prefix('@') {
            return seq.parse().map(Self::Event).map_err(|_| invalid());
        }
        if let Some(id) = text.strip_prefix('e').and_then(|id| id.parse().ok()) {
            return Ok(Self::Execution(ExecutionId(id)));
        }
        if let Some((step, number)) = text.rsplit_once(":v").or_else(|| text.rsplit_once(':'))
            && let (Ok(step), Ok(number)) = (step.parse(), number.parse())
            && jiff_time(text).is_none()
        {
            return Ok(Self::Version(step, VersionNumber(number)));
        }
        jiff_time(text).map(Self::Time).ok_or_else(invalid)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn jiff_time(text: &str) -> Option<Millis> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(time.as_millisecond());
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    Some(civil.to_zoned(jiff::tz::TimeZone::system()).ok()?.timestamp().as_millisecond())
}

impl Reader {
    /// The event that a moment is right after; `None` for now.
    pub(crate) fn seq_of(&self, moment: &Moment) -> Result<Option<i64>, StoreError> {
        let sql = self.sql_now();
        match moment {
            Moment::Now => Ok(None),
            Moment::Event(seq) => {
                let newest: Option<i64> =
                    sql.prepare_cached("SELECT MAX(seq) FROM event")?.query_row([], |row| row.get(0))?;
                match *seq {
                    seq if seq < 0 || seq > newest.unwrap_or(0) => Err(StoreError::missing(format!("event @{seq}"))),
                    seq => Ok(Some(seq)),
                }
            }
            Moment::Time(at) => {
                let seq: Option<i64> = sql
                    .prepare_cached("SELECT MAX(seq) FROM event WHERE at <= ?")?
                    .query_row([at], |row| row.get(0))?;
                Ok(Some(seq.unwrap_or(0)))
            }
            Moment::Execution(id) => {
                let seq = sql
                    .prepare_cached("SELECT seq FROM execution WHERE id = ?")?
                    .query_row([id.0], |row| row.get(0))
                    .optional()?;
                seq.map(Some).ok_or_else(|| StoreError::missing(format!("execution {}", id.0)))
            }
            Moment::Version(step, number) => {
                let missing = || StoreError::missing(format!("version {number} of step {step}"));
                let line = line(sql, step)?.ok_or_else(missing)?;
                let seq = sql
                    .prepare_cached("SELECT seq FROM version WHERE line = ? AND number = ?")?
                    .query_row(params![line.id, number.0], |row| row.get(0))
                    .optional()?;
                seq.map(Some).ok_or_else(missing)
            }
        }
    }

    /// The moment at which also that had happened which happened together with this one: of texts that were seen in
    /// one look at the run, or written by one deed, each is an event, but the run never stood between two of them.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such moment.
    pub fn whole(&self, moment: &Moment) -> Result<Moment, StoreError> {
        if !matches!(moment, Moment::Event(_) | Moment::Version(..)) {
            return Ok(moment.clone());
        }
        let _now = self.snapshot()?;
        let Some(seq) = self.seq_of(moment)? else { return Ok(Moment::Now) };
        let sql = self.sql_now();
        let event: Option<(i64, String)> = sql
            .prepare_cached("SELECT at, kind FROM event WHERE seq = ?")?
            .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let together = |kind: &str| kind == kind::VERSION || kind == kind::RENAMED;
        let Some((at, _)) = event.filter(|(_, kind)| together(kind)) else { return Ok(Moment::Event(seq)) };
        let mut last = seq;
        let mut query = sql.prepare_cached("SELECT seq, at, kind FROM event WHERE seq > ? ORDER BY seq")?;
        let mut rows = query.query([seq])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(1)? != at || !together(&row.get::<_, String>(2)?) {
                break;
            }
            last = row.get(0)?;
        }
        Ok(Moment::Event(last))
    }

    /// The last event that a moment is not before: its `seq`.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no such moment.
    pub fn event_of(&self, moment: &Moment) -> Result<i64, StoreError> {
        let _now = self.snapshot()?;
        Ok(self.seq_of(moment)?.unwrap_or(i64::MAX))
    }

    /// The present moment as an event, to come back to.
    ///
    /// # Errors
    /// When the store can't be read.
    pub fn now(&self) -> Result<Moment, StoreError> {
        let seq: Option<i64> = self.sql().query_row("SELECT MAX(seq) FROM event", [], |row| row.get(0))?;
        Ok(Moment::Event(seq.unwrap_or(0)))
    }
}
