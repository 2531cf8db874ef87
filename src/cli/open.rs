//! `reweave open`: the workbench on a run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::Receiver;

use super::{CliError, Context, import};
use crate::interop;
use crate::workbench::{self, Event, Handle, Options};

/// Draws the terminal interface on the run in this directory until a person quits.
pub type TerminalFace = fn(&Path, Handle, Receiver<Event>) -> Result<ExitCode, CliError>;

/// Open the workbench on a run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory; a notebook or a recorded run is imported beside itself first
    #[arg(default_value = ".", value_name = "DIR|FILE")]
    pub(super) path: PathBuf,
}

/// Opens the workbench.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let path = args.path;
    if !path.exists() {
        return Err(no_such(&path));
    }
    if !context.has_terminal() {
        let hint = match path.is_file() {
            true => format!(
                "`reweave import {}` makes a run of it without one, and `reweave run` runs that",
                path.display()
            ),
            false => format!("`reweave run {}` runs it without one", path.display()),
        };
        return Err(CliError::new("the workbench needs a terminal, and there is none").hint(hint));
    }
    let Some(face) = context.faces.terminal else {
        return Err(CliError::new("this build has no terminal interface"));
    };
    let path = if path.is_file() { run_of(&path, context)? } else { path };
    let (handle, events) =
        workbench::open(&path, Options { watch: true, answered: true, early: true, ..Options::default() })?;
    face(&path, handle, events)
}

/// The run of a recording: the one that it was imported as before, or a new one beside it.
fn run_of(file: &Path, context: &Context) -> Result<PathBuf, CliError> {
    if let Some(dir) = import::imported_before(file) {
        context.message(format!("{} was imported as {} before", file.display(), dir.display()));
        return Ok(dir);
    }
    let dir = interop::beside(file);
    let (format, summary) = import::import(file, &dir, context)?;
    context.message(import::told(format.title(), &dir.display().to_string(), &summary).trim_end());
    Ok(dir)
}

/// A path that is not there may be a subcommand with a slip of the finger.
fn no_such(path: &std::path::Path) -> CliError {
    let error = CliError::new(format!("{}: there is no such file or directory", path.display()));
    let word = path.to_string_lossy();
    let near = super::definition()
        .get_subcommands()
        .map(|command| (distance(&word, command.get_name()), command.get_name().to_owned()))
        .min()
        .filter(|(distance, _)| *distance <= 2);
    match near {
        Some((_, name)) => error.hint(format!("did you mean `reweave {name}`?")),
        None => error.hint("`reweave demo` makes a run to look at; `reweave help` lists the commands"),
    }
}

/// Levenshtein distance in characters.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (j, b) in right.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or_default();
            let here = (diagonal + usize::from(a != *b)).min(above + 1).min(before + 1);
            diagonal = above;
            before = here;
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = here;
            }
        }
        if let Some(cell) = row.first_mut() {
            *cell = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (a, b, d) in [("", "run", 3), ("run", "run", 0), ("rnu", "run", 2), ("satus", "status", 1)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }
}
