//! A review as rows to draw: unified, side by side, or the text that follows. Pure data, no terminal.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;

use super::{At, CONTEXT, Choice, FileReview, Hunk, Label, Line, Review, Run};

/// How a review is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Removed lines above added ones.
    #[default]
    Unified,
    /// Old text on the left, new on the right.
    Split,
    /// The text as it would be with what is taken.
    Result,
}

/// Which unchanged stretches are open. A stretch is known by its file and the base line that it begins at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folds {
    open: BTreeSet<(usize, usize)>,
    all: bool,
}

impl Folds {
    /// With every stretch open.
    pub fn all_open() -> Self {
        Self { open: BTreeSet::new(), all: true }
    }

    /// Opens or closes the stretch of `file` that begins at base line `start`.
    pub fn toggle(&mut self, file: usize, start: usize) {
        if !self.open.remove(&(file, start)) {
            self.open.insert((file, start));
        }
    }

    fn is_open(&self, file: usize, start: usize) -> bool {
        self.all || self.open.contains(&(file, start))
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "row", rename_all = "lowercase")]
pub enum Row {
    /// A file begins.
    File {
        /// Its place.
        file: usize,
        /// Its path after the patch.
        path: String,
        /// Its path before, if it is moved.
        from: Option<String>,
        /// `changed`, `new`, `deleted` or `moved`.
        what: &'static str,
        /// How much of it is taken.
        choice: Choice,
        /// Lines added and removed.
        lines: (usize, usize),
    },
    /// A hunk begins.
    Hunk {
        /// Place of the file.
        file: usize,
        /// Its place in the file.
        hunk: usize,
        /// First line and number of lines, in the old text and in the new one with everything taken.
        old: (usize, usize),
        /// As `old`, in the new text.
        new: (usize, usize),
        /// The line of the function or class around it.
        heading: Option<String>,
        /// How much of it is taken.
        choice: Choice,
        /// What can be said of it at a glance.
        label: Option<Label>,
        /// Whether a person edited it.
        edited: bool,
    },
    /// Unchanged lines that are not shown.
    Fold {
        /// Place of the file.
        file: usize,
        /// 0-based base line at which they begin.
        start: usize,
        /// How many.
        count: usize,
    },
    /// A line, in unified and result.
    Line {
        /// It.
        cell: Cell,
    },
    /// Two lines side by side.
    Pair {
        /// The old one.
        left: Option<Cell>,
        /// The new one.
        right: Option<Cell>,
    },
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// In both texts.
    Context,
    /// Goes.
    Removed,
    /// Comes.
    Added,
}

/// A line to draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// What it is.
    pub mark: Mark,
    /// Which line of the review it is; nothing for context.
    #[serde(skip)]
    pub at: Option<At>,
    /// 1-based number in the old text.
    pub old: Option<usize>,
    /// 1-based number in the new text: with everything taken, or in [`Style::Result`] with what is.
    pub new: Option<usize>,
    /// The line without its ending; hostile.
    pub text: String,
    /// Bytes of `text` that differ from the other side.
    pub spans: Vec<Range<usize>>,
    /// Whether it is taken.
    pub taken: bool,
    /// Whether it ends without a newline.
    pub no_newline: bool,
}

impl Review {
    /// The rows of the review.
    pub fn rows(&self, style: Style, folds: &Folds) -> Vec<Row> {
        let mut rows = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            let what = match (&file.from, file.is_new(), file.deleted) {
                (Some(_), ..) => "moved",
                (None, true, _) => "new",
                (None, false, true) => "deleted",
                (None, false, false) => "changed",
            };
            rows.push(Row::File {
                file: index,
                path: file.path.clone(),
                from: file.from.clone(),
                what,
                choice: self.choice(At::File(index)),
                lines: file.counts(),
            });
            Layout { review: self, file, index, style, folds, rows: &mut rows, old: 0, new: 0 }.file();
        }
        rows
    }
}

/// Fewer unchanged lines than this are shown.
const FOLD: usize = 3;

/// One file on its way to rows.
struct Layout<'a> {
    review: &'a Review,
    file: &'a FileReview,
    index: usize,
    style: Style,
    folds: &'a Folds,
    rows: &'a mut Vec<Row>,
    /// Lines of the base that are done.
    old: usize,
    /// Lines of the new text that are done.
    new: usize,
}

