//! The `reweave` command.

use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::Receiver;

use reweave::cli::{CliError, Faces};
use reweave::ui;
use reweave::workbench::{Event, Handle};

fn main() -> ExitCode {
    reweave::cli::main(Faces { terminal: Some(terminal) })
}

/// The terminal interface, as the command line opens it.
fn terminal(dir: &Path, handle: Handle, events: Receiver<Event>) -> Result<ExitCode, CliError> {
    ui::run(handle, events, ui::Options::of_run(dir))
        .map(ExitCode::from)
        .map_err(|error| CliError::new(format!("the terminal can't be used: {error}")))
}
