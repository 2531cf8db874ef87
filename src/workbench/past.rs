//! The run's history as it is asked for: the story, earlier texts, the run at a moment, and going back to one.

use std::collections::HashMap;
use std::sync::Arc;

use super::book::Book;
use super::moment::now;
use super::{Command, Event, Failure, Happening, PastStep, PastView, StoryRow, hands};
use crate::step::{StepId, VersionNumber};
use crate::store::query::{self, Entry, LogFilter, Moment};
use crate::store::{Change, DeedKind, Freed, Retention};

/// Most that is told of a story at once.
const TOLD: usize = 1_000;

/// Answers a question about the past, or goes back to it: an event for who asked, and a line for people.
///
/// # Errors
/// When there is no such moment, step or version, or a file was changed meanwhile.
pub(super) fn answer(book: &mut Book, command: Command) -> Result<(Option<Event>, String), Failure> {
    match command {
        Command::Story { step } => {
            let filter = LogFilter { step: step.clone(), limit: TOLD, ..LogFilter::default() };
            let entries = book.store().log(&filter).map_err(|error| book.failure(error))?;
            let rows = Arc::new(entries.into_iter().map(row).collect());
            Ok((Some(Event::Story { step, rows }), String::new()))
        }
        Command::VersionText { step, version } => {
            let text = version_text(book, &step, version)?;
            Ok((Some(Event::VersionText { step, version, text }), String::new()))
        }
        Command::Past { moment } => {
            let moment = whole(book, &moment)?;
            Ok((Some(Event::Past(Arc::new(past(book, moment)?))), String::new()))
        }
        Command::RestoreTo { step, moment } => {
            let moment = whole(book, &moment)?;
            Ok((None, go_back(book, step.as_ref(), &moment)?))
        }
        Command::Gc { executions, days, saved } => {
            let usual = Retention::default();
            let policy = Retention {
                executions: executions.unwrap_or(usual.executions),
                days: days.unwrap_or(usual.days),
                saved: saved.unwrap_or(usual.saved),
            };
            let freed = book.store().gc(&policy, now()).map_err(|error| book.failure(error))?;
            let Freed { executions, saved_values, blobs, bytes } = freed;
            let text = format!(
                "cleared away {executions} executions, {saved_values} saved values and {blobs} contents: {} freed",
                crate::run::bytes_text(bytes)
            );
            Ok((Some(Event::Freed(freed)), text))
        }
        other => Err(Failure { what: format!("this can't be asked here: {other:?}"), hint: None }),
    }
}

/// A moment at which the run really stood.
fn whole(book: &Book, moment: &Moment) -> Result<Moment, Failure> {
    book.store().whole(moment).map_err(|error| {
        let hint = Some("`reweave log` lists what happened, each with its moment".to_owned());
        Failure { hint, ..book.failure(error) }
    })
}

/// The text of a version; that of a removal is empty.
fn version_text(book: &Book, step: &StepId, version: VersionNumber) -> Result<Arc<str>, Failure> {
    let read = || {
        if book.store().version(step, version)?.deleted {
            return Ok(Vec::new());
        }
        book.store().version_text(step, version)
    };
    let bytes = read().map_err(|error| book.failure(error))?;
    Ok(String::from_utf8_lossy(&bytes).into())
}

/// The run as it stood at `moment`.
fn past(book: &Book, moment: Moment) -> Result<PastView, Failure> {
    let ask = || {
        let store = book.store();
        Ok((store.at(None, &moment)?, store.diff(&moment, &Moment::Now)?))
    };
    let (standing, difference) = ask().map_err(|error| book.failure(error))?;
    let mut later = Vec::new();
    let mut differs = HashMap::new();
    for step in &difference.steps {
        match (&step.before, &step.after) {
            (Some(before), _) => drop(differs.insert(&before.step, step)),
            (None, Some(after)) => later.push(after.step.clone()),
            (None, None) => {}
        }
    }
    let step = |step: query::StandingStep| {
        let other = differs.get(&step.step);
        let after = other.map(|other| other.after.as_ref());
        PastStep {
            now: after.flatten().map_or_else(|| step.step.clone(), |after| after.step.clone()),
            version: step.version,
            execution: step.execution.map(|(_, version, outcome)| (version, outcome)),
            present: match after {
                // A version between may have had the same text.
                Some(after) => after.map(|after| after.version),
                None => Some(step.version),
            },
            changed: other.is_some_and(|other| other.source),
            output: other.is_some_and(|other| other.output),
            id: step.step,
        }
    };
    let steps = standing.steps.into_iter().map(step).collect();
    let hidden = |name: &&Arc<str>| !name.starts_with('@');
    let values = difference.values.iter().map(|value| value.subject.text()).filter(hidden);
    let values = values.map(ToString::to_string).collect();
    Ok(PastView { moment, steps, later, values })
}

/// Takes a step, or the whole run, back to `moment`.
fn go_back(book: &Book, step: Option<&StepId>, moment: &Moment) -> Result<String, Failure> {
    let path_of = |step: &StepId| match book.step(step) {
        Some(entry) => hands::shown(&entry.file.path),
        None => String::new(),
    };
    let changes = book.store().changes_back_to(moment, step, path_of);
    let mut changes = changes.map_err(|error| book.failure(error))?;
    let what = step.map_or_else(|| "the run".to_owned(), ToString::to_string);
    if changes.is_empty() {
        return Ok(format!("{what} is as at {moment} already"));
    }
    for Change { path, step, after, .. } in &mut changes {
        if let (true, Some(step), Some(text)) = (path.is_empty(), step, after) {
            *path = hands::path_for(step, text);
        }
    }
    let count = super::desk::counted(changes.len(), "file");
    hands::carry_out(book, DeedKind::Restore, format!("take {what} back to {moment}"), changes)?;
    Ok(format!("{what} is as at {moment} again, {count} changed; `reweave undo` takes that back"))
}

/// Something that happened, for a face.
fn row(entry: Entry) -> StoryRow {
    let what = match entry.what {
        query::Happening::Version(version) => {
            let by = version.provenance;
            Happening::Version {
                number: version.number,
                replaced: version.number.0.checked_sub(1).filter(|before| *before > 0).map(VersionNumber),
                author: by.author.to_string(),
                model: by.model,
                patch: by.patch,
                reason: by.reason,
                deleted: version.deleted,
            }
        }
        query::Happening::Renamed { from, to, .. } => Happening::Renamed { from, to },
        query::Happening::Executed { execution, why } => Happening::Executed {
            version: execution.version,
            outcome: execution.outcome,
            duration_us: execution.duration_us,
            why,
            error: execution.error,
        },
        query::Happening::Invalidated(_) => Happening::Invalidated,
        query::Happening::Patch { patch, title, state, comment } => Happening::Patch { patch, title, state, comment },
        query::Happening::Note { topic, text } => Happening::Note { text: format!("{topic}: {text}") },
    };
    StoryRow { seq: entry.seq, at: entry.at, step: entry.step, what }
}
