//! `reweave context`: what an agent is shown for a step.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::session::Session;
use super::{CliError, Context, Palette, Role};
use crate::agent::VOCABULARY;
use crate::step::{StepId, plain, plain_line};
use crate::workbench::{Command, ContextView, Event, Options};

/// Show what an agent is given to write a step anew, and what that costs
///
/// In full: the step, its failure, the steps that it needs directly, and those that open the frames around it. In a
/// line each: what those need, and what has returned before it, the nearest twenty. Its length goes with the depth
/// of the frames, not with the number of steps.
///
/// Within a budget the least telling is shortened first: others to the nearest five, outputs, others to their
/// number, frames to a line, needed steps to what they define and then to a line, the failure to its message;
/// the step itself last.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// The step that is to be written anew
    step: String,

    /// The most tokens; `agent.budget` of the settings if not given
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(100..))]
    budget: Option<u32>,
}

/// Tells the context.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut session = Session::open(&args.dir, Options::default(), context)?;
    let step = session.step(&args.step)?;
    let budget = args.budget.and_then(|budget| usize::try_from(budget).ok());
    let view = session.ask_for(Command::Context { step: step.clone(), budget }, context, |event| match event {
        Event::Context { context, .. } => Some(context.clone()),
        _ => None,
    })?;
    let document = json!({
        "step": step, "tokens": view.tokens, "flat_tokens": view.flat_tokens, "budget": view.budget,
        "vocabulary": VOCABULARY, "parts": view.parts, "text": view.text(),
    });
    context.answer(&document, |palette| page(&step, &view, palette))
}

fn page(step: &StepId, view: &ContextView, palette: Palette) -> String {
    let mut page = String::new();
    for part in &view.parts {
        let note = if part.shortened { ", shortened" } else { "" };
        let cost = format!("  {} tokens{note}", part.tokens);
        let title = palette.paint(Role::Heading, plain_line(&part.title));
        let _ = writeln!(page, "{title}{}", palette.paint(Role::Dim, cost));
        for line in plain(&part.text).lines() {
            let _ = writeln!(page, "    {line}");
        }
        page.push('\n');
    }
    let budget = view.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let _ = writeln!(
        page,
        "{}{budget} tokens for {}; a log of everything up to it: {}",
        view.tokens,
        plain_line(step.as_str()),
        view.flat_tokens
    );
    page
}
