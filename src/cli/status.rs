//! `reweave status`: how every step stands, and why. Nothing is executed.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::session::Session;
use super::shapes::{millis, reasons, why};
use super::{CliError, Context, Palette, Role};
use crate::step::{Status, plain_line};
use crate::workbench::{Options, Snapshot, StepRow};

/// Show how every step stands, and why
///
/// Nothing is executed. A stale step must be checked: its source, or something that it may have used,
/// changed. Bringing it up to date may find it fresh without running it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,
}

/// Tells how the run stands.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let session = Session::open(&args.dir, Options::default(), context)?;
    let snapshot = session.steps()?;
    context.answer(&document(snapshot), |palette| table(snapshot, palette))
}

fn document(snapshot: &Snapshot) -> Value {
    let mut edges: Vec<Vec<Value>> = vec![Vec::new(); snapshot.steps.len()];
    for edge in snapshot.edges.iter() {
        if let (Some(from), Some(list)) = (snapshot.steps.get(edge.from), edges.get_mut(edge.to)) {
            list.push(json!({"from": from.id, "names": edge.names, "kind": edge.kind}));
        }
    }
    let step = |(row, edges_in): (&std::sync::Arc<StepRow>, Vec<Value>)| {
        json!({
            "id": row.id,
            "kind": row.kind,
            "status": row.status,
            "reasons": reasons(&row.reasons),
            "reads": row.reads,
            "writes": row.writes,
            "version": row.version,
            "edges_in": edges_in,
            "summary": row.summary,
            "agent": row.agent,
            "error": row.error,
            "caused_by": row.caused_by,
            "recorded": row.recorded,
            "nondeterministic": row.nondeterministic,
            "syntax_error": row.syntax_error,
            "reaches": row.reaches,
            "unannounced": row.unannounced,
            "covers": snapshot.covered_by(&row.id),
            "duration_ms": row.duration_us.map(millis),
        })
    };
    let patch = |row: &std::sync::Arc<crate::workbench::PatchRow>| {
        json!({
            "patch": row.id,
            "state": row.state,
            "title": row.title,
            "author": row.author,
            "files": row.files,
            "lines_added": row.lines.0,
            "lines_removed": row.lines.1,
        })
    };
    json!({
        "steps": snapshot.steps.iter().zip(edges).map(step).collect::<Vec<_>>(),
        "patches": snapshot.patches.iter().map(patch).collect::<Vec<_>>(),
        "problems": snapshot.problems,
        "running": snapshot.running.as_ref().map(|(step, _)| step),
        "waiting": snapshot.waiting,
        "questions": snapshot.questions,
        "unguarded": snapshot.engine.unguarded,
    })
}

fn table(snapshot: &Snapshot, palette: Palette) -> String {
    let width = snapshot.steps.iter().map(|row| row.id.as_str().chars().count()).max().unwrap_or(0).min(40);
    let mut text = String::new();
    for row in &snapshot.steps {
        let id = plain_line(row.id.as_str());
        let _ = write!(text, "{:width$}  {:7}", palette.paint(Role::Name, &*id), palette.paint(row.status, row.status));
        let mut notes = Vec::new();
        if !row.reasons.is_empty() && row.status != Status::Never {
            notes.push(why(&row.reasons));
        }
        if row.status == Status::Failed {
            notes.extend(row.error.clone());
        }
        if row.recorded {
            notes.push("recorded".to_owned());
        }
        if !row.nondeterministic.is_empty() {
            notes.push(format!("nondeterministic: {}", row.nondeterministic.join(", ")));
        }
        if !row.unannounced.is_empty() {
            notes.push(format!("not announced by its header: {}", row.unannounced.join(", ")));
        }
        if let Some(error) = &row.syntax_error {
            notes.push(format!("line {error}"));
        }
        if !notes.is_empty() {
            let _ = write!(text, "  {}", palette.paint(Role::Dim, plain_line(&notes.join("; "))));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    for question in &snapshot.questions {
        let asks = format!("{} asks (question {}): {}", question.step, question.id, question.text.trim());
        let _ = writeln!(text, "{}", palette.paint(Role::Warn, plain_line(&asks)));
    }
    let open = snapshot.patches.iter().filter(|patch| patch.state.is_open()).count();
    let _ = writeln!(text, "{}", counts(snapshot, open, palette));
    text
}

fn counts(snapshot: &Snapshot, open: usize, palette: Palette) -> String {
    let statuses = [Status::Fresh, Status::Stale, Status::Running, Status::Failed, Status::Blocked, Status::Never];
    let count = |status| snapshot.steps.iter().filter(|row| row.status == status).count();
    let mut parts: Vec<String> = statuses
        .into_iter()
        .map(|status| (status, count(status)))
        .filter(|(_, number)| *number > 0)
        .map(|(status, number)| palette.paint(status, format!("{number} {status}")).to_string())
        .collect();
    if open > 0 {
        let patches = if open == 1 { "patch" } else { "patches" };
        parts.push(palette.paint(Role::Name, format!("{open} {patches} waiting")).to_string());
    }
    let steps = if snapshot.steps.len() == 1 { "1 step".to_owned() } else { format!("{} steps", snapshot.steps.len()) };
    if parts.is_empty() { steps } else { format!("{steps}: {}", parts.join(", ")) }
}
