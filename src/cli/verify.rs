//! `reweave verify`: everything run from nothing on the side, and compared with what is held.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;

use super::session::Session;
use super::{CliError, Context, Palette, Role};
use crate::engine::{Difference, Verified};
use crate::step::{StepId, plain, plain_line};
use crate::workbench::{Command, Event, Options};

/// Check that what is held is what a full run gives
///
/// Runs every step from nothing on the side, in a copy of the run's directory, and compares outputs, values,
/// errors and files with what is held. The run itself is not touched. Ends with 1 if anything differs that
/// does not follow from a step marked as nondeterministic.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The Python interpreter: a path, or a name to look up
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
}

/// Verifies.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let options = Options { python: args.python, ..Options::default() };
    let mut session = Session::open(&args.dir, options, context)?;
    let verified = ask(&mut session, None, context)?;
    if verified.stopped {
        return Err(CliError::new("interrupted before everything was compared").status(130));
    }
    context.answer(&document(&verified), |palette| text(&verified, palette))?;
    Ok(if verified.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Compares, telling on a terminal how far it came.
pub(super) fn ask(
    session: &mut Session,
    check: Option<NonZeroU32>,
    context: &Context,
) -> Result<Arc<Verified>, CliError> {
    session.ask_for(Command::Verify { check }, context, |event| match event {
        Event::Verified { verified, .. } => Some(Arc::clone(verified)),
        _ => None,
    })
}

pub(super) fn document(verified: &Verified) -> serde_json::Value {
    json!({
        "equal": verified.differences.is_empty(),
        "differences": verified.differences,
        "nondeterministic": verified.nondeterministic,
        "compared": verified.compared,
        "skipped": verified.skipped,
        "unisolated": verified.unisolated,
    })
}

pub(super) fn text(verified: &Verified, palette: Palette) -> String {
    let mut text = String::new();
    for difference in &verified.differences {
        block(&mut text, difference, Role::Bad, palette);
    }
    for difference in &verified.nondeterministic {
        block(&mut text, difference, Role::Dim, palette);
    }
    if !verified.skipped.is_empty() {
        let ids: Vec<&str> = verified.skipped.iter().map(|id| id.as_str()).collect();
        let _ = writeln!(text, "not up to date, so not compared: {}", plain_line(&ids.join(", ")));
    }
    if let Some(why) = &verified.unisolated {
        let _ = writeln!(text, "the full run could not be given a view of its own: {}", plain_line(why));
    }
    let steps = |count| if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let _ = match (verified.differences.is_empty(), verified.nondeterministic.is_empty()) {
        (true, true) => writeln!(text, "{} compared with a run from nothing: all equal", steps(verified.compared)),
        (true, false) => writeln!(
            text,
            "{} compared with a run from nothing: all equal but what is marked as nondeterministic",
            steps(verified.compared)
        ),
        (false, _) => writeln!(text, "{} compared with a run from nothing: not equal", steps(verified.compared)),
    };
    // What is marked is no root that anybody need be told of.
    let unmarked = |root: &&StepId| verified.differences.iter().any(|difference| difference.id == **root);
    if let Some(root) = verified.roots.iter().find(unmarked) {
        let root = plain_line(root.as_str());
        let _ =
            writeln!(text, "whether {root} answers differently each time, `reweave replay DIR --check 2` finds out");
    }
    text
}

fn block(text: &mut String, difference: &Difference, role: Role, palette: Palette) {
    let id = plain_line(difference.id.as_str());
    let what = plain_line(&difference.what);
    let _ = writeln!(text, "{}  {}", palette.paint(Role::Name, &*id), palette.paint(role, &*what));
    for (side, shown) in [("held", &difference.held), ("full", &difference.full)] {
        for (number, line) in plain(shown).lines().take(12).enumerate() {
            let label = if number == 0 { side } else { "" };
            let _ = writeln!(text, "  {label:4}  {line}");
        }
    }
}
