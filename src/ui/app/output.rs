//! The output of steps, as far as it is held, and what is seen of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::document::Document;
pub use super::document::Kind;
use super::window::Window;
use crate::feedback::Diagnosis;
use crate::step::{Chunk, Millis, StepId};
use crate::workbench::{Beside, CallView};

/// The panel's state.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// What is held of each step: what was asked for last, and what runs or ran just now.
    documents: HashMap<StepId, Document>,
    /// In which order they came, to let the oldest go.
    order: Vec<StepId>,
    /// Why steps failed, as far as it was told: for the execution that began then.
    whys: HashMap<StepId, (Millis, Arc<Diagnosis>)>,
    /// What the run is set beside, if it is.
    beside: Option<Arc<Beside>>,
    /// What is seen.
    pub window: Window,
    /// Whose output the window is on.
    pub step: Option<StepId>,
    /// Whether lines that are too long are cut; they are wrapped otherwise.
    pub cut: bool,
    /// Whether the window stays at the end while more comes.
    pub follow: bool,
}

/// How many steps' output is held.
const HELD: usize = 24;
/// How many bytes are held of steps that are not looked at.
const WEIGHT: usize = 64 << 20;

impl Output {
    /// The output of a step, if it is held.
    pub fn document(&self, step: &StepId) -> Option<&Document> {
        self.documents.get(step)
    }

    /// What the panel shows.
    pub fn shown(&self) -> Option<&Document> {
        self.documents.get(self.step.as_ref()?)
    }

    /// Shows a step.
    pub fn show(&mut self, step: Option<&StepId>) {
        if self.step.as_ref() != step {
            self.step = step.cloned();
            self.window = Window::default();
            self.follow = self.shown().is_some_and(|document| document.live);
        }
    }

    /// A step began to run.
    pub fn begin(&mut self, step: &StepId) {
        self.put(step, Document::live());
        if self.step.as_ref() == Some(step) {
            self.window = Window::default();
            self.follow = true;
        }
    }

    /// A step printed.
    pub fn push(&mut self, step: &StepId, chunk: &Chunk) {
        if !self.documents.contains_key(step) {
            self.put(step, Document::live());
        }
        if let Some(document) = self.documents.get_mut(step) {
            let gone = document.push_live(chunk);
            if gone > 0 && self.step.as_ref() == Some(step) {
                self.window.top = self.window.top.saturating_sub(gone);
                self.window.cursor = self.window.cursor.saturating_sub(gone);
            }
        }
    }

    /// A step ended: no more comes, and its execution will be asked for.
    pub fn end(&mut self, step: &StepId) {
        if let Some(document) = self.documents.get_mut(step) {
            document.live = false;
        }
    }

    /// Takes a step's last execution, as lines. What a running step printed is not thrown away for it.
    pub fn take(&mut self, step: &StepId, document: Document) {
        if self.documents.get(step).is_some_and(|document| document.live) {
            return;
        }
        self.put(step, document);
        self.tell_why(step);
    }

    /// Takes why the execution of a step failed that is shown.
    pub fn explain(&mut self, step: &StepId, diagnosis: Arc<Diagnosis>) {
        if let Some(began) = self.document(step).and_then(|document| document.began()) {
            self.whys.insert(step.clone(), (began, diagnosis));
            self.tell_why(step);
        }
    }

    /// Why the execution of a step that is shown failed, if that is known.
    pub fn why(&self, step: &StepId) -> Option<&Arc<Diagnosis>> {
        let began = self.document(step)?.began()?;
        self.whys.get(step).filter(|(of, _)| *of == began).map(|(_, why)| why)
    }

    fn tell_why(&mut self, step: &StepId) {
        if let Some(why) = self.why(step).cloned()
            && let Some(document) = self.documents.get_mut(step)
        {
            document.explain(why);
        }
    }

    /// Sets the run beside another, or no more.
    pub fn set_beside(&mut self, beside: Option<Arc<Beside>>) {
        self.beside = beside;
        for (step, document) in &mut self.documents {
            document.set_beside(step, self.beside.as_deref());
        }
    }

    /// What the run is set beside.
    pub fn beside(&self) -> Option<&Arc<Beside>> {
        self.beside.as_ref()
    }

    /// Takes what calls a step made.
    pub fn take_calls(&mut self, step: &StepId, calls: &[CallView]) {
        if let Some(document) = self.documents.get_mut(step).filter(|document| !document.live) {
            document.tell_calls(calls);
        }
    }

    fn put(&mut self, step: &StepId, mut document: Document) {
        if !document.live {
            document.set_beside(step, self.beside.as_deref());
        }
        self.documents.insert(step.clone(), document);
        self.order.retain(|other| other != step);
        self.order.push(step.clone());
        let Self { documents, order, .. } = self;
        let (mut held, mut weight) = (0, 0);
        // The newest first: they are likeliest to be looked at again.
        let mut gone: Vec<StepId> = Vec::new();
        for step in order.iter().rev() {
            held += 1;
            if self.step.as_ref() == Some(step) {
                continue;
            }
            weight += documents.get(step).map_or(0, Document::weight);
            if held > HELD || weight > WEIGHT && documents.get(step).is_some_and(|document| !document.live) {
                gone.push(step.clone());
            }
        }
        for step in gone {
            documents.remove(&step);
            order.retain(|other| *other != step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Stream;

    fn chunk(stream: Stream, text: &str) -> Chunk {
        Chunk { stream, text: text.to_owned() }
    }

    #[test]
    fn an_answer_does_not_wipe_what_a_running_step_prints() {
        let mut output = Output::default();
        let step: StepId = "a".parse().unwrap();
        output.begin(&step);
        output.push(&step, &chunk(Stream::Stdout, "now\n"));
        output.take(&step, Document::default());
        assert_eq!(output.document(&step).unwrap().len(), 1);
        output.end(&step);
        output.take(&step, Document::default());
        assert!(output.document(&step).unwrap().is_empty());
    }
}
