//! Taking and leaving: the whole, a file, a hunk or a line, and the text that follows.

use serde::Serialize;

use super::{FileReview, Hunk, Line, Review};
use crate::step::FileChange;

/// How much is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Everything.
    All,
    /// Some of it.
    Part,
    /// Nothing.
    None,
}

impl Choice {
    fn of(taken: impl IntoIterator<Item = bool>) -> Self {
        let (mut any, mut all) = (false, true);
        for one in taken {
            any |= one;
            all &= one;
        }
        match (any, all) {
            (_, true) => Self::All,
            (true, false) => Self::Part,
            (false, false) => Self::None,
        }
    }
}

/// A part of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    /// All of it.
    Patch,
    /// A file, by its place.
    File(usize),
    /// A hunk of a file.
    Hunk(usize, usize),
    /// A line: file, hunk, run, whether it is one that comes, and its place in the run.
    Line {
        /// Place of the file.
        file: usize,
        /// Place of the hunk in it.
        hunk: usize,
        /// Place of the run in it.
        run: usize,
        /// Whether it is an added line.
        added: bool,
        /// Place of the line among those of its side.
        line: usize,
    },
}

impl Review {
    /// How much of a part is taken. A part that is not there is taken, since nothing of it is left.
    pub fn choice(&self, at: At) -> Choice {
        match at {
            At::Patch => Choice::of(self.files.iter().flat_map(FileReview::all_taken)),
            At::File(file) => Choice::of(self.files.get(file).into_iter().flat_map(FileReview::all_taken)),
            At::Hunk(file, hunk) => {
                let hunk = self.files.get(file).and_then(|file| file.hunks.get(hunk));
                Choice::of(hunk.into_iter().flat_map(Hunk::lines).map(|line| line.taken))
            }
            At::Line { .. } => Choice::of(self.line(at).map(|line| line.taken)),
        }
    }

    /// Takes or leaves a part.
    pub fn set(&mut self, at: At, taken: bool) {
        match at {
            At::Patch => self.files.iter_mut().for_each(|file| file.set(taken)),
            At::File(file) => {
                if let Some(file) = self.files.get_mut(file) {
                    file.set(taken);
                }
            }
            At::Hunk(file, hunk) => {
                if let Some(file) = self.files.get_mut(file)
                    && let Some(hunk) = file.hunks.get_mut(hunk)
                {
                    hunk.lines_mut().for_each(|line| line.taken = taken);
                    file.follow();
                }
            }
            At::Line { file, .. } => {
                if let Some(line) = self.line_mut(at) {
                    line.taken = taken;
                }
                if let Some(file) = self.files.get_mut(file) {
                    file.follow();
                }
            }
        }
    }

    /// Leaves a part that is taken whole, and takes any other.
    pub fn toggle(&mut self, at: At) {
        let taken = self.choice(at) != Choice::All;
        self.set(at, taken);
    }

    /// A line.
    pub fn line(&self, at: At) -> Option<&Line> {
        let At::Line { file, hunk, run, added, line } = at else { return None };
        let run = self.files.get(file)?.hunks.get(hunk)?.runs.get(run)?;
        if added { run.new.get(line) } else { run.old.get(line) }
    }

    fn line_mut(&mut self, at: At) -> Option<&mut Line> {
        let At::Line { file, hunk, run, added, line } = at else { return None };
        let run = self.files.get_mut(file)?.hunks.get_mut(hunk)?.runs.get_mut(run)?;
        if added { run.new.get_mut(line) } else { run.old.get_mut(line) }
    }

    /// What is taken, as changes of files. Files of which nothing is taken are not among them.
    pub fn selection(&self) -> Vec<FileChange> {
        self.files.iter().flat_map(FileReview::selection).collect()
    }

    /// What is left of the patch once the selection is made: changes on top of it.
    pub fn rest(&self) -> Vec<FileChange> {
        self.files.iter().flat_map(FileReview::rest).collect()
    }
}

impl FileReview {
    fn all_taken(&self) -> impl Iterator<Item = bool> {
        let own = (self.hunks.is_empty() || self.is_new() || self.deleted || self.from.is_some()).then_some(self.taken);
        own.into_iter().chain(self.hunks.iter().flat_map(Hunk::lines).map(|line| line.taken))
    }

    fn set(&mut self, taken: bool) {
        self.taken = taken;
        self.hunks.iter_mut().flat_map(Hunk::lines_mut).for_each(|line| line.taken = taken);
    }

    /// A file is made, moved or deleted if any of its lines is taken; deleted only if all are.
    fn follow(&mut self) {
        if self.hunks.is_empty() {
            return;
        }
        let mut lines = self.hunks.iter().flat_map(Hunk::lines);
        self.taken = if self.deleted { lines.all(|line| line.taken) } else { lines.any(|line| line.taken) };
    }

