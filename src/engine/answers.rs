//! The way of an answer to the step that waits for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::step::{Answer, QuestionId};

/// Where answers are put, from any thread, for the step that waits. A clone is the same place.
#[derive(Debug, Clone, Default)]
pub struct Answers(Arc<Mutex<BTreeMap<QuestionId, Answer>>>);

impl Answers {
    /// A number for a new question; no other question of this process has it.
    pub fn number() -> QuestionId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        QuestionId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Puts an answer where the step that waits finds it.
    pub fn give(&self, question: QuestionId, answer: Answer) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(question, answer);
    }

    /// Takes the answer to a question, if it was given.
    pub fn take(&self, question: QuestionId) -> Option<Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&question)
    }
}
