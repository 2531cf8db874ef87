//! A patch as a person looks at it: hunks and lines that are taken or left, and the text that follows.
//!
//! # Architecture
//!
//! - [`Review`] is made from what a patch changes ([`FileChange`]) and forgets the format that it came in. It
//!   holds [`FileReview`]s, these [`Hunk`]s, these [`Run`]s of [`Line`]s; every line is taken or not.
//! - [`choice`]: taking and leaving, in three states; the text of a selection, and what is left of the patch.
//! - [`inline`]: what differs within a line, by words. [`Label`]: changes of blanks alone are called so.
//! - [`rows`]: the review as [`Row`]s to draw, unified, side by side or as the result, folded. Pure data.
//!
//! Taking is as in `git add -p`: a removed line that is not taken stays, an added one is left out.

mod choice;
mod inline;
mod rows;

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

pub use choice::{At, Choice};
pub use rows::{Cell, Folds, Mark, Row, Style};

use super::diff::differing;
use super::lines::split;
use crate::step::FileChange;

/// A patch under review.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// Its files, in the order of the patch.
    pub files: Vec<FileReview>,
}

/// What a patch does to one file, and how much of it is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct FileReview {
    /// The path after the patch.
    pub path: String,
    /// The path before, if the patch moves the file.
    pub from: Option<String>,
    /// The text that it is placed on; `None` for a new file.
    pub base: Option<Arc<str>>,
    /// Whether the file is gone after the patch.
    pub deleted: bool,
    /// What changes, in order of place.
    pub hunks: Vec<Hunk>,
    /// Whether the file as such is made, moved or deleted; for a file that only changes always so.
    pub taken: bool,
    /// The lines of the base, with their endings.
    lines: Vec<String>,
}

/// Changes that stand close together.
#[derive(Debug, Clone, PartialEq)]
pub struct Hunk {
    /// Runs of changed lines, with at most a few unchanged ones between.
    pub runs: Vec<Run>,
    /// Whether a person edited what it adds.
    pub edited: bool,
    /// What can be said of it at a glance.
    pub label: Option<Label>,
}

/// Lines that go and lines that come in their place.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// 0-based line of the base at which it stands.
    pub at: usize,
    /// Lines that go.
    pub old: Vec<Line>,
    /// Lines that come.
    pub new: Vec<Line>,
}

/// A line of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// With its ending.
    pub text: String,
    /// Whether its going or coming is taken.
    pub taken: bool,
    /// Bytes of `text` that differ from the line on the other side that it belongs to.
    pub spans: Vec<Range<usize>>,
}

/// What can be said of a hunk at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// Only line endings or the final newline change.
    Endings,
    /// Only blanks at line ends or blank lines change: Python sees no difference.
    Blanks,
    /// Only indentation changes, which Python may see.
    Indentation,
    /// Only comments change.
    Comments,
}

impl Label {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Endings => "line endings",
            Self::Blanks => "blanks only",
            Self::Indentation => "indentation",
            Self::Comments => "comments only",
        }
    }
}

/// Unchanged lines on each side of a change that belong to its hunk.
pub const CONTEXT: usize = 3;

impl Review {
    /// A review of `changes` with everything taken.
    pub fn new(changes: &[FileChange]) -> Self {
        let mut files: Vec<FileReview> = Vec::new();
        let moved = moves(changes);
        for (index, change) in changes.iter().enumerate() {
            if moved.iter().any(|(from, _)| *from == index) {
                continue;
            }
            let from = moved.iter().find(|(_, to)| *to == index).and_then(|(from, _)| changes.get(*from));
            let base = from.map_or(change.base.as_deref(), |from| from.base.as_deref());
            files.push(FileReview::new(
                change.path.clone(),
                from.map(|from| from.path.clone()),
                base,
                change.result.as_deref(),
            ));
        }
        Self { files }
    }

    /// How many lines are added and removed.
    pub fn counts(&self) -> (usize, usize) {
        self.files.iter().fold((0, 0), |(added, removed), file| {
            let (a, r) = file.counts();
            (added + a, removed + r)
        })
    }
}

/// Pairs of a deleted and a new file that are one moved file, by their places in `changes`.
fn moves(changes: &[FileChange]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (to, new) in changes.iter().enumerate() {
        let (None, Some(text)) = (&new.base, &new.result) else { continue };
        let best = changes
            .iter()
            .enumerate()
            .filter(|(from, old)| old.result.is_none() && !pairs.iter().any(|(taken, _)| taken == from))
            .filter_map(|(from, old)| Some((alike(old.base.as_deref()?, text)?, from)))
            .max();
        if let Some((_, from)) = best {
            pairs.push((from, to));
        }
    }
    pairs
}

