//! Scripts for `ed`: line numbers only.

use crate::patch::note::{Problem, Reason};
use crate::patch::reading::{FileEdit, Format, Named, Operation, Reading, TextChange, TextEdit};

/// A command's addresses and letter.
fn command(line: &str) -> Option<(Option<(usize, usize)>, char)> {
    let line = line.trim_end();
    let letter_at = line.find(|c: char| !(c.is_ascii_digit() || c == ','))?;
    let (address, letter) = line.split_at(letter_at);
    let mut chars = letter.chars();
    let letter = chars.next()?;
    if letter != 's' && chars.next().is_some() {
        return None;
    }
    let number = |text: &str| text.parse::<u32>().ok().and_then(|n| usize::try_from(n).ok());
    let range = match address.split_once(',') {
        _ if address.is_empty() => None,
        Some((from, to)) => Some((number(from)?, number(to)?)),
        None => Some((number(address)?, number(address)?)),
    };
    Some((range, letter))
}

/// Reads `lines` if every one of them is part of a script with at least one numbered command.
pub(super) fn read(lines: &[&str], first: usize) -> Option<Reading> {
    let mut reading = Reading::new(Format::Ed);
    let mut edits = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let number = first + at;
        at += 1;
        if line.trim().is_empty() {
            continue;
        }
        let (range, letter) = command(line)?;
        match (range, letter) {
            (None, 'w' | 'q' | 'H' | 'h') => {}
            (Some((from, to)), 'a' | 'i' | 'c' | 'd') if from <= to => {
                let mut new = String::new();
                if letter != 'd' {
                    let mut ended = false;
                    while let Some(line) = lines.get(at) {
                        at += 1;
                        if line.trim_end_matches('\r') == "." {
                            ended = true;
                            break;
                        }
                        new.push_str(line);
                        new.push('\n');
                    }
                    if !ended {
                        reading.problems.push(
                            Problem::new(Reason::CutOff, "the text of an ed command has no `.` at its end").at(number),
                        );
                    }
                }
                let (start, count) = match letter {
                    'a' => (to + 1, 0),
                    'i' => (from.max(1), 0),
                    _ => (from, to - from + 1),
                };
                edits.push(TextEdit { what: TextChange::Lines { start, count, new }, at: number });
            }
            (Some(_), 's') => {
                reading.problems.push(
                    Problem::new(Reason::Unsupported, "an ed script with a substitution")
                        .hint("send this change as a unified diff")
                        .at(number),
                );
                edits.push(TextEdit { what: TextChange::Lines { start: 1, count: 0, new: String::new() }, at: number });
            }
            _ => return None,
        }
    }
    if edits.is_empty() {
        return None;
    }
    let operation = Operation::Sequence { edits };
    reading.edits.push(FileEdit { path: Named::Nothing, also: None, operation, made_for: None, at: first });
    Some(reading)
}
