//! JSON Lines, a record at a time, where any line may be broken.

use std::collections::BTreeSet;
use std::io::BufRead;

use serde_json::Value;

use super::clean::clean;
use crate::interop::{ImportError, Place, Recording, Warning};

/// The longest line that is read as a record, in bytes. Lines of 28 MB are known from Codex.
pub const MAX_RECORD: usize = 64 << 20;

/// Most ranges of lines that a warning names.
const MOST_RANGES: usize = 40;

/// Most places in a broken line at which a whole record is looked for.
const MOST_STARTS: usize = 64;

/// Hands each record of a JSON Lines file to `visit`, with its 1-based line, and tells of every line that could
/// not be read as one record.
///
/// Two records on one line are both given; so is a whole record after half of one.
///
/// # Errors
/// What `visit` gives, a failure of the file itself, or that someone asked to stop.
pub fn each_line(
    recording: &Recording<'_>,
    visit: &mut dyn FnMut(u64, Value) -> Result<(), ImportError>,
) -> Result<Vec<Warning>, ImportError> {
    let mut reader = recording.read()?;
    let mut lines = Lines::default();
    let mut buffer = Vec::new();
    let mut number = 0;
    while let Some(read) = next_line(&mut *reader, &mut buffer, MAX_RECORD).map_err(|e| recording.unreadable(e))? {
        number += 1;
        if read == Read::TooLong {
            lines.long.add(number);
            continue;
        }
        for record in lines.records(number, &buffer, read == Read::Unended) {
            visit(number, record)?;
        }
    }
    Ok(lines.warnings())
}

/// How a line was read.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Whole,
    /// The last line, without a line end.
    Unended,
    TooLong,
}

/// Reads up to the next line end. Of a line longer than `most` bytes nothing is kept.
fn next_line(reader: &mut dyn BufRead, line: &mut Vec<u8>, most: usize) -> std::io::Result<Option<Read>> {
    line.clear();
    let mut read = 0;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            let state = if read > most { Read::TooLong } else { Read::Unended };
            return Ok((read > 0).then_some(state));
        }
        let (part, ended) = match memchr::memchr(b'\n', chunk) {
            Some(end) => (chunk.get(..end).unwrap_or_default(), true),
            None => (chunk, false),
        };
        read += part.len();
        if read > most {
            *line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(ended);
        reader.consume(used);
        if ended {
            return Ok(Some(if read > most { Read::TooLong } else { Read::Whole }));
        }
    }
}

/// What was seen of the lines so far.
#[derive(Default)]
struct Lines {
    broken: LineSet,
    glued: LineSet,
    rescued: LineSet,
    nul: LineSet,
    long: LineSet,
    cut: Option<u64>,
    /// First keys of whole records: where one of them opens an object, a record may begin.
    openings: BTreeSet<Vec<u8>>,
}

impl Lines {
    /// The records of one line: one, as a rule.
    fn records(&mut self, number: u64, line: &[u8], unended: bool) -> Vec<Value> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let trimmed = trim(line, |b| b == 0 || b.is_ascii_whitespace());
        if line.contains(&0) && trimmed.len() < trim(line, |b| b.is_ascii_whitespace()).len() {
            self.nul.add(number);
        }
        if trimmed.is_empty() {
            return Vec::new();
        }
        if let Ok(record) = serde_json::from_slice::<Value>(trimmed) {
            self.learn(trimmed);
            return vec![record];
        }
        let cleaned = clean(trimmed);
        let (mut records, used) = values(&cleaned);
        let rest = cleaned.get(used..).unwrap_or_default();
        if trim(rest, |b| b == 0 || b.is_ascii_whitespace()).is_empty() {
            if records.len() > 1 {
                self.glued.add(number);
            }
            return records;
        }
        match self.rescue(rest) {
            Some(record) => {
                records.push(record);
                self.rescued.add(number);
            }
            None if unended => self.cut = Some(number),
            None => self.broken.add(number),
        }
        records
    }

    /// A whole record that ends the line, after half of another.
    fn rescue(&self, rest: &[u8]) -> Option<Value> {
        let starts = memchr::memmem::find_iter(rest, b"{\"").filter(|&at| {
            let from = rest.get(at..).unwrap_or_default();
            at > 0 && self.openings.iter().any(|opening| from.starts_with(opening))
        });
        starts.take(MOST_STARTS).find_map(|at| serde_json::from_slice(rest.get(at..)?).ok())
    }

    /// Remembers how a whole record begins.
    fn learn(&mut self, line: &[u8]) {
        if self.openings.len() < 16
            && let Some(key) = line.strip_prefix(b"{\"")
            && let Some(end) = memchr::memchr(b'"', key.get(..64.min(key.len())).unwrap_or_default())
            && let Some(opening) = line.get(..end + 3)
        {
            self.openings.insert(opening.to_vec());
        }
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut say = |set: &LineSet, one: &str, many: &str| {
            if set.count > 0 {
                let what = if set.count == 1 { one.to_owned() } else { format!("{} {many}", set.count) };
                warnings.push(Warning::at(Place::Lines(set.to_string()), what));
            }
        };
        say(&self.broken, "skipped, since it is not JSON", "lines skipped, since they are not JSON");
        say(&self.long, "skipped, since it is over 64 MiB", "lines skipped, since they are over 64 MiB");
        say(&self.glued, "two records on one line; both are taken", "lines hold several records; all are taken");
        say(
            &self.rescued,
            "half a record before a whole one; the half is left out",
            "lines begin with half a record, which is left out",
        );
        say(&self.nul, "NUL bytes around the record, left out", "lines have NUL bytes around the record, left out");
        if let Some(line) = self.cut {
            warnings.push(Warning::at(Place::Line(line), "the last record is cut off and left out"));
        }
        warnings
    }
}

