//! The patch under review: which is shown and how, and what is decided about it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::review::{Choice, Line, Review, Tag, Tally, tally};
use super::window::Window;
use crate::step::{Digest, FileChange, Patch, PatchId};
use crate::workbench::{Covering, TrialView, Weight};

/// How the patch is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// What goes and what comes, one under the other.
    #[default]
    Unified,
    /// Before on the left, after on the right.
    Split,
    /// The text that the present choice makes.
    Result,
    /// What a trial did.
    Trial,
}

/// A row of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A file's path.
    File(usize),
    /// A hunk's head: file and hunk.
    Hunk(usize, usize),
    /// A line: file and line.
    Line(usize, usize),
    /// A line before and a line after, beside one another.
    Pair(usize, Option<usize>, Option<usize>),
    /// So many lines that stay are not shown.
    Gap(usize, usize),
    /// A line of the result: file, number from 1, and the line of the review.
    Result(usize, usize, usize),
    /// A line of a trial.
    Trial(TrialLine),
}

/// A line of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialLine {
    /// A step: its place in the trial.
    Step(usize),
    /// A line that it printed no more.
    Gone(String),
    /// A line that it prints now.
    Come(String),
    /// A variable with another value: the step, and the place among its values.
    Value(usize, usize),
    /// Something that it did outside.
    Effect(String),
    /// A remark.
    Remark(String),
    /// A candidate beside the others, and whether what must pass does.
    Candidate(String, bool),
}

/// The panel's state.
#[derive(Debug, Clone)]
pub struct Patches {
    /// Which patch is shown.
    pub chosen: Option<PatchId>,
    /// It, under review, once it was told.
    pub review: Option<Review>,
    /// How it is shown.
    pub mode: Mode,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is seen.
    pub window: Window,
    /// The row where a range begins.
    pub anchor: Option<usize>,
    /// How many lines around a change are shown.
    pub context: usize,
    /// Whether lines that are too long are cut; they are wrapped otherwise.
    pub cut: bool,
    /// What accepting the present choice would come to.
    pub weight: Option<Arc<Weight>>,
    /// How many answers about that are on their way; the last one counts.
    pub weighing: usize,
    /// Those that were under review before, with what was decided about them.
    reviews: BTreeMap<PatchId, Review>,
    /// The newest patch when a proposal was taken in: the next that comes is shown.
    pub(super) awaits: Option<PatchId>,
    /// What a trial did.
    pub trial: Option<Arc<TrialView>>,
    /// What the last trials of all patches did: those for one fault stand side by side.
    pub trials: BTreeMap<PatchId, Arc<TrialView>>,
    /// Whether a trial is on its way.
    pub trying: bool,
    /// For which patch, as it stood then, it was asked last.
    pub(super) asked: Option<(PatchId, Digest)>,
}

impl Default for Patches {
    fn default() -> Self {
        Self {
            chosen: None,
            review: None,
            mode: Mode::Unified,
            rows: Vec::new(),
            window: Window::default(),
            anchor: None,
            context: 3,
            cut: false,
            weight: None,
            weighing: 0,
            reviews: BTreeMap::new(),
            awaits: None,
            trial: None,
            trials: BTreeMap::new(),
            trying: false,
            asked: None,
        }
    }
}

impl Patches {
    /// The tests that cover what the present choice writes anew.
    pub fn covering(&self) -> &[Covering] {
        self.weight.as_ref().map_or(&[], |weight| &weight.tests)
    }

    /// Shows another patch, or none.
    pub fn choose(&mut self, patch: Option<PatchId>) {
        if self.chosen != patch {
            let (context, cut, weighing) = (self.context, self.cut, self.weighing);
            let mode = if self.mode == Mode::Trial { Mode::Unified } else { self.mode };
            let trials = std::mem::take(&mut self.trials);
            let trial = patch.and_then(|patch| trials.get(&patch).cloned());
            let mut reviews = std::mem::take(&mut self.reviews);
            if let Some(review) = self.review.take() {
                reviews.insert(review.patch.id, review);
            }
            let review = patch.and_then(|patch| reviews.remove(&patch));
            let awaits = self.awaits;
            *self = Self {
                chosen: patch,
                review,
                reviews,
                awaits,
                context,
                cut,
                weighing,
                mode,
                trial,
                trials,
                ..Self::default()
            };
            self.begin();
        }
    }

