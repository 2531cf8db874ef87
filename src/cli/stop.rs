//! `reweave stop`: what runs is stopped.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::workbench::Command;

/// Stop what runs
///
/// The running step is interrupted, then terminated, then killed, with all that it started.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,
}

/// Stops it.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    by_hand::ask(&args.dir, context, |_| Ok(Command::Stop))
}
