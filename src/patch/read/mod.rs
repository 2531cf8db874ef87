//! From the text that an agent gave to what it says, whatever the format.
//!
//! # Architecture
//!
//! [`read_text`] walks over the text once. Prose is passed over; where a patch begins, the reader of its format
//! takes over and says where it ends:
//!
//! - [`unified`]: diffs, with the [`names`] in their headers; [`search`]: SEARCH/REPLACE; [`envelope`]: `*** Begin Patch`; [`json`]: edits as JSON
//!   and reweave's own form; [`ed`]: numbered commands; any other fence may be a whole file.
//! - [`fence`]: Markdown around them; [`placeholder`]: lines that stand for code left out.
//!
//! What comes out is one [`Reading`] for each format found; [`Guess`] says how sure it is that a bare text or
//! a fence is meant as a file.

mod ed;
mod envelope;
mod fence;
mod json;
mod names;
pub(super) mod placeholder;
mod search;
pub(super) mod unified;

use super::note::{Note, NoteKind, Problem, Reason};
use super::reading::{FileEdit, Format, Named, Operation, Reading};
use super::syntax;
use unified::End;

/// How often JSON is looked for in prose.
const JSON_TRIES: usize = 16;

/// How many later fences are tried as the end of a block whose text holds fences.
const INNER_FENCES: usize = 6;

/// How many fences without a file's name are considered. More are no patch but a document.
const FENCES: usize = 32;

/// Reads everything that `text` proposes. `first` is the 1-based line that it begins at.
pub(super) fn read_text(text: &str, first: usize) -> Vec<Reading> {
    let text = text.strip_prefix(super::lines::BOM).unwrap_or(text);
    if json::looks_like(text) {
        match json::read(text, first) {
            Ok(readings) => return readings,
            Err(problem) if json::meant_as_edits(text) || problem.reason == Some(Reason::CutOff) => {
                let mut reading = Reading::new(Format::Json);
                reading.problems.push(problem);
                return vec![reading];
            }
            Err(_) => {}
        }
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let lines = lines.strip_suffix(&[""]).unwrap_or(&lines);
    let mut scan = Scan { readings: Vec::new(), first, json_tries: JSON_TRIES, fences: 0 };
    scan.prose(text, lines);
    if scan.readings.is_empty() {
        if let Some(reading) = ed::read(lines, first).or_else(|| unified::read_bare(lines, first, End::Open)) {
            return vec![reading];
        }
        if !text.trim().is_empty() {
            return vec![whole_file(Named::Nothing, text.to_owned(), Guess::Raw, first)];
        }
    }
    scan.readings
}

/// How sure it is that a text is meant as a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    /// A file's name stands with it.
    Named,
    /// It stands in a fence and may be an example.
    Fenced,
    /// It stands alone and may be anything.
    Raw,
}

fn whole_file(path: Named, text: String, guess: Guess, at: usize) -> Reading {
    let mut reading = Reading::new(Format::WholeFile);
    let operation = Operation::Write { text, stated: guess == Guess::Named, exact: false };
    reading.edits.push(FileEdit { path, also: None, operation, made_for: None, at });
    if guess == Guess::Raw {
        reading.notes.push(Note::new(NoteKind::Raw, "the bare text is taken as the whole file"));
    }
    reading
}

/// A walk over the lines of a text.
struct Scan {
    readings: Vec<Reading>,
    first: usize,
    json_tries: usize,
    /// Whole files in fences so far, those with a name left out.
    fences: usize,
}

impl Scan {
    /// The reading of a format, made if it is the first of it.
    fn of(&mut self, format: Format) -> &mut Reading {
        let at = self.readings.iter().position(|reading| reading.format == format).unwrap_or_else(|| {
            self.readings.push(Reading::new(format));
            self.readings.len() - 1
        });
        &mut self.readings[at]
    }

    fn prose(&mut self, text: &str, lines: &[&str]) {
        let mut at = 0;
        let mut offset = 0;
        let mut counted = 0;
        while let Some(line) = lines.get(at) {
            while counted < at {
                offset += lines.get(counted).map_or(0, |line| line.len() + 1);
                counted += 1;
            }
            if let Some(fence) = fence::block(lines, at) {
                at = self.fenced(lines, fence);
            } else if let Some(next) = self.patch(lines, at, End::Open, None) {
                at = next;
            } else if self.json_tries > 0 && json::looks_like(line) {
                self.json_tries -= 1;
                at += self.json_in_prose(text.get(offset..).unwrap_or_default(), at);
            } else {
                at += 1;
            }
        }
    }