    /// Takes a patch. What was decided about it is kept where it is the same patch as before. Says whether what
    /// its choice comes to must be asked.
    pub fn take(&mut self, patch: Arc<Patch>) -> bool {
        if self.chosen != Some(patch.id) {
            return false;
        }
        match &mut self.review {
            Some(review) if review.patch.content == patch.content && review.patch.files == patch.files => {
                review.patch = patch;
                return self.weight.is_none() && self.weighing == 0;
            }
            _ => self.review = Some(Review::of(patch)),
        }
        self.begin();
        true
    }

    /// Puts the cursor on the first hunk.
    fn begin(&mut self) {
        self.rebuild();
        let first = self.rows.iter().position(|row| matches!(row, Row::Hunk(..)));
        self.window = Window { cursor: first.unwrap_or(0), ..Window::default() };
    }

    /// Takes what a trial did.
    pub fn take_trial(&mut self, patch: PatchId, trial: Arc<TrialView>) {
        self.trials.insert(patch, Arc::clone(&trial));
        if self.chosen == Some(patch) {
            self.trial = Some(trial);
            self.trying = false;
            self.mode = Mode::Trial;
            self.window = Window::default();
        }
        if self.mode == Mode::Trial {
            self.rebuild();
        }
    }

    /// What is taken now.
    pub fn selection(&self) -> Vec<FileChange> {
        self.review.as_ref().map(Review::selection).unwrap_or_default()
    }

    /// Whether it was decided to leave all of it.
    pub fn takes_nothing(&self) -> bool {
        self.review.as_ref().is_some_and(|review| review.is_decided() && review.selection().is_empty())
    }

    /// Works the rows out anew and keeps the cursor on its line.
    pub fn rebuild(&mut self) {
        let at = self.rows.get(self.window.cursor).cloned();
        self.rows = match (&self.review, self.mode) {
            (None, _) => Vec::new(),
            (Some(_), Mode::Trial) => {
                let mut rows = beside_one_another(&self.trials);
                rows.extend(self.trial.as_deref().map(trial).unwrap_or_default());
                rows
            }
            (Some(review), Mode::Result) => result(review),
            (Some(review), Mode::Split) => unified(review, self.context, true),
            (Some(review), Mode::Unified) => unified(review, self.context, false),
        };
        self.anchor = None;
        if let Some((file, line)) = at.as_ref().and_then(place) {
            let near = |row: &Row| place(row).is_some_and(|(f, l)| f == file && l >= line);
            self.window.cursor = self.rows.iter().position(near).unwrap_or(self.window.cursor);
        }
        self.window.cursor = self.window.cursor.min(self.rows.len().saturating_sub(1));
    }

    /// The hunk that the cursor is in, or the next one below.
    pub fn hunk(&self) -> Option<(usize, usize)> {
        let review = self.review.as_ref()?;
        match self.rows.get(self.window.cursor)? {
            Row::Hunk(file, hunk) => Some((*file, *hunk)),
            row => {
                let (file, line) = place(row)?;
                // What stands below a hunk's head, its last unchanged lines as well, is looked at with it.
                let above = self.rows.get(..=self.window.cursor).unwrap_or_default().iter().rev();
                let head = above.take_while(|row| !matches!(row, Row::File(_))).find_map(|row| match row {
                    Row::Hunk(file, hunk) => Some((*file, *hunk)),
                    _ => None,
                });
                if head.is_some() {
                    return head;
                }
                review.hunks().find(|&(f, h)| {
                    let end = review.files.get(f).and_then(|file| file.hunks.get(h)).map_or(0, |hunk| hunk.lines.end);
                    f > file || f == file && line < end
                })
            }
        }
    }

    /// The place of the cursor's hunk among all hunks, from 1, and how many there are.
    pub fn progress(&self) -> Option<(usize, usize)> {
        let review = self.review.as_ref()?;
        let hunk = self.hunk()?;
        Some((review.hunks().position(|other| other == hunk)? + 1, review.hunks().count()))
    }

    /// Goes to the next hunk or the one before; says whether there was one.
    pub fn next_hunk(&mut self, forward: bool) -> bool {
        let at = self.window.cursor;
        let head = |row: usize| matches!(self.rows.get(row), Some(Row::Hunk(..)));
        let found = if forward {
            (at + 1..self.rows.len()).find(|row| head(*row))
        } else {
            (0..at).rev().find(|row| head(*row))
        };
        if let Some(row) = found {
            self.window.cursor = row;
        }
        found.is_some()
    }

