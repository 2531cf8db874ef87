//! `reweave patch comment`: a remark on patches.

use std::path::PathBuf;
use std::process::ExitCode;

use super::super::{CliError, Context};
use super::{decide, number};
use crate::step::PatchId;
use crate::workbench::Command;

/// Remark on patches, deciding nothing
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Patches by number
    #[arg(value_name = "ID", value_parser = number, required = true)]
    ids: Vec<PatchId>,

    /// The remark
    #[arg(long, short, value_name = "TEXT")]
    message: String,
}

/// Does it.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, CliError> {
    decide(&args.dir, &args.ids, context, |id| Command::Comment { patch: *id, text: args.message.clone() })
}
