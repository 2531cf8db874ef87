//! `reweave restore`: an earlier version written back.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::step::{StepId, VersionNumber};
use crate::workbench::Command;

/// Write an earlier version of a step back
///
/// A step that was removed is made again. `reweave log DIR STEP` lists the versions.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step
    step: String,

    /// Which version
    #[arg(long, value_name = "N")]
    version: u32,
}

/// Restores it.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    by_hand::ask(&args.dir, context, |session| {
        let step = match session.step(&args.step) {
            Ok(step) => step,
            // One that was removed is not among the steps.
            Err(_) => args.step.parse::<StepId>()?,
        };
        Ok(Command::Restore { step, version: VersionNumber(args.version) })
    })
}
