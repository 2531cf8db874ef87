//! Replacements of a piece of text, each on the result of the one before.

use std::borrow::Cow;

use super::alternatives::as_diff;
use super::changes;
use super::index::{Index, Level, MOST, TooMuch, Wanted, Work};
use super::locate::list;
use crate::patch::lines::{Base, rebuild};
use crate::patch::note::{Note, NoteKind, Problem, Reason};
use crate::patch::reading::{Tag, TextChange, TextEdit};
use crate::patch::shorten;

/// What became of one replacement.
pub(super) enum Replaced {
    /// The text after it.
    Made {
        text: String,
        /// 1-based line of the first place.
        line: usize,
        level: Level,
        notes: Vec<Note>,
    },
    /// It fits in several places, or only a number says where.
    Many { candidates: Vec<usize>, problem: Problem },
    /// It fits nowhere.
    Nowhere { problem: Problem, closest: Option<usize> },
    /// It changes nothing.
    NoChange,
}

/// Makes one replacement in `text`. `same_text` is whether `text` is known to be what the edit was made for.
pub(super) fn replace(text: &str, edit: &TextEdit, same_text: bool, work: &Work) -> Result<Replaced, TooMuch> {
    match &edit.what {
        TextChange::Replace { old, new, .. } if old == new => Ok(Replaced::NoChange),
        TextChange::Replace { old, new, all } => piece(text, old, new, *all, edit.at, work),
        TextChange::Lines { start, count, new } => Ok(lines(text, *start, *count, new, edit.at, same_text)),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

/// The places of `old`, those too that overlap, at most [`MOST`].
fn places(text: &str, old: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        found.push(from + at);
        if found.len() == MOST {
            break;
        }
        let step = text.get(from + at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        from += at + step;
    }
    found
}

fn piece(text: &str, old: &str, new: &str, all: bool, at: usize, work: &Work) -> Result<Replaced, TooMuch> {
    // Line endings are the file's: a text editor's call has line feeds whatever the file has.
    let base = Base::new(text);
    let crlf = base.ending.as_str() == "\r\n" && !base.mixed && !old.contains('\r');
    let (old, new): (Cow<'_, str>, Cow<'_, str>) = if crlf {
        (old.replace('\n', "\r\n").into(), new.replace("\r\n", "\n").replace('\n', "\r\n").into())
    } else {
        (old.into(), new.into())
    };
    let mut notes = Vec::new();
    if crlf && old.contains('\n') {
        notes.push(Note::new(NoteKind::LineEndings, "line endings differ; the file's are kept"));
    }
    let found = places(text, &old);
    match found.as_slice() {
        [] => by_lines(&base, &old, &new, at, work),
        [offset] => {
            let mut made = String::with_capacity(text.len() + new.len());
            made.push_str(text.get(..*offset).unwrap_or_default());
            made.push_str(&new);
            made.push_str(text.get(offset + old.len()..).unwrap_or_default());
            Ok(Replaced::Made { text: made, line: line_of(text, *offset), level: Level::Exact, notes })
        }
        [first, ..] if all => {
            let overlaps = found.windows(2).any(|pair| matches!(pair, [a, b] if b - a < old.len()));
            if overlaps {
                return Ok(many(text, &found, at));
            }
            Ok(Replaced::Made {
                text: text.replace(&*old, &new),
                line: line_of(text, *first),
                level: Level::Exact,
                notes,
            })
        }
        _ => Ok(many(text, &found, at)),
    }
}

fn many(text: &str, found: &[usize], at: usize) -> Replaced {
    let mut candidates = Vec::with_capacity(found.len());
    let (mut line, mut counted) = (1, 0);
    for offset in found {
        line += text.get(counted..*offset).unwrap_or_default().matches('\n').count();
        counted = *offset;
        candidates.push(line);
    }
    let problem = Problem {
        text: format!("the old text stands in {} places: lines {}", candidates.len(), list(&candidates)),
        hint: Some("give more of the text around it".to_owned()),
        patch_line: Some(at),
        reason: None,
    };
    Replaced::Many { candidates, problem }
}

/// The old text as whole lines, with the tolerance that whole lines have.
fn by_lines(base: &Base<'_>, old: &str, new: &str, at: usize, work: &Work) -> Result<Replaced, TooMuch> {
    let own = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (search, replace) = (own(old), own(new));
    let index = Index::new(base, work);
    let wanted =
        |lines: &'_ [String]| -> Vec<(String, bool)> { lines.iter().map(|line| (line.clone(), false)).collect() };
    let lines = wanted(&search);
    let lines: Vec<Wanted<'_>> =
        lines.iter().map(|(text, context)| Wanted { text, context: *context, no_newline: false }).collect();
    let one_line_piece = search.len() <= 1 && !old.ends_with('\n');
    if !lines.is_empty() && !one_line_piece && !old.trim().is_empty() {
        for level in [Level::Blanks, Level::Shift] {
            let found = index.find(level, &lines)?.places;
            match found.as_slice() {
                [] => {}
                [place] => {
                    let body = as_diff(&search, &replace);
                    let Ok(changes) = changes::at(base, &body, *place, level) else { break };
                    let (kind, what) = if level == Level::Shift {
                        (NoteKind::IndentShift, "the file is indented otherwise; new lines are shifted too")
                    } else {
                        (NoteKind::TrailingBlanks, "blanks at the ends of lines differ; the file's are kept")
                    };
                    return Ok(Replaced::Made {
                        text: rebuild(base, &changes),
                        line: place.at + 1,
                        level,
                        notes: vec![Note::new(kind, what)],
                    });
                }
                _ => {
                    let candidates: Vec<usize> = found.iter().map(|place| place.at + 1).collect();
                    let problem = Problem {
                        text: format!(
                            "the old text stands in {} places: lines {}",
                            candidates.len(),
                            list(&candidates)
                        ),
                        hint: Some("give more of the text around it".to_owned()),
                        patch_line: Some(at),
                        reason: None,
                    };
                    return Ok(Replaced::Many { candidates, problem });
                }
            }
        }
    }
    let already = !new.trim().is_empty() && places(base.text, new).len() == 1;
    if already {
        let problem = Problem::new(Reason::AlreadyApplied, "what it would make is there already").at(at);
        return Ok(Replaced::Nowhere { problem, closest: None });
    }
    let closest = index.closest(&lines).map(|(at, _)| at + 1);
    let shown = shorten(old.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim(), 60);
    let mut problem =
        Problem { text: format!("`{shown}` is not in the file"), hint: None, patch_line: Some(at), reason: None };
    let unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    if unescaped != old && places(base.text, &unescaped).len() == 1 {
        problem.hint = Some("it would be there if `\\n` were a line end: send the text escaped once only".to_owned());
    } else if let Some(line) = closest {
        problem.hint = Some(format!("most like it is line {line}"));
    }
    Ok(Replaced::Nowhere { problem, closest })
}

/// Lines by number.
fn lines(text: &str, start: usize, count: usize, new: &str, at: usize, same_text: bool) -> Replaced {
    let base = Base::new(text);
    let first = start.saturating_sub(1);
    let problem = |text: String, hint: &str| Problem::new(Reason::OnlyNumbers, text).hint(hint).at(at);
    let end = first.saturating_add(count);
    if start == 0 || end > base.len() {
        return Replaced::Nowhere {
            problem: problem(
                format!("line {} is not there: the file has {}", end.max(start), base.len()),
                "give the old text",
            ),
            closest: None,
        };
    }
    if !same_text {
        return Replaced::Many {
            candidates: vec![start],
            problem: problem(
                format!("only the number {start} says where: the file may have been another when it was counted"),
                "give the old text, or the digest of the file as `base_sha256`",
            ),
        };
    }
    let as_line =
        |line: &str| crate::patch::reading::BodyLine { tag: Tag::New, text: line.to_owned(), no_newline: false };
    let mut body: Vec<_> =
        base.lines.get(first..end).unwrap_or_default().iter().map(|line| as_line(line.text)).collect();
    body.iter_mut().for_each(|line| line.tag = Tag::Old);
    body.extend(new.lines().map(as_line));
    let place = super::index::Place { at: first, shift: 0 };
    match changes::at(&base, &body, place, Level::Blanks) {
        Ok(changes) => {
            Replaced::Made { text: rebuild(&base, &changes), line: start, level: Level::Exact, notes: Vec::new() }
        }
        Err(why) => Replaced::Nowhere { problem: problem(why.to_string(), "give the old text"), closest: None },
    }
}
