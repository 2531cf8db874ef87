//! What the commands that change steps by hand have in common: one request, one line of answer.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::session::Session;
use super::{CliError, Context};
use crate::step::plain_line;
use crate::workbench::{Command, Options};

/// Opens the run, asks what `command` makes of it, and answers `{"done": …}`.
pub(super) fn ask(
    dir: &Path,
    context: &Context,
    command: impl FnOnce(&Session) -> Result<Command, CliError>,
) -> Result<ExitCode, CliError> {
    let mut session = Session::open(dir, Options { may_be_empty: true, ..Options::default() }, context)?;
    let command = command(&session)?;
    let summary = session.ask(command, context, |_| Ok(()))?;
    context.answer(&json!({"done": summary.text}), |_| format!("{}\n", plain_line(&summary.text)))
}