    /// Goes to the next hunk about which something is undecided; says whether there is one.
    pub fn next_undecided(&mut self) -> bool {
        let Some(review) = &self.review else { return false };
        let open = |row: &Row| match row {
            Row::Hunk(file, hunk) => {
                let lines = review.hunk(*file, *hunk).unwrap_or_default();
                lines.iter().any(|line| line.choice == Choice::Undecided && line.tag != Tag::Same)
            }
            _ => false,
        };
        let at = self.window.cursor;
        let found = (at + 1..self.rows.len()).chain(0..at).find(|row| self.rows.get(*row).is_some_and(open));
        if let Some(row) = found {
            self.window.cursor = row;
        }
        found.is_some()
    }

    /// The lines that a key means: those of the range, or what the cursor is on (all of a hunk or a file on its
    /// head); `whole` widens a line to its hunk.
    fn meant(&self, whole: bool) -> Vec<(usize, Range<usize>)> {
        let Some(review) = &self.review else { return Vec::new() };
        let at = self.window.cursor;
        if let Some(anchor) = self.anchor {
            let rows = self.rows.get(anchor.min(at)..=anchor.max(at).min(self.rows.len().saturating_sub(1)));
            return rows.unwrap_or_default().iter().flat_map(|row| lines_of(row, review)).collect();
        }
        if whole && let Some((file, hunk)) = self.hunk() {
            return lines_of(&Row::Hunk(file, hunk), review);
        }
        self.rows.get(at).map(|row| lines_of(row, review)).unwrap_or_default()
    }

    /// Decides about what a key means; says whether anything was there to decide about.
    pub fn decide(&mut self, whole: bool, choice: Choice) -> bool {
        let meant = self.meant(whole);
        self.anchor = None;
        let Some(review) = &mut self.review else { return false };
        let any = meant.iter().any(|(file, lines)| {
            let lines = review.files.get(*file).and_then(|file| file.lines.get(lines.clone()));
            lines.unwrap_or_default().iter().any(|line| line.tag != Tag::Same)
        });
        for (file, lines) in meant {
            review.decide(file, lines, choice);
        }
        if self.mode == Mode::Result {
            self.rebuild();
        }
        any
    }

    /// Takes what is left and leaves what is taken.
    pub fn toggle(&mut self, whole: bool) -> bool {
        let Some(review) = &self.review else { return false };
        let meant = self.meant(whole);
        let lines: Vec<Line> = meant
            .iter()
            .filter_map(|(file, lines)| review.files.get(*file)?.lines.get(lines.clone()))
            .flatten()
            .cloned()
            .collect();
        let choice = if tally(&lines) == Tally::Taken { Choice::Left } else { Choice::Taken };
        self.decide(whole, choice)
    }

    /// The file and the line that the cursor is on, for a remark or an edit.
    pub fn at_cursor(&self) -> Option<(usize, usize)> {
        let row = self.rows.get(self.window.cursor)?;
        match row {
            Row::Hunk(file, hunk) => {
                Some((*file, self.review.as_ref()?.files.get(*file)?.hunks.get(*hunk)?.lines.start))
            }
            row => place(row),
        }
    }
}

/// The file and the line of a row.
fn place(row: &Row) -> Option<(usize, usize)> {
    match row {
        Row::Line(file, line) | Row::Result(file, _, line) => Some((*file, *line)),
        Row::Pair(file, old, new) => Some((*file, old.or(*new)?)),
        _ => None,
    }
}

fn lines_of(row: &Row, review: &Review) -> Vec<(usize, Range<usize>)> {
    match row {
        Row::File(at) => vec![(*at, 0..review.files.get(*at).map_or(0, |file| file.lines.len()))],
        Row::Hunk(file, hunk) => {
            let lines = review.files.get(*file).and_then(|file| file.hunks.get(*hunk)).map(|hunk| hunk.lines.clone());
            lines.map(|lines| (*file, lines)).into_iter().collect()
        }
        Row::Line(file, line) | Row::Result(file, _, line) => vec![(*file, *line..*line + 1)],
        Row::Pair(file, old, new) => [old, new].into_iter().flatten().map(|at| (*file, *at..*at + 1)).collect(),
        Row::Gap(..) | Row::Trial(_) => Vec::new(),
    }
}

