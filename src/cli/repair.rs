//! `reweave repair`: an agent is asked for a patch until one passes, a few times at most.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::session::Session;
use super::{CliError, Context, Role};
use crate::agent::words;
use crate::step::{StepId, plain, plain_line};
use crate::workbench::{Command, Ending, Event, Options, RepairWish, Turn, Verdict};

/// Ask an agent for patches to a failed step until one passes, and offer that
///
/// The agent is a program: it reads one JSON document (the context, the diagnosis, what was tried) on standard input
/// and writes a patch in any common form. Each patch runs on the side; it passes where the step ends well, no test
/// and no other step fails that did not before, and no check is weakened. The loop ends with the first that passes,
/// after so many tries, or when an answer comes again. Nothing is written to a step unless `--accept` is given.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step that failed
    step: String,

    #[command(flatten)]
    asking: Asking,

    /// Answers asked for, and tried, at once; `agent.candidates` of the settings if not given
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=16))]
    candidates: Option<u32>,

    /// Accept the patch that passes; `[verify]` must say what else has to pass
    #[arg(long)]
    accept: bool,
}

/// Who is asked, and how often.
#[derive(Debug, clap::Args)]
pub(super) struct Asking {
    /// The program that is asked, with its arguments; `agent.command` of the settings if not given
    #[arg(long, value_name = "CMD")]
    agent: Option<String>,

    /// The most tries; `agent.tries` of the settings if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) tries: Option<u32>,
}

impl Asking {
    /// The program with its arguments; empty for what the settings name.
    pub(super) fn program(&self) -> Result<Vec<String>, CliError> {
        let Some(text) = &self.agent else { return Ok(Vec::new()) };
        match words(text) {
            Ok(words) if words.is_empty() => Err(CliError::new("--agent names no program")),
            Ok(words) => Ok(words),
            Err(why) => Err(CliError::new(format!("--agent: {why}"))),
        }
    }
}

/// Repairs.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let agent = args.asking.program()?;
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let step = session.step(&args.step)?;
    let (tries, candidates) = (args.asking.tries, args.candidates);
    let wish = RepairWish { step: step.clone(), agent, tries, candidates, accept: args.accept };
    follow(&mut session, Command::Repair(wish), &step, context)
}

/// Has a loop done, tells its turns as they come, and what it came to.
pub(super) fn follow(
    session: &mut Session,
    command: Command,
    step: &StepId,
    context: &Context,
) -> Result<ExitCode, CliError> {
    let mut found = None;
    let summary = session.ask(command, context, |event| {
        match event {
            Event::Turn { step: of, turn } if of == step => tell(turn, context),
            Event::Repaired { repair, accepted, .. } => found = Some((repair.clone(), *accepted)),
            _ => {}
        }
        Ok(())
    })?;
    let Some((done, accepted)) = found else {
        return Err(CliError::new("the workbench gave no answer").hint("please report this"));
    };
    let document = json!({
        "step": step, "ended": done.ended, "patch": done.patch, "offered": done.offered, "tries": done.tries,
        "accepted": accepted,
    });
    context.answer(&document, |palette| {
        let role = if done.ended == Ending::Offered { Role::Good } else { Role::Bad };
        let mut page = palette.paint(role, plain_line(&summary.text)).to_string();
        if let (Some(patch), None) = (done.patch, accepted) {
            page.push_str(&format!("; `reweave patch accept DIR {}` writes it", patch.0));
        }
        page.push('\n');
        page
    })?;
    Ok(match done.ended {
        Ending::Offered => ExitCode::SUCCESS,
        Ending::Stopped => ExitCode::from(130),
        _ => ExitCode::from(1),
    })
}

/// A turn as it is done, with what the agent wrote to its standard error.
fn tell(turn: &Turn, context: &Context) {
    let role = if turn.verdict == Verdict::Passed { Role::Good } else { Role::Warn };
    context.message(context.messages.paint(role, plain_line(&turn.line())).to_string());
    for line in plain(&turn.said).lines() {
        context.message(format!("  {}", context.messages.paint(Role::Dim, line)));
    }
}
