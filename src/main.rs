//! The `reweave` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    reweave::cli::main(reweave::cli::Faces::default())
}
