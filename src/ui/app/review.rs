//! A patch under review: its lines, which of them are taken, and the text that this makes. Pure.
//!
//! A line that goes and the line that comes in its place are paired, and stand and are written beside one another:
//! taking one pair of several changes that line where it stands, and moves no other.

mod compare;

use std::ops::Range;
use std::sync::Arc;

use self::compare::{compare, hunks};
use crate::step::{FileChange, Patch};

/// What was decided about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Choice {
    /// Nothing yet.
    #[default]
    Undecided,
    /// It is taken.
    Taken,
    /// It is left.
    Left,
}

/// What was decided about several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tally {
    /// Nothing about any.
    Undecided,
    /// All are taken.
    Taken,
    /// None is taken, and all are decided.
    Left,
    /// Something else.
    Partial,
}

/// What a line is to the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// It stays.
    Same,
    /// It goes.
    Removed,
    /// It comes.
    Added,
}

/// A line of a file under review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is to the change.
    pub tag: Tag,
    /// Its number before, from 1.
    pub old: Option<u32>,
    /// Its number after everything is taken, from 1.
    pub new: Option<u32>,
    /// Its text with its line break, if it has one.
    pub text: Arc<str>,
    /// The bytes that differ from the line that it is paired with.
    pub words: Vec<Range<usize>>,
    /// What was decided.
    pub choice: Choice,
}

impl Line {
    /// Its text without its line break.
    pub fn content(&self) -> &str {
        let text = self.text.strip_suffix('\n').unwrap_or(&self.text);
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// What can't be seen of it: other line breaks than usual, none at all, blanks at its end.
    pub fn remark(&self) -> Option<&'static str> {
        if self.tag == Tag::Same {
            return None;
        }
        let content = self.content();
        match () {
            () if !self.text.ends_with('\n') => Some("no line break at the end"),
            () if self.text.ends_with("\r\n") => Some("ends with CR LF"),
            () if content.ends_with([' ', '\t']) => Some("blanks at the end"),
            () => None,
        }
    }
}

/// A file under review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path in the run.
    pub path: String,
    /// The text that the patch was placed on; `None` makes a new file.
    pub base: Option<String>,
    /// The text after everything is taken; `None` deletes the file.
    pub result: Option<String>,
    /// All its lines, those that go before those that come.
    pub lines: Vec<Line>,
    /// The changes: ranges of lines.
    pub hunks: Vec<Hunk>,
}

/// Lines that change together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Which lines.
    pub lines: Range<usize>,
    /// What they stand in: the name of the function or class, if there is one.
    pub place: String,
}

/// A patch under review.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// The patch.
    pub patch: Arc<Patch>,
    /// Its files.
    pub files: Vec<File>,
}

impl Review {
    /// Puts a patch under review, nothing decided.
    pub fn of(patch: Arc<Patch>) -> Self {
        let files = patch.files.iter().map(File::of).collect();
        Self { patch, files }
    }

    /// Whether anything was decided.
    pub fn is_decided(&self) -> bool {
        self.changed().any(|line| line.choice != Choice::Undecided)
    }

    /// The lines that change.
    pub fn changed(&self) -> impl Iterator<Item = &Line> {
        self.files.iter().flat_map(|file| &file.lines).filter(|line| line.tag != Tag::Same)
    }

    /// How many changed lines are taken, of how many. While nothing is decided, all of them.
    pub fn taken(&self) -> (usize, usize) {
        let all = self.changed().count();
        let whole = !self.is_decided();
        (if whole { all } else { self.changed().filter(|line| line.choice == Choice::Taken).count() }, all)
    }

    /// How many changed lines are undecided.
    pub fn undecided(&self) -> usize {
        self.changed().filter(|line| line.choice == Choice::Undecided).count()
    }

    /// What is taken: while nothing is decided, everything; else what was taken, and no undecided line.
    pub fn selection(&self) -> Vec<FileChange> {
        let whole = !self.is_decided();
        self.files.iter().filter_map(|file| file.selection(whole)).collect()
    }