fn trim(mut bytes: &[u8], gone: impl Fn(u8) -> bool) -> &[u8] {
    while let Some((&first, rest)) = bytes.split_first()
        && gone(first)
    {
        bytes = rest;
    }
    while let Some((&last, rest)) = bytes.split_last()
        && gone(last)
    {
        bytes = rest;
    }
    bytes
}

/// The objects and lists at the start of `bytes`, one after another, and how many bytes they take.
fn values(bytes: &[u8]) -> (Vec<Value>, usize) {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let mut found = Vec::new();
    let mut used = 0;
    while let Some(Ok(value)) = stream.next() {
        if !value.is_object() && !value.is_array() {
            break;
        }
        found.push(value);
        used = stream.byte_offset();
    }
    (found, used)
}

/// A set of rising line numbers, held as ranges.
#[derive(Default)]
struct LineSet {
    ranges: Vec<(u64, u64)>,
    count: u64,
}

impl LineSet {
    fn add(&mut self, line: u64) {
        self.count += 1;
        if let Some((_, last)) = self.ranges.last_mut()
            && *last + 1 == line
        {
            *last = line;
        } else if self.ranges.len() <= MOST_RANGES {
            self.ranges.push((line, line));
        }
    }
}

impl std::fmt::Display for LineSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, (first, last)) in self.ranges.iter().take(MOST_RANGES).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}–{last}")? }
        }
        if self.ranges.len() > MOST_RANGES { f.write_str(" and more") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::Watch;
    use serde_json::json;

    fn read(text: &[u8]) -> (Vec<(u64, Value)>, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.jsonl");
        std::fs::write(&path, text).unwrap();
        let recording = Recording::open(&path, &Watch::none()).unwrap();
        let mut found = Vec::new();
        let warnings = each_line(&recording, &mut |line, value| {
            found.push((line, value));
            Ok(())
        })
        .unwrap();
        (found, warnings.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn nothing_after_a_broken_line_is_lost() {
        let (found, warnings) = read(b"{\"a\":1}\n{\"a\":\n\nnot json\n{\"a\":2}\r\n{\"a\": 3");
        assert_eq!(found, [(1, json!({"a": 1})), (5, json!({"a": 2}))]);
        assert_eq!(
            warnings,
            ["lines 2, 4: 2 lines skipped, since they are not JSON", "line 6: the last record is cut off and left out"]
        );
    }

    #[test]
    fn glued_and_half_records_and_nul_runs_are_read() {
        let (found, warnings) =
            read(b"{\"a\":1}\n{\"a\":2}{\"a\":3}\n{\"a\":\"hal{\"a\":{\"a\":4}}\n\0\0\0{\"a\":5}\n\0\0\n{\"a\":6}");
        let values: Vec<i64> = found.iter().map(|(_, v)| v["a"].as_i64().or(v["a"]["a"].as_i64()).unwrap()).collect();
        assert_eq!(values, [1, 2, 3, 4, 5, 6]);
        assert_eq!(
            warnings,
            [
                "line 2: two records on one line; both are taken",
                "line 3: half a record before a whole one; the half is left out",
                "lines 4–5: 2 lines have NUL bytes around the record, left out"
            ]
        );
    }

    #[test]
    fn a_line_over_the_limit_is_passed_over_without_being_kept() {
        let mut line = Vec::new();
        let mut reader = std::io::BufReader::with_capacity(8, &b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nbb\n"[..]);
        assert_eq!(next_line(&mut reader, &mut line, 10).unwrap(), Some(Read::TooLong));
        assert!(line.is_empty());
        assert_eq!(next_line(&mut reader, &mut line, 10).unwrap(), Some(Read::Whole));
        assert_eq!(line, b"bb");
        assert_eq!(next_line(&mut reader, &mut line, 10).unwrap(), None);
    }

    #[test]
    fn many_broken_lines_are_counted_and_told_shortly() {
        let (_, warnings) = read("x\n{}\n".repeat(500).as_bytes());
        assert!(warnings[0].contains("and more: 500 lines skipped"), "{warnings:?}");
    }
}
