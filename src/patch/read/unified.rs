//! Unified diffs: git's, `difflib`'s, `diff -u`'s, and the damaged ones that models write.
//!
//! Grammar (git's dialect): `--- OLD`, `+++ NEW`, hunks of `@@ -n,c +n,c @@ heading` and lines that begin with
//! a blank, `-`, `+` or `\`. A body is read by the header's counts where they hold, and by its marks where
//! they don't; then the counts, and with them the line number, are not believed.

use super::names::{git_names, header_name, named, unquote};
use super::placeholder::is_elision;
use crate::patch::note::{Note, NoteKind, Problem, Reason};
use crate::patch::reading::{Body, BodyLine, FileEdit, Format, Hunk, LineNumber, Named, Operation, Reading, Tag};

/// Whether a diff begins at this line: a header, or a hunk without one.
pub(super) fn starts(lines: &[&str], at: usize) -> bool {
    let line = lines.get(at).copied().unwrap_or_default();
    line.starts_with("diff --git ")
        || line.starts_with("diff --cc ")
        || line.starts_with("diff --combined ")
        || is_header_pair(lines, at)
        || is_hunk_header(line)
}

/// `--- x` followed by `+++ y`.
fn is_header_pair(lines: &[&str], at: usize) -> bool {
    lines.get(at).is_some_and(|l| l.starts_with("--- ")) && lines.get(at + 1).is_some_and(|l| l.starts_with("+++ "))
}

fn is_hunk_header(line: &str) -> bool {
    let line = line.trim_end();
    line == "@@" || line.starts_with("@@ ") || line.starts_with("@@@ ")
}

/// How the end of what is read looks: whether something after it shows that it was not cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// A closing fence or marker follows.
    Closed,
    /// The text just ends.
    Open,
}

/// Reads a diff from `lines[at]` on, and says where it ends.
///
/// `first` is the 1-based line of the patch that `lines[0]` is.
pub(super) fn read(lines: &[&str], at: usize, first: usize, end: End, reading: &mut Reading) -> usize {
    let mut parser = Parser { lines, at, first, end, reading, section: None };
    parser.run();
    parser.finish_section();
    parser.at
}

/// Reads lines that carry marks but no header of any kind: one hunk for the file meant.
pub(super) fn read_bare(lines: &[&str], first: usize, end: End) -> Option<Reading> {
    let marked = |line: &&str| line.starts_with(['+', '-', ' ', '\\']) || line.trim().is_empty();
    let changed = |line: &&str| line.starts_with(['+', '-']);
    if !lines.iter().all(marked) || !lines.iter().any(changed) {
        return None;
    }
    let mut reading = Reading::new(Format::Unified);
    let mut parser = Parser { lines, at: 0, first, end, reading: &mut reading, section: None };
    parser.section = Some(Section::new(first));
    parser.headerless_hunk();
    parser.finish_section();
    Some(reading)
}

/// A file's part of a diff while it is read.
#[derive(Default)]
struct Section {
    old: Option<String>,
    new: Option<String>,
    git: Option<(String, String)>,
    created: bool,
    deleted: bool,
    rename: Option<(String, String)>,
    copy: bool,
    mode: bool,
    hunks: Vec<Hunk>,
    at: usize,
}

impl Section {
    fn new(at: usize) -> Self {
        Self { at, ..Self::default() }
    }
}

struct Parser<'a, 'p> {
    lines: &'a [&'p str],
    at: usize,
    first: usize,
    end: End,
    reading: &'a mut Reading,
    section: Option<Section>,
}

