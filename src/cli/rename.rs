//! `reweave rename`: another id for a step.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::workbench::Command;

/// Give a step another id
///
/// Its history goes with it. The order of the run follows from ids, so a step renamed may stand elsewhere.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step
    step: String,

    /// Its new id
    to: String,
}

/// Renames it.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let to = args.to.strip_suffix(".py").unwrap_or(&args.to).parse()?;
    by_hand::ask(&args.dir, context, |session| Ok(Command::Rename { step: session.step(&args.step)?, to }))
}
