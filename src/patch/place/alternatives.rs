//! The ways in which one hunk may be read, the literal one first.

use std::borrow::Cow;

use super::index::Level;
use crate::patch::diff::differing;
use crate::patch::note::NoteKind;
use crate::patch::read::placeholder::is_elision;
use crate::patch::read::unified::with_gaps;
use crate::patch::reading::{Body, BodyLine, Hunk, Tag};

/// All levels of tolerance.
pub(super) const ALL: &[Level] = &[Level::Exact, Level::Blanks, Level::Shift, Level::Typography];
/// Those that change no line that is written.
const STRICT: &[Level] = &[Level::Exact, Level::Blanks];

/// One way to read a hunk.
pub(super) struct Alternative<'h> {
    /// Its lines.
    pub lines: Cow<'h, [BodyLine]>,
    /// What was made of the letter, if anything.
    pub note: Option<(NoteKind, &'static str)>,
    /// Levels at which it may be placed.
    pub levels: &'static [Level],
    /// The 0-based line at which it must stand, where the text itself said so.
    pub must_start: Option<usize>,
}

/// Lines that an unpaired `...` hides would go unseen.
pub(super) struct HidesLines;

/// The `n`th way to read a hunk: `None` when there are no more, `Some(None)` when this way does not apply.
pub(super) fn alternative(hunk: &Hunk, n: usize) -> Option<Result<Option<Alternative<'_>>, HidesLines>> {
    match &hunk.body {
        Body::Diff(lines) => of_diff(lines, n).map(Ok),
        Body::Block { search, replace } => of_block(search, replace, n),
    }
}

fn of_diff(lines: &[BodyLine], n: usize) -> Option<Option<Alternative<'_>>> {
    let bare = lines.iter().any(|line| line.tag == Tag::Bare);
    let simple = |lines, note, levels| Some(Some(Alternative { lines, note, levels, must_start: None }));
    match n {
        0 => {
            let note = bare.then_some((NoteKind::UnprefixedContext, "context without the leading blank"));
            simple(Cow::Borrowed(lines), note, if bare { STRICT } else { ALL })
        }
        1 => match with_gaps(lines) {
            Some(lines) => {
                simple(Cow::Owned(lines), Some((NoteKind::Elision, "`...` stands for lines that are kept")), STRICT)
            }
            None => Some(None),
        },
        // Every line of context without its mark, those too that begin with a blank of their own.
        2 if lines.iter().any(|line| line.tag == Tag::Context) => {
            let lines = lines
                .iter()
                .map(|line| match line.tag {
                    Tag::Context if !line.text.trim().is_empty() => {
                        BodyLine { tag: Tag::Bare, text: format!(" {}", line.text), no_newline: line.no_newline }
                    }
                    _ => line.clone(),
                })
                .collect();
            let note = Some((NoteKind::UnprefixedContext, "context without the leading blank"));
            simple(Cow::Owned(lines), note, STRICT)
        }
        2 => Some(None),
        // Prose behind the last hunk: from a blank line on, only lines without marks.
        3 => {
            let marked = |line: &BodyLine| line.tag != Tag::Bare && !line.text.trim().is_empty();
            let end = lines.iter().rposition(marked).map_or(0, |last| last + 1);
            let prose = bare
                && lines.get(end).is_some_and(|line| line.text.trim().is_empty())
                && lines.get(end..).unwrap_or_default().iter().any(|line| line.tag == Tag::Bare);
            match lines.get(..end).filter(|_| prose) {
                Some(kept) => {
                    simple(Cow::Borrowed(kept), Some((NoteKind::Prose, "text behind the hunk is taken as prose")), ALL)
                }
                None => Some(None),
            }
        }
        _ => None,
    }
}

