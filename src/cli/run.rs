//! `reweave run`: the run, or some of its steps, brought up to date.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::report::{self, Telling};
use super::session::Session;
use super::{CliError, Context, parameters};
use crate::step::{Status, StepId, plain_line};
use crate::workbench::{Command, Event, Options};

/// Bring a run up to date
///
/// Runs every step whose source, or a value or file that it really used, changed; keeps the rest and shows
/// their recorded output. Ends with 1 if a step failed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Only these steps, with everything before them that they may need
    #[arg(value_name = "STEP")]
    steps: Vec<String>,

    /// Run failed steps again even if nothing that they used changed
    #[arg(long)]
    retry_failed: bool,

    /// Give a variable another value first, where a step assigns it: the step's file is changed, and `reweave undo`
    /// takes it back. A number, True, False or None as it stands; anything else is a string
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    parameter: Vec<String>,

    #[command(flatten)]
    how: How,
}

/// How steps are executed: the same for `run` and `replay`.
#[derive(Debug, clap::Args)]
pub(super) struct How {
    /// The Python interpreter: a path, or a name to look up
    #[arg(long, value_name = "PYTHON")]
    pub python: Option<PathBuf>,

    /// A limit on each step: `time=30s`, `memory=2GB`, `output=64MB`
    #[arg(long, value_name = "KEY=VALUE")]
    pub limit: Vec<String>,

    /// One JSON object a line as things happen; the document comes last
    #[arg(long)]
    pub events: bool,
}

impl How {
    /// The same for the workbench.
    pub(super) fn options(&self) -> Options {
        let answered = std::io::stdin().is_terminal();
        Options { python: self.python.clone(), limits: self.limit.clone(), answered, ..Options::default() }
    }
}

/// Runs.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = Session::open(&args.dir, args.how.options(), context)?;
    let steps = args.steps.iter().map(|text| session.step(text)).collect::<Result<Vec<StepId>, _>>()?;
    parameters::set(&mut session, &args.parameter, context)?;
    let telling = Telling::new(context, args.how.events, session.snapshot().steps.iter().map(|row| &row.id));
    perform(&mut session, Command::Run { steps, retry_failed: args.retry_failed }, telling, context)
}

/// Asks for a run, tells it as it goes, and answers with the document or the tally.
pub(super) fn perform(
    session: &mut Session,
    command: Command,
    telling: Telling,
    context: &Context,
) -> Result<ExitCode, CliError> {
    perform_and(session, command, telling, context, |_, _, _| Ok(None))
}

/// As [`perform`]; `then` may add to the document, and gives a line for people.
pub(super) fn perform_and(
    session: &mut Session,
    command: Command,
    telling: Telling,
    context: &Context,
    then: impl FnOnce(&mut Session, &mut serde_json::Value, &Context) -> Result<Option<String>, CliError>,
) -> Result<ExitCode, CliError> {
    if let Telling::People { .. } = telling {
        let never = session.snapshot().steps.iter().filter(|row| row.status == Status::Never);
        let outward = report::outward(never.map(|row| (&row.id, row.reaches.clone())));
        if !outward.is_empty() {
            context.message(outward.trim_end());
        }
    }
    let mut steps = None;
    let asked = session.ask(command, context, |event| {
        if let Event::Ran { steps: all, .. } = event {
            steps = Some(all.clone());
        }
        telling.tell(event, context)
    });
    if let Some(steps) = &steps {
        let mut document = report::document(steps);
        let unguarded = session.snapshot().engine.unguarded.clone();
        if !unguarded.is_empty() {
            document["unguarded"] = serde_json::json!(unguarded);
        }
        let line =
            if asked.is_ok() && !session.is_interrupted() { then(session, &mut document, context)? } else { None };
        match telling {
            Telling::People { .. } => {
                context.print(report::tally(steps, context.palette))?;
                for what in unguarded {
                    context.message(format!("not enforced here: {}", plain_line(&what)));
                }
                if let Some(line) = line {
                    context.print(line)?;
                }
            }
            Telling::Document | Telling::Lines => context.print_json(&document)?,
        }
    }
    let summary = asked?;
    if session.is_interrupted() {
        return Err(CliError::new("interrupted").hint(again(session.dir())).status(130));
    }
    Ok(if summary.failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn again(dir: &Path) -> String {
    format!("what ran is recorded; `reweave run {}` goes on from there", dir.display())
}
