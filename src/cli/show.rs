//! `reweave show`: all about one step.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use super::files::{self, File};
use super::moments::{exact, local};
use super::report::push_result;
use super::session::Session;
use super::shapes::{ShownError, duration, is_recorded, millis, reasons, why};
use super::{CliError, Context, Palette, Role};
use crate::run::parse_header;
use crate::step::{Effect, Execution, Outcome, StepId, Stream, Version, VersionNumber, plain, plain_line, unannounced};
use crate::store::{Reader, Recorded, StoreError};
use crate::workbench::{CallView, Command, Event, Options, StepRow};

/// Show a step: its source, where it came from, its executions and its output
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step
    step: String,

    /// This version instead of the present one
    #[arg(long, value_name = "N")]
    version: Option<u32>,
}

/// Most executions that are listed.
const LISTED: usize = 20;

/// Most of a call's answer that is told in its line, in characters.
const ANSWER: usize = 80;

/// All that is shown of a step.
struct Shown<'a> {
    files: Vec<File>,
    row: Option<&'a StepRow>,
    id: &'a StepId,
    version: &'a Version,
    source: String,
    versions: &'a [Version],
    executions: &'a [Recorded],
    calls: &'a [CallView],
}

/// Shows.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let store = Reader::open(&args.dir)?;
    // A step that was removed can still be shown.
    let id = match session.step(&args.step) {
        Ok(id) => id,
        Err(error) => match args.step.parse::<StepId>() {
            Ok(id) if !store.versions(&id)?.is_empty() => id,
            _ => return Err(error),
        },
    };
    let versions = store.versions(&id)?;
    let wanted = args.version.map(VersionNumber);
    let found = match wanted {
        Some(number) => versions.iter().find(|version| version.number == number),
        None => versions.first(),
    };
    let version = found.ok_or_else(|| {
        let last = versions.first().map_or(VersionNumber(0), |version| version.number);
        let asked = wanted.unwrap_or(VersionNumber(1));
        CliError::new(format!("{id} has no version {}", asked.0)).hint(format!("its newest is {last}"))
    })?;
    let source = if version.deleted { Vec::new() } else { store.version_text(&id, version.number)? };
    let executions = store.executions(&id, LISTED)?;
    let executions: Vec<Recorded> = executions
        .into_iter()
        .filter(|recorded| wanted.is_none_or(|number| recorded.execution.version == number))
        .collect();
    let asked = session.ask_for(Command::Calls { step: id.clone() }, context, |event| match event {
        Event::Calls { calls, .. } => Some(Arc::clone(calls)),
        _ => None,
    });
    // Of a step that was removed nothing is asked.
    let calls = asked.ok().filter(|_| wanted.is_none()).unwrap_or_default();
    let files = files::all(&store, session.dir())?.into_iter().filter(|file| file.concerns(&id)).collect();
    let shown = Shown {
        files,
        calls: &calls,
        row: session.snapshot().steps.iter().find(|row| row.id == id).map(|row| &**row),
        id: &id,
        version,
        source: String::from_utf8_lossy(&source).into_owned(),
        versions: &versions,
        executions: &executions,
    };
    context.answer(&shown.document(), |palette| shown.page(palette))
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let shown = Self::new(error.to_string());
        match error.hint() {
            Some(hint) => shown.hint(hint),
            None => shown,
        }
    }
}

/// A call in a line, under the one that made it.
fn call_line(call: &CallView, palette: Palette) -> String {
    let inset = "  ".repeat(call.depth);
    let name = plain_line(&format!("{}({})", call.name, call.shown)).into_owned();
    let mut line = format!("{:>3}  {inset}{}", call.number, palette.paint(Role::Name, name));
    if let Some(round) = call.rounds.last() {
        let answer: String = plain_line(&round.answer).chars().take(ANSWER).collect();
        let _ = write!(line, "  {}", palette.paint(Role::Dim, answer));
        let tokens: u64 =
            call.rounds.iter().filter_map(|round| round.tokens).map(|tokens| tokens.input + tokens.output).sum();
        if tokens > 0 {
            let _ = write!(line, "  {tokens} tokens");
        }
        if !round.kept {
            let _ = write!(line, "  {}", palette.paint(Role::Warn, "asked again at the next run"));
        }
    }
    line
}

