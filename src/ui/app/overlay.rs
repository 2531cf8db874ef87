//! What is open over the panels: help, the palette, a question, a prompt. They stack.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::action::{Action, FIRST, Group, TABLE};
use super::field::Field;
use super::model::{Model, Pane};
use crate::step::{self, PatchId, QuestionId, StepId};
use crate::workbench::{Command, PlanRow, StepRow};

/// Something open over the panels.
#[derive(Debug, Clone)]
pub enum Overlay {
    /// The keys.
    Help(Choice<HelpRow>),
    /// The commands, by name.
    Palette(Choice<Action>),
    /// Steps, by a few letters: what they are, and a name in them to go to.
    Jump(String, Choice<StepId>, Option<String>),
    /// A question before something that is hard to take back.
    Confirm(Question),
    /// A running step asks for leave to do something.
    Leave(step::Question),
    /// A line to be typed.
    Prompt(Prompt),
    /// What was told so far.
    Messages(usize),
    /// What a run would do.
    Plan(Plan),
}

/// A list to choose from, narrowed by what is typed.
#[derive(Debug, Clone)]
pub struct Choice<T> {
    /// What is typed.
    pub field: Field,
    /// All there is, each with the text that it is found by.
    all: Vec<(T, String)>,
    /// What answers to what is typed, best first, with the places of the letters that do.
    pub found: Vec<(usize, Vec<u32>)>,
    /// Which of `found` the cursor is on.
    pub cursor: usize,
}

/// A line of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HelpRow {
    /// A heading.
    Heading(&'static str),
    /// An action.
    Action(Action),
}

/// A question, and what is done when the answer is yes.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The question.
    pub text: String,
    /// More to know before answering.
    pub details: Vec<String>,
    /// What is done on yes.
    pub then: Then,
}

/// What follows a yes.
#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    /// Ask this of the run.
    Ask(Box<Command>),
    /// Quit.
    Quit,
}

/// What a typed line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// To be searched for in a panel, from the line that the cursor was on.
    Search(Pane, usize),
    /// Words that choose which steps are listed.
    Filter,
    /// The id of a step to make.
    NewStep,
    /// Another id for this step.
    Rename(StepId),
    /// What a running step waits for.
    Answer(QuestionId),
    /// Why a patch is turned down.
    Reject(PatchId),
    /// The run's directory, or the recording, that this run is set beside.
    Beside,
    /// A remark on a patch, and on which line of it.
    Comment(PatchId, String),
}

/// A line to be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What for.
    pub purpose: Purpose,
    /// What is shown before it.
    pub label: String,
    /// What is typed.
    pub field: Field,
    /// What is wrong with it so far.
    pub problem: Option<String>,
}

/// What a run would do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// One row a step; `None` until it is told.
    pub rows: Option<std::sync::Arc<Vec<PlanRow>>>,
    /// The first row that is seen.
    pub top: usize,
}

impl<T> Choice<T> {
    /// A list of everything.
    pub fn new(all: Vec<(T, String)>) -> Self {
        let mut choice = Self { field: Field::default(), all, found: Vec::new(), cursor: 0 };
        choice.narrow();
        choice
    }

    /// Works out anew what answers to what is typed: letters in order, best matches first.
    pub fn narrow(&mut self) {
        self.cursor = 0;
        if self.field.text().trim().is_empty() {
            self.found = (0..self.all.len()).map(|at| (at, Vec::new())).collect();
            return;
        }
        let pattern = Pattern::new(self.field.text(), CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let typed = self.field.text().trim();
        let mut found: Vec<((bool, u32), usize, Vec<u32>)> = Vec::new();
        for (at, (_, text)) in self.all.iter().enumerate() {
            let mut letters = Vec::new();
            if let Some(score) = pattern.indices(Utf32Str::new(text, &mut buffer), &mut matcher, &mut letters) {
                letters.sort_unstable();
                letters.dedup();
                // A name or a key that is written out is what is meant, whatever else has its letters.
                let whole = text.split("  ").any(|part| part == typed);
                found.push(((whole, score), at, letters));
            }
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        self.found = found.into_iter().map(|(_, at, letters)| (at, letters)).collect();
    }

    /// What a row of `found` stands for, with its text and the letters that answer.
    pub fn row(&self, at: usize) -> Option<(&T, &str, &[u32])> {
        let (place, letters) = self.found.get(at)?;
        self.all.get(*place).map(|(item, text)| (item, text.as_str(), letters.as_slice()))
    }

    /// What the cursor is on.
    pub fn chosen(&self) -> Option<&T> {
        self.row(self.cursor).map(|(item, ..)| item)
    }

    /// Moves the cursor, and stops at the ends.
    pub fn step(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.found.len().saturating_sub(1));
    }
}

/// The help: what one looks for first, then all actions under their headings, then those of this panel.
pub fn help(model: &Model) -> Choice<HelpRow> {
    let mut all = vec![(HelpRow::Heading("First of all"), String::new())];
    let line = |action: Action| {
        let entry = action.entry()?;
        Some((HelpRow::Action(action), format!("{}  {}  {}", model.keys.keys(action).join(" "), entry.name, entry.doc)))
    };
    all.extend(FIRST.into_iter().filter_map(line));
    for group in Group::ALL {
        all.push((HelpRow::Heading(group.title()), String::new()));
        all.extend(TABLE.iter().filter(|entry| entry.group == group).filter_map(|entry| line(entry.action)));
    }
    Choice::new(all)
}

/// The palette: every action by its name.
pub fn palette() -> Choice<Action> {
    Choice::new(TABLE.iter().map(|entry| (entry.action, format!("{}  {}", entry.name, entry.doc))).collect())
}

/// The steps to jump to: all, or those at some places.
pub fn jump(model: &Model, places: Option<&[usize]>) -> Choice<StepId> {
    let steps = &model.run.snapshot.steps;
    let row = |step: &std::sync::Arc<StepRow>| (step.id.clone(), step.id.to_string());
    Choice::new(match places {
        None => steps.iter().map(row).collect(),
        Some(places) => places.iter().filter_map(|at| steps.get(*at)).map(row).collect(),
    })
}
