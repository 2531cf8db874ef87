//! `reweave state`: variables as of right after a step.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::session::Session;
use super::{CliError, Context, Palette, Role};
use crate::step::{StepId, Variable, plain, plain_line};
use crate::workbench::{Command, Event, Options};

/// Show the variables as of right after a step
///
/// Answers from a live process or a saved value where there is one; what else is needed is run again on the
/// side, and the run's own files and record are not touched.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Only these variables
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Right after this step; the last one if not given
    #[arg(long, value_name = "STEP")]
    at: Option<String>,

    /// The Python interpreter: a path, or a name to look up
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
}

/// Tells the variables.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let options = Options { python: args.python, ..Options::default() };
    let mut session = Session::open(&args.dir, options, context)?;
    let at = args.at.as_ref().map(|text| session.step(text)).transpose()?;
    let command = Command::State { at, names: args.names.clone() };
    let (at, variables) = session.ask_for(command, context, |event| match event {
        Event::State { at, variables } => Some((at.clone(), variables.clone())),
        _ => None,
    })?;
    let missing = args.names.iter().find(|name| !variables.iter().any(|variable| variable.name == **name));
    if let Some(name) = missing {
        context.message(format!("warning: there is no variable {:?} after {at}", plain(name)));
    }
    let document = json!({"at": at, "variables": &*variables});
    context.answer(&document, |palette| table(&at, &variables, palette))
}

/// Most lines of one value that are printed.
const LINES: usize = 12;

fn table(at: &StepId, variables: &[Variable], palette: Palette) -> String {
    let name_width = variables.iter().map(|variable| variable.name.chars().count()).max().unwrap_or(0).min(30);
    let type_width = variables.iter().map(|variable| variable.type_name.chars().count()).max().unwrap_or(0).min(20);
    let mut text = format!("{}\n", palette.paint(Role::Heading, format!("after {at}")));
    for variable in variables {
        let name = plain_line(&variable.name);
        let type_name = plain_line(&variable.type_name);
        let lead = format!(
            "{:name_width$}  {:type_width$}  ",
            palette.paint(Role::Name, &*name),
            palette.paint(Role::Dim, &*type_name)
        );
        let repr = plain(&variable.repr);
        let count = repr.lines().count();
        for (number, line) in repr.lines().take(LINES).enumerate() {
            if number == 0 {
                let _ = writeln!(text, "{lead}{line}");
            } else {
                let _ = writeln!(text, "{:1$}{line}", "", name_width + type_width + 4);
            }
        }
        if count == 0 {
            let _ = writeln!(text, "{}", lead.trim_end());
        }
        if count > LINES || variable.truncated {
            let note = if count > LINES { format!("… {} lines more", count - LINES) } else { "… cut".to_owned() };
            let _ = writeln!(text, "{:1$}{2}", "", name_width + type_width + 4, palette.paint(Role::Dim, note));
        }
    }
    text
}
