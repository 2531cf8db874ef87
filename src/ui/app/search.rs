//! What is searched for in a panel, and where it stands.

use std::ops::Range;

use super::filter::contains;
use super::model::{Model, Pane};
use super::steps::Row;
use super::{context, history, patch, state};

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// In which panel.
    pub pane: Pane,
    /// What. Small letters meet capitals too; a capital is met by itself only.
    pub text: String,
}

impl Search {
    /// Where it stands in a line, as ranges of bytes.
    pub fn places(&self, line: &str) -> Vec<Range<usize>> {
        places(line, &self.text)
    }
}

fn places(line: &str, text: &str) -> Vec<Range<usize>> {
    if text.is_empty() {
        return Vec::new();
    }
    if text.chars().any(char::is_uppercase) {
        return line.match_indices(text).map(|(at, found)| at..at + found.len()).collect();
    }
    // Small letters may take other numbers of bytes than their capitals, so that places are found by going along
    // the line itself.
    let wanted: Vec<char> = text.chars().collect();
    let line_chars: Vec<(usize, char)> = line.char_indices().collect();
    let same = |c: char, wanted: char| c == wanted || c.to_lowercase().eq(std::iter::once(wanted));
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(window) = line_chars.get(at..at + wanted.len()) {
        if window.iter().zip(&wanted).all(|((_, c), w)| same(*c, *w)) {
            let start = window.first().map_or(0, |(byte, _)| *byte);
            let end = line_chars.get(at + wanted.len()).map_or(line.len(), |(byte, _)| *byte);
            found.push(start..end);
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    found
}

impl Model {
    /// How many lines a panel has to search in.
    pub(super) fn searched_lines(&self, pane: Pane) -> usize {
        match pane {
            Pane::Steps => self.steps.rows.len(),
            Pane::Source => self.source.lines.len(),
            Pane::Output => self.output.shown().map_or(0, |document| document.len()),
            Pane::State => self.state.rows.len(),
            Pane::Patch => self.patches.rows.len(),
            Pane::History => self.history.rows.len(),
            Pane::Context => self.context.rows.len(),
        }
    }

    /// Whether a line of a panel holds what is searched for.
    pub(super) fn line_holds(&self, pane: Pane, at: usize, text: &str) -> bool {
        match pane {
            Pane::Steps => match self.steps.rows.get(at) {
                Some(Row::Step(place)) => {
                    self.run.snapshot.steps.get(*place as usize).is_some_and(|step| contains(step.id.as_str(), text))
                }
                Some(Row::Frame { path, .. }) => contains(path, text),
                Some(Row::Chain { first, count }) => self
                    .run
                    .snapshot
                    .steps
                    .iter()
                    .skip(*first as usize)
                    .take(*count as usize)
                    .any(|step| contains(step.id.as_str(), text)),
                None => false,
            },
            Pane::Source => contains(self.source.lines.line(at), text),
            Pane::Output => self.output.shown().is_some_and(|document| contains(&document.line(at).1, text)),
            Pane::State => match self.state.rows.get(at) {
                Some(state::Row::Variable(at)) => {
                    self.state.list().get(*at).is_some_and(|v| contains(&v.name, text) || contains(&v.repr, text))
                }
                Some(state::Row::Part(way, at)) => {
                    let part = self.state.inside(way).and_then(|inside| inside.parts.get(*at));
                    part.is_some_and(|part| contains(&part.key, text) || contains(&part.repr, text))
                }
                _ => false,
            },
            Pane::History => match self.history.rows.get(at) {
                Some(history::Row::Diff(line)) => contains(line.content(), text),
                Some(history::Row::Entry(at)) => {
                    self.history.entry(*at).is_some_and(|entry| contains(&format!("{:?}", entry.what), text))
                }
                _ => false,
            },
            Pane::Context => match self.context.rows.get(at) {
                Some(context::Row::Part(part)) => self
                    .context
                    .part(*part)
                    .is_some_and(|part| contains(&part.title, text) || contains(&part.text, text)),
                Some(context::Row::Line(part, line)) => contains(self.context.line(*part, *line), text),
                None => false,
            },
            Pane::Patch => {
                let line = |file: usize, line: usize| self.patches.review.as_ref()?.files.get(file)?.lines.get(line);
                match self.patches.rows.get(at) {
                    Some(patch::Row::Line(file, at) | patch::Row::Result(file, _, at)) => {
                        line(*file, *at).is_some_and(|line| contains(line.content(), text))
                    }
                    Some(patch::Row::Pair(file, old, new)) => [old, new]
                        .into_iter()
                        .flatten()
                        .any(|at| line(*file, *at).is_some_and(|line| contains(line.content(), text))),
                    _ => false,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_letters_meet_capitals_but_not_the_other_way() {
        for (line, text, found) in [
            ("Error: no error", "error", vec![(0, 5), (10, 15)]),
            ("Error: no error", "Error", vec![(0, 5)]),
            ("İstanbul", "s", vec![(2, 3)]),
            ("aaa", "aa", vec![(0, 2)]),
        ] {
            let places: Vec<_> = places(line, text).iter().map(|place| (place.start, place.end)).collect();
            assert_eq!(places, found, "{line}");
        }
    }

    proptest! {
        #[test]
        fn places_are_of_the_line(line in ".{0,20}", text in ".{0,3}") {
            for range in places(&line, &text) {
                prop_assert!(line.get(range).is_some());
            }
        }
    }
}
