//! `reweave completions`: what a shell needs to complete commands.

use std::process::ExitCode;

use clap_complete::Shell;

use super::{CliError, Context};

/// Print a shell's completions
///
/// For bash, put the output into `~/.local/share/bash-completion/completions/reweave`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shell
    shell: Shell,
}

/// Prints the completions.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::definition(), "reweave", &mut script);
    context.print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