impl Shown<'_> {
    fn document(&self) -> Value {
        json!({
            "id": self.id,
            "kind": self.row.map(|row| row.kind),
            "status": self.row.map(|row| row.status),
            "reasons": self.row.map(|row| reasons(&row.reasons)),
            "version": self.version.number,
            "source": self.source,
            "provenance": provenance(self.version),
            "versions": self.versions.iter().map(provenance).collect::<Vec<_>>(),
            "executions": self.executions.iter().map(execution).collect::<Vec<_>>(),
            "calls": self.calls,
            "artifacts": self.files.iter().map(File::document).collect::<Vec<_>>(),
            "reaches": self.row.map(|row| row.reaches.clone()).unwrap_or_default(),
            "unannounced": self.executions.first().map(|last| self.unannounced(&last.execution)).unwrap_or_default(),
        })
    }

    /// What the step did outside its namespace, with a mark on what its header did not announce.
    fn push_effects(&self, page: &mut String, execution: &Execution, palette: Palette) {
        let beyond = self.unannounced(execution);
        let told: Vec<&Effect> =
            execution.effects.iter().filter(|effect| effect.matters() || beyond.contains(effect)).collect();
        if told.is_empty() {
            return;
        }
        let _ = writeln!(page, "\n{}", palette.paint(Role::Heading, "effects"));
        for effect in told {
            let text = effect.to_string();
            let _ = match effect {
                Effect::Refused { .. } | Effect::Unguarded { .. } | Effect::PutBack { .. } => {
                    write!(page, "  {}", palette.paint(Role::Warn, plain_line(&text)))
                }
                _ => write!(page, "  {}", plain_line(&text)),
            };
            if beyond.contains(&effect) {
                let _ = write!(page, "  {}", palette.paint(Role::Warn, "not announced by its header"));
            }
            page.push('\n');
        }
    }

    fn unannounced<'e>(&self, execution: &'e Execution) -> Vec<&'e Effect> {
        // The header that the execution's own version had, where that is the one shown.
        if execution.version != self.version.number {
            return Vec::new();
        }
        let header = parse_header(&self.source).header;
        unannounced(&header.allow, &header.produces, &execution.effects)
    }

    fn page(&self, palette: Palette) -> String {
        let id = plain_line(self.id.as_str());
        let mut page = format!("{}", palette.paint(Role::Heading, &*id));
        if let Some(row) = self.row {
            let _ = write!(page, "  {}", palette.paint(row.status, row.status));
            if !row.reasons.is_empty() {
                let _ = write!(page, "  {}", palette.paint(Role::Dim, plain_line(&why(&row.reasons))));
            }
        }
        let _ = writeln!(page, "\n{}\n", palette.paint(Role::Dim, plain_line(&story(self.version))));
        if self.version.deleted {
            page.push_str("  the step was removed\n");
        }
        let width = self.source.lines().count().to_string().len();
        for (number, line) in self.source.lines().enumerate() {
            let number = palette.paint(Role::Dim, number + 1);
            let _ = writeln!(page, "  {}", format!("{number:>width$}  {}", plain(line)).trim_end());
        }
        if let Some(last) = self.executions.first() {
            let _ = writeln!(page, "\n{}", palette.paint(Role::Heading, headline(&last.execution)));
            push_result(&mut page, &last.execution, palette);
            self.push_effects(&mut page, &last.execution, palette);
        }
        if !self.calls.is_empty() {
            let _ = writeln!(page, "\n{}", palette.paint(Role::Heading, "calls"));
            for call in self.calls {
                let _ = writeln!(page, "  {}", call_line(call, palette));
            }
        }
        if !self.files.is_empty() {
            let _ = writeln!(page, "\n{}", palette.paint(Role::Heading, "files"));
            for file in &self.files {
                let _ = writeln!(page, "  {}", file.line());
            }
        }
        if self.executions.len() > 1 {
            let _ = writeln!(page, "\n{}", palette.paint(Role::Heading, "before that"));
            for recorded in self.executions.iter().skip(1) {
                let _ = writeln!(page, "  {}", headline(&recorded.execution));
            }
        }
        let others: Vec<&Version> =
            self.versions.iter().filter(|version| version.number != self.version.number).collect();
        if !others.is_empty() {
            let _ = writeln!(page, "\n{}", palette.paint(Role::Heading, "other versions"));
            for version in others {
                let _ = writeln!(page, "  {}", plain_line(&story(version)));
            }
        }
        page
    }
}

/// Where a version came from, on one line.
pub(super) fn story(version: &Version) -> String {
    let by = &version.provenance;
    let mut story = format!("{} by {}", version.number, by.author);
    if let Some(model) = &by.model {
        let _ = write!(story, " with {model}");
    }
    if let Some(patch) = by.patch {
        let _ = write!(story, ", patch {patch}");
    }
    let _ = write!(story, ", {}", local(by.at));
    if version.deleted {
        story.push_str(", removed");
    }
    if let Some(reason) = &by.reason {
        let _ = write!(story, ": {reason}");
    }
    story
}

/// An execution on one line.
fn headline(execution: &Execution) -> String {
    let word = match execution.outcome {
        Outcome::Done => "ran",
        Outcome::Failed => "failed",
        Outcome::Interrupted => "was interrupted",
        Outcome::Recorded => return format!("{} as recorded", execution.version),
    };
    let mut line =
        format!("{} {word} in {}, {}", execution.version, duration(execution.duration_us), local(execution.started));
    if !execution.why.is_empty() {
        let _ = write!(line, ": {}", plain_line(&why(&execution.why)));
    }
    line
}

/// A version for programs.
pub(super) fn provenance(version: &Version) -> Value {
    let mut value = serde_json::to_value(&version.provenance).unwrap_or_else(|_| json!({}));
    if let Some(object) = value.as_object_mut() {
        object.insert("version".to_owned(), json!(version.number));
        object.insert("source".to_owned(), json!(version.source));
        object.insert("deleted".to_owned(), version.deleted.into());
        object.insert("when".to_owned(), exact(version.provenance.at).into());
    }
    value
}

/// An execution for programs.
pub(super) fn execution(recorded: &Recorded) -> Value {
    let execution = &*recorded.execution;
    json!({
        "execution": recorded.id,
        "version": execution.version,
        "when": exact(execution.started),
        "duration_ms": millis(execution.duration_us),
        "outcome": execution.outcome,
        "recorded": is_recorded(execution),
        "why": why(&execution.why),
        "reasons": reasons(&execution.why),
        "stdout": execution.output.text(Stream::Stdout),
        "stderr": execution.output.text(Stream::Stderr),
        "stdout_truncated": execution.output.dropped > 0,
        "displays": execution.displays,
        "error": execution.error.as_ref().map(ShownError::from),
        "reads": execution.observation.reads,
        "writes": execution.observation.writes,
        "files_read": execution.observation.files_read,
        "files_written": execution.observation.files_written,
        "nondeterministic": execution.observation.nondeterministic,
        "effects": execution.effects,
    })
}
