//! The source of the chosen step.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use similar::{ChangeTag, TextDiff};

use super::lines::Lines;
use super::window::Window;
use crate::step::{StepId, VersionNumber};
use crate::ui::view::highlight::{Language, Token};

/// What happened to a line since the step last ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is new.
    Added,
    /// It is another.
    Changed,
    /// Lines that stood before it are gone.
    RemovedBefore,
}

/// Work for the colours: done away from the interface's thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightJob {
    /// Tells an answer that came too late.
    pub serial: u64,
    /// Whose text.
    pub step: StepId,
    /// What it is written in.
    pub language: Language,
    /// The text.
    pub text: Arc<str>,
    /// The lines that are seen.
    pub seen: Range<usize>,
}

/// Texts of more lines than this are not compared with what was executed: the marks in the gutter are a comfort
/// and may not hold up a key.
const COMPARED: usize = 20_000;

/// The panel's state.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Whose source it is.
    pub step: Option<StepId>,
    /// Which version of it.
    pub version: Option<VersionNumber>,
    /// The text.
    pub text: Arc<str>,
    /// Its lines.
    pub lines: Lines,
    /// What happened to lines since the step last ran, by line.
    pub marks: HashMap<usize, Mark>,
    /// Which bytes of each line are what, as far as that is known.
    tokens: Vec<Option<Arc<[Token]>>>,
    serial: u64,
    /// What is seen.
    pub window: Window,
    /// Which of the names in the cursor's line is chosen.
    pub link: Option<usize>,
    /// Whether long lines are wrapped.
    pub wrap: bool,
    /// Where the window was on each step.
    places: HashMap<StepId, Window>,
}

impl Source {
    /// Takes the text of a step. Gives the work for its colours, with `height` lines seen.
    pub fn take(
        &mut self,
        step: StepId,
        version: VersionNumber,
        text: Arc<str>,
        executed: Option<&str>,
        height: usize,
    ) -> HighlightJob {
        if let Some(before) = self.step.replace(step.clone())
            && before != step
        {
            self.places.insert(before, self.window);
            self.window = self.places.get(&step).copied().unwrap_or_default();
            self.tokens.clear();
        }
        self.version = Some(version);
        self.marks = executed.map(|old| marks(old, &text)).unwrap_or_default();
        self.lines = Lines::from(&*text);
        self.text = text;
        self.tokens.resize(self.lines.len(), None);
        self.serial += 1;
        let seen = self.window.top..self.window.top.saturating_add(height);
        HighlightJob { serial: self.serial, step, language: Language::Python, text: self.text.clone(), seen }
    }

    /// Takes what was found out of some lines; says whether it is of the text that is shown.
    pub fn highlighted(&mut self, serial: u64, first: usize, lines: Vec<Arc<[Token]>>) -> bool {
        if serial != self.serial {
            return false;
        }
        for (slot, tokens) in self.tokens.iter_mut().skip(first).zip(lines) {
            *slot = Some(tokens);
        }
        true
    }

    /// Which bytes of a line are what, if that is known.
    pub fn tokens(&self, line: usize) -> &[Token] {
        self.tokens.get(line).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Shows nothing.
    pub fn clear(&mut self) {
        if let Some(before) = self.step.take() {
            self.places.insert(before, self.window);
        }
        let places = std::mem::take(&mut self.places);
        *self = Self { wrap: self.wrap, serial: self.serial + 1, places, ..Self::default() };
    }
}

fn marks(old: &str, new: &str) -> HashMap<usize, Mark> {
    let mut marks = HashMap::new();
    if old.lines().count().max(new.lines().count()) > COMPARED {
        return marks;
    }
    let diff = TextDiff::from_lines(old, new);
    let mut removed = 0;
    let mut at = 0;
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Delete => removed += 1,
            ChangeTag::Insert => {
                marks.insert(at, if removed > 0 { Mark::Changed } else { Mark::Added });
                removed = usize::saturating_sub(removed, 1);
                at += 1;
            }
            ChangeTag::Equal => {
                if removed > 0 {
                    marks.entry(at).or_insert(Mark::RemovedBefore);
                }
                removed = 0;
                at += 1;
            }
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gutter_tells_what_changed_since_the_last_run() {
        let marked = |old, new| {
            let mut all: Vec<_> = marks(old, new).into_iter().collect();
            all.sort_by_key(|(line, _)| *line);
            all
        };
        assert_eq!(marked("a\nb\n", "a\nb\n"), []);
        assert_eq!(marked("a\nb\n", "a\nc\n"), [(1, Mark::Changed)]);
        assert_eq!(marked("a\n", "a\nb\n"), [(1, Mark::Added)]);
        assert_eq!(marked("a\nb\nc\n", "a\nc\n"), [(1, Mark::RemovedBefore)]);
    }

    #[test]
    fn a_step_is_found_where_it_was_left() {
        let mut source = Source::default();
        let (a, b): (StepId, StepId) = ("a".parse().unwrap(), "b".parse().unwrap());
        source.take(a.clone(), VersionNumber(1), "1\n2\n".into(), None, 9);
        source.window.cursor = 1;
        source.take(b, VersionNumber(1), "x\n".into(), None, 9);
        assert_eq!(source.window.cursor, 0);
        source.take(a, VersionNumber(2), "1\n2\n3\n".into(), None, 9);
        assert_eq!(source.window.cursor, 1);
    }
}
