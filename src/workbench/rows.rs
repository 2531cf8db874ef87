//! The run as rows and edges, for lists and pictures.

use std::sync::Arc;

use super::book::Entry;
use super::marks::Verdict;
use super::record::Record;
use super::{Edge, EdgeKind, StepRow};
use crate::graph::{self, Need};
use crate::step::{Execution, Kind, Name, Outcome, StepError, StepId, unannounced};

/// Most characters of an error in a row.
const ERROR: usize = 300;

/// A step as a row.
pub(super) fn row(entry: &Entry, verdict: &Verdict, record: Option<&Record>) -> StepRow {
    let execution = record.and_then(|record| record.held.as_ref()).map(|(execution, _)| &**execution);
    let ended = |execution: &&Execution| matches!(execution.outcome, Outcome::Done | Outcome::Failed);
    let error = execution.and_then(|execution| execution.error.as_ref());
    StepRow {
        id: entry.file.id.clone(),
        kind: entry.file.kind,
        status: verdict.status,
        reasons: verdict.reasons.clone(),
        version: entry.version,
        summary: entry.file.header.summary.clone(),
        agent: entry.file.header.agent.clone(),
        duration_us: execution.filter(ended).map(|execution| execution.duration_us),
        error: error.map(one_line),
        caused_by: error.and_then(|error| error.caused_by.clone()),
        recorded: execution.is_some_and(|execution| execution.outcome == Outcome::Recorded),
        recording: record.is_some_and(|record| record.recording),
        nondeterministic: execution.map(|execution| execution.observation.nondeterministic.clone()).unwrap_or_default(),
        reads: entry.code.reads.clone(),
        writes: entry.code.writes.clone(),
        syntax_error: entry.code.syntax_error.clone(),
        reaches: match entry.file.kind {
            Kind::Shell => vec!["process: the programs that it names".to_owned()],
            _ => entry.code.reaches.clone(),
        },
        unannounced: execution
            .filter(|execution| execution.version == entry.version)
            .map(beyond(entry))
            .unwrap_or_default(),
    }
}

/// Effects that the step's header does not announce.
fn beyond(entry: &Entry) -> impl Fn(&Execution) -> Vec<String> {
    let header = &entry.file.header;
    |execution| {
        let found = unannounced(&header.allow, &header.produces, &execution.effects);
        found.iter().map(ToString::to_string).collect()
    }
}

/// Type and message of an error on one line.
fn one_line(error: &StepError) -> String {
    let message = error.message.lines().next().unwrap_or_default();
    let text = if message.is_empty() { error.type_name.clone() } else { format!("{}: {message}", error.type_name) };
    text.chars().take(ERROR).collect()
}

/// What the step at a place needs: by the texts, and by the record where it was executed as it stands. Sorted by whom,
/// then by what makes it needed.
pub(super) fn needs<'a>(
    to: usize,
    entry: &Entry,
    verdict: &Verdict,
    inferred: impl Iterator<Item = (&'a StepId, &'a Need)>,
    place: impl Fn(&StepId) -> Option<usize>,
) -> Box<[Edge]> {
    let mut found: Vec<(usize, EdgeKind, &Name)> = Vec::new();
    // Edges that are there whatever names they are labelled with.
    let mut bare: Vec<(usize, EdgeKind)> = Vec::new();
    for (from, need) in inferred {
        if let Some(from) = place(from) {
            let kind = kind(need.kind);
            bare.push((from, kind));
            found.extend(need.names.iter().map(|name| (from, kind, name)));
        }
    }
    for (from, name) in &verdict.used {
        // State that no name stands for only says which comes first.
        let kind = if name.starts_with('@') { EdgeKind::Order } else { EdgeKind::Data };
        found.push((*from, kind, name));
    }
    found.extend(verdict.used_files.iter().map(|(from, name)| (*from, EdgeKind::File, name)));
    for need in &entry.file.header.needs {
        if let Some(from) = place(need).filter(|from| *from < to) {
            bare.push((from, EdgeKind::Declared));
        }
    }
    found.sort_unstable();
    found.dedup();
    bare.retain(|(from, kind)| !found.iter().any(|(by, what, _)| (by, what) == (from, kind)));
    bare.sort_unstable();
    bare.dedup();
    let shown = |name: &Name| name.strip_prefix('@').map_or_else(|| Arc::clone(name), Name::from);
    let labelled = found.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).filter_map(|edges| {
        let &(from, kind, _) = edges.first()?;
        Some(Edge { from, to, names: edges.iter().map(|(_, _, name)| shown(name)).collect(), kind })
    });
    let bare = bare.into_iter().map(|(from, kind)| Edge { from, to, names: Arc::default(), kind });
    let mut edges: Vec<Edge> = labelled.chain(bare).collect();
    edges.sort_by_key(|edge| (edge.from, edge.kind));
    edges.into()
}

fn kind(kind: graph::EdgeKind) -> EdgeKind {
    match kind {
        graph::EdgeKind::Data => EdgeKind::Data,
        graph::EdgeKind::Declared => EdgeKind::Declared,
        graph::EdgeKind::File => EdgeKind::File,
        graph::EdgeKind::Order => EdgeKind::Order,
    }
}
