//! `reweave mcp`: the same verbs for agents.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::{CliError, Context};

/// Serves the run in this directory to an agent until it goes away.
pub type AgentsFace = fn(&Path) -> Result<ExitCode, CliError>;

/// Serve a run to an agent over MCP, on standard input and output
///
/// The agent makes and edits steps, runs them, reads what there is to know, and proposes and tries patches. What only
/// a person decides waits for a person: accepting a patch, and what the policy asks. A workbench that is open on the
/// run shows all of it as it happens.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,
}

/// Serves.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    match context.faces.agents {
        Some(face) => face(&args.dir),
        None => Err(CliError::new("this build has no server for agents")),
    }
}
