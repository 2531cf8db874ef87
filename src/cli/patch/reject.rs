//! `reweave patch reject`: patches turned down, with the reason kept.

use std::path::PathBuf;
use std::process::ExitCode;

use super::super::{CliError, Context};
use super::{decide, number};
use crate::step::PatchId;
use crate::workbench::Command;

/// Turn patches down
///
/// The reason is kept with the patch, where its author finds it. A text that was rejected stays rejected when it comes
/// again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Patches by number
    #[arg(value_name = "ID", value_parser = number, required = true)]
    ids: Vec<PatchId>,

    /// Why, for who proposed it
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
}

/// Does it.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, CliError> {
    decide(&args.dir, &args.ids, context, |id| Command::Reject { patch: *id, comment: args.message.clone() })
}