impl<'p> Parser<'_, 'p> {
    fn line(&self) -> Option<&'p str> {
        self.lines.get(self.at).copied()
    }

    fn number(&self) -> usize {
        self.first + self.at
    }

    fn problem(&mut self, reason: Reason, text: impl Into<String>, hint: &str) {
        let at = self.number();
        self.reading.problems.push(Problem::new(reason, text).hint(hint).at(at));
    }

    fn run(&mut self) {
        while let Some(line) = self.line() {
            if line.starts_with("diff --git ") {
                self.finish_section();
                let mut section = Section::new(self.number());
                section.git = git_names(line.trim_end());
                self.section = Some(section);
                self.at += 1;
            } else if line.starts_with("diff --cc ") || line.starts_with("diff --combined ") || line.starts_with("@@@ ")
            {
                self.problem(
                    Reason::Unsupported,
                    "this is the combined diff of a merge",
                    "give a diff against one parent: git diff HEAD^1",
                );
                self.at = self.lines.len();
            } else if is_header_pair(self.lines, self.at) {
                self.file_header(line);
            } else if is_hunk_header(line) {
                self.section.get_or_insert_with(|| Section::new(self.first + self.at));
                self.hunk(line);
            } else if !self.extended_header(line) && !self.headerless() && !self.junk(line) {
                break;
            }
        }
    }

    fn file_header(&mut self, line: &str) {
        let old = header_name(line.get(4..).unwrap_or_default());
        let new = header_name(self.lines.get(self.at + 1).and_then(|l| l.get(4..)).unwrap_or_default());
        let fresh = self.section.as_ref().is_none_or(|s| s.old.is_some() || !s.hunks.is_empty());
        if fresh {
            self.finish_section();
            self.section = Some(Section::new(self.number()));
        }
        if let Some(section) = &mut self.section {
            section.created |= old == "/dev/null";
            section.deleted |= new == "/dev/null";
            section.old = Some(old);
            section.new = Some(new);
        }
        self.at += 2;
    }

    /// A line of git's between `diff --git` and `---`.
    fn extended_header(&mut self, line: &str) -> bool {
        let line = line.trim_end_matches('\r');
        if line.starts_with("GIT binary patch") || (line.starts_with("Binary files ") && line.ends_with("differ")) {
            self.problem(Reason::Unsupported, "this is a patch of a binary file", "steps are text: give a text diff");
            self.at = self.lines.len();
            return true;
        }
        let Some(section) = self.section.as_mut().filter(|s| s.git.is_some() && s.hunks.is_empty() && s.old.is_none())
        else {
            return false;
        };
        let value = |key: &str| line.strip_prefix(key).map(unquote);
        if let Some(mode) = value("new file mode ") {
            section.created = true;
            if mode.starts_with("12") || mode.starts_with("16") {
                self.problem(Reason::Unsupported, "it makes a symbolic link or a submodule", "give a text file");
            }
        } else if line.starts_with("deleted file mode ") {
            section.deleted = true;
        } else if line.starts_with("old mode ") || line.starts_with("new mode ") {
            section.mode = true;
        } else if let Some(from) = value("rename from ").or_else(|| value("copy from ")) {
            section.copy = line.starts_with("copy");
            section.rename.get_or_insert_default().0 = from;
        } else if let Some(to) = value("rename to ").or_else(|| value("copy to ")) {
            section.rename.get_or_insert_default().1 = to;
        } else if !(line.starts_with("index ")
            || line.starts_with("similarity index ")
            || line.starts_with("dissimilarity index "))
        {
            return false;
        }
        self.at += 1;
        true
    }

    /// A body right after a file header, without `@@`.
    fn headerless(&mut self) -> bool {
        let opened = self.section.as_ref().is_some_and(|s| s.old.is_some() && s.hunks.is_empty());
        if !opened {
            return false;
        }
        let run = self.lines.get(self.at..).unwrap_or_default();
        let length = run.iter().take_while(|l| l.starts_with([' ', '+', '-', '\\']) || l.trim().is_empty()).count();
        if !run.iter().take(length).any(|l| l.starts_with(['+', '-'])) {
            return false;
        }
        // What ends a body may stand right here: then there is none.
        let before = self.at;
        self.headerless_hunk();
        self.at > before
    }

    fn headerless_hunk(&mut self) {
        let at = self.number();
        let lines = self.marked_lines();
        self.push_hunk(lines, None, None, at);
    }

    /// What may stand between files: `Index:`, a row of `=`, the trailer of `git format-patch`, blank lines.
    fn junk(&mut self, line: &str) -> bool {
        let line = line.trim_end();
        let trailer = line == "--" && self.lines.len() - self.at <= 4;
        let known =
            line.is_empty() || line.starts_with("Index: ") || (line.len() > 9 && line.bytes().all(|b| b == b'='));
        if trailer {
            self.at = self.lines.len();
        } else if known {
            self.at += 1;
        }
        trailer || known
    }

    fn hunk(&mut self, header: &str) {
        let at = self.number();
        let header = Header::parse(header.trim_end());
        self.at += 1;
        let mut trusted = false;
        let lines = match header.counts.and_then(|counts| self.counted_lines(counts)) {
            Some(lines) => {
                trusted = true;
                lines
            }
            None => self.marked_lines(),
        };
        let have = counts_of(&lines);
        if let Some(counts) = header.counts.filter(|_| !trusted) {
            trusted = have == counts;
            if !trusted {
                self.wrong_counts(&lines, have, counts, at);
            }
        }
        let number = header.start.map(|start| {
            // `-5,0` names the line before the insertion.
            let insertion = !lines.iter().any(|line| line.tag.is_old());
            LineNumber { start: if insertion { start + 1 } else { start }, trusted }
        });
        self.push_hunk(lines, number, header.heading, at);
    }

    fn wrong_counts(&mut self, lines: &[BodyLine], have: (usize, usize), said: (usize, usize), at: usize) {
        let last = lines.last().map(|line| line.tag);
        let short = have.0 < said.0 || have.1 < said.1;
        let ends_here = self.end == End::Open && self.at >= self.lines.len();
        let cut_off = (last == Some(Tag::Old) && have.1 < said.1)
            || (last != Some(Tag::Context) && last != Some(Tag::Bare) && short && ends_here);
        if cut_off {
            self.reading.problems.push(
                Problem::new(
                    Reason::CutOff,
                    format!(
                        "the hunk has {} old and {} new lines where its header says {} and {}, and ends within a change: it seems to be cut off",
                        have.0, have.1, said.0, said.1
                    ),
                )
                .hint("send the whole patch again")
                .at(at),
            );
        } else {
            self.reading.notes.push(Note::new(
                NoteKind::Recounted,
                format!("the header says {} old and {} new lines, there are {} and {}", said.0, said.1, have.0, have.1),
            ));
        }
    }

    /// The body as the counts say, or nothing if the lines do not agree with them.
    fn counted_lines(&mut self, (mut old, mut new): (usize, usize)) -> Option<Vec<BodyLine>> {
        let mut lines: Vec<BodyLine> = Vec::new();
        let mut at = self.at;
        while old > 0 || new > 0 {
            let line = self.lines.get(at)?;
            let body = body_line(line)?;
            match body.tag {
                Tag::Context => {
                    old = old.checked_sub(1)?;
                    new = new.checked_sub(1)?;
                }
                Tag::Old => old = old.checked_sub(1)?,
                Tag::New => new = new.checked_sub(1)?,
                Tag::Bare | Tag::Gap => return None,
            }
            lines.push(body);
            at += 1;
            if self.lines.get(at).is_some_and(|l| l.starts_with('\\')) {
                lines.last_mut()?.no_newline = true;
                at += 1;
            }
        }
        // What follows must not look like more of the same hunk.
        let more = self.lines.get(at).is_some_and(|line| line.starts_with(['+', '-', ' ']));
        if more && !is_header_pair(self.lines, at) && !self.is_trailer(at) {
            return None;
        }
        self.at = at;
        Some(lines)
    }

    fn is_trailer(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| line.trim_end() == "--") && self.lines.len() - at <= 4
    }

    /// The body as the marks say: up to the next header.
    fn marked_lines(&mut self) -> Vec<BodyLine> {
        let mut lines: Vec<BodyLine> = Vec::new();
        // Blank lines at the end belong to what stands between hunks, not to the hunk.
        let mut kept = 0;
        while let Some(line) = self.line() {
            if is_hunk_header(line)
                || line.starts_with("diff --git ")
                || is_header_pair(self.lines, self.at)
                || line.starts_with("```")
                || line.starts_with("*** ")
                || line.starts_with("Index: ")
                || self.is_trailer(self.at)
            {
                break;
            }
            self.at += 1;
            if line.starts_with('\\') {
                if let Some(last) = lines.last_mut() {
                    last.no_newline = true;
                }
                continue;
            }
            let blank = line.trim_end_matches('\r').is_empty();
            lines.push(body_line(line).unwrap_or_else(|| BodyLine {
                tag: Tag::Bare,
                text: line.to_owned(),
                no_newline: false,
            }));
            if !blank {
                kept = lines.len();
            }
        }
        lines.truncate(kept);
        lines
    }

    fn push_hunk(&mut self, lines: Vec<BodyLine>, number: Option<LineNumber>, heading: Option<String>, at: usize) {
        if lines.is_empty() {
            return;
        }
        if let Some(section) = &mut self.section {
            section.hunks.push(Hunk {
                body: Body::Diff(lines),
                number,
                anchors: Vec::new(),
                heading,
                at_end: false,
                at,
            });
        }
    }

    fn finish_section(&mut self) {
        let Some(section) = self.section.take() else { return };
        let (path, also) = named(section.old.as_deref(), section.new.as_deref(), section.git.as_ref());
        if section.hunks.is_empty() && section.mode {
            self.reading.notes.push(Note::new(NoteKind::Mode, "a change of file mode is left out"));
        }
        let (path, operation) = if section.created {
            if section.hunks.iter().any(holds_old_lines) {
                self.reading.problems.push(
                    Problem::new(Reason::Syntax, "a new file can't have removed or unchanged lines")
                        .hint("name the old file in the `---` line instead of /dev/null")
                        .at(section.at),
                );
            }
            (path, Operation::Create { text: added_text(&section.hunks) })
        } else if section.deleted {
            (path, Operation::Delete { shown: Some(section.hunks) })
        } else if let Some((from, to)) = section.rename {
            (
                Named::As(from),
                Operation::Change { rename: Some(Named::As(to)), copy: section.copy, hunks: section.hunks },
            )
        } else {
            // A header alone changes nothing; the whole is malformed if nothing else is there.
            (path, Operation::Change { rename: None, copy: false, hunks: section.hunks })
        };
        self.reading.edits.push(FileEdit { path, also, operation, made_for: None, at: section.at });
    }
}