impl Layout<'_> {
    fn file(&mut self) {
        for (place, hunk) in self.file.hunks.iter().enumerate() {
            let between = self.old..hunk.start();
            let first = place == 0;
            self.gap(between, !first, true);
            self.header(place, hunk);
            // The gap that leads up to the hunk is drawn behind its header.
            self.leading(hunk.start());
            for (run_place, run) in hunk.runs.iter().enumerate() {
                self.context(self.old..run.at);
                self.run(place, run_place, run);
            }
        }
        let rest = self.old..self.file.lines.len();
        self.gap(rest, !self.file.hunks.is_empty(), false);
    }

    /// Unchanged lines between hunks: those next to a hunk are context, the rest is folded. The lines that lead
    /// up to the next hunk are left for [`Self::leading`].
    fn gap(&mut self, lines: Range<usize>, after: bool, before: bool) {
        let mut start = lines.start;
        if after {
            let shown = (start + CONTEXT).min(lines.end);
            self.context(start..shown);
            start = shown;
        }
        let end = if before { lines.end.saturating_sub(CONTEXT).max(start) } else { lines.end };
        if end - start < FOLD || self.folds.is_open(self.index, start) {
            self.context(start..end);
        } else {
            self.rows.push(Row::Fold { file: self.index, start, count: end - start });
            self.old += end - start;
            self.new += end - start;
        }
    }

    fn leading(&mut self, start: usize) {
        self.context(self.old..start);
    }

    fn header(&mut self, place: usize, hunk: &Hunk) {
        let lead = hunk.start() - self.old;
        let trail = self.file.lines.len().saturating_sub(hunk.end()).min(CONTEXT);
        let old = lead + (hunk.end() - hunk.start()) + trail;
        let changed: isize = hunk
            .runs
            .iter()
            .map(|run| isize::try_from(run.new.len()).unwrap_or(0) - isize::try_from(run.old.len()).unwrap_or(0))
            .sum();
        let start = |done: usize, count: usize| if count == 0 { done } else { done + 1 };
        let new = old.saturating_add_signed(changed);
        self.rows.push(Row::Hunk {
            file: self.index,
            hunk: place,
            old: (start(self.old, old), old),
            new: (start(self.new, new), new),
            heading: self.heading(hunk.start()),
            choice: self.review.choice(At::Hunk(self.index, place)),
            label: hunk.label,
            edited: hunk.edited,
        });
    }

    /// The nearest line above that opens a function or class.
    fn heading(&self, start: usize) -> Option<String> {
        const REACH: usize = 400;
        let above = self.file.lines.get(start.saturating_sub(REACH)..start)?;
        let opens = |line: &&String| {
            let line = line.trim_start();
            ["def ", "class ", "async def "].iter().any(|word| line.starts_with(word))
        };
        above.iter().rev().find(opens).map(|line| line.trim_end().to_owned())
    }

    fn context(&mut self, lines: Range<usize>) {
        for text in self.file.lines.get(lines).unwrap_or_default() {
            self.old += 1;
            self.new += 1;
            let cell = cell(text, Mark::Context, None, Some(self.old), Some(self.new), Vec::new(), true);
            self.rows.push(match self.style {
                Style::Split => Row::Pair { left: Some(cell.clone()), right: Some(cell) },
                Style::Unified | Style::Result => Row::Line { cell },
            });
        }
    }

    fn run(&mut self, hunk: usize, run_place: usize, run: &Run) {
        let at = |added, line| At::Line { file: self.index, hunk, run: run_place, added, line };
        let (old_at, new_at) = (self.old, self.new);
        let removed = |(place, line): (usize, &Line)| {
            cell(
                &line.text,
                Mark::Removed,
                Some(at(false, place)),
                Some(old_at + place + 1),
                None,
                line.spans.clone(),
                line.taken,
            )
        };
        let added = |(place, line): (usize, &Line)| {
            cell(
                &line.text,
                Mark::Added,
                Some(at(true, place)),
                None,
                Some(new_at + place + 1),
                line.spans.clone(),
                line.taken,
            )
        };
        let olds: Vec<Cell> = run.old.iter().enumerate().map(removed).collect();
        let news: Vec<Cell> = run.new.iter().enumerate().map(added).collect();
        self.old += run.old.len();
        match self.style {
            Style::Unified => {
                self.new += run.new.len();
                self.rows.extend(olds.into_iter().chain(news).map(|cell| Row::Line { cell }));
            }
            Style::Split => {
                self.new += run.new.len();
                let mut news = news.into_iter();
                let mut olds = olds.into_iter();
                loop {
                    let (left, right) = (olds.next(), news.next());
                    if left.is_none() && right.is_none() {
                        break;
                    }
                    self.rows.push(Row::Pair { left, right });
                }
            }
            Style::Result => {
                let stays =
                    olds.into_iter().filter(|cell| !cell.taken).map(|cell| Cell { mark: Mark::Context, ..cell });
                let comes = news.into_iter().filter(|cell| cell.taken);
                for mut cell in stays.chain(comes) {
                    self.new += 1;
                    cell.new = Some(self.new);
                    self.rows.push(Row::Line { cell });
                }
            }
        }
    }
}

