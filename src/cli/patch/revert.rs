//! `reweave patch revert`: accepted patches taken back.

use std::path::PathBuf;
use std::process::ExitCode;

use super::super::{CliError, Context};
use super::{decide, number};
use crate::step::PatchId;
use crate::workbench::Command;

/// Take accepted patches back
///
/// Later changes elsewhere in the same files stay. Where one is in the way, it is named and nothing is changed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Patches by number
    #[arg(value_name = "ID", value_parser = number, required = true)]
    ids: Vec<PatchId>,
}

/// Does it.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, CliError> {
    decide(&args.dir, &args.ids, context, |id| Command::Revert { patch: *id })
}
