//! The command line: one file for each subcommand, human and JSON output.

use std::process::ExitCode;

/// Runs the command line with the process's own arguments and streams.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
