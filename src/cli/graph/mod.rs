//! `reweave graph`: what needs what.
//!
//! # Architecture
//!
//! - [`Picture`]: the graph as all formats draw it: steps in order, and for each pair of steps one arrow with
//!   the names on it.
//! - One file a format; each is a function from a picture to text.

mod dot;
mod mermaid;
mod svg;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::files::{self, File};
use super::session::Session;
use super::{CliError, Context};
use crate::store::{Reader, StoreError};
use crate::workbench::{Options, Snapshot, StepRow};

/// Draw the graph of a run
///
/// An arrow goes from a step to each that needs what it wrote. Nothing is executed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's directory
    #[arg(default_value = ".")]
    dir: PathBuf,

    /// How it is drawn
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How a graph is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lanes beside a list
    Text,
    /// Graphviz
    Dot,
    /// Mermaid, as many forges render it
    Mermaid,
    /// Steps and edges as JSON
    Json,
    /// A picture of its own
    Svg,
}

/// The graph as it is drawn.
struct Picture {
    steps: Vec<Arc<StepRow>>,
    /// From and to, by place, and the names in between.
    arrows: BTreeMap<(usize, usize), Vec<String>>,
}

/// Draws.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let session = Session::open(&args.dir, Options::default(), context)?;
    let snapshot = session.steps()?;
    if context.json || args.format == Format::Json {
        context.print_json(&document(snapshot, &files(session.dir())?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let picture = Picture::new(snapshot);
    context.print(match args.format {
        Format::Dot => dot::draw(&picture),
        Format::Mermaid => mermaid::draw(&picture),
        Format::Svg => svg::draw(&picture),
        Format::Text | Format::Json => {
            let files = files(session.dir())?.iter().map(|file| format!("{}\n", file.line())).collect::<String>();
            let gap = if files.is_empty() { "" } else { "\n" };
            text::draw(&picture, context.palette) + gap + &files
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The files that steps write; none where nothing was recorded yet.
fn files(dir: &Path) -> Result<Vec<File>, CliError> {
    match Reader::open(dir) {
        Err(StoreError::Missing { .. }) => Ok(Vec::new()),
        store => Ok(files::all(&store?, dir)?),
    }
}

fn document(snapshot: &Snapshot, files: &[File]) -> Value {
    let id = |place: usize| snapshot.steps.get(place).map(|row| &row.id);
    let step = |row: &Arc<StepRow>| json!({"id": row.id, "kind": row.kind, "status": row.status, "reads": row.reads, "writes": row.writes, "reaches": row.reaches, "unannounced": row.unannounced});
    let edge = |edge: &crate::workbench::Edge| json!({"from": id(edge.from), "to": id(edge.to), "names": edge.names, "kind": edge.kind});
    json!({
        "steps": snapshot.steps.iter().map(step).collect::<Vec<_>>(),
        "artifacts": files.iter().map(File::document).collect::<Vec<_>>(),
        "edges": snapshot.edges.iter().map(edge).collect::<Vec<_>>(),
    })
}

impl Picture {
    fn new(snapshot: &Snapshot) -> Self {
        let mut arrows: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
        for edge in snapshot.edges.iter() {
            let names = arrows.entry((edge.from, edge.to)).or_default();
            names.extend(edge.names.iter().map(|name| name.to_string()));
        }
        Self { steps: snapshot.steps.clone(), arrows }
    }

    /// Who needs each step directly, without those who are reached through others anyway.
    fn reduced(&self) -> Vec<Vec<usize>> {
        let count = self.steps.len();
        let mut next: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        for (from, to) in self.arrows.keys() {
            if let Some(set) = next.get_mut(*from) {
                set.insert(*to);
            }
        }
        // Steps are in order and arrows only go forward, so what is reached from later steps is known first.
        let mut reached: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        let mut kept = vec![Vec::new(); count];
        for place in (0..count).rev() {
            let mut all = BTreeSet::new();
            for to in next.get(place).into_iter().flatten() {
                if !all.contains(to) {
                    if let Some(list) = kept.get_mut(place) {
                        list.push(*to);
                    }
                    all.insert(*to);
                    all.extend(reached.get(*to).into_iter().flatten().copied());
                }
            }
            if let Some(slot) = reached.get_mut(place) {
                *slot = all;
            }
        }
        kept
    }
}

/// Names on an arrow, few enough to read.
fn label(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let mut label = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        label.push_str(&format!(" +{}", names.len() - SHOWN));
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Status;

    fn row(id: &str, status: Status) -> Arc<StepRow> {
        Arc::new(StepRow { status, ..StepRow::fresh(id.parse().unwrap()) })
    }

    pub(super) fn picture() -> Picture {
        let steps = vec![
            row("01_load", Status::Fresh),
            row("02_clean", Status::Fresh),
            row("03_fit", Status::Failed),
            row("04_\"plot\"<b>", Status::Blocked),
            row("05_alone", Status::Never),
        ];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let arrows = BTreeMap::from([
            ((0, 1), names(&["rows"])),
            ((0, 3), names(&["rows"])),
            ((1, 2), names(&["x", "y"])),
            ((1, 3), names(&["a", "b", "c", "d", "e"])),
            ((2, 3), names(&["model"])),
        ]);
        Picture { steps, arrows }
    }

    #[test]
    fn what_is_reached_through_others_is_left_out() {
        assert_eq!(picture().reduced(), [vec![1], vec![2], vec![3], vec![], vec![]]);
    }

    #[test]
    fn a_label_is_short() {
        let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(String::from).into();
        assert_eq!(label(&names), "a, b, c, d +2");
    }
}
