//! `reweave demo`: a run worth looking at, made on the spot.
//!
//! # Architecture
//!
//! - `files/`: the run as it lies on disk, embedded in the program: an agent's small study of bike rides, made with
//!   the standard library alone (numpy, pandas and matplotlib are used where they are installed). Its text output is
//!   the same on every CPython from 3.9 on; `tests/demo.rs` holds that.
//! - [`demo_files`] and [`lay`]: the table of these files, and how they get into a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::report::Telling;
use super::session::Session;
use super::{CliError, Context, open, run};
use crate::run::{Expect, RunDir, RunError, WriteError, show};
use crate::workbench::{Command, Options};

macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("files/", $path)))
    };
}

const FILES: &[(&str, &str)] = &[
    file!("01_plan.py"),
    file!("02_data/01_weather.py"),
    file!("02_data/02_rides.py"),
    file!("02_data/03_read.py"),
    file!("02_data/return.md"),
    file!("03_clean/01_parse.py"),
    file!("03_clean/02_duplicates.py"),
    file!("03_clean/03_impossible.py"),
    file!("03_clean/04_fill.py"),
    file!("03_clean/return.md"),
    file!("03_clean/test_clean.py"),
    file!("04_features/01_calendar.py"),
    file!("04_features/02_comfort.py"),
    file!("04_features/03_matrix.py"),
    file!("04_features/return.md"),
    file!("05_split.py"),
    file!("06_fit/01_baseline.py"),
    file!("06_fit/02_ridge.py"),
    file!("06_fit/03_logistic.py"),
    file!("06_fit/return.md"),
    file!("07_score/01_regression.py"),
    file!("07_score/02_busy.py"),
    file!("07_score/03_numpy.py"),
    file!("07_score/test_scores.py"),
    file!("08_report/01_day.py"),
    file!("08_report/02_comfort.py"),
    file!("08_report/03_summary.py"),
    file!("08_report/04_figure.py"),
    file!("08_report/test_comfort.py"),
    file!("README.md"),
    file!("linear.py"),
    file!("patches/1-at-the-root.json"),
    file!("patches/2-at-the-symptom.json"),
    file!("reweave.toml"),
];

/// Where the sample run is made when no directory is named.
const DEFAULT_DIR: &str = "reweave-demo";

/// Make a sample run and open it
///
/// A study of bike rides in 25 steps: data made, cleaned, fitted, tested and reported on. One step fails, as it should,
/// and two patches for it wait. Without a terminal the run is executed and what happened is printed; the exit status is
/// then 0, since the failure is part of the sample. A directory that holds the sample already is opened as it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to make it: a new or empty directory
    #[arg(default_value = DEFAULT_DIR)]
    dir: PathBuf,
}

/// Makes the run and opens it, or runs it where there is no terminal.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let laid = lay(&args.dir).map_err(|error| CliError::new(error.to_string()).hint(error.hint()))?;
    if context.has_terminal() {
        return open::run(open::Args { path: args.dir }, context);
    }
    let shown = show(&args.dir);
    context.message(match laid {
        Laid::New => format!("made a sample run in {shown}"),
        Laid::Already => format!("the sample run in {shown} is used as it is"),
    });
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let telling = Telling::new(context, false, session.snapshot().steps.iter().map(|row| &row.id));
    let everything = Command::Run { steps: Vec::new(), retry_failed: false };
    run::perform(&mut session, everything, telling, context)?;
    context.message(format!("open it in a terminal: reweave {shown}"));
    Ok(ExitCode::SUCCESS)
}

/// The files of the sample run: paths in it, and texts.
pub fn demo_files() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// What [`lay`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Laid {
    /// The directory was new or empty, and holds the sample now.
    New,
    /// It held the sample already, perhaps changed since; nothing was touched.
    Already,
}

/// Why the sample can't be made.
#[derive(Debug, thiserror::Error)]
pub enum LayError {
    /// Something else is there.
    #[error("{} holds other files already", show(.0))]
    Occupied(PathBuf),
    /// It can't be made or written to.
    #[error("{}: {error}", show(.dir))]
    Directory {
        /// Which.
        dir: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no directory, or can't be read.
    #[error(transparent)]
    NotADirectory(RunError),
    /// A file can't be written.
    #[error(transparent)]
    Write(WriteError),
}

impl LayError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Occupied(_) => "name a new or empty directory: reweave demo DIR".to_owned(),
            Self::Directory { .. } => "name a directory where you may write: reweave demo DIR".to_owned(),
            Self::NotADirectory(error) => error.hint(),
            Self::Write(error) => error.hint().to_owned(),
        }
    }
}

/// Puts the sample run into `dir`, which is made if it is not there.
///
/// # Errors
/// When it holds anything but the sample, or can't be written to.
pub fn lay(dir: &Path) -> Result<Laid, LayError> {
    if dir.symlink_metadata().is_err() {
        fs::create_dir_all(dir).map_err(|error| LayError::Directory { dir: dir.to_owned(), error })?;
    }
    let run = RunDir::open(dir).map_err(LayError::NotADirectory)?;
    let mut entries = fs::read_dir(run.path()).map_err(|error| LayError::Directory { dir: dir.to_owned(), error })?;
    if entries.next().is_some() {
        // A step or two may have been deleted in it; what is left still says what it is.
        let left = FILES.iter().filter(|(path, _)| run.path().join(path).is_file()).count();
        return if left * 2 > FILES.len() { Ok(Laid::Already) } else { Err(LayError::Occupied(dir.to_owned())) };
    }
    let files = run.files();
    for (path, text) in FILES {
        files.write(Path::new(path), text.as_bytes(), Expect::Absent).map_err(LayError::Write)?;
    }
    Ok(Laid::New)
}
