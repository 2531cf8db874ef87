//! `reweave import`: a notebook, a trajectory or a trace as a run.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use super::{CliError, Context};
use crate::interop::{self, Directory, Format, ImportError, Progress, Summary, Watch};

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
    let (format, summary) = import(&args.file, &dir, context)?;
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

/// Imports a file as the run `dir`, telling how far it is; an interrupt stops it, and nothing is left behind.
pub(super) fn import(file: &Path, dir: &Path, context: &Context) -> Result<(Format, Summary), CliError> {
    let stop = Arc::new(AtomicBool::new(false));
    let signals = Interrupts::watch(&stop);
    let shows = std::io::stderr().is_terminal() && !context.json;
    let progress = |progress: Progress| {
        if shows && progress.total > 16 << 20 {
            context.message(format!("read {} of {} MB", progress.read >> 20, progress.total >> 20));
        }
    };
    let mut directory = Directory::create(dir)?;
    let format = interop::import_into(file, &Watch::new(&progress, &stop), &mut directory)?;
    let origin = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let summary = directory.finish(&format!("{origin:?} ({})", format.title()))?;
    drop(signals);
    Ok((format, summary))
}

/// While it lives, the first interrupt or request to end is taken as the wish to stop; a second ends the process.
struct Interrupts {
    #[cfg(unix)]
    ids: Vec<signal_hook::SigId>,
}

impl Interrupts {
    #[cfg(unix)]
    fn watch(stop: &Arc<AtomicBool>) -> Self {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let mut ids = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag not set yet.
            ids.extend(signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(stop)));
            ids.extend(signal_hook::flag::register(signal, Arc::clone(stop)));
        }
        Self { ids }
    }

    #[cfg(not(unix))]
    fn watch(_: &Arc<AtomicBool>) -> Self {
        Self {}
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        #[cfg(unix)]
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}

/// The run that a file was imported as before, beside it, if it still is what the file holds.
pub(super) fn imported_before(file: &Path) -> Option<PathBuf> {
    let stem = file.file_stem()?.to_string_lossy().into_owned();
    let dir = file.with_file_name(format!("{}-run", stem.trim_start_matches('.')));
    let config = dir.join("reweave.toml");
    let origin = format!("# Imported from {:?} (", file.file_name()?.to_string_lossy());
    let text = std::fs::read_to_string(&config).ok()?;
    let changed = |path: &Path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    (text.starts_with(&origin) && changed(file)? <= changed(&dir.join(".reweave"))?).then_some(dir)
}

pub(super) fn told(format: &str, dir: &str, summary: &Summary) -> String {
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
