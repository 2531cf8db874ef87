//! Blocks of lines to look for and lines to put there, between `<<<<<<< SEARCH`, `=======` and
//! `>>>>>>> REPLACE`.
//!
//! Grammar: `^<{5,9} SEARCH>?$`, `^={5,9}$`, `^>{5,9} REPLACE$` (aider's edit blocks). The file's name stands
//! above the block or its fence, or is the first line within the fence; a block without one takes that of the
//! block before.

use super::fence::name_line;
use crate::patch::note::{Note, NoteKind, Problem, Reason};
use crate::patch::reading::{Body, FileEdit, Hunk, Named, Operation, Reading};

/// The usual length of a marker.
const USUAL: usize = 7;

fn run_of(line: &str, mark: char) -> Option<(usize, &str)> {
    let line = line.trim_end();
    let length = line.chars().take_while(|c| *c == mark).count();
    (5..=9).contains(&length).then(|| (length, line.get(length..).unwrap_or_default()))
}

fn is_head(line: &str) -> Option<usize> {
    let (length, rest) = run_of(line, '<')?;
    matches!(rest, " SEARCH" | " SEARCH>").then_some(length)
}

fn is_divider(line: &str) -> bool {
    run_of(line, '=').is_some_and(|(_, rest)| rest.is_empty())
}

fn is_tail(line: &str) -> bool {
    run_of(line, '>').is_some_and(|(_, rest)| matches!(rest, " REPLACE" | " REPLACE>"))
}

/// Whether a block begins at this line.
pub(super) fn starts(line: &str) -> bool {
    is_head(line).is_some()
}

/// Whether the line begins a merge conflict, which looks like a block and is none.
pub(super) fn is_conflict_marker(line: &str) -> bool {
    let line = line.trim_end();
    is_head(line).is_none() && line.strip_prefix("<<<<<<<").is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Reads one block that begins at `lines[at]`, and says where it ends.
pub(super) fn read(lines: &[&str], at: usize, first: usize, name: Option<String>, reading: &mut Reading) -> usize {
    let number = first + at;
    let length = lines.get(at).and_then(|line| is_head(line)).unwrap_or(USUAL);
    let rest = lines.get(at + 1..).unwrap_or_default();
    let end = rest.iter().position(|line| is_tail(line) || is_head(line).is_some());
    let Some(end) = end.filter(|end| rest.get(*end).is_some_and(|line| is_tail(line))) else {
        reading.problems.push(
            Problem::new(Reason::CutOff, "a SEARCH block has no `>>>>>>> REPLACE`: it seems to be cut off")
                .hint("send the whole block again")
                .at(number),
        );
        return end.map_or(lines.len(), |end| at + 1 + end);
    };
    let block = rest.get(..end).unwrap_or_default();
    let dividers: Vec<usize> = block.iter().enumerate().filter(|(_, line)| is_divider(line)).map(|(i, _)| i).collect();
    let after = at + end + 2;
    let &[divider] = dividers.as_slice() else {
        let text = match dividers.len() {
            0 => "a SEARCH block has no divider `=======`".to_owned(),
            n => format!("a SEARCH block has {n} lines that may be the divider: a line of `=` stands within the text"),
        };
        reading
            .problems
            .push(Problem::new(Reason::Syntax, text).hint("send this change as a unified diff or as JSON").at(number));
        return after;
    };
    if length != USUAL {
        reading.notes.push(Note::new(NoteKind::MarkerLength, format!("markers of {length} characters")));
    }
    let own = |lines: Option<&[&str]>| lines.unwrap_or_default().iter().map(|line| (*line).to_owned()).collect();
    let hunk = Hunk {
        body: Body::Block { search: own(block.get(..divider)), replace: own(block.get(divider + 1..)) },
        number: None,
        anchors: Vec::new(),
        heading: None,
        at_end: false,
        at: number,
    };
    let path = name.map_or(Named::Nothing, Named::As);
    match reading.edits.last_mut() {
        Some(FileEdit { path: last, operation: Operation::Change { hunks, .. }, .. })
            if path == Named::Nothing || *last == path =>
        {
            hunks.push(hunk);
        }
        _ => reading.edits.push(FileEdit {
            path,
            also: None,
            operation: Operation::Change { rename: None, copy: false, hunks: vec![hunk] },
            made_for: None,
            at: number,
        }),
    }
    after
}

/// The name right above a block, within the fence that holds it.
pub(super) fn name_above(lines: &[&str], at: usize) -> Option<String> {
    at.checked_sub(1).and_then(|above| lines.get(above)).and_then(|line| name_line(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_told_by_length_and_word() {
        assert!(starts("<<<<<<< SEARCH"));
        assert!(starts("<<<<< SEARCH>\r"));
        assert!(!starts("<<<< SEARCH"));
        assert!(!starts("<<<<<<< HEAD"));
        assert!(is_conflict_marker("<<<<<<< HEAD"));
        assert!(is_tail(">>>>>>> REPLACE"));
        assert!(!is_divider("=========="));
    }
}