/// How much of two texts is the same, in hundredths; nothing if less than half, as git counts a rename.
fn alike(old: &str, new: &str) -> Option<usize> {
    let (a, b) = (split(old), split(new));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let texts = |lines: &[super::lines::Line<'_>]| lines.iter().map(|line| line.text.to_owned()).collect::<Vec<_>>();
    let changed: usize = differing(&texts(&a), &texts(&b)).iter().map(|(x, y)| x.len().max(y.len())).sum();
    let most = a.len().max(b.len());
    let score = (most.saturating_sub(changed)) * 100 / most;
    (score >= 50).then_some(score)
}

impl FileReview {
    fn new(path: String, from: Option<String>, base: Option<&str>, result: Option<&str>) -> Self {
        let own = |text: &str| split(text).into_iter().map(|line| line.whole.to_owned()).collect::<Vec<String>>();
        let lines = base.map(own).unwrap_or_default();
        let new = result.map(own).unwrap_or_default();
        let hunks = grouped(runs(&lines, &new, 0));
        Self { path, from, base: base.map(Arc::from), deleted: result.is_none(), hunks, taken: true, lines }
    }

    /// How many lines are added and removed.
    pub fn counts(&self) -> (usize, usize) {
        self.hunks.iter().flat_map(|hunk| &hunk.runs).fold((0, 0), |(a, r), run| (a + run.new.len(), r + run.old.len()))
    }

    /// Whether the file is made by the patch.
    pub fn is_new(&self) -> bool {
        self.base.is_none()
    }

    /// The new side of a hunk, with the unchanged lines within it: what a person edits.
    pub fn new_side(&self, hunk: usize) -> Option<String> {
        let hunk = self.hunks.get(hunk)?;
        let mut text = String::new();
        let mut at = hunk.start();
        for run in &hunk.runs {
            for line in self.lines.get(at..run.at).unwrap_or_default() {
                text.push_str(line);
            }
            for line in &run.new {
                text.push_str(&line.text);
            }
            at = run.at + run.old.len();
        }
        Some(text)
    }

    /// Replaces the new side of a hunk by a person's text, all of it taken. A hunk that changes nothing any
    /// more goes. False if there is no such hunk.
    pub fn edit(&mut self, hunk: usize, text: &str) -> bool {
        let Some(old) = self.hunks.get(hunk) else { return false };
        let (start, end) = (old.start(), old.end());
        let mut new: Vec<String> = split(text).into_iter().map(|line| line.whole.to_owned()).collect();
        // A person's editor may leave the newline out where more lines follow.
        if end < self.lines.len()
            && let Some(last) = new.last_mut().filter(|line| !line.ends_with('\n'))
        {
            last.push('\n');
        }
        let edited = runs(self.lines.get(start..end).unwrap_or_default(), &new, start);
        if edited.is_empty() {
            self.hunks.remove(hunk);
        } else if let Some(slot) = self.hunks.get_mut(hunk) {
            *slot = Hunk { label: label(&edited), runs: edited, edited: true };
        }
        true
    }

    /// Divides a hunk: into its runs, or a single run of as many old as new lines into pairs. False if it
    /// can't be divided.
    pub fn split(&mut self, hunk: usize) -> bool {
        let Some(whole) = self.hunks.get(hunk) else { return false };
        let parts: Vec<Vec<Run>> = match whole.runs.as_slice() {
            [] => return false,
            [run] if run.old.len() == run.new.len() && run.old.len() > 1 => run
                .old
                .iter()
                .zip(&run.new)
                .enumerate()
                .map(|(offset, (old, new))| {
                    vec![Run { at: run.at + offset, old: vec![old.clone()], new: vec![new.clone()] }]
                })
                .collect(),
            [_] => return false,
            runs => runs.iter().map(|run| vec![run.clone()]).collect(),
        };
        let edited = whole.edited;
        let parts = parts.into_iter().map(|runs| Hunk { label: label(&runs), runs, edited });
        self.hunks.splice(hunk..=hunk, parts);
        true
    }
}

impl Hunk {
    /// 0-based first line of the base that it changes.
    pub fn start(&self) -> usize {
        self.runs.first().map_or(0, |run| run.at)
    }

    /// Behind the last line of the base that it changes.
    pub fn end(&self) -> usize {
        self.runs.last().map_or(0, |run| run.at + run.old.len())
    }
}

/// What differs between `old`, which begins at line `at` of the base, and `new`.
fn runs(old: &[String], new: &[String], at: usize) -> Vec<Run> {
    let line = |text: &String| Line { text: text.clone(), taken: true, spans: Vec::new() };
    differing(old, new)
        .into_iter()
        .map(|(a, b)| {
            let mut run = Run {
                at: at + a.start,
                old: old.get(a).unwrap_or_default().iter().map(line).collect(),
                new: new.get(b).unwrap_or_default().iter().map(line).collect(),
            };
            inline::mark(&mut run);
            run
        })
        .collect()
}

/// Runs whose contexts touch are one hunk.
fn grouped(runs: Vec<Run>) -> Vec<Hunk> {
    let mut groups: Vec<Vec<Run>> = Vec::new();
    for run in runs {
        let close = groups
            .last()
            .and_then(|group| group.last())
            .is_some_and(|last| run.at.saturating_sub(last.at + last.old.len()) <= 2 * CONTEXT);
        match groups.last_mut() {
            Some(group) if close => group.push(run),
            _ => groups.push(vec![run]),
        }
    }
    groups.into_iter().map(|runs| Hunk { label: label(&runs), runs, edited: false }).collect()
}

/// What all runs have in common that makes them less than they look.
fn label(runs: &[Run]) -> Option<Label> {
    let same = |key: fn(&str) -> Option<String>| {
        runs.iter().all(|run| {
            let side = |lines: &[Line]| lines.iter().filter_map(|line| key(&line.text)).collect::<Vec<_>>();
            side(&run.old) == side(&run.new)
        })
    };
    if same(|line| Some(line.trim_end_matches(['\r', '\n']).to_owned())) {
        Some(Label::Endings)
    } else if same(|line| Some(line.trim_end().to_owned()).filter(|line| !line.is_empty())) {
        Some(Label::Blanks)
    } else if same(|line| Some(line.trim().to_owned()).filter(|line| !line.is_empty())) {
        Some(Label::Indentation)
    } else if runs.iter().flat_map(|run| run.old.iter().chain(&run.new)).all(|line| {
        let text = line.text.trim();
        text.is_empty() || (text.starts_with('#') && !text.starts_with("# ///"))
    }) {
        Some(Label::Comments)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(base: &str, result: &str) -> FileChange {
        FileChange { path: "a.py".into(), base: Some(base.into()), result: Some(result.into()) }
    }

    fn only(base: &str, result: &str) -> FileReview {
        Review::new(&[change(base, result)]).files.remove(0)
    }

    #[test]
    fn changes_that_stand_close_are_one_hunk_and_can_be_split() {
        let base: String = (0..30).map(|n| format!("{n}\n")).collect();
        let result = base.replace("2\n3\n", "2\nx\n").replace("\n7\n", "\ny\n").replace("\n25\n", "\n");
        let mut file = only(&base, &result);
        assert_eq!(file.hunks.iter().map(|hunk| hunk.runs.len()).collect::<Vec<_>>(), [2, 1]);
        assert!(file.split(0));
        assert_eq!(file.hunks.iter().map(Hunk::start).collect::<Vec<_>>(), [3, 7, 25]);
        assert!(!file.split(2));
    }

    #[test]
    fn an_edited_hunk_is_compared_anew() {
        let mut file = only("a\nb\nc\n", "a\nx\nc\n");
        assert_eq!(file.new_side(0).as_deref(), Some("x\n"));
        assert!(file.edit(0, "y\nz"));
        assert!(file.hunks[0].edited);
        assert_eq!(file.new_side(0).as_deref(), Some("y\nz\n"));
        assert!(file.edit(0, "b\n"));
        assert!(file.hunks.is_empty());
        assert!(!file.edit(0, "b\n"));
    }

    #[test]
    fn labels_say_what_a_hunk_is_only() {
        let label = |base, result| only(base, result).hunks[0].label;
        assert_eq!(label("a\n", "a\r\n"), Some(Label::Endings));
        assert_eq!(label("a\nb\n", "a \n\nb\n"), Some(Label::Blanks));
        assert_eq!(label("if x:\n    a\n", "if x:\n        a\n"), Some(Label::Indentation));
        assert_eq!(label("# a\n", "# b\n# c\n"), Some(Label::Comments));
        assert_eq!(label("a\n", "b\n"), None);
    }

    #[test]
    fn a_deleted_and_a_new_file_that_are_alike_are_one_moved_file() {
        let text = "one\ntwo\nthree\nfour\n";
        let changes = [
            FileChange { path: "old.py".into(), base: Some(text.into()), result: None },
            FileChange { path: "new.py".into(), base: None, result: Some(text.replace("two", "2")) },
            FileChange { path: "other.py".into(), base: None, result: Some("x\n".into()) },
        ];
        let review = Review::new(&changes);
        assert_eq!(review.files.len(), 2);
        assert_eq!(review.files[0].from.as_deref(), Some("old.py"));
        assert_eq!(review.counts(), (2, 1));
    }
}
