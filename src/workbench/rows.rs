//! The run as rows and edges, for lists and pictures.

use std::collections::{BTreeMap, HashMap};

use super::book::Entry;
use super::marks::Verdict;
use super::record::Record;
use super::{Edge, EdgeKind, StepRow};
use crate::graph;
use crate::step::{Execution, Name, Outcome, StepError};

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
    }
}

/// Type and message of an error on one line.
fn one_line(error: &StepError) -> String {
    let message = error.message.lines().next().unwrap_or_default();
    let text = if message.is_empty() { error.type_name.clone() } else { format!("{}: {message}", error.type_name) };
    text.chars().take(ERROR).collect()
}

/// What needs what: by the texts, and by the record where a step was executed as it stands.
pub(super) fn edges(inferred: &[graph::Edge], steps: &[Entry], verdicts: &[Verdict]) -> Vec<Edge> {
    let mut found: BTreeMap<(usize, usize, EdgeKind), Vec<Name>> = BTreeMap::new();
    let places: HashMap<_, _> = steps.iter().enumerate().map(|(place, entry)| (&entry.file.id, place)).collect();
    for edge in inferred {
        if let (Some(from), Some(to)) = (places.get(&edge.from), places.get(&edge.to)) {
            found.entry((*from, *to, kind(edge.kind))).or_default().extend(edge.names.iter().cloned());
        }
    }
    for (to, (entry, verdict)) in steps.iter().zip(verdicts).enumerate() {
        for (from, names) in &verdict.used {
            // State that no name stands for only says which comes first.
            let (hidden, named): (Vec<&Name>, Vec<&Name>) = names.iter().partition(|name| name.starts_with('@'));
            for (kind, names) in [(EdgeKind::Order, hidden), (EdgeKind::Data, named)] {
                if !names.is_empty() {
                    let names = names.into_iter().map(|name| Name::from(name.trim_start_matches('@')));
                    found.entry((*from, to, kind)).or_default().extend(names);
                }
            }
        }
        for (from, names) in &verdict.used_files {
            found.entry((*from, to, EdgeKind::File)).or_default().extend(names.iter().cloned());
        }
        for need in &entry.file.header.needs {
            if let Some(from) = places.get(need).filter(|from| **from < to) {
                found.entry((*from, to, EdgeKind::Declared)).or_default();
            }
        }
    }
    found
        .into_iter()
        .map(|((from, to, kind), mut names)| {
            names.sort_unstable();
            names.dedup();
            Edge { from, to, names, kind }
        })
        .collect()
}

fn kind(kind: graph::EdgeKind) -> EdgeKind {
    match kind {
        graph::EdgeKind::Data => EdgeKind::Data,
        graph::EdgeKind::Declared => EdgeKind::Declared,
        graph::EdgeKind::File => EdgeKind::File,
        graph::EdgeKind::Order => EdgeKind::Order,
    }
}
