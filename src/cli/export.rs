//! `reweave export`: a run as a script, a notebook, a report, JSON or commits.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;

use super::{CliError, Context};
use crate::interop::export::{self, ExportError, Part, Whole};

/// Export a run as a script, a notebook, a report, JSON or commits
///
/// The script runs without reweave. The report is one HTML file that needs nothing else. What `json` gives,
/// `reweave import` makes the same run of again. What `git` gives, `git fast-import` reads.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// What to make of it
    #[arg(short, long, value_enum)]
    format: Format,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What a run can be exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One Python script
    Py,
    /// A Jupyter notebook with outputs
    Ipynb,
    /// A report in one HTML file
    Html,
    /// Everything, for `reweave import`
    Json,
    /// The history as a stream for `git fast-import`
    Git,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Answer {
    format: &'static str,
    file: Option<String>,
    bytes: usize,
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Exports the run.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let parts: &[Part] = match args.format {
        Format::Json => &[Part::Versions, Part::Files],
        Format::Git => &[Part::Versions],
        Format::Ipynb => &[Part::Files],
        Format::Py | Format::Html => &[],
    };
    let whole = Whole::read(&args.dir, parts)?;
    let (name, bytes) = match args.format {
        Format::Py => ("py", export::script(&whole).into_bytes()),
        Format::Ipynb => ("ipynb", pretty(&export::notebook(&whole))?),
        Format::Html => ("html", export::report(&whole).into_bytes()),
        Format::Json => ("json", pretty(&export::json(&whole))?),
        Format::Git => ("git", export::git(&whole)),
    };
    for what in &whole.left_out {
        context.message(format!("left out: {}", crate::step::plain_line(what)));
    }
    let mut answer = Answer { format: name, file: None, bytes: bytes.len(), left_out: whole.left_out, text: None };
    match args.output {
        Some(path) => {
            std::fs::write(&path, &bytes).map_err(|error| {
                CliError::new(format!("{}: {error}", path.display())).hint("name a file that can be written")
            })?;
            let shown = path.display().to_string();
            answer.file = Some(shown.clone());
            context.answer(&answer, |_| format!("{} bytes in {}\n", bytes.len(), crate::step::plain_line(&shown)))
        }
        None if context.json => {
            answer.text = Some(String::from_utf8_lossy(&bytes).into_owned());
            context.answer(&answer, |_| String::new())
        }
        None => {
            context.print_bytes(&bytes)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn pretty(value: &serde_json::Value) -> Result<Vec<u8>, CliError> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl From<ExportError> for CliError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Run(error) => {
                let hint = error.hint();
                Self::new(error.to_string()).hint(hint)
            }
            ExportError::Store(error) => Self::from(error),
            error @ ExportError::Unreadable { .. } => Self::new(error.to_string()),
        }
    }
}
