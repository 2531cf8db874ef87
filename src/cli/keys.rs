//! `reweave keys`: the keys in force in the workbench, and where each comes from.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use super::{CliError, Context, Palette, Role};
use crate::step::plain_line;

/// Tells the keys that are in force for the run in this directory.
pub type KeysFace = fn(&Path) -> KeyTable;

/// The keys in force.
#[derive(Debug, Clone, Default)]
pub struct KeyTable {
    /// One for each action, in the order of help.
    pub rows: Vec<KeyRow>,
    /// What is wrong with the settings, a line each.
    pub problems: Vec<String>,
}

/// An action and its keys.
#[derive(Debug, Clone, Serialize)]
pub struct KeyRow {
    /// Its name in `[keys]` of a configuration file and in the palette.
    pub action: &'static str,
    /// Its keys; none where it is had from the palette alone.
    pub keys: Vec<String>,
    /// The panel in which they mean it; `None` for everywhere.
    pub panel: Option<&'static str>,
    /// The heading under which help lists it.
    pub group: &'static str,
    /// What it does.
    pub does: &'static str,
    /// Whether a configuration file says so.
    pub configured: bool,
}

/// Show the keys of the workbench, and where each comes from
///
/// Each action can be given other keys under `[keys]` in your own `config.toml`: `run = ["x", "ctrl-x"]`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,
}

/// Tells.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let Some(face) = context.faces.keys else {
        return Err(CliError::new("this build has no terminal interface, and so no keys"));
    };
    let table = face(&args.dir);
    for problem in &table.problems {
        context.message(format!("warning: {}", plain_line(problem)));
    }
    context.answer(&json!({"keys": table.rows, "problems": table.problems}), |palette| text(&table, palette))
}

fn text(table: &KeyTable, palette: Palette) -> String {
    let mut text = String::new();
    let mut group = "";
    for row in &table.rows {
        if row.group != group {
            group = row.group;
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}", palette.paint(Role::Heading, group));
        }
        let keys = if row.keys.is_empty() { ":".to_owned() } else { row.keys.join("  ") };
        let place = row.panel.map(|panel| format!(" (in {panel})")).unwrap_or_default();
        let from = if row.configured { " — from config.toml" } else { "" };
        let _ = writeln!(text, "  {keys:18} {:20} {}{place}{from}", palette.paint(Role::Name, row.action), row.does);
    }
    text
}