fn of_block<'h>(
    search: &'h [String],
    replace: &'h [String],
    n: usize,
) -> Option<Result<Option<Alternative<'h>>, HidesLines>> {
    let simple =
        |lines, note, levels| Some(Ok(Some(Alternative { lines: Cow::Owned(lines), note, levels, must_start: None })));
    match n {
        0 => simple(as_diff(search, replace), None, ALL),
        1 => {
            let (search, replace) = without_blank_edges(search, replace)?;
            if search.is_empty() {
                return Some(Ok(None));
            }
            let note = Some((NoteKind::DroppedBlank, "a blank line at the edge of the searched text was left out"));
            simple(as_diff(search, replace), note, STRICT)
        }
        2 => match (without_gutter(search), without_gutter(replace)) {
            (Some((start, search)), Some((_, replace))) => Some(Ok(Some(Alternative {
                lines: Cow::Owned(as_diff(&search, &replace)),
                note: Some((NoteKind::Gutter, "line numbers in front of the lines were taken off")),
                levels: STRICT,
                must_start: start.checked_sub(1),
            }))),
            _ => Some(Ok(None)),
        },
        3 => {
            let gaps = |lines: &[String]| lines.iter().filter(|line| is_elision(line)).count();
            match (gaps(search), gaps(replace)) {
                (0, 0) => Some(Ok(None)),
                (a, b) if a == b => {
                    let mut lines = Vec::new();
                    let pieces = |side: &'h [String]| side.split(|line| is_elision(line)).collect::<Vec<_>>();
                    for (index, (old, new)) in pieces(search).into_iter().zip(pieces(replace)).enumerate() {
                        if index > 0 {
                            lines.push(BodyLine { tag: Tag::Gap, text: String::new(), no_newline: false });
                        }
                        lines.extend(as_diff(old, new));
                    }
                    simple(lines, Some((NoteKind::Elision, "`...` stands for lines that are kept")), STRICT)
                }
                (0, _) => Some(Ok(None)),
                _ => Some(Err(HidesLines)),
            }
        }
        _ => None,
    }
}

/// What is the same in both texts is context, which the file keeps as it has it.
pub(super) fn as_diff(old: &[String], new: &[String]) -> Vec<BodyLine> {
    let line = |tag, text: &String| BodyLine { tag, text: text.clone(), no_newline: false };
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let mut at = 0;
    for (a, b) in differing(old, new) {
        lines.extend(old.get(at..a.start).unwrap_or_default().iter().map(|text| line(Tag::Context, text)));
        lines.extend(old.get(a.clone()).unwrap_or_default().iter().map(|text| line(Tag::Old, text)));
        lines.extend(new.get(b).unwrap_or_default().iter().map(|text| line(Tag::New, text)));
        at = a.end;
    }
    lines.extend(old.get(at..).unwrap_or_default().iter().map(|text| line(Tag::Context, text)));
    lines
}

/// Both texts without blank lines at the edges of the searched one; those that the new one shares go too.
fn without_blank_edges<'h>(
    mut search: &'h [String],
    mut replace: &'h [String],
) -> Option<(&'h [String], &'h [String])> {
    let blank = |line: Option<&String>| line.is_some_and(|line| line.trim().is_empty());
    while blank(search.first()) {
        search = search.get(1..)?;
        if blank(replace.first()) {
            replace = replace.get(1..)?;
        }
    }
    while blank(search.last()) {
        search = search.get(..search.len() - 1)?;
        if blank(replace.last()) {
            replace = replace.get(..replace.len() - 1)?;
        }
    }
    Some((search, replace))
}

/// Lines without the numbers of `cat -n`, `12: ` or `12| `, and the first number, if all lines carry one and
/// the numbers count up.
fn without_gutter(lines: &[String]) -> Option<(usize, Vec<String>)> {
    let mut first = None;
    let mut bare = Vec::with_capacity(lines.len());
    for (offset, line) in lines.iter().enumerate() {
        let text = line.trim_start_matches(' ');
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: usize = text.get(..digits)?.parse().ok()?;
        let rest = text.get(digits..)?;
        let rest = rest
            .strip_prefix('\t')
            .or_else(|| rest.strip_prefix(": "))
            .or_else(|| rest.strip_prefix(" | "))
            .or_else(|| rest.strip_prefix("| "))
            .or_else(|| rest.strip_prefix('→'))
            .or_else(|| matches!(rest.trim_end(), ":" | "|" | "").then_some(""))?;
        if *first.get_or_insert(number) + offset != number {
            return None;
        }
        bare.push(rest.to_owned());
    }
    Some((first?, bare))
}
