//! Where one hunk goes: the only place, several, or none. Never a guess.

use super::alternatives::{Alternative, HidesLines, alternative};
use super::changes::{self, Unwritable};
use super::index::{Index, Level, Place, TooMuch, Wanted};
use crate::patch::lines::{Change, Ending};
use crate::patch::note::{Note, NoteKind, Problem, Reason};
use crate::patch::reading::{Body, BodyLine, Hunk, Tag};
use crate::patch::shorten;

/// Where a hunk goes.
#[derive(Debug)]
pub(super) enum Located {
    /// To one place.
    At {
        /// 0-based first line of the place.
        at: usize,
        /// How exactly it fits.
        level: Level,
        /// What it does there.
        changes: Vec<Change>,
        /// What was made of its letter.
        notes: Vec<Note>,
    },
    /// To one of several, or to one that only a number names.
    Many {
        /// 1-based lines.
        candidates: Vec<usize>,
        /// Why none was chosen.
        problem: Problem,
    },
    /// Nowhere.
    Nowhere {
        /// Why.
        problem: Problem,
        /// 1-based line of the place that is most like it.
        closest: Option<usize>,
    },
    /// It can't be meant as it stands.
    Malformed {
        /// Why.
        problem: Problem,
    },
}

/// Looks for the only place of `hunk`. `drift` is how far the hunk before it stood from where its header said;
/// `same_text` is whether the file is known to be the text that the patch was made for, so that numbers hold.
pub(super) fn locate(index: &Index<'_, '_>, hunk: &Hunk, drift: isize, same_text: bool) -> Located {
    let search = Search { index, hunk, drift, same_text };
    match search.run() {
        Ok(located) => located,
        Err(TooMuch) => Located::Nowhere {
            problem: Problem::new(
                Reason::TooMuch,
                "looking for its place was given up: the file repeats itself too much",
            )
            .hint("give more context, or line numbers and counts that are right")
            .at(hunk.at),
            closest: None,
        },
    }
}

struct Search<'a, 'b, 't> {
    index: &'a Index<'b, 't>,
    hunk: &'a Hunk,
    drift: isize,
    same_text: bool,
}

fn old_side(lines: &[BodyLine]) -> Vec<Wanted<'_>> {
    lines
        .iter()
        .filter(|line| line.tag.is_old())
        .map(|line| Wanted { text: &line.text, context: line.tag != Tag::Old, no_newline: line.no_newline })
        .collect()
}

fn new_side(lines: &[BodyLine]) -> Vec<Wanted<'_>> {
    lines
        .iter()
        .filter(|line| line.tag.is_new())
        .map(|line| Wanted { text: &line.text, context: line.tag != Tag::New, no_newline: line.no_newline })
        .collect()
}