    /// The text with what is taken, or with everything.
    pub fn text(&self, everything: bool) -> String {
        let mut text = String::new();
        let mut push = |line: &str| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(line);
        };
        let mut at = 0;
        for run in self.hunks.iter().flat_map(|hunk| &hunk.runs) {
            self.lines.get(at..run.at).unwrap_or_default().iter().for_each(|line| push(line));
            run.old.iter().filter(|line| !line.taken && !everything).for_each(|line| push(&line.text));
            run.new.iter().filter(|line| line.taken || everything).for_each(|line| push(&line.text));
            at = run.at + run.old.len();
        }
        self.lines.get(at..).unwrap_or_default().iter().for_each(|line| push(line));
        text
    }

    fn before(&self) -> Option<String> {
        self.base.as_deref().map(str::to_owned)
    }

    fn after(&self, everything: bool) -> Option<String> {
        if !everything && !self.taken && (self.is_new() || self.from.is_some() || self.deleted) {
            // Lines of a file that is to go may be taken without the file going.
            return if self.deleted { Some(self.text(false)) } else { self.before() };
        }
        (!self.deleted).then(|| self.text(everything))
    }

    fn selection(&self) -> Vec<FileChange> {
        let mut changes = Vec::new();
        let after = self.after(false);
        match &self.from {
            Some(from) if self.taken => {
                changes.push(FileChange { path: from.clone(), base: self.before(), result: None });
                changes.push(FileChange { path: self.path.clone(), base: None, result: after });
            }
            Some(_) => {}
            None => changes.push(FileChange { path: self.path.clone(), base: self.before(), result: after }),
        }
        changes.retain(|change| change.base != change.result);
        changes
    }

    fn rest(&self) -> Vec<FileChange> {
        let whole = self.after(true);
        let mut changes = Vec::new();
        match &self.from {
            Some(from) if !self.taken => {
                changes.push(FileChange { path: from.clone(), base: self.before(), result: None });
                changes.push(FileChange { path: self.path.clone(), base: None, result: whole });
            }
            _ => changes.push(FileChange { path: self.path.clone(), base: self.after(false), result: whole }),
        }
        changes.retain(|change| change.base != change.result);
        changes
    }
}

impl Hunk {
    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.runs.iter().flat_map(|run| run.old.iter().chain(&run.new))
    }

    fn lines_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        self.runs.iter_mut().flat_map(|run| run.old.iter_mut().chain(&mut run.new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(base: Option<&str>, result: Option<&str>) -> FileChange {
        FileChange { path: "a.py".into(), base: base.map(Into::into), result: result.map(Into::into) }
    }

    #[test]
    fn three_states_follow_the_lines() {
        let mut review = Review::new(&[change(Some("a\nb\n"), Some("x\nb\ny\n"))]);
        assert_eq!(review.choice(At::Patch), Choice::All);
        let line = At::Line { file: 0, hunk: 0, run: 1, added: true, line: 0 };
        review.toggle(line);
        assert_eq!(
            (review.choice(line), review.choice(At::Hunk(0, 0)), review.choice(At::Patch)),
            (Choice::None, Choice::Part, Choice::Part)
        );
        assert_eq!(review.selection(), [change(Some("a\nb\n"), Some("x\nb\n"))]);
        review.toggle(At::File(0));
        assert_eq!(review.choice(At::Patch), Choice::All);
        review.set(At::Patch, false);
        assert_eq!((review.choice(At::Patch), review.selection()), (Choice::None, vec![]));
    }

    #[test]
    fn a_removed_line_that_is_left_stays_before_what_comes() {
        let mut review = Review::new(&[change(Some("a\nb"), Some("a\nc"))]);
        review.set(At::Line { file: 0, hunk: 0, run: 0, added: false, line: 0 }, false);
        assert_eq!(review.selection(), [change(Some("a\nb"), Some("a\nb\nc"))]);
    }

    #[test]
    fn files_are_made_deleted_and_moved_only_if_taken() {
        let mut review = Review::new(&[change(None, Some("x\ny\n"))]);
        review.set(At::Line { file: 0, hunk: 0, run: 0, added: true, line: 0 }, false);
        assert_eq!(review.selection(), [change(None, Some("y\n"))]);
        review.set(At::Patch, false);
        assert_eq!(review.selection(), []);
        assert_eq!(review.rest(), [change(None, Some("x\ny\n"))]);

        let mut review = Review::new(&[change(Some("x\ny\n"), None)]);
        assert_eq!(review.selection(), [change(Some("x\ny\n"), None)]);
        review.set(At::Line { file: 0, hunk: 0, run: 0, added: false, line: 0 }, false);
        assert_eq!(review.selection(), [change(Some("x\ny\n"), Some("x\n"))]);

        let empty = Review::new(&[change(None, Some(""))]);
        assert_eq!(empty.selection(), [change(None, Some(""))]);
    }

    proptest! {
        #[test]
        fn all_is_the_result_none_the_base_and_a_part_with_its_rest_the_result(
            base in "([ab]|  a)?(\n([ab]|  a|)){0,12}\n?",
            result in "([ac]|  a)?(\n([ac]|  a|)){0,12}\n?",
            bits in any::<u64>(),
        ) {
            let original = change(Some(&base), Some(&result));
            prop_assume!(base != result);
            let mut review = Review::new(std::slice::from_ref(&original));
            prop_assert_eq!(review.selection(), vec![original.clone()]);
            let places: Vec<At> = review.files[0].hunks.iter().enumerate().flat_map(|(h, hunk)| {
                hunk.runs.iter().enumerate().flat_map(move |(r, run)| {
                    let at = move |added, line| At::Line { file: 0, hunk: h, run: r, added, line };
                    (0..run.old.len()).map(move |l| at(false, l)).chain((0..run.new.len()).map(move |l| at(true, l)))
                })
            }).collect();
            for (index, at) in places.into_iter().enumerate() {
                review.set(at, bits >> (index % 64) & 1 == 1);
            }
            let selection = review.selection();
            let after = selection.first().map_or(Some(base.clone()), |change| change.result.clone());
            let rest = review.rest();
            let end = rest.first().map_or(after.clone(), |change| change.result.clone());
            prop_assert_eq!(rest.first().map_or(after.clone(), |change| change.base.clone()), after);
            prop_assert_eq!(end, Some(result));
            review.set(At::Patch, false);
            prop_assert_eq!(review.selection(), vec![]);
            prop_assert_eq!(review.rest(), vec![original]);
        }
    }
}