    /// Reads a patch with a beginning of its own at `lines[at]`, if there is one.
    fn patch(&mut self, lines: &[&str], at: usize, end: End, name: Option<&str>) -> Option<usize> {
        let line = lines.get(at)?;
        let first = self.first;
        if search::starts(line) {
            let name = search::name_above(lines, at)
                .or_else(|| fence::name_before(lines, at, 3))
                .or_else(|| name.map(str::to_owned));
            return Some(search::read(lines, at, first, name, self.of(Format::SearchReplace)));
        }
        if search::is_conflict_marker(line) {
            let problem = Problem::new(Reason::Unsupported, "these are the markers of a merge conflict, not a patch")
                .hint("a block begins with `<<<<<<< SEARCH`")
                .at(first + at);
            self.of(Format::SearchReplace).problems.push(problem);
            return Some(lines.len());
        }
        if envelope::starts(line) {
            let before = lines.get(..at).unwrap_or_default().iter().rev().find(|line| !line.trim().is_empty());
            let reading = self.of(Format::Envelope);
            if before.is_some_and(|line| envelope::heredoc(line)) {
                reading.notes.push(Note::new(NoteKind::Heredoc, "a here-document around the patch"));
            }
            return Some(envelope::read(lines, at, first, reading));
        }
        if line.starts_with("*** Update File:") || line.starts_with("*** Add File:") {
            let problem = Problem::new(Reason::CutOff, "a section of an envelope without `*** Begin Patch`")
                .hint("send the whole patch again")
                .at(first + at);
            self.of(Format::Envelope).problems.push(problem);
            return Some(lines.len());
        }
        if unified::starts(lines, at) {
            let next = unified::read(lines, at, first, end, self.of(Format::Unified));
            return Some(next.max(at + 1));
        }
        None
    }

    /// Reads JSON that stands in prose, and says how many lines it takes.
    fn json_in_prose(&mut self, text: &str, at: usize) -> usize {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
        if !matches!(values.next(), Some(Ok(_))) {
            return 1;
        }
        let json = text.get(..values.byte_offset()).unwrap_or_default();
        if let Ok(readings) = json::read(json, self.first + at) {
            self.readings.extend(readings.into_iter().filter(|reading| reading.problems.is_empty()));
        }
        json.matches('\n').count() + 1
    }

    /// Reads a fenced block, and says where it ends.
    fn fenced(&mut self, lines: &[&str], mut fence: fence::Fence) -> usize {
        let info = lines.get(fence.open).and_then(|line| fence::info(line)).unwrap_or_default();
        let (language, named) = fence::language_and_name(info);
        let name = named.or_else(|| fence::name_before(lines, fence.open, 3));
        let first = self.first + fence.open + 1;
        let content = lines.get(fence.open + 1..fence.close).unwrap_or_default();
        let end = if fence.closed { End::Closed } else { End::Open };
        let before = self.readings.len();
        let handled = self.fenced_patch(content, first, &language, name.as_deref(), end);
        if !handled {
            if name.is_none() {
                let code = matches!(language.as_str(), "" | "python" | "py" | "python3");
                if !code || content.iter().all(|line| line.trim().is_empty()) {
                    return fence.close + 1;
                }
                self.fences += 1;
                if self.fences > FENCES {
                    let text = format!("it holds more than {FENCES} pieces of code without a file's name");
                    let problem = Problem::new(Reason::NoPatch, text).hint("name the files, or send a diff");
                    self.of(Format::WholeFile).problems.push(problem.at(first));
                    return lines.len();
                }
            }
            let joined = |close: usize| lines.get(fence.open + 1..close).unwrap_or_default().join("\n") + "\n";
            let mut text = joined(fence.close);
            let mut inner = None;
            let later = fence::later_closings(lines, fence, INNER_FENCES);
            if fence.closed && !later.is_empty() && !syntax::parses(&text) {
                inner = later.into_iter().find(|close| syntax::parses(&joined(*close)));
            }
            if let Some(close) = inner {
                text = joined(close);
                fence.close = close;
            }
            if content.is_empty() {
                text.clear();
            }
            let (path, guess) = match name {
                Some(name) => (Named::As(name), Guess::Named),
                None => (Named::Nothing, Guess::Fenced),
            };
            let mut reading = whole_file(path, text, guess, first);
            if inner.is_some() {
                reading.notes.push(Note::new(NoteKind::InnerFence, "a fence within the text is part of the text"));
            }
            self.add_whole_file(reading, guess);
        }
        if !fence.closed && (handled || self.readings.len() > before) {
            let problem = Problem::new(Reason::CutOff, "the fence is not closed: the answer seems to be cut off")
                .hint("send the whole patch again")
                .at(self.first + fence.open);
            if let Some(reading) = self.readings.last_mut() {
                reading.problems.push(problem);
            }
        }
        fence.close + 1
    }

