//! What happened to the chosen step, or to the whole run, newest first; versions open into what they changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::review::{File, Line, Tag};
use super::window::Window;
use crate::step::{FileChange, StepId, VersionNumber};
use crate::workbench::{Happening, StoryRow};

/// A row of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// Something that happened, by its place in the story.
    Entry(usize),
    /// A line of what a version changed.
    Diff(Line),
    /// The texts of a version are being asked for.
    Asking,
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
    /// The rows.
    pub rows: Vec<Row>,
    /// What is seen.
    pub window: Window,
    /// Versions that are opened.
    open: BTreeSet<(StepId, VersionNumber)>,
    texts: HashMap<(StepId, VersionNumber), Arc<str>>,
}

impl History {
    /// Takes a story.
    pub fn take(&mut self, of: Option<StepId>, story: Arc<Vec<StoryRow>>) {
        if self.of.as_ref() != Some(&of) {
            self.window = Window::default();
            self.open.clear();
        }
        self.of = Some(of);
        self.story = Some(story);
        self.rebuild();
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
        let at = self.rows.get(..=self.window.cursor)?.iter().rev().find_map(|row| match row {
            Row::Entry(at) => Some(*at),
            _ => None,
        })?;
        let entry = self.entry(at)?;
        match &entry.what {
            Happening::Version { number, replaced, .. } => Some((entry.step.clone()?, *number, *replaced)),
            _ => None,
        }
    }

    /// Opens or closes the version under the cursor. Gives the versions whose texts must be asked for.
    pub fn toggle(&mut self) -> Vec<(StepId, VersionNumber)> {
        let Some((step, number, replaced)) = self.version() else { return Vec::new() };
        let key = (step.clone(), number);
        let mut wanted = Vec::new();
        if !self.open.remove(&key) {
            self.open.insert(key);
            wanted.extend([Some(number), replaced].into_iter().flatten().map(|number| (step.clone(), number)));
            wanted.retain(|key| !self.texts.contains_key(key));
        } else if let Some(row) = self
            .rows
            .get(..=self.window.cursor)
            .and_then(|rows| rows.iter().rposition(|row| matches!(row, Row::Entry(_))))
        {
            self.window.cursor = row;
        }
        self.rebuild();
        wanted
    }

    fn rebuild(&mut self) {
        let mut rows = Vec::new();
        for (at, entry) in self.story.iter().flat_map(|story| story.iter()).enumerate() {
            rows.push(Row::Entry(at));
            let Happening::Version { number, replaced, deleted, .. } = &entry.what else { continue };
            let Some(step) = entry.step.clone().filter(|step| self.open.contains(&(step.clone(), *number))) else {
                continue;
            };
            let text = |number: VersionNumber| self.texts.get(&(step.clone(), number));
            let before = replaced.map(text);
            match (before, text(*number)) {
                (Some(None), _) | (_, None) => rows.push(Row::Asking),
                (before, Some(after)) => {
                    let base = before.flatten().map(|text| text.to_string());
                    let result = (!deleted).then(|| after.to_string());
                    let file = File::of(&FileChange { path: String::new(), base, result });
                    rows.extend(changes(file).into_iter().map(Row::Diff));
                }
            }
        }
        self.rows = rows;
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
}
