//! `reweave patch`: proposals taken in, looked at, tried, and decided upon.
//!
//! # Architecture
//!
//! - One file for each subcommand, as in the folder above; here are the numbers by which patches, hunks and lines go.
//! - `choose`: hunks and lines named on the command line to what is taken of a patch.

mod accept;
mod add;
mod choose;
mod comment;
mod list;
mod reject;
mod revert;
mod show;
mod try_out;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use super::session::Session;
use super::{CliError, Context};
use crate::step::{Patch, PatchId, plain_line};
use crate::workbench::{Command, Event, Options, PatchRow};

/// Take patches in, look at them, try them, and decide
///
/// Patches are read in every common form, also from the run's `patches/`, and known by their numbers. A hunk is named
/// as `3.2` (patch 3, hunk 2), as `show` numbers them.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Cmd,
}

#[derive(Debug, clap::Subcommand)]
enum Cmd {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Try(try_out::Args),
    Accept(accept::Args),
    Reject(reject::Args),
    Revert(revert::Args),
    Comment(comment::Args),
}

/// Does what is asked.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    match args.command {
        Cmd::Add(args) => add::run(args, context),
        Cmd::List(args) => list::run(args, context),
        Cmd::Show(args) => show::run(&args, context),
        Cmd::Try(args) => try_out::run(&args, context),
        Cmd::Accept(args) => accept::run(&args, context),
        Cmd::Reject(args) => reject::run(&args, context),
        Cmd::Revert(args) => revert::run(&args, context),
        Cmd::Comment(args) => comment::run(&args, context),
    }
}

/// Opens the run, which need not hold a step yet: a patch may make the first.
fn open(dir: &Path, context: &Context) -> Result<Session, CliError> {
    Session::open(dir, Options { may_be_empty: true, ..Options::default() }, context)
}

/// A patch's number as it is typed: `3` or `#3`.
fn number(text: &str) -> Result<PatchId, String> {
    let bare = text.strip_prefix('#').unwrap_or(text);
    bare.parse().map(PatchId).map_err(|_| format!("{text:?} is no patch: a patch is a number, as `3` or `#3`"))
}

/// A patch in full.
fn patch(session: &mut Session, patch: PatchId, context: &Context) -> Result<Arc<Patch>, CliError> {
    session.ask_for(Command::Patch { patch }, context, |event| match event {
        Event::Patch(found) => Some(Arc::clone(found)),
        _ => None,
    })
}

/// Asks the same about each of these patches, and tells how they stand then.
fn decide(
    dir: &Path,
    ids: &[PatchId],
    context: &Context,
    command: impl Fn(&PatchId) -> Command,
) -> Result<ExitCode, CliError> {
    let mut session = open(dir, context)?;
    let mut text = String::new();
    let mut all = Vec::new();
    for id in ids {
        patch(&mut session, *id, context)?;
        let done = session.ask(command(id), context, |_| Ok(())).map_err(refusal)?;
        let now = patch(&mut session, *id, context)?;
        all.push(standing(&now, &done.text));
        let _ = writeln!(text, "{}", plain_line(&done.text));
    }
    answer_all(&all, context, &text)
}

/// A refusal to decide: the exit status says that a patch did not apply.
fn refusal(error: CliError) -> CliError {
    if error.exit_status() == 130 { error } else { error.status(1) }
}

/// A patch on one line, for programs.
fn summary(row: &PatchRow) -> Value {
    json!({
        "patch": row.id,
        "state": row.state,
        "title": row.title,
        "author": row.author,
        "files": row.files,
        "lines_added": row.lines.0,
        "lines_removed": row.lines.1,
    })
}

/// How a patch stands after something was done to it, for programs.
fn standing(patch: &Patch, done: &str) -> Value {
    json!({
        "patch": patch.id,
        "state": patch.state,
        "title": patch.title,
        "problems": patch.problems,
        "done": done,
    })
}

/// The answer about several patches: the first one's fields, and all of them in `patches`.
fn answer_all(all: &[Value], context: &Context, text: &str) -> Result<ExitCode, CliError> {
    let mut document = all.first().cloned().unwrap_or_else(|| json!({}));
    if let Some(object) = document.as_object_mut() {
        object.insert("patches".to_owned(), json!(all));
    }
    context.answer(&document, |_| text.to_owned())
}
