//! What an agent is shown for the chosen step.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::lines::Lines;
use super::window::Window;
use crate::step::StepId;
use crate::workbench::{ContextPart, ContextView};

/// A row of the panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// A part's head.
    Part(usize),
    /// A line of a part's text: the part, and the line from 0.
    Line(usize, usize),
}

/// The panel's state.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// For which step.
    pub step: Option<StepId>,
    /// What.
    pub view: Option<Arc<ContextView>>,
    texts: Vec<Lines>,
    /// Parts whose text is shown.
    open: BTreeSet<usize>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is seen.
    pub window: Window,
}

impl Context {
    /// Takes a context.
    pub fn take(&mut self, step: StepId, view: Arc<ContextView>) {
        if self.step.as_ref() != Some(&step) {
            (self.window, self.open) = (Window::default(), BTreeSet::new());
        }
        self.step = Some(step);
        self.texts = view.parts.iter().map(|part| Lines::from(part.text.as_str())).collect();
        self.view = Some(view);
        self.rebuild();
    }

    /// A part.
    pub fn part(&self, at: usize) -> Option<&ContextPart> {
        self.view.as_ref()?.parts.get(at)
    }

    /// A line of a part's text.
    pub fn line(&self, part: usize, line: usize) -> &str {
        self.texts.get(part).map_or("", |text| text.line(line))
    }

    /// Whether a part's text is shown.
    pub fn is_open(&self, part: usize) -> bool {
        self.open.contains(&part)
    }

    /// Shows or hides the text of the part that the cursor is in.
    pub fn toggle(&mut self) {
        let Some(Row::Part(part) | Row::Line(part, _)) = self.rows.get(self.window.cursor).copied() else { return };
        if !self.open.remove(&part) {
            self.open.insert(part);
        }
        self.rebuild();
        self.window.cursor = self.rows.iter().position(|row| *row == Row::Part(part)).unwrap_or(0);
    }

    fn rebuild(&mut self) {
        self.rows.clear();
        for (part, text) in self.texts.iter().enumerate() {
            self.rows.push(Row::Part(part));
            if self.open.contains(&part) {
                self.rows.extend((0..text.len()).map(|line| Row::Line(part, line)));
            }
        }
    }
}
