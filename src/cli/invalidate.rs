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

    /// Only the answer of this call of the step, so that it is asked again: its number in `reweave show`, or how its key
    /// begins
    #[arg(long, value_name = "CALL")]
    call: Option<String>,
}

/// Marks.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let steps = args.steps.iter().map(|text| session.step(text)).collect::<Result<Vec<StepId>, _>>()?;
    let command = match (args.call, steps.as_slice()) {
        (None, _) => Command::Invalidate { steps: steps.clone() },
        (Some(call), [step]) => Command::InvalidateCall { step: step.clone(), call },
        (Some(_), _) => return Err(CliError::new("--call is of one step").hint("name the step that made the call")),
    };
    let summary = session.ask(command, context, |_| Ok(()))?;
    context.answer(&json!({"invalidated": steps}), |_| format!("{}\n", summary.text))
}
