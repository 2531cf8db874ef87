//! `reweave evolve`: a function written anew until its tests pass.

use std::path::PathBuf;
use std::process::ExitCode;

use super::repair::{Asking, follow};
use super::session::Session;
use super::{CliError, Context};
use crate::workbench::{Command, EvolveWish, Options};

/// Ask an agent to write a function anew until its tests pass, and offer that
///
/// The tests are the steps of kind `test` that use the function; one of them must fail. The agent is asked as by
/// `reweave repair`, and may answer with the function's text alone. What passes all of them, and makes no other step
/// fail, is a patch like any other: a person accepts it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step and the function that it defines
    #[arg(value_name = "STEP:FUNCTION")]
    function: String,

    #[command(flatten)]
    asking: Asking,
}

/// Evolves.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let Some((step, function)) = args.function.rsplit_once(':') else {
        return Err(CliError::new(format!("{:?} names no function", args.function)).hint("write STEP:FUNCTION"));
    };
    let agent = args.asking.program()?;
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let step = session.step(step)?;
    let wish = EvolveWish { step: step.clone(), function: function.to_owned(), agent, tries: args.asking.tries };
    follow(&mut session, Command::Evolve(wish), &step, context)
}
