//! `reweave delete`: a step's file removed.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::workbench::Command;

/// Remove a step
///
/// Its history stays: `reweave undo` takes it back, `reweave restore` brings any version back.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step
    step: String,
}

/// Removes it.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    by_hand::ask(&args.dir, context, |session| Ok(Command::Delete { step: session.step(&args.step)? }))
}
