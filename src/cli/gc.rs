//! `reweave gc`: the record made smaller by a stated policy.

use std::path::PathBuf;
use std::process::ExitCode;

use super::session::Session;
use super::{CliError, Context};
use crate::run::bytes_text;
use crate::workbench::{Command, Event, Options};

/// Clear away what the run's record no longer needs
///
/// Never a version of a step, a patch, what undo needs, or a file's content that a person edited. An execution goes
/// when it is older than `--days`, is none of the newest `--executions` of its step, and is not the newest of its
/// version. Saved values go, those used longest ago first, when all are more than `--saved` bytes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,

    /// How many executions of each step are kept whatever their age (default: 20)
    #[arg(long, value_name = "N")]
    executions: Option<u32>,

    /// For how many days every execution is kept (default: 30)
    #[arg(long, value_name = "N")]
    days: Option<u32>,

    /// Most bytes of saved values (default: 2 GiB)
    #[arg(long, value_name = "BYTES")]
    saved: Option<u64>,
}

/// Clears away.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let Args { dir, executions, days, saved } = args;
    let mut session = Session::open(&dir, Options { may_be_empty: true, ..Options::default() }, context)?;
    let freed = session.ask_for(Command::Gc { executions, days, saved }, context, |event| match event {
        Event::Freed(freed) => Some(*freed),
        _ => None,
    })?;
    context.answer(&freed, |_| {
        format!(
            "{} executions, {} saved values and {} contents cleared away: {} freed\n",
            freed.executions,
            freed.saved_values,
            freed.blobs,
            bytes_text(freed.bytes)
        )
    })
}
