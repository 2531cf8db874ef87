//! `reweave patch accept`: what is taken of patches, written to the steps.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Map, json};

use super::super::report::{document, tally};
use super::super::{CliError, Context};
use super::choose::Chosen;
use super::{answer_all, number, open, patch, refusal, standing};
use crate::step::{PatchId, StepId, plain_line};
use crate::workbench::{Command, Event};

/// Accept patches, or hunks or lines of them
///
/// The steps' files are written whole, with who proposed the change in their history; `reweave undo` takes it back, and
/// `reweave patch revert` does later on. Refused where a file changed since the patch was placed on it, where the new
/// text is no Python, and where what `[verify]` asks for does not pass.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    dir: PathBuf,

    /// Patches by number
    #[arg(value_name = "ID", value_parser = number)]
    ids: Vec<PatchId>,

    #[command(flatten)]
    chosen: Chosen,

    /// A remark on what was left, for who proposed it
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,

    /// Also where the text is no Python or what must pass does not; that is recorded
    #[arg(long)]
    anyway: bool,

    /// Bring the run up to date with it
    #[arg(long)]
    replay: bool,
}

/// Accepts.
pub fn run(args: &Args, context: &Context) -> Result<ExitCode, CliError> {
    let ids = args.chosen.patches(&args.ids)?;
    let mut session = open(&args.dir, context)?;
    let mut text = String::new();
    let mut all = Vec::new();
    let mut stale: Vec<StepId> = Vec::new();
    for id in ids {
        let found = patch(&mut session, id, context)?;
        let files = args.chosen.of(&found)?;
        let weigh = Command::Weigh { patch: id, files: files.clone() };
        // What can't be weighed can't be accepted either, which says better why.
        let weight = session.ask_for(weigh, context, |event| match event {
            Event::Weighed { weight, .. } => Some(Arc::clone(weight)),
            _ => None,
        });
        let weight = weight.unwrap_or_default();
        let command = Command::Accept {
            patch: id,
            files: files.clone(),
            comment: args.message.clone(),
            replay: false,
            anyway: args.anyway,
        };
        let done = session.ask(command, context, |_| Ok(())).map_err(refusal)?;
        let now = patch(&mut session, id, context)?;
        let mut answer = standing(&now, &done.text);
        if let Some(object) = answer.as_object_mut() {
            let taken = if files.is_empty() { &found.files } else { &files };
            let texts: Map<_, _> = taken.iter().map(|file| (file.path.clone(), json!(file.result))).collect();
            object.insert("files".to_owned(), texts.into());
            object.insert("stale".to_owned(), json!(weight.stale));
        }
        all.push(answer);
        let _ = writeln!(text, "{}", plain_line(&done.text));
        stale.extend(weight.stale.iter().filter(|step| !stale.contains(step)).cloned().collect::<Vec<_>>());
    }
    if !args.replay {
        return answer_all(&all, context, &text);
    }
    if !context.json {
        context.print(&text)?;
    }
    let mut ran = None;
    let command = Command::Run { steps: Vec::new(), retry_failed: false };
    let summary = session.ask(command, context, |event| {
        if let Event::Ran { steps, .. } = event {
            ran = Some(Arc::clone(steps));
        }
        Ok(())
    })?;
    let steps = ran.unwrap_or_default();
    if let Some(object) = all.first_mut().and_then(|first| first.as_object_mut()) {
        object.insert("replay".to_owned(), json!(document(&steps)));
    }
    answer_all(&all, context, &tally(&steps, context.palette))?;
    Ok(ExitCode::from(u8::from(summary.failed > 0)))
}
