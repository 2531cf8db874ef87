//! `reweave new`: a step made by hand.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use super::{CliError, Context, by_hand};
use crate::step::StepId;
use crate::workbench::Command;

/// Make a step
///
/// Its source is read from standard input, unless that is a terminal: then the step is empty.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step's id: its path in the run without the ending, like `fit/02_train`
    step: String,
}

/// Makes it.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let text = args.step.strip_suffix(".py").unwrap_or(&args.step);
    let step: StepId = text.parse()?;
    let mut source = String::new();
    let mut input = std::io::stdin().lock();
    if !input.is_terminal() {
        input
            .read_to_string(&mut source)
            .map_err(|error| CliError::new(format!("standard input: {error}")).hint("give the source as UTF-8"))?;
    }
    by_hand::ask(&args.dir, context, |_| Ok(Command::NewStep { step, source }))
}
