//! `reweave import`: a notebook, a trajectory or a trace as a run.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use super::{CliError, Context};
use crate::interop::{self, Directory, ImportError, Progress, Summary, Watch};

/// Import a notebook, a trajectory or a trace as a run
///
/// What the file is, is found out from its content. Its code becomes steps, what was recorded stays beside
/// them, and nothing is executed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The recording
    file: PathBuf,

    /// The run's directory; made if it is not there (default: beside the file)
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Answer {
    format: &'static str,
    dir: String,
    steps: usize,
    recorded: usize,
    patches: usize,
    warnings: Vec<String>,
}

/// Imports the file.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let dir = args.output.unwrap_or_else(|| interop::beside(&args.file));
    let stop = AtomicBool::new(false);
    let shows = std::io::stderr().is_terminal() && !context.json;
    let progress = |progress: Progress| {
        if shows && progress.total > 16 << 20 {
            context.message(format!("read {} of {} MB", progress.read >> 20, progress.total >> 20));
        }
    };
    let mut directory = Directory::create(&dir)?;
    let format = interop::import_into(&args.file, &Watch::new(&progress, &stop), &mut directory)?;
    let origin = args.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let summary = directory.finish(&format!("{origin:?} ({})", format.title()))?;
    let answer = Answer {
        format: format.name(),
        dir: dir.display().to_string(),
        steps: summary.steps,
        recorded: summary.recorded,
        patches: summary.patches,
        warnings: summary.warnings.iter().map(ToString::to_string).collect(),
    };
    context.answer(&answer, |_| told(format.title(), &dir.display().to_string(), &summary))
}

fn told(format: &str, dir: &str, summary: &Summary) -> String {
    let edits = match summary.patches {
        0 => String::new(),
        1 => ", one file edit".to_owned(),
        many => format!(", {many} file edits"),
    };
    let mut text = format!(
        "{format}: {} steps, {} with recorded output{edits}, in {}\n",
        summary.steps,
        summary.recorded,
        crate::step::plain_line(dir)
    );
    for warning in &summary.warnings {
        text.push_str(&format!("  {}\n", crate::step::plain_line(&warning.to_string())));
    }
    text
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> Self {
        let status = if matches!(error, ImportError::Stopped) { 130 } else { 2 };
        let made = Self::new(error.to_string()).status(status);
        match error.hint() {
            Some(hint) => made.hint(hint),
            None => made,
        }
    }
}
