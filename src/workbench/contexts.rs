//! What an agent is shown for a step of this run.

use std::path::Path;

use super::book::Book;
use super::diagnosing::Failed;
use super::hands::no_such_step;
use super::{EdgeKind, Failure};
use crate::agent::{self, ContextView, Seen, Surroundings, TokenCount};
use crate::feedback::Diagnosis;
use crate::step::{Status, StepId};

/// The context of a step, in at most `budget` tokens.
///
/// # Errors
/// When there is no such step.
pub(super) fn context(
    book: &mut Book,
    python: &Path,
    step: &StepId,
    budget: Option<usize>,
    count: &mut TokenCount,
) -> Result<ContextView, Failure> {
    let mut around = surroundings(book);
    // What did not fail, or changed since, has no diagnosis.
    around.diagnosis =
        Failed::of(book, python, step).and_then(|failed| failed.explain()).ok().map(|diagnosis| told(&diagnosis));
    agent::context(&around, step, budget, count, |step| book.held(step)).ok_or_else(|| no_such_step(step))
}

/// A diagnosis in words: why, which values show it, and what could be done.
fn told(diagnosis: &Diagnosis) -> String {
    let mut text = diagnosis.explanation.clone();
    for fact in &diagnosis.facts {
        let by = fact.written_by.as_ref().map(|step| format!(", from {step}")).unwrap_or_default();
        text.push_str(&format!("\n{} = {}{by}", fact.name, fact.value));
    }
    for suggestion in &diagnosis.suggestions {
        text.push_str(&format!("\n- {}", suggestion.title));
    }
    text
}

/// The run as a context sees it.
fn surroundings(book: &Book) -> Surroundings {
    let seen = |entry: &super::book::Entry| Seen {
        status: book.verdict(&entry.file.id).map_or(Status::Never, |verdict| verdict.status),
        writes: entry.code.writes.clone(),
        file: entry.file.clone(),
    };
    let needed = book.edges().iter().filter(|edge| edge.kind != EdgeKind::Order);
    Surroundings {
        steps: book.steps().iter().map(seen).collect(),
        needs: needed.map(|edge| (edge.from, edge.to, edge.names.to_vec())).collect(),
        returned: book.returned(),
        diagnosis: None,
    }
}