    /// Named files of one answer belong together; what has no name is an alternative.
    fn add_whole_file(&mut self, reading: Reading, guess: Guess) {
        let named = |other: &&mut Reading| {
            other.format == Format::WholeFile && other.edits.first().is_some_and(|edit| edit.path != Named::Nothing)
        };
        match self.readings.iter_mut().find(named).filter(|_| guess == Guess::Named) {
            Some(other) => {
                other.edits.extend(reading.edits);
                other.notes.extend(reading.notes);
            }
            None => self.readings.push(reading),
        }
    }

    /// Reads a fence that holds a patch; false if it holds something else.
    fn fenced_patch(&mut self, content: &[&str], first: usize, language: &str, name: Option<&str>, end: End) -> bool {
        let Some(start) = content.iter().position(|line| !line.trim().is_empty()) else { return false };
        let head = content.get(start).copied().unwrap_or_default();
        let is_diff = matches!(language, "diff" | "patch" | "udiff");
        let named_inside = fence::name_line(head).is_some();
        let opens = |at: usize| {
            content.get(at).is_some_and(|line| {
                search::starts(line)
                    || search::is_conflict_marker(line)
                    || envelope::starts(line)
                    || envelope::heredoc(line)
                    || unified::starts(content, at)
            })
        };
        if is_diff || opens(start) || (named_inside && opens(start + 1)) {
            let outer = std::mem::replace(&mut self.first, first);
            let found = self.patches(content, name, end);
            self.first = outer;
            if found {
                return true;
            }
            if is_diff && let Some(mut bare) = unified::read_bare(content, first, end) {
                if let (Some(name), Some(edit)) = (name, bare.edits.first_mut()) {
                    edit.path = Named::As(name.to_owned());
                }
                let reading = self.of(Format::Unified);
                reading.edits.append(&mut bare.edits);
                reading.problems.append(&mut bare.problems);
                return true;
            }
            return false;
        }
        let text = || content.join("\n");
        if language == "json" || language == "jsonl" || json::looks_like(head) {
            match json::read(&text(), first) {
                Ok(readings) => {
                    let edits: Vec<Reading> = readings.into_iter().filter(|r| !r.edits.is_empty()).collect();
                    let found = !edits.is_empty();
                    self.readings.extend(edits);
                    return found;
                }
                Err(problem) if json::meant_as_edits(&text()) => {
                    self.of(Format::Json).problems.push(problem);
                    return true;
                }
                Err(_) => return false,
            }
        }
        if (language.is_empty() || language == "ed")
            && let Some(reading) = ed::read(content, first)
        {
            self.readings.push(reading);
            return true;
        }
        false
    }

    /// Every patch in a fence's text.
    fn patches(&mut self, content: &[&str], name: Option<&str>, end: End) -> bool {
        let mut at = 0;
        let mut found = false;
        while at < content.len() {
            match self.patch(content, at, end, name.filter(|_| !found)) {
                Some(next) => {
                    found = true;
                    at = next.max(at + 1);
                }
                None => at += 1,
            }
        }
        if let (true, Some(name)) = (found, name) {
            // A diff without headers is for the file named above its fence.
            if let Some(edit) = self.readings.last_mut().and_then(|reading| reading.edits.last_mut())
                && edit.path == Named::Nothing
            {
                edit.path = Named::As(name.to_owned());
            }
        }
        found
    }
}
