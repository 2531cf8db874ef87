//! `reweave man`: the manual page.

use std::process::ExitCode;

use super::{CliError, Context};

/// Print the manual page
///
/// `reweave man | man -l -` shows it.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Prints the page in roff.
pub fn run(Args {}: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(super::definition()).render(&mut page)?;
    context.print(String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}
