//! What happened to the chosen step, or to the whole run, newest first; versions open into what they changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::review::{File, Line, Tag};
use super::window::Window;
use crate::step::{FileChange, StepId, VersionNumber};
use crate::store::query::Moment;
use crate::workbench::{Happening, PastStep, PastView, StoryRow};

/// A row of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// Something that happened, by its place in the story.
    Entry(usize),
    /// A line of what a version changed.
    Diff(Line),
    /// The texts of a version are being asked for.
    Asking,
    /// Which moment is looked at.
    Moment,
    /// A step as it was then, by its place.
    Then(usize),
    /// Steps that were not there yet.
    Later,
    /// Variables that held something else.
    Values,
}

/// Lines around a change that are shown.
const CONTEXT: usize = 2;

/// The panel's state.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Whether the story of the run is told, not of the step.
    pub whole: bool,
    /// Whose story is held.
    pub of: Option<Option<StepId>>,
    /// The story.
    pub story: Option<Arc<Vec<StoryRow>>>,
    /// The run as it was at a moment, while that is looked at in the story's place.
    pub past: Option<Arc<PastView>>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is seen.
    pub window: Window,
    /// Versions that are opened.
    open: BTreeSet<(StepId, VersionNumber)>,
    /// Those of the story, while a moment is looked at.
    open_before: BTreeSet<(StepId, VersionNumber)>,
    texts: HashMap<(StepId, VersionNumber), Arc<str>>,
}

impl History {
    /// Takes a story.
    pub fn take(&mut self, of: Option<StepId>, story: Arc<Vec<StoryRow>>) {
        if self.of.as_ref() != Some(&of) {
            self.window = Window::default();
            self.open.clear();
            self.past = None;
        }
        self.of = Some(of);
        self.story = Some(story);
        self.rebuild();
    }

    /// Takes the run as it was at a moment, to be looked at.
    pub fn take_past(&mut self, past: Arc<PastView>) {
        if self.past.replace(past).is_none() {
            self.open_before = std::mem::take(&mut self.open);
        }
        self.window = Window::default();
        self.rebuild();
    }

    /// Goes back from a moment to the story. Says whether a moment was looked at.
    pub fn leave_past(&mut self) -> bool {
        let Some(past) = self.past.take() else { return false };
        self.open = std::mem::take(&mut self.open_before);
        self.rebuild();
        if let Moment::Event(seq) = past.moment {
            let story = self.story.iter().flat_map(|story| story.iter());
            let at = story.enumerate().find(|(_, entry)| entry.seq == seq).map(|(at, _)| Row::Entry(at));
            self.window.cursor = at.and_then(|at| self.rows.iter().position(|row| *row == at)).unwrap_or_default();
        }
        true
    }

    /// The moment right after what the cursor is on, or the one that is looked at.
    pub fn moment(&self) -> Option<Moment> {
        match &self.past {
            Some(past) => Some(past.moment.clone()),
            None => Some(Moment::Event(self.at_cursor()?.seq)),
        }
    }

    /// The step under the cursor as it was at the moment that is looked at.
    pub fn then(&self) -> Option<&PastStep> {
        let at = self.rows.get(..=self.window.cursor)?.iter().rev().find_map(|row| match row {
            Row::Then(at) => Some(*at),
            _ => None,
        })?;
        self.past.as_ref()?.steps.get(at)
    }

    fn at_cursor(&self) -> Option<&StoryRow> {
        let at = self.rows.get(..=self.window.cursor)?.iter().rev().find_map(|row| match row {
            Row::Entry(at) => Some(*at),
            _ => None,
        })?;
        self.entry(at)
    }

    /// Takes the text of a version.
    pub fn take_text(&mut self, step: StepId, version: VersionNumber, text: Arc<str>) {
        self.texts.insert((step, version), text);
        self.rebuild();
    }

    /// Something that happened, by its place.
    pub fn entry(&self, at: usize) -> Option<&StoryRow> {
        self.story.as_ref()?.get(at)
    }

    /// The version under the cursor, with the one that it replaced.
    pub fn version(&self) -> Option<(StepId, VersionNumber, Option<VersionNumber>)> {
        let entry = self.at_cursor()?;
        match &entry.what {
            Happening::Version { number, replaced, .. } => Some((entry.step.clone()?, *number, *replaced)),
            _ => None,
        }
    }

    /// Opens or closes the version under the cursor. Gives the versions whose texts must be asked for.
    pub fn toggle(&mut self) -> Vec<(StepId, VersionNumber)> {
        let chosen = match self.then() {
            Some(then) => Some((then.now.clone(), then.version, then.present.filter(|_| then.changed))),
            None => self.version(),
        };
        let Some((step, number, other)) = chosen else { return Vec::new() };
        let key = (step.clone(), number);
        let mut wanted = Vec::new();
        if !self.open.remove(&key) {
            self.open.insert(key);
            wanted.extend([Some(number), other].into_iter().flatten().map(|number| (step.clone(), number)));
            wanted.retain(|key| !self.texts.contains_key(key));
        } else if let Some(row) = self
            .rows
            .get(..=self.window.cursor)
            .and_then(|rows| rows.iter().rposition(|row| matches!(row, Row::Entry(_) | Row::Then(_))))
        {
            self.window.cursor = row;
        }
        self.rebuild();
        wanted
    }

    fn rebuild(&mut self) {
        self.rows = match &self.past {
            Some(past) => self.past_rows(past),
            None => self.story_rows(),
        };
        self.window.cursor = self.window.cursor.min(self.rows.len().saturating_sub(1));
    }

