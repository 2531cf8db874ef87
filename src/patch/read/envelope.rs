//! The `*** Begin Patch` envelope.
//!
//! Grammar: `*** Begin Patch`, then `*** Add File: p` with added lines, `*** Delete File: p`, or
//! `*** Update File: p` (with `*** Move to: p`) and chunks that begin with `@@ anchor`, perhaps several,
//! and may end with `*** End of File`; then `*** End Patch`.

use super::unified::body_line;
use crate::patch::note::{Note, NoteKind, Problem, Reason};
use crate::patch::reading::{Body, BodyLine, FileEdit, Hunk, LineNumber, Named, Operation, Reading, Tag};

/// Whether an envelope begins at this line.
pub(super) fn starts(line: &str) -> bool {
    line.trim() == "*** Begin Patch"
}

/// Whether the line begins a here-document that may hold an envelope.
pub(super) fn heredoc(line: &str) -> bool {
    line.contains("<<") && ["apply_patch", "applypatch", "cat", "patch"].iter().any(|word| line.contains(word))
}

/// Reads an envelope that begins at `lines[at]`, and says where it ends.
pub(super) fn read(lines: &[&str], at: usize, first: usize, reading: &mut Reading) -> usize {
    let mut parser = Parser { lines, at: at + 1, first, reading };
    parser.run();
    parser.at
}

struct Parser<'a, 'p> {
    lines: &'a [&'p str],
    at: usize,
    first: usize,
    reading: &'a mut Reading,
}

