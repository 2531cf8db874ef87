//! `reweave undo`: the last deed taken back.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::workbench::Command;

/// Take back the last thing that reweave did to a step's file
///
/// Steps made, renamed, removed, edited and restored by reweave, and patches that were accepted. What people and
/// programs wrote themselves is never touched.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,
}

/// Takes it back.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    by_hand::ask(&args.dir, context, |_| Ok(Command::Undo))
}