fn unified(review: &Review, context: usize, split: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, file) in review.files.iter().enumerate() {
        rows.push(Row::File(at));
        let mut shown = 0;
        for (nth, hunk) in file.hunks.iter().enumerate() {
            let first = hunk.lines.start.saturating_sub(context).max(shown);
            let next = file.hunks.get(nth + 1).map_or(file.lines.len(), |next| next.lines.start);
            let last = (hunk.lines.end + context).min(next);
            if first > shown {
                rows.push(Row::Gap(at, first - shown));
            }
            rows.push(Row::Hunk(at, nth));
            if split {
                beside(at, &file.lines, first..last, &mut rows);
            } else {
                rows.extend((first..last).map(|line| Row::Line(at, line)));
            }
            shown = last;
        }
        if shown < file.lines.len() && !file.hunks.is_empty() {
            rows.push(Row::Gap(at, file.lines.len() - shown));
        }
    }
    rows
}

/// Lines before and after beside one another: of each run of changes, the first that goes beside the first that
/// comes.
fn beside(file: usize, lines: &[Line], range: Range<usize>, rows: &mut Vec<Row>) {
    let mut at = range.start;
    while at < range.end {
        let tag = |at: usize| lines.get(at).map_or(Tag::Same, |line| line.tag);
        if tag(at) == Tag::Same {
            rows.push(Row::Pair(file, Some(at), Some(at)));
            at += 1;
            continue;
        }
        let gone = (at..range.end).take_while(|at| tag(*at) == Tag::Removed).count();
        let come = (at + gone..range.end).take_while(|at| tag(*at) == Tag::Added).count();
        for nth in 0..gone.max(come) {
            let old = (nth < gone).then_some(at + nth);
            let new = (nth < come).then_some(at + gone + nth);
            rows.push(Row::Pair(file, old, new));
        }
        at += (gone + come).max(1);
    }
}

fn result(review: &Review) -> Vec<Row> {
    let whole = !review.is_decided();
    let mut rows = Vec::new();
    for (at, file) in review.files.iter().enumerate() {
        rows.push(Row::File(at));
        let mut number = 0;
        for (place, line) in file.lines.iter().enumerate() {
            let taken = whole || line.choice == Choice::Taken;
            if line.tag == Tag::Same || (line.tag == Tag::Added) == taken {
                number += 1;
                rows.push(Row::Result(at, number, place));
            }
        }
    }
    rows
}

/// Candidates side by side, those that do the same together; nothing where only one was tried.
fn beside_one_another(trials: &BTreeMap<PatchId, Arc<TrialView>>) -> Vec<Row> {
    let mut groups: Vec<(&TrialView, Vec<String>)> = Vec::new();
    for (id, trial) in trials {
        match groups.iter_mut().find(|(other, _)| other.is_like(trial)) {
            Some((_, ids)) => ids.push(id.to_string()),
            None => groups.push((trial, vec![id.to_string()])),
        }
    }
    if trials.len() < 2 {
        return Vec::new();
    }
    let line = |(trial, ids): &(&TrialView, Vec<String>)| {
        let (tests, _, passing) = trial.tests();
        let (before, after) = trial.failures();
        let gate = trial.refusal().map(|why| format!("  {why}")).unwrap_or_default();
        let ran = trial.stale.len();
        let names = ids.join(" = ");
        let text = format!("{names:8} {ran:>3} ran  failing {before} to {after}  tests {passing} of {tests}{gate}");
        Row::Trial(TrialLine::Candidate(text, gate.is_empty() && after <= before))
    };
    groups.iter().map(line).collect()
}

fn trial(trial: &TrialView) -> Vec<Row> {
    let mut rows: Vec<TrialLine> = trial.remarks.iter().cloned().map(TrialLine::Remark).collect();
    for (at, step) in trial.steps.iter().enumerate() {
        rows.push(TrialLine::Step(at));
        if step.output_before != step.output_after {
            let diff = similar::TextDiff::from_lines(&step.output_before, &step.output_after);
            for change in diff.iter_all_changes() {
                let text = change.value().trim_end_matches(['\n', '\r']).to_owned();
                match change.tag() {
                    similar::ChangeTag::Equal => {}
                    similar::ChangeTag::Delete => rows.push(TrialLine::Gone(text)),
                    similar::ChangeTag::Insert => rows.push(TrialLine::Come(text)),
                }
            }
        }
        rows.extend((0..step.values.len()).map(|value| TrialLine::Value(at, value)));
        rows.extend(step.effects.iter().cloned().map(TrialLine::Effect));
    }
    rows.into_iter().map(Row::Trial).collect()
}
