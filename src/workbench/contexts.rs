//! What an agent is shown for a step of this run.

use std::path::Path;
use std::sync::Arc;

use foldhash::HashMap;

use super::book::{Book, failure};
use super::diagnosing::Failed;
use super::hands::no_such_step;
use super::record::Kept;
use super::{EdgeKind, Failure};
use crate::agent::{self, ContextView, Seen, Surroundings, TokenCount};
use crate::feedback::Diagnosis;
use crate::step::{Status, StepId};
use crate::store::Reader;

/// All that the context of a step is made of, taken out of the book: it is made of what every step up to it printed, and
/// of an explanation of its failure, and whoever asks something else meanwhile is not to wait.
pub(super) struct Asked {
    step: StepId,
    budget: Option<usize>,
    around: Surroundings,
    /// What did not fail, or changed since, has no diagnosis.
    failed: Option<Failed>,
    held: HashMap<StepId, Kept>,
    reader: Reader,
}

impl Asked {
    /// Takes what is known of the run around a step.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn of(book: &mut Book, python: &Path, step: &StepId, budget: Option<usize>) -> Result<Self, Failure> {
        let failed = Failed::of(book, python, step).ok();
        let kept = |entry: &super::book::Entry| Some((entry.file.id.clone(), book.kept_of(&entry.file.id)?));
        let held = book.steps().iter().filter_map(kept).collect();
        let reader = book.store().reader().map_err(failure)?;
        Ok(Self { step: step.clone(), budget, around: surroundings(book), failed, held, reader })
    }

    /// Makes the context.
    ///
    /// # Errors
    /// When there is no such step.
    pub(super) fn make(mut self, count: &mut TokenCount) -> Result<ContextView, Failure> {
        let diagnosis = self.failed.as_ref().and_then(|failed| failed.explain().ok());
        self.around.diagnosis = diagnosis.map(|diagnosis| told(&diagnosis));
        let (held, reader) = (&mut self.held, &self.reader);
        let whole = |step: &StepId| {
            let kept = held.get_mut(step)?;
            if let Kept::At(id) = kept {
                *kept = Kept::Whole(reader.execution(*id).ok()?.execution);
            }
            match kept {
                Kept::Whole(execution) => Some(Arc::clone(execution)),
                Kept::At(_) => None,
            }
        };
        agent::context(&self.around, &self.step, self.budget, count, whole).ok_or_else(|| no_such_step(&self.step))
    }
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
