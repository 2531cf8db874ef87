//! `reweave diagnose`: why a step failed, where the fault lies, and what could be done.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::session::Session;
use super::{CliError, Context, Palette, Role};
use crate::feedback::{Diagnosis, Suggestion};
use crate::patch::proposal_of;
use crate::step::{PatchId, plain, plain_line};
use crate::workbench::{Command, Event, Options};

/// Explain why a step failed: the values that did it, the step they came from, and what could be done
///
/// What was meant is looked for in the names, keys, columns, files and modules that are there. A change is proposed
/// as safe only where a rule is certain of it, and never made by itself.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step that failed
    step: String,

    /// Take what is proposed in as patches, to be tried and decided on like any other
    #[arg(long)]
    propose: bool,
}

/// Widest line of an explanation, in characters.
const WIDTH: usize = 100;

/// Explains.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let step = session.step(&args.step)?;
    let diagnosis = session.ask_for(Command::Diagnose { step }, context, |event| match event {
        Event::Diagnosis { diagnosis, .. } => Some(diagnosis.clone()),
        _ => None,
    })?;
    let mut proposed: Vec<PatchId> = Vec::new();
    for suggestion in diagnosis.suggestions.iter().filter(|suggestion| args.propose && suggestion.safe) {
        proposed.push(propose(&mut session, suggestion, context)?);
    }
    let mut document = serde_json::to_value(&*diagnosis)?;
    if let Some(object) = document.as_object_mut().filter(|_| args.propose) {
        object.insert("proposed".to_owned(), json!(proposed));
    }
    context.answer(&document, |palette| {
        let mut page = page(&diagnosis, palette);
        for id in &proposed {
            let _ = writeln!(page, "\n  waits as patch {id}: `reweave patch show`, `try`, `accept` or `reject` it");
        }
        page
    })
}

/// Takes a suggestion in as a patch by its rule.
fn propose(session: &mut Session, suggestion: &Suggestion, context: &Context) -> Result<PatchId, CliError> {
    // The desk says when.
    let (text, from) = proposal_of(suggestion, 0);
    let command = Command::AddPatch { text: text.into_bytes(), target: None, from: Some(Box::new(from)) };
    session.ask_for(command, context, |event| match event {
        Event::Patch(patch) => Some(patch.id),
        _ => None,
    })
}

fn page(diagnosis: &Diagnosis, palette: Palette) -> String {
    let mut page = String::new();
    let error = plain_line(&diagnosis.error);
    let _ = writeln!(
        page,
        "{}  {}",
        palette.paint(Role::Heading, plain_line(diagnosis.step.as_str())),
        palette.paint(Role::Bad, error)
    );
    if let Some(place) = &diagnosis.place {
        let columns = place.columns.map(|(column, _)| format!(", column {column}")).unwrap_or_default();
        let at = format!("{}, line {}{columns}", place.step, place.line);
        let _ = writeln!(page, "  {}  {}", palette.paint(Role::Dim, plain_line(&at)), plain_line(&place.text));
    }
    page.push('\n');
    for line in wrapped(&plain_line(&diagnosis.explanation), WIDTH - 2) {
        let _ = writeln!(page, "  {line}");
    }
    if let Some(root) = diagnosis.root_step.as_ref().filter(|root| **root != diagnosis.step) {
        let _ = writeln!(page, "\n  the fault lies in {}", palette.paint(Role::Name, plain_line(root.as_str())));
    }
    if !diagnosis.facts.is_empty() {
        page.push('\n');
    }
    for fact in &diagnosis.facts {
        let by = fact.written_by.as_ref().map(|by| format!("  from {by}")).unwrap_or_default();
        let name = palette.paint(Role::Name, plain_line(&fact.name));
        let _ = writeln!(page, "  {name} = {}{}", plain_line(&fact.value), palette.paint(Role::Dim, plain_line(&by)));
    }
    for suggestion in &diagnosis.suggestions {
        page.push_str(&told(suggestion, palette));
    }
    if diagnosis.suggestions.is_empty() {
        let _ = writeln!(
            page,
            "\n  {}",
            palette.paint(Role::Dim, "nothing is proposed: what is meant can't be told from here")
        );
    }
    page
}

fn told(suggestion: &Suggestion, palette: Palette) -> String {
    let (role, word) = match (suggestion.safe, suggestion.files.is_empty()) {
        (true, _) => (Role::Good, "proposed"),
        (false, false) => (Role::Warn, "possible"),
        (false, true) => (Role::Dim, "to do"),
    };
    let mut text = format!("\n  {}  {}\n", palette.paint(role, word), plain_line(&suggestion.title));
    for line in suggestion.patch.lines() {
        let role = match line.as_bytes().first() {
            Some(b'+') => Role::Good,
            Some(b'-') => Role::Bad,
            _ => Role::Dim,
        };
        let _ = writeln!(text, "    {}", palette.paint(role, plain(line)));
    }
    text
}

/// A text in lines of at most so many characters, broken at blanks.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
