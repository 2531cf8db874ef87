//! `reweave move`: a step put into another frame, under its own name.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::workbench::Command;

/// Put a step into another frame
///
/// It keeps its name and its history.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step
    step: String,

    /// The frame: a directory of the run; `.` for the top
    frame: String,
}

/// Moves it.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    by_hand::ask(&args.dir, context, |session| {
        let step = session.step(&args.step)?;
        let frame = args.frame.trim_start_matches("./").trim_end_matches('/');
        let to =
            if frame.is_empty() || frame == "." { step.name().to_owned() } else { format!("{frame}/{}", step.name()) };
        Ok(Command::Rename { to: to.parse()?, step })
    })
}