    /// All hunks, in order: file and hunk.
    pub fn hunks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.files.iter().enumerate().flat_map(|(at, file)| (0..file.hunks.len()).map(move |hunk| (at, hunk)))
    }

    /// The lines of a hunk.
    pub fn hunk(&self, file: usize, hunk: usize) -> Option<&[Line]> {
        let file = self.files.get(file)?;
        file.lines.get(file.hunks.get(hunk)?.lines.clone())
    }

    /// Decides about lines of a file; those that stay are nothing to decide about.
    pub fn decide(&mut self, file: usize, lines: Range<usize>, choice: Choice) {
        let lines = self.files.get_mut(file).and_then(|file| file.lines.get_mut(lines));
        for line in lines.into_iter().flatten().filter(|line| line.tag != Tag::Same) {
            line.choice = choice;
        }
    }

    /// Puts another text in the place of a file's result; what was decided about lines that are still there stays.
    pub fn rewrite(&mut self, at: usize, result: String) {
        let Some(file) = self.files.get_mut(at) else { return };
        let change = FileChange { path: file.path.clone(), base: file.base.clone(), result: Some(result) };
        let mut fresh = File::of(&change);
        let mut before: Vec<&Line> = file.lines.iter().filter(|line| line.tag != Tag::Same).collect();
        for line in fresh.lines.iter_mut().filter(|line| line.tag != Tag::Same) {
            let same = |other: &&Line| other.tag == line.tag && other.text == line.text;
            if let Some(at) = before.iter().position(same) {
                line.choice = before.remove(at).choice;
            }
        }
        *file = fresh;
    }

    /// Splits a hunk in two before a line of it; says whether it could be.
    pub fn split(&mut self, file: usize, line: usize) -> bool {
        let Some(hunks) = self.files.get_mut(file).map(|file| &mut file.hunks) else { return false };
        let Some(at) = hunks.iter().position(|hunk| hunk.lines.start < line && line < hunk.lines.end) else {
            return false;
        };
        if let Some(hunk) = hunks.get_mut(at) {
            let rest = Hunk { lines: line..hunk.lines.end, place: hunk.place.clone() };
            hunk.lines.end = line;
            hunks.insert(at + 1, rest);
        }
        true
    }
}

/// What was decided about lines, those that stay left out.
pub fn tally(lines: &[Line]) -> Tally {
    let mut counts = [0usize; 3];
    for line in lines.iter().filter(|line| line.tag != Tag::Same) {
        let slot = match line.choice {
            Choice::Undecided => 0,
            Choice::Taken => 1,
            Choice::Left => 2,
        };
        if let Some(count) = counts.get_mut(slot) {
            *count += 1;
        }
    }
    match counts {
        [_, 0, 0] => Tally::Undecided,
        [0, _, 0] => Tally::Taken,
        [0, 0, _] => Tally::Left,
        _ => Tally::Partial,
    }
}

/// How many lines come and how many go.
pub fn counts(lines: &[Line]) -> (usize, usize) {
    let count = |tag| lines.iter().filter(|line| line.tag == tag).count();
    (count(Tag::Added), count(Tag::Removed))
}

impl File {
    /// Compares the two texts of a change.
    pub fn of(change: &FileChange) -> Self {
        let old = change.base.as_deref().unwrap_or_default();
        let new = change.result.as_deref().unwrap_or_default();
        let lines = compare(old, new);
        let hunks = hunks(&lines);
        Self { path: change.path.clone(), base: change.base.clone(), result: change.result.clone(), lines, hunks }
    }