fn holds_old_lines(hunk: &Hunk) -> bool {
    matches!(&hunk.body, Body::Diff(lines) if lines.iter().any(|line| line.tag.is_old()))
}

/// The text that the added lines make.
pub(in crate::patch) fn added_text(hunks: &[Hunk]) -> String {
    let mut text = String::new();
    for hunk in hunks {
        if let Body::Diff(lines) = &hunk.body {
            for line in lines.iter().filter(|line| line.tag == Tag::New) {
                text.push_str(&line.text);
                if !line.no_newline {
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// A line of a body by its mark; nothing if it has none.
pub(super) fn body_line(line: &str) -> Option<BodyLine> {
    let mut chars = line.chars();
    let tag = match chars.next() {
        None | Some('\r') if line.trim_end_matches('\r').is_empty() => {
            return Some(BodyLine { tag: Tag::Context, text: line.to_owned(), no_newline: false });
        }
        Some(' ') => Tag::Context,
        Some('-') => Tag::Old,
        Some('+') => Tag::New,
        _ => return None,
    };
    Some(BodyLine { tag, text: chars.as_str().to_owned(), no_newline: false })
}

fn counts_of(lines: &[BodyLine]) -> (usize, usize) {
    (lines.iter().filter(|l| l.tag.is_old()).count(), lines.iter().filter(|l| l.tag.is_new()).count())
}

/// Turns context lines that are only `...` into gaps; false if there are none.
pub(in crate::patch) fn with_gaps(lines: &[BodyLine]) -> Option<Vec<BodyLine>> {
    let gap = |line: &BodyLine| matches!(line.tag, Tag::Context | Tag::Bare) && is_elision(&line.text);
    lines.iter().any(gap).then(|| {
        lines
            .iter()
            .map(|line| if gap(line) { BodyLine { tag: Tag::Gap, ..line.clone() } } else { line.clone() })
            .collect()
    })
}

/// What stands between and behind the `@@`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Header {
    start: Option<usize>,
    counts: Option<(usize, usize)>,
    heading: Option<String>,
}

impl Header {
    fn parse(line: &str) -> Self {
        let rest = line.strip_prefix("@@").unwrap_or(line).trim();
        let (inner, behind) = match rest.split_once("@@") {
            Some((inner, behind)) => (inner.trim(), behind.trim()),
            None => (rest, ""),
        };
        let text = |text: &str| (!text.is_empty() && !is_elision(text)).then(|| text.to_owned());
        let mut parts = inner.split_whitespace();
        let old = parts.next().and_then(|part| part.strip_prefix('-')).and_then(range);
        let new = parts.next().and_then(|part| part.strip_prefix('+')).and_then(range);
        match (old, new) {
            (Some((start, old)), Some((_, new))) => {
                Self { start: Some(start), counts: Some((old, new)), heading: text(behind) }
            }
            (Some((start, _)), None) => Self { start: Some(start), counts: None, heading: text(behind) },
            _ => Self { start: None, counts: None, heading: text(inner).or_else(|| text(behind)) },
        }
    }
}

/// `n,c` or `n`, which means `n,1`.
fn range(text: &str) -> Option<(usize, usize)> {
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    let small = |text: &str| text.parse::<u32>().ok().and_then(|n| usize::try_from(n).ok());
    Some((small(start)?, small(count)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Reading {
        let lines: Vec<&str> = text.lines().collect();
        let mut reading = Reading::new(Format::Unified);
        read(&lines, 0, 1, End::Open, &mut reading);
        reading
    }

    #[test]
    fn headers_of_every_kind_are_told_apart() {
        let header = |text| Header::parse(text);
        assert_eq!(header("@@ -1,2 +3 @@ def f():").counts, Some((2, 1)));
        assert_eq!(header("@@ -1,2 +3 @@ def f():").heading.as_deref(), Some("def f():"));
        assert_eq!(header("@@ ... @@"), Header::default());
        assert_eq!(header("@@"), Header::default());
        assert_eq!(header("@@ @@"), Header::default());
        assert_eq!(header("@@ class A:").heading.as_deref(), Some("class A:"));
        assert_eq!(header("@@ -99999999999999999999 +1 @@").start, None);
    }

    #[test]
    fn a_removed_line_that_looks_like_a_header_is_a_line_while_the_counts_ask_for_it() {
        let reading =
            parse("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n--- b\n+++ c\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n");
        assert_eq!(reading.edits.len(), 2);
        let Operation::Change { hunks, .. } = &reading.edits[0].operation else { panic!() };
        let Body::Diff(lines) = &hunks[0].body else { panic!() };
        assert_eq!(lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(), ["a", "-- b", "++ c"]);
    }

    #[test]
    fn wrong_counts_do_not_swallow_the_next_file() {
        let reading = parse("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-1\n+2\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n");
        assert_eq!(reading.edits.len(), 2);
        assert_eq!(reading.notes.len(), 1);
        assert!(reading.problems.is_empty());
    }

    #[test]
    fn a_header_that_only_a_trailer_follows_has_no_body() {
        let reading = parse("--- a/x\n+++ b/x\n--\n2.43.0\n");
        let Operation::Change { hunks, .. } = &reading.edits[0].operation else { panic!() };
        assert!(hunks.is_empty());
    }

    #[test]
    fn a_body_that_stops_within_a_change_is_cut_off() {
        for text in ["@@ -1,4 +1,4 @@\n a\n-b\n", "@@ -1,4 +1,5 @@\n a\n-b\n+c\n"] {
            let reading = parse(text);
            assert_eq!(reading.problems.first().and_then(|p| p.reason), Some(Reason::CutOff), "{text}");
        }
    }
}