impl<'p> Parser<'_, 'p> {
    fn line(&self) -> Option<&'p str> {
        self.lines.get(self.at).copied()
    }

    fn number(&self) -> usize {
        self.first + self.at
    }

    fn problem(&mut self, reason: Reason, text: String, hint: &str) {
        let at = self.number();
        self.reading.problems.push(Problem::new(reason, text).hint(hint).at(at));
    }

    fn marker(line: &'p str, key: &str) -> Option<&'p str> {
        line.trim().strip_prefix(key).map(str::trim)
    }

    fn run(&mut self) {
        loop {
            let Some(line) = self.line() else {
                self.problem(
                    Reason::CutOff,
                    "the envelope has no `*** End Patch`: it seems to be cut off".to_owned(),
                    "send the whole patch again",
                );
                return;
            };
            let at = self.number();
            self.at += 1;
            let (path, operation) = if line.trim() == "*** End Patch" {
                return;
            } else if let Some(path) = Self::marker(line, "*** Add File:") {
                (path, Operation::Create { text: self.added() })
            } else if let Some(path) = Self::marker(line, "*** Delete File:") {
                (path, Operation::Delete { shown: None })
            } else if let Some(path) = Self::marker(line, "*** Update File:") {
                let rename =
                    self.line().and_then(|l| Self::marker(l, "*** Move to:")).map(|to| Named::As(to.to_owned()));
                self.at += usize::from(rename.is_some());
                (path, Operation::Change { rename, copy: false, hunks: self.chunks() })
            } else if line.trim().is_empty() {
                continue;
            } else {
                self.at -= 1;
                self.problem(
                    Reason::Syntax,
                    format!("`{}` is no part of an envelope", crate::patch::shorten(line, 60)),
                    "sections begin with *** Add File, *** Delete File or *** Update File",
                );
                self.at = self.lines.len();
                return;
            };
            self.reading.edits.push(FileEdit {
                path: Named::As(path.to_owned()),
                also: None,
                operation,
                made_for: None,
                at,
            });
        }
    }

    /// The lines of a new file.
    fn added(&mut self) -> String {
        let mut text = String::new();
        while let Some(line) = self.line().and_then(|line| line.strip_prefix('+')) {
            text.push_str(line);
            text.push('\n');
            self.at += 1;
        }
        text
    }

    fn chunks(&mut self) -> Vec<Hunk> {
        let mut hunks = Vec::new();
        while let Some(line) = self.line() {
            if Self::ends_section(line) {
                break;
            }
            let at = self.number();
            let mut hunk = Hunk {
                body: Body::Diff(Vec::new()),
                number: None,
                anchors: Vec::new(),
                heading: None,
                at_end: false,
                at,
            };
            self.headers(&mut hunk);
            let lines = self.chunk_lines(&mut hunk);
            if lines.is_empty() && hunk.anchors.is_empty() && self.number() == at {
                self.at += 1;
                continue;
            }
            hunk.body = Body::Diff(lines);
            hunks.push(hunk);
        }
        hunks
    }

    fn ends_section(line: &str) -> bool {
        let line = line.trim();
        line == "*** End Patch"
            || ["*** Add File:", "*** Delete File:", "*** Update File:"].iter().any(|m| line.starts_with(m))
    }

    /// The `@@` lines of a chunk, and headers of a unified diff that were put into the envelope.
    fn headers(&mut self, hunk: &mut Hunk) {
        while let Some(line) = self.line() {
            let trimmed = line.trim_end();
            let pair = line.starts_with("--- ")
                && self.lines.get(self.at + 1).is_some_and(|l| l.starts_with("+++ "))
                && self.lines.get(self.at + 2).is_some_and(|l| l.starts_with("@@"));
            if pair {
                self.mixed();
                self.at += 2;
            } else if trimmed == "@@" || trimmed == "@@ @@" || trimmed == "@@ ... @@" {
                self.at += 1;
            } else if let Some(rest) = trimmed.strip_prefix("@@ ") {
                self.at += 1;
                match numbered(rest) {
                    Some((start, heading)) => {
                        self.mixed();
                        // The counts are checked nowhere in an envelope: the number is only told, not believed.
                        hunk.number = Some(LineNumber { start, trusted: false });
                        hunk.heading = heading;
                    }
                    None => {
                        let anchor = rest.trim().strip_suffix("@@").unwrap_or(rest).trim();
                        if !anchor.is_empty() {
                            hunk.anchors.push(anchor.to_owned());
                        }
                    }
                }
            } else {
                return;
            }
        }
    }

    fn mixed(&mut self) {
        if !self.reading.notes.iter().any(|note| note.kind == NoteKind::MixedFormat) {
            self.reading.notes.push(Note::new(NoteKind::MixedFormat, "headers of a unified diff within an envelope"));
        }
    }

    fn chunk_lines(&mut self, hunk: &mut Hunk) -> Vec<BodyLine> {
        let mut lines = Vec::new();
        let mut kept = 0;
        while let Some(line) = self.line() {
            if line.trim() == "*** End of File" {
                hunk.at_end = true;
                self.at += 1;
                break;
            }
            let pair = line.starts_with("--- ")
                && self.lines.get(self.at + 1).is_some_and(|l| l.starts_with("+++ "))
                && self.lines.get(self.at + 2).is_some_and(|l| l.starts_with("@@"));
            if Self::ends_section(line) || line.starts_with("@@") || pair {
                break;
            }
            self.at += 1;
            if line.starts_with('\\') {
                continue;
            }
            lines.push(body_line(line).unwrap_or_else(|| BodyLine {
                tag: Tag::Bare,
                text: line.to_owned(),
                no_newline: false,
            }));
            if !line.trim_end_matches('\r').is_empty() {
                kept = lines.len();
            }
        }
        lines.truncate(kept);
        lines
    }
}

/// The numbers of a unified header, and what stands behind them.
fn numbered(rest: &str) -> Option<(usize, Option<String>)> {
    let (numbers, behind) = rest.split_once("@@").unwrap_or((rest, ""));
    let mut parts = numbers.split_whitespace();
    let old = parts.next()?.strip_prefix('-')?;
    parts.next()?.strip_prefix('+')?;
    let start = old.split(',').next()?.parse::<u32>().ok()?;
    let behind = behind.trim();
    Some((usize::try_from(start).ok()?, (!behind.is_empty()).then(|| behind.to_owned())))
}