    /// The text that the taken lines make.
    pub fn text(&self, whole: bool) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let taken = whole || line.choice == Choice::Taken;
            let stays = match line.tag {
                Tag::Same => true,
                Tag::Removed => !taken,
                Tag::Added => taken,
            };
            if stays {
                // A line that was the last may be the last no more.
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&line.text);
            }
        }
        text
    }

    fn selection(&self, whole: bool) -> Option<FileChange> {
        let all = whole || self.lines.iter().all(|line| line.tag == Tag::Same || line.choice == Choice::Taken);
        let none = !whole && self.lines.iter().all(|line| line.tag == Tag::Same || line.choice != Choice::Taken);
        if none && !self.hunks.is_empty() {
            return None;
        }
        let result = if all { self.result.clone() } else { Some(self.text(false)) };
        (result != self.base).then(|| FileChange { path: self.path.clone(), base: self.base.clone(), result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(base: Option<&str>, result: Option<&str>) -> FileChange {
        FileChange { path: "a.py".into(), base: base.map(str::to_owned), result: result.map(str::to_owned) }
    }

    fn file(base: &str, result: &str) -> File {
        File::of(&change(Some(base), Some(result)))
    }

    fn review(base: &str, result: &str) -> Review {
        let patch = crate::ui::stage::patch(vec![change(Some(base), Some(result))]);
        Review::of(Arc::new(patch))
    }

    fn shown(file: &File) -> Vec<String> {
        let sign = |tag| match tag {
            Tag::Same => ' ',
            Tag::Removed => '-',
            Tag::Added => '+',
        };
        file.lines.iter().map(|line| format!("{}{}", sign(line.tag), line.content())).collect()
    }

    #[test]
    fn paired_lines_stand_together() {
        let file = file("keep\nalpha = one\nbeta = two\n", "keep\nalpha = 1\nbeta = 2\nnew\n");
        assert_eq!(shown(&file), [" keep", "-alpha = one", "+alpha = 1", "-beta = two", "+beta = 2", "+new"]);
        let words = |line: &Line| line.words.iter().map(|at| line.text[at.clone()].to_owned()).collect::<Vec<_>>();
        assert_eq!(words(&file.lines[1]), ["one"]);
        assert_eq!(words(&file.lines[2]), ["1"]);
    }

    #[test]
    fn taking_one_pair_changes_that_line_where_it_stands() {
        let mut review = review("alpha = one\nbeta = two\n", "alpha = 1\nbeta = 2\n");
        review.decide(0, 0..2, Choice::Taken);
        assert_eq!(review.files[0].text(false), "alpha = 1\nbeta = two\n");
        review.decide(0, 0..2, Choice::Left);
        review.decide(0, 2..4, Choice::Taken);
        assert_eq!(review.files[0].text(false), "alpha = one\nbeta = 2\n");
    }

    #[test]
    fn a_hunk_is_named_by_what_it_stands_in() {
        let file = file(
            "import a\n\ndef load():\n    x = 1\n    return x\n\nprint(1)\n",
            "import a\n\ndef load():\n    x = 2\n    return x\n\nprint(2)\n",
        );
        let places: Vec<&str> = file.hunks.iter().map(|hunk| hunk.place.as_str()).collect();
        assert_eq!(places, ["load", ""]);
    }

    #[test]
    fn what_is_decided_is_told_for_several_lines() {
        let mut review = review("a\nb\n", "c\nd\n");
        let whole = |review: &Review| tally(&review.files[0].lines);
        assert_eq!(whole(&review), Tally::Undecided);
        assert_eq!(review.taken(), (4, 4));
        review.decide(0, 0..1, Choice::Taken);
        assert_eq!(whole(&review), Tally::Partial);
        assert_eq!(review.taken(), (1, 4));
        review.decide(0, 0..9, Choice::Taken);
        assert_eq!(whole(&review), Tally::Partial, "a range beyond the end decides nothing");
        review.decide(0, 0..4, Choice::Taken);
        assert_eq!(whole(&review), Tally::Taken);
        review.decide(0, 0..4, Choice::Left);
        assert_eq!(whole(&review), Tally::Left);
        assert_eq!(review.selection(), []);
    }

    #[test]
    fn files_that_come_and_go() {
        let all = |base, result| {
            let patch = crate::ui::stage::patch(vec![change(base, result)]);
            Review::of(Arc::new(patch))
        };
        let made = all(None, Some("x = 1\n"));
        assert_eq!(made.selection(), [change(None, Some("x = 1\n"))]);
        let mut gone = all(Some("x = 1\ny = 2\n"), None);
        assert_eq!(gone.selection(), [change(Some("x = 1\ny = 2\n"), None)]);
        gone.decide(0, 0..1, Choice::Taken);
        assert_eq!(gone.selection(), [change(Some("x = 1\ny = 2\n"), Some("y = 2\n"))]);
    }

    #[test]
    fn choices_survive_an_edit_of_the_result() {
        let mut review = review("a\nb\n", "a\nc\nd\n");
        let c = review.files[0].lines.iter().position(|line| line.content() == "c").unwrap();
        review.decide(0, c..c + 1, Choice::Taken);
        review.rewrite(0, "a\nc\ne\n".to_owned());
        let choices: Vec<_> = review.changed().map(|line| (line.content().to_owned(), line.choice)).collect();
        assert!(choices.contains(&("c".to_owned(), Choice::Taken)));
        assert!(choices.contains(&("e".to_owned(), Choice::Undecided)));
    }

    #[test]
    fn a_hunk_is_split_within_and_not_at_its_edges() {
        let mut review = review("a\n", "b\nc\nd\n");
        assert_eq!(review.files[0].hunks.len(), 1);
        assert!(!review.split(0, 0));
        assert!(review.split(0, 2));
        assert_eq!(review.hunks().count(), 2);
        assert_eq!(review.hunk(0, 1).unwrap().len(), review.files[0].lines.len() - 2);
    }

    fn texts() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a = 1\n", "a = 2\n", "b\n", "\n", "    x\n", "c\r\n", "é 世\n"]);
        (prop::collection::vec(line, 0..12), prop::sample::select(vec!["", "end", "x = 3"]))
            .prop_map(|(lines, end)| lines.concat() + end)
    }

    proptest! {
        #[test]
        fn taking_all_gives_the_result_and_taking_none_the_base(base in texts(), result in texts()) {
            let file = file(&base, &result);
            prop_assert_eq!(file.text(true), result);
            prop_assert_eq!(file.text(false), base);
        }

        #[test]
        fn any_choice_keeps_every_line_that_stays_in_order(
            base in texts(), result in texts(), choices in prop::collection::vec(any::<bool>(), 0..40)
        ) {
            let mut review = review(&base, &result);
            for (at, taken) in choices.into_iter().enumerate() {
                review.decide(0, at..at + 1, if taken { Choice::Taken } else { Choice::Left });
            }
            let text = review.files[0].text(false);
            let mut rest = text.as_str();
            for line in review.files[0].lines.iter().filter(|line| line.tag == Tag::Same) {
                let at = rest.find(line.content());
                prop_assert!(at.is_some());
                rest = &rest[at.unwrap() + line.content().len()..];
            }
            for line in &review.files[0].lines {
                for range in &line.words {
                    prop_assert!(line.content().get(range.clone()).is_some());
                }
            }
        }
    }
}