fn cell(
    text: &str,
    mark: Mark,
    at: Option<At>,
    old: Option<usize>,
    new: Option<usize>,
    mut spans: Vec<Range<usize>>,
    taken: bool,
) -> Cell {
    let bare = text.trim_end_matches(['\r', '\n']);
    spans.retain_mut(|span| {
        span.end = span.end.min(bare.len());
        span.start < span.end
    });
    Cell { mark, at, old, new, text: bare.to_owned(), spans, taken, no_newline: !text.ends_with('\n') }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::FileChange;
    use std::fmt::Write as _;

    /// Rows as text, for people and tests.
    fn drawn(rows: &[Row]) -> String {
        let mut text = String::new();
        let side = |cell: &Option<Cell>| {
            cell.as_ref().map_or(String::new(), |cell| {
                let mark = match cell.mark {
                    Mark::Context => ' ',
                    Mark::Removed => '-',
                    Mark::Added => '+',
                };
                format!("{mark}{}", cell.text)
            })
        };
        for row in rows {
            let _ = match row {
                Row::File { path, what, lines, .. } => writeln!(text, "{what} {path} +{} -{}", lines.0, lines.1),
                Row::Hunk { old, new, heading, .. } => writeln!(
                    text,
                    "@@ -{},{} +{},{} @@ {}",
                    old.0,
                    old.1,
                    new.0,
                    new.1,
                    heading.as_deref().unwrap_or("")
                ),
                Row::Fold { count, .. } => writeln!(text, "... {count} lines"),
                Row::Line { cell } => {
                    let number = |n: Option<usize>| n.map_or(" ".to_owned(), |n| n.to_string());
                    writeln!(text, "{:>2} {:>2} {}", number(cell.old), number(cell.new), side(&Some(cell.clone())))
                }
                Row::Pair { left, right } => writeln!(text, "{:12}|{}", side(left), side(right)),
            };
        }
        text
    }

    fn review() -> Review {
        let base = "import os\n\n\ndef load(path):\n    a\n    b\n    c\n    d\n    value = 1\n    e\n    f\n    g\n    h\n    i\n    j\n    k\n    l\n    last = 2\n";
        let result = base.replace("value = 1\n", "value = 2\n    more = 3\n").replace("    last = 2\n", "");
        Review::new(&[FileChange { path: "a.py".into(), base: Some(base.into()), result: Some(result) }])
    }

    #[test]
    fn unified_rows_fold_what_is_far() {
        insta::assert_snapshot!(drawn(&review().rows(Style::Unified, &Folds::default())), @r"
        changed a.py +2 -2
        ... 5 lines
        @@ -6,7 +6,8 @@ def load(path):
         6  6      b
         7  7      c
         8  8      d
         9    -    value = 1
            9 +    value = 2
           10 +    more = 3
        10 11      e
        11 12      f
        12 13      g
        13 14      h
        14 15      i
        @@ -15,4 +16,3 @@ def load(path):
        15 16      j
        16 17      k
        17 18      l
        18    -    last = 2
        ");
    }

    #[test]
    fn split_rows_pair_what_is_replaced() {
        insta::assert_snapshot!(drawn(&review().rows(Style::Split, &Folds::default())), @r"
        changed a.py +2 -2
        ... 5 lines
        @@ -6,7 +6,8 @@ def load(path):
             b      |     b
             c      |     c
             d      |     d
        -    value = 1|+    value = 2
                    |+    more = 3
             e      |     e
             f      |     f
             g      |     g
             h      |     h
             i      |     i
        @@ -15,4 +16,3 @@ def load(path):
             j      |     j
             k      |     k
             l      |     l
        -    last = 2|
        ");
    }

    #[test]
    fn the_result_holds_what_is_taken() {
        let mut review = review();
        review.set(At::Line { file: 0, hunk: 0, run: 0, added: true, line: 1 }, false);
        review.set(At::Hunk(0, 1), false);
        let rows = review.rows(Style::Result, &Folds::all_open());
        let text: String = rows
            .iter()
            .filter_map(|row| if let Row::Line { cell } = row { Some(format!("{}\n", cell.text)) } else { None })
            .collect();
        assert_eq!(Some(text), review.selection()[0].result.clone());
    }

    #[test]
    fn the_same_fold_opens_in_every_style() {
        let mut folds = Folds::default();
        folds.toggle(0, 0);
        let review = review();
        let has_fold = |style, folds: &Folds| {
            review.rows(style, folds).iter().filter(|row| matches!(row, Row::Fold { .. })).count()
        };
        assert_eq!(has_fold(Style::Unified, &Folds::default()), has_fold(Style::Split, &folds) + 1);
    }
}