impl Search<'_, '_, '_> {
    fn run(&self) -> Result<Located, TooMuch> {
        let mut unwritable: Option<Unwritable> = None;
        let mut elsewhere = false;
        let mut n = 0;
        while let Some(way) = alternative(self.hunk, n) {
            n += 1;
            let way = match way {
                Ok(Some(way)) => way,
                Ok(None) => continue,
                Err(HidesLines) => return Ok(Located::Malformed { problem: self.hides_lines() }),
            };
            if way.lines.iter().any(|line| line.tag == Tag::Gap) {
                if let Some(located) = self.pieces(&way)? {
                    return Ok(located);
                }
                continue;
            }
            let wanted = old_side(&way.lines);
            if wanted.is_empty() {
                return Ok(self.insertion(&way));
            }
            for &level in way.levels {
                let mut places = self.index.find(level, &wanted)?.places;
                if places.is_empty() {
                    continue;
                }
                if let Some(start) = way.must_start {
                    places.retain(|place| place.at == start);
                }
                if self.hunk.at_end {
                    places.retain(|place| place.at + wanted.len() == self.index.base.len());
                }
                if places.is_empty() {
                    elsewhere = true;
                    continue;
                }
                match self.choose(places, &way, level, wanted.len())? {
                    Ok(located) => return Ok(located),
                    Err(why) => {
                        unwritable.get_or_insert(why);
                    }
                }
            }
        }
        self.nowhere(unwritable, elsewhere)
    }

    fn hides_lines(&self) -> Problem {
        Problem::new(
            Reason::Placeholder,
            "`...` stands only in the searched text: the lines that it hides would go unseen",
        )
        .hint("write out the lines, or put `...` in both")
        .at(self.hunk.at)
    }

    /// Chooses among the places where the old lines stand.
    fn choose(
        &self,
        mut places: Vec<Place>,
        way: &Alternative<'_>,
        level: Level,
        length: usize,
    ) -> Result<Result<Located, Unwritable>, TooMuch> {
        let mut notes = Vec::new();
        if !self.hunk.anchors.is_empty() {
            let blocks = self.anchored()?;
            if blocks.is_empty() {
                return Ok(Ok(self.no_anchor()));
            }
            let before = places.len();
            places.retain(|place| blocks.iter().any(|block| block.contains(&place.at)));
            if places.is_empty() {
                return Ok(Ok(self.no_anchor()));
            }
            let anchors = self.hunk.anchors.join(" / ");
            if places.len() < before {
                notes.push(Note::new(
                    NoteKind::Anchor,
                    format!("one of {before} places, in the block `{}`", shorten(&anchors, 60)),
                ));
            } else {
                notes.push(Note::new(NoteKind::Anchor, format!("found in the block `{}`", shorten(&anchors, 60))));
            }
        }
        let count = places.len();
        let place = match places.as_slice() {
            [place] => *place,
            _ => {
                let by_number = self.hunk.number.filter(|number| number.trusted).and_then(|number| {
                    let expected = number.start.checked_sub(1)?.checked_add_signed(self.drift)?;
                    places.iter().copied().find(|place| place.at == expected)
                });
                let by_heading = self.under_heading(&places)?;
                match (by_number, by_heading) {
                    (Some(number), Some(heading)) if number.at != heading.at => return Ok(Ok(self.many(&places))),
                    (Some(place), _) => {
                        notes.push(Note::new(
                            NoteKind::ByLineNumber,
                            format!("one of {count} places, chosen by its line number"),
                        ));
                        place
                    }
                    (None, Some(place)) => {
                        notes.push(Note::new(
                            NoteKind::Anchor,
                            format!("one of {count} places, chosen by the header's function"),
                        ));
                        place
                    }
                    (None, None) => return Ok(Ok(self.many(&places))),
                }
            }
        };
        if self.stands_already(way, place, length) {
            return Ok(Ok(Located::Nowhere { problem: self.already(), closest: Some(place.at + 1) }));
        }
        let changes = match changes::at(self.index.base, &way.lines, place, level) {
            Ok(changes) => changes,
            Err(why) => return Ok(Err(why)),
        };
        if let Some(number) = self.hunk.number
            && number.start != place.at + 1
            && count == 1
        {
            notes.push(Note::new(
                NoteKind::Offset,
                format!("stands at line {}, its header says {}", place.at + 1, number.start),
            ));
        }
        notes.extend(way.note.map(|(kind, text)| Note::new(kind, text)));
        self.level_notes(way, place, level, &mut notes);
        self.shape_notes(way, place, length, &mut notes);
        Ok(Ok(Located::At { at: place.at, level, changes, notes }))
    }

    /// An insertion whose context stands on one side only, and whose lines follow there already.
    fn stands_already(&self, way: &Alternative<'_>, place: Place, length: usize) -> bool {
        let added: Vec<&str> = way.lines.iter().filter(|l| l.tag == Tag::New).map(|l| l.text.trim_end()).collect();
        if added.iter().all(|line| line.is_empty()) || way.lines.iter().any(|line| line.tag == Tag::Old) {
            return false;
        }
        let same = |from: Option<usize>| {
            let there = from.and_then(|from| self.index.base.lines.get(from..from + added.len()));
            there.is_some_and(|lines| lines.iter().map(|line| line.text.trim_end()).eq(added.iter().copied()))
        };
        let leads = way.lines.iter().take(added.len()).all(|line| line.tag == Tag::New);
        let trails = way.lines.iter().rev().take(added.len()).all(|line| line.tag == Tag::New);
        (trails && same(Some(place.at + length))) || (leads && same(place.at.checked_sub(added.len())))
    }

    fn many(&self, places: &[Place]) -> Located {
        let candidates: Vec<usize> = places.iter().map(|place| place.at + 1).collect();
        Located::Many {
            problem: Problem {
                text: format!("it fits in {} places: lines {}", candidates.len(), list(&candidates)),
                hint: Some("give more context, or the line's right number".to_owned()),
                patch_line: Some(self.hunk.at),
                reason: None,
            },
            candidates,
        }
    }

    fn already(&self) -> Problem {
        Problem::new(Reason::AlreadyApplied, "what it would make is there already").at(self.hunk.at)
    }

    fn no_anchor(&self) -> Located {
        let anchors = self.hunk.anchors.join(" / ");
        Located::Nowhere {
            problem: Problem {
                text: format!("it does not stand under `{}`", shorten(&anchors, 80)),
                hint: Some("the line behind @@ must be one of the file".to_owned()),
                patch_line: Some(self.hunk.at),
                reason: None,
            },
            closest: None,
        }
    }

    /// The blocks that the anchors name, one within the other.
    fn anchored(&self) -> Result<Vec<std::ops::Range<usize>>, TooMuch> {
        let mut blocks: Vec<std::ops::Range<usize>> = std::iter::once(0..self.index.base.len()).collect();
        for anchor in &self.hunk.anchors {
            let lines = self.index.lines_like(anchor, true)?;
            let mut inner = Vec::new();
            for at in lines {
                if blocks.iter().any(|block| block.contains(&at)) {
                    inner.push(self.index.block(at)?);
                }
            }
            blocks = inner;
        }
        Ok(blocks)
    }

    /// The only one of the places in the block that the header's text names, if that text stands once.
    fn under_heading(&self, places: &[Place]) -> Result<Option<Place>, TooMuch> {
        let Some(heading) = &self.hunk.heading else { return Ok(None) };
        let lines = self.index.lines_like(heading, true)?;
        let [line] = lines.as_slice() else { return Ok(None) };
        let block = self.index.block(*line)?;
        let mut inside = places.iter().filter(|place| block.contains(&place.at));
        Ok(inside.next().copied().filter(|_| inside.next().is_none()))
    }

    /// Lines to add with nothing around them.
    fn insertion(&self, way: &Alternative<'_>) -> Located {
        let base = self.index.base;
        let number = self.hunk.number.map(|number| number.start.saturating_sub(1));
        let here = if base.is_empty() {
            Some(0)
        } else if self.hunk.at_end {
            Some(base.len())
        } else {
            number.filter(|at| self.same_text && *at <= base.len())
        };
        if let Some(at) = here {
            return match changes::at(base, &way.lines, Place { at, shift: 0 }, Level::Blanks) {
                Ok(changes) => Located::At { at, level: Level::Blanks, changes, notes: Vec::new() },
                Err(why) => Located::Nowhere {
                    problem: Problem {
                        text: why.to_string(),
                        hint: None,
                        patch_line: Some(self.hunk.at),
                        reason: None,
                    },
                    closest: None,
                },
            };
        }
        let mut candidates: Vec<usize> = Vec::new();
        if let Some(number) = number {
            candidates.push(number.min(base.len()) + 1);
        } else if let (false, Ok(blocks)) = (self.hunk.anchors.is_empty(), self.anchored()) {
            candidates.extend(blocks.iter().map(|block| block.start + 2));
        }
        Located::Many {
            problem: Problem::new(Reason::OnlyNumbers, "it adds lines and shows nothing of what stands around them")
                .hint("give the lines before and after")
                .at(self.hunk.at),
            candidates,
        }
    }

    /// Pieces between gaps, each of which must stand in one place, in order.
    fn pieces(&self, way: &Alternative<'_>) -> Result<Option<Located>, TooMuch> {
        let mut changes = Vec::new();
        let mut last = 0;
        let mut first = None;
        let mut worst = Level::Exact;
        for piece in way.lines.split(|line| line.tag == Tag::Gap).filter(|piece| !piece.is_empty()) {
            let wanted = old_side(piece);
            if wanted.is_empty() {
                return Ok(None);
            }
            let mut found = Vec::new();
            let mut at_level = Level::Exact;
            for &level in way.levels {
                found = self.index.find(level, &wanted)?.places;
                at_level = level;
                if !found.is_empty() {
                    break;
                }
            }
            let place = match found.as_slice() {
                [] => return Ok(None),
                [place] => *place,
                _ => return Ok(Some(self.many(&found))),
            };
            if place.at < last {
                return Ok(None);
            }
            last = place.at + wanted.len();
            first.get_or_insert(place.at);
            worst = worst.max(at_level);
            match changes::at(self.index.base, piece, place, at_level) {
                Ok(made) => changes.extend(made),
                Err(_) => return Ok(None),
            }
        }
        let notes = way.note.map(|(kind, text)| Note::new(kind, text)).into_iter().collect();
        Ok(first.map(|at| Located::At { at, level: worst, changes, notes }))
    }

    fn nowhere(&self, unwritable: Option<Unwritable>, elsewhere: bool) -> Result<Located, TooMuch> {
        let Some(Ok(Some(literal))) = alternative(self.hunk, 0) else {
            return Ok(Located::Nowhere { problem: self.already(), closest: None });
        };
        let new = new_side(&literal.lines);
        if !new.iter().all(|line| line.text.trim().is_empty())
            && literal.lines.iter().any(|l| matches!(l.tag, Tag::Old | Tag::New))
        {
            for level in [Level::Exact, Level::Blanks] {
                if self.index.find(level, &new)?.places.len() == 1 {
                    return Ok(Located::Nowhere { problem: self.already(), closest: None });
                }
            }
        }
        let wanted = old_side(&literal.lines);
        let closest = self.index.closest(&wanted);
        let mut problem = Problem { text: String::new(), hint: None, patch_line: Some(self.hunk.at), reason: None };
        problem.text = match (&unwritable, elsewhere, closest) {
            (Some(why), _, _) => why.to_string(),
            (None, true, _) if self.hunk.at_end => {
                "it stands in the file, but not at its end, as the patch says".to_owned()
            }
            (None, true, _) => "it stands in the file, but not at the line that the patch says".to_owned(),
            (None, false, Some((at, _))) => self.first_difference(&wanted, at),
            (None, false, None) => format!("nothing in the file is like `{}`", first_words(&wanted)),
        };
        if matches!(&self.hunk.body, Body::Diff(lines) if lines.iter().all(|line| !matches!(line.tag, Tag::Old | Tag::New)))
        {
            problem.hint = Some(
                "no line is marked as added or removed: if it is meant as the whole new text, send it in a fence"
                    .to_owned(),
            );
        }
        Ok(Located::Nowhere { problem, closest: closest.map(|(at, _)| at + 1) })
    }

    /// Where the text at `at` first differs from what was looked for.
    fn first_difference(&self, wanted: &[Wanted<'_>], at: usize) -> String {
        for (offset, want) in wanted.iter().enumerate() {
            let Some(line) = self.index.base.lines.get(at + offset) else {
                return format!(
                    "the file ends at line {}, where the patch goes on with `{}`",
                    at + offset,
                    shorten(want.text.trim_end(), 80)
                );
            };
            if line.text.trim_end() != want.text.trim_end() {
                return format!(
                    "line {} is `{}`, the patch expects `{}`",
                    at + offset + 1,
                    shorten(line.text.trim_end(), 80),
                    shorten(want.text.trim_end(), 80)
                );
            }
        }
        format!("it is most like line {}", at + 1)
    }

    fn level_notes(&self, way: &Alternative<'_>, place: Place, level: Level, notes: &mut Vec<Note>) {
        let base = self.index.base;
        match level {
            Level::Exact => {}
            Level::Shift => notes.push(Note::new(
                NoteKind::IndentShift,
                format!(
                    "the file is indented by {} spaces {}; added lines are shifted too",
                    place.shift.abs(),
                    if place.shift > 0 { "more" } else { "less" }
                ),
            )),
            Level::Typography => {
                notes.push(Note::new(
                    NoteKind::Typography,
                    "dashes, quotes or spaces of context differ; the file's are kept",
                ));
            }
            Level::Blanks => {}
        }
        if level == Level::Exact {
            return;
        }
        let (mut endings, mut blanks, mut bom, mut newline) = (false, false, false, false);
        let lines = base.lines.get(place.at..).unwrap_or_default();
        for (line, want) in lines.iter().zip(way.lines.iter().filter(|line| line.tag.is_old())) {
            let text = want.text.strip_suffix('\r');
            bom |= line.text.starts_with('\u{feff}') != want.text.starts_with('\u{feff}');
            newline |= (line.ending == Ending::None) != want.no_newline;
            endings |= line.ending != Ending::None && (line.ending == Ending::CrLf) != text.is_some();
            let (a, b) = (line.text, text.unwrap_or(&want.text));
            blanks |= a.len() - a.trim_end().len() != b.len() - b.trim_end().len();
        }
        if endings {
            let kind = if base.mixed { NoteKind::MixedEndings } else { NoteKind::LineEndings };
            notes.push(Note::new(kind, "line endings differ; the file's are kept"));
        } else if base.mixed {
            notes.push(Note::new(NoteKind::MixedEndings, "the file's lines end in more than one way; they are kept"));
        }
        if blanks {
            notes.push(Note::new(NoteKind::TrailingBlanks, "blanks at the ends of lines differ; the file's are kept"));
        }
        if bom {
            notes.push(Note::new(NoteKind::Bom, "the file's byte order mark is kept"));
        }
        if newline {
            notes.push(Note::new(NoteKind::FinalNewline, "the file has no final newline, and keeps that"));
        }
    }

    fn shape_notes(&self, way: &Alternative<'_>, place: Place, length: usize, notes: &mut Vec<Note>) {
        if !matches!(self.hunk.body, Body::Diff(_)) {
            return;
        }
        let base = self.index.base;
        if base.mixed && !notes.iter().any(|note| note.kind == NoteKind::MixedEndings) {
            notes.push(Note::new(NoteKind::MixedEndings, "the file's lines end in more than one way; they are kept"));
        }
        let change = |line: Option<&BodyLine>| line.is_some_and(|line| matches!(line.tag, Tag::Old | Tag::New));
        let leads = change(way.lines.first()) && place.at > 0;
        let trails = change(way.lines.last()) && place.at + length < base.len();
        if !way.lines.iter().any(|line| matches!(line.tag, Tag::Context | Tag::Bare)) {
            if length < base.len() {
                notes.push(Note::new(NoteKind::NoContext, "no context: only the removed lines say where"));
            }
        } else if leads || trails {
            notes.push(Note::new(NoteKind::AsymmetricContext, "context on one side only"));
        }
    }
}

fn first_words(wanted: &[Wanted<'_>]) -> String {
    let line = wanted.iter().map(|line| line.text.trim()).find(|line| !line.is_empty());
    shorten(line.unwrap_or_default(), 60)
}

/// The first numbers of a list, in words.
pub(super) fn list(numbers: &[usize]) -> String {
    let mut text = numbers.iter().take(8).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if numbers.len() > 8 {
        text.push_str(", …");
    }
    text
}
