//! `reweave restore`: an earlier version written back, or the whole run taken back to a moment.

use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::step::{StepId, VersionNumber};
use crate::store::query::Moment;
use crate::workbench::Command;

/// Write an earlier version of a step back, or take the whole run back
///
/// A step that was removed is made again. Without a step, everything is as it was at a moment: steps that were not
/// there yet go, steps that are gone come back, renamed ones get their names back. Nothing is lost: what is there now
/// stays in the history, and `reweave undo` takes it back. `reweave log DIR [STEP]` lists versions and moments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step; without it, the whole run
    step: Option<String>,

    /// Which version of the step; for the run, which event of its history (`@40` in the log). Also any other moment:
    /// a time, an execution (`e12`), a version of a step (`01_load:v3`)
    #[arg(long, value_name = "N")]
    version: String,
}

/// Restores.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    by_hand::ask(&args.dir, context, |session| {
        let step = match &args.step {
            None => None,
            Some(text) => Some(match session.step(text) {
                Ok(step) => step,
                // One that was removed is not among the steps.
                Err(_) => text.parse::<StepId>()?,
            }),
        };
        let number = args.version.strip_prefix('v').unwrap_or(&args.version).parse::<u32>().ok();
        Ok(match (step, number) {
            (Some(step), Some(number)) => Command::Restore { step, version: VersionNumber(number) },
            (None, Some(number)) => Command::RestoreTo { step: None, moment: Moment::Event(number.into()) },
            (step, None) => Command::RestoreTo { step, moment: super::log::moment(&args.version)? },
        })
    })
}