    fn story_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (at, entry) in self.story.iter().flat_map(|story| story.iter()).enumerate() {
            rows.push(Row::Entry(at));
            let Happening::Version { number, replaced, deleted, .. } = &entry.what else { continue };
            if let Some(step) = &entry.step {
                rows.extend(self.opened(step, *number, *replaced, Some(*number).filter(|_| !deleted)));
            }
        }
        rows
    }

    /// Each step as it was, opened into what is different now, or into its text where nothing is.
    fn past_rows(&self, past: &PastView) -> Vec<Row> {
        let mut rows = vec![Row::Moment];
        for (at, step) in past.steps.iter().enumerate() {
            rows.push(Row::Then(at));
            let now = match step.present {
                Some(now) if step.changed => Some(now),
                Some(_) => Some(step.version),
                None => None,
            };
            rows.extend(self.opened(&step.now, step.version, Some(step.version), now));
        }
        rows.extend((!past.later.is_empty()).then_some(Row::Later));
        rows.extend((!past.values.is_empty()).then_some(Row::Values));
        rows
    }

    /// What is below a version that is opened: how `after` differs from `before`, `None` being nothing.
    fn opened(
        &self,
        step: &StepId,
        version: VersionNumber,
        before: Option<VersionNumber>,
        after: Option<VersionNumber>,
    ) -> Vec<Row> {
        if !self.open.contains(&(step.clone(), version)) {
            return Vec::new();
        }
        let text = |number: Option<VersionNumber>| match number {
            None => Some(None),
            Some(number) => self.texts.get(&(step.clone(), number)).map(|text| Some(text.to_string())),
        };
        let (Some(base), Some(result)) = (text(before), text(after)) else { return vec![Row::Asking] };
        if base == result {
            let file = File::of(&FileChange { path: String::new(), base: None, result });
            return file.lines.into_iter().map(|line| Row::Diff(Line { tag: Tag::Same, ..line })).collect();
        }
        changes(File::of(&FileChange { path: String::new(), base, result })).into_iter().map(Row::Diff).collect()
    }
}

/// The changed lines of a file with a few around them.
fn changes(file: File) -> Vec<Line> {
    let mut shown = vec![false; file.lines.len()];
    for hunk in &file.hunks {
        let (from, to) = (hunk.lines.start.saturating_sub(CONTEXT), hunk.lines.end + CONTEXT);
        shown.iter_mut().take(to).skip(from).for_each(|shown| *shown = true);
    }
    file.lines
        .into_iter()
        .zip(shown)
        .filter(|(line, shown)| *shown || line.tag != Tag::Same)
        .map(|(line, _)| line)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u32, replaced: Option<u32>) -> StoryRow {
        StoryRow {
            seq: i64::from(number),
            at: i64::from(number),
            step: Some("a".parse().unwrap()),
            what: Happening::Version {
                number: VersionNumber(number),
                replaced: replaced.map(VersionNumber),
                author: "a person".into(),
                model: None,
                patch: None,
                reason: None,
                deleted: false,
            },
        }
    }

    #[test]
    fn a_version_opens_into_what_it_changed() {
        let mut history = History::default();
        let step: StepId = "a".parse().unwrap();
        history.take(Some(step.clone()), vec![version(2, Some(1)), version(1, None)].into());
        let wanted = history.toggle();
        assert_eq!(wanted, [(step.clone(), VersionNumber(2)), (step.clone(), VersionNumber(1))]);
        assert_eq!(history.rows[1], Row::Asking);
        history.take_text(step.clone(), VersionNumber(1), "x = 1\ny = 1\n".into());
        history.take_text(step.clone(), VersionNumber(2), "x = 2\ny = 1\n".into());
        let diff: Vec<_> = history
            .rows
            .iter()
            .filter_map(|row| match row {
                Row::Diff(line) => Some((line.tag, line.content().to_owned())),
                _ => None,
            })
            .collect();
        assert_eq!(diff, [(Tag::Removed, "x = 1".into()), (Tag::Added, "x = 2".into()), (Tag::Same, "y = 1".into())]);
        history.window.cursor = 2;
        assert_eq!(history.toggle(), []);
        assert_eq!((history.rows.len(), history.window.cursor), (2, 0));
    }

    #[test]
    fn a_moment_is_looked_at_in_the_storys_place() {
        let mut history = History::default();
        let (a, b): (StepId, StepId) = ("a".parse().unwrap(), "b".parse().unwrap());
        history.take(None, vec![version(2, Some(1)), version(1, None)].into());
        history.window.cursor = 1;
        assert_eq!(history.moment(), Some(Moment::Event(1)));
        let step = |id: &StepId, present: Option<u32>, changed| PastStep {
            id: id.clone(),
            now: id.clone(),
            version: VersionNumber(1),
            execution: None,
            present: present.map(VersionNumber),
            changed,
            output: false,
        };
        history.take_past(Arc::new(PastView {
            moment: Moment::Event(1),
            steps: vec![step(&a, Some(2), true), step(&b, None, true)],
            later: vec!["c".parse().unwrap()],
            values: Vec::new(),
        }));
        assert_eq!(history.rows, [Row::Moment, Row::Then(0), Row::Then(1), Row::Later]);
        history.window.cursor = 1;
        assert_eq!(history.toggle(), [(a.clone(), VersionNumber(1)), (a.clone(), VersionNumber(2))]);
        history.take_text(a.clone(), VersionNumber(1), "x = 1\n".into());
        history.take_text(a, VersionNumber(2), "x = 2\n".into());
        let tags: Vec<Tag> = history
            .rows
            .iter()
            .filter_map(|row| match row {
                Row::Diff(line) => Some(line.tag),
                _ => None,
            })
            .collect();
        assert_eq!(tags, [Tag::Removed, Tag::Added], "what is different now");
        assert!(history.leave_past());
        assert_eq!((history.rows.len(), history.window.cursor), (2, 1), "where it was left");
        assert!(!history.leave_past());
    }
}
