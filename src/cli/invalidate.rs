//! `reweave invalidate`: steps marked stale by hand.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::session::Session;
use super::{CliError, Context};
use crate::step::StepId;
use crate::workbench::{Command, Options};

/// Mark steps stale by hand
///
/// The mark lasts, and forces one execution of each.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The steps
    #[arg(value_name = "STEP", required = true)]
    steps: Vec<String>,
}

/// Marks.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let steps = args.steps.iter().map(|text| session.step(text)).collect::<Result<Vec<StepId>, _>>()?;
    let summary = session.ask(Command::Invalidate { steps: steps.clone() }, context, |_| Ok(()))?;
    context.answer(&json!({"invalidated": steps}), |_| format!("{}\n", summary.text))
}
