//! `reweave log`: what happened, newest first.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::moments::{exact, local};
use super::session::Session;
use super::shapes::{duration, millis, reasons, why};
use super::show::{provenance, story};
use super::{CliError, Context, Palette, Role};
use crate::step::{Outcome, StepId, plain_line};
use crate::store::query::{Entry, Happening, LogFilter, Moment};
use crate::store::{Reader, Subject};
use crate::workbench::Options;

/// Tell what happened, newest first
///
/// Versions with who wrote them, executions with their reasons, patches and what became of them: of the run, of
/// one step under all its names, or of a variable.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Only what happened to this step
    step: Option<String>,

    /// Only executions that wrote this variable
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Only what happened since: a time, an execution (`e12`), a version (`01_load:v3`)
    #[arg(long, value_name = "MOMENT")]
    since: Option<String>,

    /// At most this many entries
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
}

/// Tells.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let options = Options { may_be_empty: true, ..Options::default() };
    // What is on disk now is part of the story.
    let session = Session::open(&args.dir, options, context)?;
    let store = Reader::open(&args.dir)?;
    let step = args.step.as_ref().map(|text| known_step(text, &session, &store)).transpose()?;
    let mut filter =
        LogFilter { step, subject: args.name.as_deref().map(Subject::name), limit: args.limit, ..LogFilter::default() };
    let mut after = None;
    match args.since.as_deref().map(moment).transpose()? {
        None | Some(Moment::Now) => {}
        Some(Moment::Time(at)) => filter.since = Some(at),
        Some(other) => after = Some(other),
    }
    let mut entries = store.log(&filter)?;
    if let Some(moment) = after {
        let first = store.event_of(&moment)?;
        entries.retain(|entry| entry.seq > first);
    }
    let document = json!({"entries": entries.iter().map(line).collect::<Vec<_>>()});
    context.answer(&document, |palette| entries.iter().map(|entry| told(entry, palette)).collect())
}

/// A step that is there, or that was once.
pub(super) fn known_step(text: &str, session: &Session, store: &Reader) -> Result<StepId, CliError> {
    session.step(text).or_else(|error| match text.parse::<StepId>() {
        Ok(id) if !store.versions(&id)?.is_empty() => Ok(id),
        _ => Err(error),
    })
}

/// A moment that a person wrote.
pub(super) fn moment(text: &str) -> Result<Moment, CliError> {
    text.parse().map_err(|error: crate::store::query::InvalidMoment| CliError::new(error.to_string()))
}

fn line(entry: &Entry) -> Value {
    let mut line = json!({"seq": entry.seq, "when": exact(entry.at), "id": entry.step});
    let rest = match &entry.what {
        Happening::Version(version) => json!({"what": "version", "provenance": provenance(version)}),
        Happening::Renamed { from, to, by } => json!({"what": "renamed", "from": from, "to": to, "by": by}),
        Happening::Executed { execution, why } => json!({
            "what": "executed",
            "execution": execution.id,
            "version": execution.version,
            "outcome": execution.outcome,
            "duration_ms": millis(execution.duration_us),
            "error": execution.error,
            "caused_by": execution.caused_by,
            "nondeterministic": execution.nondeterministic,
            "why": self::why(why),
            "reasons": reasons(why),
        }),
        Happening::Invalidated(reason) => json!({"what": "invalidated", "why": reason.to_string()}),
        Happening::Patch { patch, title, state, comment } => {
            json!({"what": "patch", "patch": patch, "title": title, "state": state, "comment": comment})
        }
        Happening::Note { topic, text } => json!({"what": "note", "topic": topic, "text": text}),
    };
    if let (Some(line), Some(rest)) = (line.as_object_mut(), rest.as_object()) {
        line.extend(rest.clone());
    }
    line
}

fn told(entry: &Entry, palette: Palette) -> String {
    let when = format!("{}  @{}", local(entry.at), entry.seq);
    let mut text = format!("{}  ", palette.paint(Role::Dim, when));
    if let Some(step) = &entry.step {
        let step = plain_line(step.as_str()).into_owned();
        let _ = write!(text, "{}  ", palette.paint(Role::Name, step));
    }
    match &entry.what {
        Happening::Version(version) => text.push_str(&plain_line(&story(version))),
        Happening::Renamed { from, to, by } => {
            let _ = write!(text, "renamed from {from} to {to} by {}", by.author);
        }
        Happening::Executed { execution, why } => {
            let (role, word) = match execution.outcome {
                Outcome::Done => (Role::Good, "ran"),
                Outcome::Failed => (Role::Bad, "failed"),
                Outcome::Interrupted => (Role::Warn, "was interrupted"),
                Outcome::Recorded => (Role::Dim, "recorded"),
            };
            let _ = write!(text, "{} {}", execution.version, palette.paint(role, word));
            if execution.outcome != Outcome::Recorded {
                let _ = write!(text, " in {}", duration(execution.duration_us));
            }
            if !why.is_empty() {
                let _ = write!(text, ": {}", plain_line(&self::why(why)));
            }
            if let Some(error) = &execution.error {
                let _ = write!(text, "; {}", plain_line(error));
            }
        }
        Happening::Invalidated(reason) => {
            let _ = write!(text, "{reason}");
        }
        Happening::Patch { patch, title, state, comment } => {
            let _ = write!(text, "patch {patch} {:?}", plain_line(title));
            if let Some(state) = state {
                let _ = write!(text, " is {}", state.word());
            }
            if let Some(comment) = comment {
                let _ = write!(text, ": {}", plain_line(comment));
            }
        }
        Happening::Note { topic, text: note } => {
            let _ = write!(text, "{}: {}", plain_line(topic), plain_line(note));
        }
    }
    text.push('\n');
    text
}
