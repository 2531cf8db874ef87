//! `reweave patch list`: the patches and where they stand.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::super::{CliError, Context, Palette, Role};
use super::{open, summary};
use crate::step::{PatchState, plain_line};
use crate::workbench::PatchRow;

/// List the patches, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,

    /// Only those that wait for a decision
    #[arg(long)]
    open: bool,
}

/// Lists.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let session = open(&args.dir, context)?;
    let rows = session.snapshot().patches.iter().filter(|row| !args.open || row.state.is_open());
    let rows: Vec<&PatchRow> = rows.map(|row| &**row).collect();
    let document = json!({"patches": rows.iter().map(|row| summary(row)).collect::<Vec<_>>()});
    context.answer(&document, |palette| table(&rows, palette))
}

/// The colour of a state.
pub(super) fn role(state: PatchState) -> Role {
    match state {
        PatchState::Proposed | PatchState::Tried => Role::Name,
        PatchState::Accepted => Role::Good,
        PatchState::Rejected | PatchState::Reverted | PatchState::Superseded => Role::Dim,
        PatchState::Conflict | PatchState::Ambiguous | PatchState::Malformed => Role::Bad,
    }
}

fn table(rows: &[&PatchRow], palette: Palette) -> String {
    if rows.is_empty() {
        return "no patch waits; what is put into patches/ or given to `reweave patch add` appears here\n".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        let id = palette.paint(Role::Heading, format!("{:>4}", row.id.to_string()));
        let state = palette.paint(role(row.state), format!("{:10}", row.state.word()));
        let author = format!("by {}", row.author);
        let tail = palette.paint(Role::Dim, plain_line(&author));
        let _ = writeln!(text, "{id}  {state}  {}  {tail}", plain_line(&row.title));
    }
    text
}
