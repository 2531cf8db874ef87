//! Texts made short: a step in one line, the outline of a source, the middle cut out.

use std::fmt::Write as _;

use super::context::Seen;
use crate::step::{Execution, Name, Stream, plain_line};

/// Widest field of a line, in characters.
const FIELD: usize = 72;

/// Most names that a line tells.
const NAMES: usize = 6;

/// A step in one line: what it is for, what it wrote, what came of it.
pub(super) fn line(seen: &Seen, execution: Option<&Execution>) -> String {
    let mut line = plain_line(seen.file.id.as_str()).into_owned();
    let purpose = seen.file.header.summary.as_deref().or_else(|| purpose(&seen.file.source));
    if let Some(purpose) = purpose.filter(|purpose| !purpose.is_empty()) {
        let _ = write!(line, ": {}", field(purpose));
    }
    if !seen.writes.is_empty() {
        let _ = write!(line, "; wrote {}", names(&seen.writes));
    }
    if let Some(result) = execution.and_then(result) {
        let _ = write!(line, "; {}", field(&result));
    }
    line
}

/// Names, the first few and how many more.
pub(super) fn names(names: &[Name]) -> String {
    let mut told: Vec<String> = names.iter().take(NAMES).map(|name| field(name)).collect();
    if names.len() > NAMES {
        told.push(format!("{} more", names.len() - NAMES));
    }
    told.join(", ")
}

/// What a text says first of itself: a comment, a docstring, or its first line.
fn purpose(text: &str) -> Option<&str> {
    let mut in_header = false;
    let says = |line: &&str| {
        let line = line.trim();
        match (line.starts_with("# ///"), in_header) {
            (true, false) => in_header = line != "# ///",
            (true, true) => in_header = false,
            (false, true) => {}
            (false, false) => return !line.is_empty() && !line.starts_with("#!"),
        }
        false
    };
    let line = text.lines().take(64).find(says)?;
    Some(line.trim().trim_start_matches('#').trim_matches(['"', '\'', ' ']))
}

/// What came of an execution, in a line.
fn result(execution: &Execution) -> Option<String> {
    if let Some(error) = &execution.error {
        let message = error.message.lines().next().unwrap_or_default();
        return Some(format!("failed: {}: {message}", error.type_name));
    }
    if let Some(display) = execution.displays.iter().rev().find(|display| display.last) {
        return Some(format!("gave {}", display.repr));
    }
    let printed = execution.output.text(Stream::Stdout);
    let last = printed.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(format!("printed {}", last.trim()))
}

/// All that an execution printed and showed, and its error.
pub(super) fn output(execution: &Execution) -> String {
    let mut text: String = execution.output.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    for display in &execution.displays {
        ended(&mut text);
        text.push_str(&display.repr);
    }
    if let Some(error) = &execution.error {
        ended(&mut text);
        let _ = write!(text, "{}: {}", error.type_name, error.message);
    }
    ended(&mut text);
    text
}

/// Lets a text end with a line.
pub(super) fn ended(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// A text on one line, cut to the width of a field.
pub(super) fn field(text: &str) -> String {
    // A value can be long; what is cut away need not be made plain first.
    let start = start_of(text, 4 * FIELD);
    let line = plain_line(start);
    let mut cut: String = line.chars().take(FIELD).collect();
    if cut.len() < line.len() || start.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// The start of a text, of at most so many bytes and whole characters.
pub(super) fn start_of(text: &str, most: usize) -> &str {
    let most = most.min(text.len());
    (0..=most).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// A text of at most so many bytes: its first and last lines, with what is left out between them counted.
pub(super) fn middle_out(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    // The start says more than the end: what a text defines, what a table's columns are.
    let (head, rest) = text.split_at(start_of(text, most / 3 * 2).len());
    let tail = text.len() - most / 3;
    let tail = (tail..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default();
    let head = head.rfind('\n').and_then(|end| head.get(..=end)).unwrap_or(head);
    let tail = tail.find('\n').and_then(|start| tail.get(start + 1..)).unwrap_or(tail);
    let left = text.len() - head.len() - tail.len();
    let lines = text.get(head.len()..head.len() + left).unwrap_or(rest).lines().count();
    let mut cut = head.to_owned();
    ended(&mut cut);
    let _ = writeln!(cut, "… {lines} lines ({left} bytes) left out");
    cut.push_str(tail);
    // A few short lines may be no longer than what would be said of them.
    if cut.len() < text.len() { cut } else { text.to_owned() }
}

/// The lines of a source that say what it gives: imports, heads of functions and classes, and where the wanted names
/// are bound.
pub(super) fn outline(text: &str, wanted: &[Name]) -> String {
    let says = |line: &str| {
        let heads = ["def ", "async def ", "class ", "import ", "from ", "@"];
        let binds = |name: &Name| {
            let rest = line.strip_prefix(&**name);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        heads.iter().any(|head| line.starts_with(head)) || wanted.iter().any(binds)
    };
    let mut made = String::new();
    let mut left = 0;
    let tell = |made: &mut String, left: &mut usize| {
        if *left > 0 {
            let _ = writeln!(made, "# … {left} lines");
            *left = 0;
        }
    };
    for line in text.lines() {
        if says(line) {
            tell(&mut made, &mut left);
            made.push_str(&middle_out(line, 400));
            ended(&mut made);
        } else {
            left += 1;
        }
    }
    tell(&mut made, &mut left);
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_outline_says_what_a_text_gives() {
        let text = "import os\n\nx = 1\ny = [\n    2,\n]\n\ndef f(a):\n    return a\n\nxs = 3\n";
        insta::assert_snapshot!(outline(text, &["y".into(), "x".into()]), @"
        import os
        # … 1 lines
        x = 1
        y = [
        # … 3 lines
        def f(a):
        # … 3 lines
        ");
    }

    #[test]
    fn the_purpose_of_a_text_is_not_its_header() {
        let text = "# /// step\n# kind = \"test\"\n# ///\n\n# Checks the fit.\nassert ok\n";
        assert_eq!(purpose(text), Some("Checks the fit."));
        assert_eq!(purpose("\"\"\"Reads rows.\"\"\"\n"), Some("Reads rows."));
        assert_eq!(purpose("\n\n"), None);
    }

    proptest! {
        #[test]
        fn what_is_cut_is_not_longer_than_asked(text in "\\PC{0,40}(\n\\PC{0,30}){0,40}", most in 0_usize..400) {
            let cut = middle_out(&text, most);
            prop_assert!(cut.len() <= text.len() && (cut.len() <= most + 60 || cut == text));
        }
    }
}
