//! Where a run of lines stands in a text, at each level of tolerance.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::patch::lines::{BOM, Base, Line};

/// How far a run of lines may differ from the text and still be found. The first level at which something is
/// found is the one that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// In nothing: byte for byte, endings and all.
    Exact,
    /// In blanks at the ends of lines, line endings, a byte order mark and the final newline.
    Blanks,
    /// Besides, in indentation by the same number of spaces on every line.
    Shift,
    /// As blanks, and on lines of context in dashes, quotes and spaces of typography.
    Typography,
}

/// A line to look for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'h> {
    /// Without its line feed, but with its carriage return.
    pub text: &'h str,
    /// Whether it is context, which stays as it is in the file.
    pub context: bool,
    /// Whether no newline follows, so that it must be the file's last.
    pub no_newline: bool,
}

/// A place where the lines stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// 0-based first line.
    pub at: usize,
    /// Spaces that the text has more than what was looked for, at [`Level::Shift`].
    pub shift: isize,
}

/// Where the lines stand: more than one place is an ambiguity.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    /// At most [`MOST`].
    pub places: Vec<Place>,
}

/// How many places are told.
pub(super) const MOST: usize = 64;

/// Comparisons of lines that placing one patch may take. A patch that needs more is refused: only texts of
/// endless repetition do, and no bound would mean quadratic time.
pub(super) const WORK: u64 = 100_000_000;

/// Looking took more than [`WORK`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// The work that is left.
#[derive(Debug)]
pub(super) struct Work(Cell<u64>);

impl Work {
    pub fn new() -> Self {
        Self(Cell::new(WORK))
    }

    fn take(&self, amount: usize) -> Result<(), TooMuch> {
        let left = self.0.get().checked_sub(amount as u64).ok_or(TooMuch)?;
        self.0.set(left);
        Ok(())
    }
}

/// The lines of a text as numbers, equal where the lines are equal at a level.
struct Table<'t> {
    ids: Vec<u32>,
    of: HashMap<std::borrow::Cow<'t, str>, u32>,
    /// For each number the places where it stands.
    places: Vec<Vec<u32>>,
}

/// A text in which many runs of lines are looked for.
pub(super) struct Index<'b, 't> {
    pub base: &'b Base<'t>,
    work: &'b Work,
    exact: OnceCell<Table<'t>>,
    blanks: OnceCell<Table<'t>>,
    bare: OnceCell<Table<'t>>,
    folded: OnceCell<Table<'t>>,
}

/// A number that no line of the text has.
const ABSENT: u32 = u32::MAX;

impl<'b, 't> Index<'b, 't> {
    pub fn new(base: &'b Base<'t>, work: &'b Work) -> Self {
        Self {
            base,
            work,
            exact: OnceCell::new(),
            blanks: OnceCell::new(),
            bare: OnceCell::new(),
            folded: OnceCell::new(),
        }
    }

    fn table(&self, level: Level) -> &Table<'t> {
        let make = |key: fn(&Line<'t>) -> std::borrow::Cow<'t, str>| {
            let mut table = Table { ids: Vec::with_capacity(self.base.len()), of: HashMap::new(), places: Vec::new() };
            for (at, line) in self.base.lines.iter().enumerate() {
                let next = u32::try_from(table.of.len()).unwrap_or(ABSENT);
                let id = *table.of.entry(key(line)).or_insert(next);
                if id == next {
                    table.places.push(Vec::new());
                }
                if let Some(places) = usize::try_from(id).ok().and_then(|id| table.places.get_mut(id)) {
                    places.push(u32::try_from(at).unwrap_or(ABSENT));
                }
                table.ids.push(id);
            }
            table
        };
        match level {
            Level::Exact => self.exact.get_or_init(|| make(|line| line.whole.into())),
            Level::Blanks => self.blanks.get_or_init(|| make(|line| blanks_key(line.text).into())),
            Level::Shift => self.bare.get_or_init(|| make(|line| bare_key(line.text).into())),
            Level::Typography => self.folded.get_or_init(|| make(|line| folded_key(line.text).into())),
        }
    }

    /// The number of a wanted line at a level; [`ABSENT`] if the text has no such line.
    fn id(&self, level: Level, wanted: &Wanted<'_>) -> u32 {
        let table = self.table(level);
        let found = match level {
            Level::Exact if wanted.no_newline => table.of.get(wanted.text),
            Level::Exact => {
                let whole = format!("{}\n", wanted.text);
                table.of.get(whole.as_str())
            }
            Level::Blanks => table.of.get(blanks_key(wanted.text)),
            Level::Shift => table.of.get(bare_key(wanted.text)),
            Level::Typography => table.of.get(folded_key(wanted.text).as_str()),
        };
        found.copied().unwrap_or(ABSENT)
    }

    /// Every place where `wanted`, which is not empty, stands at `level`.
    pub fn find(&self, level: Level, wanted: &[Wanted<'_>]) -> Result<Places, TooMuch> {
        let mut found = Places::default();
        let ids: Vec<u32> = wanted.iter().map(|line| self.id(level, line)).collect();
        self.work.take(ids.len())?;
        let table = self.table(level);
        let places_of = |id: u32| usize::try_from(id).ok().and_then(|id| table.places.get(id));
        // Start from the line that stands in the fewest places.
        let mut rarest: Option<(usize, &Vec<u32>)> = None;
        for (offset, id) in ids.iter().enumerate() {
            let Some(places) = places_of(*id) else { return Ok(found) };
            if rarest.is_none_or(|(_, fewest)| places.len() < fewest.len()) {
                rarest = Some((offset, places));
            }
        }
        let Some((offset, starts)) = rarest else { return Ok(found) };
        for start in starts {
            let Some(at) = usize::try_from(*start).ok().and_then(|start| start.checked_sub(offset)) else { continue };
            let Some(here) = table.ids.get(at..at + ids.len()) else { continue };
            let equal = here.iter().zip(&ids).take_while(|(a, b)| a == b).count();
            self.work.take(equal + 1)?;
            if equal < ids.len() {
                continue;
            }
            let ends_text = at + ids.len() == self.base.len();
            if wanted.iter().any(|line| line.no_newline) && !ends_text {
                continue;
            }
            let shift = match level {
                Level::Shift => self.uniform_shift(at, wanted),
                Level::Typography => self.removed_lines_hold(at, wanted).then_some(0),
                Level::Exact | Level::Blanks => Some(0),
            };
            if let Some(shift) = shift {
                found.places.push(Place { at, shift });
                if found.places.len() == MOST {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// By how many spaces every line of the text at `at` is indented more, if by the same number and not by
    /// none.
    fn uniform_shift(&self, at: usize, wanted: &[Wanted<'_>]) -> Option<isize> {
        let mut shift = None;
        for (line, want) in self.base.lines.get(at..)?.iter().zip(wanted) {
            if line.text.trim().is_empty() {
                continue;
            }
            let by = difference(spaces(line.text)?, spaces(want.text)?)?;
            if *shift.get_or_insert(by) != by {
                return None;
            }
        }
        shift.filter(|by| *by != 0)
    }

    /// Whether the lines that go are the file's own: typography is only forgiven in context.
    fn removed_lines_hold(&self, at: usize, wanted: &[Wanted<'_>]) -> bool {
        let lines = self.base.lines.get(at..).unwrap_or_default();
        lines.iter().zip(wanted).all(|(line, want)| want.context || blanks_key(line.text) == blanks_key(want.text))
    }

    /// The lines that are `text` but for blanks around it; if there are none and `prefix`, those that begin with
    /// it, as headings are cut off and anchors are often shortened.
    pub fn lines_like(&self, text: &str, prefix: bool) -> Result<Vec<usize>, TooMuch> {
        let table = self.table(Level::Shift);
        let wanted = Wanted { text, context: true, no_newline: false };
        let id = self.id(Level::Shift, &wanted);
        if let Some(places) = usize::try_from(id).ok().and_then(|id| table.places.get(id)) {
            self.work.take(places.len())?;
            return Ok(places.iter().filter_map(|at| usize::try_from(*at).ok()).collect());
        }
        let key = bare_key(text);
        if !prefix || key.len() < 3 {
            return Ok(Vec::new());
        }
        self.work.take(self.base.len())?;
        let begins = |line: &Line<'_>| bare_key(line.text).starts_with(key);
        Ok(self.base.lines.iter().enumerate().filter(|(_, line)| begins(line)).map(|(at, _)| at).collect())
    }

    /// The block that the line `at` opens: up to the next line that is indented no deeper.
    pub fn block(&self, at: usize) -> Result<std::ops::Range<usize>, TooMuch> {
        let indent = |line: &Line<'_>| line.text.len() - line.text.trim_start().len();
        let lines = self.base.lines.get(at..).unwrap_or_default();
        let Some(own) = lines.first().map(indent) else { return Ok(at..at) };
        let inner = lines.iter().skip(1).take_while(|line| line.text.trim().is_empty() || indent(line) > own).count();
        self.work.take(inner + 1)?;
        Ok(at..at + 1 + inner)
    }

    /// The place that is most like `wanted`, with how many lines are equal there.
    pub fn closest(&self, wanted: &[Wanted<'_>]) -> Option<(usize, usize)> {
        const LINES: usize = 400;
        let table = self.table(Level::Shift);
        let ids: Vec<u32> = wanted.iter().take(LINES).map(|line| self.id(Level::Shift, line)).collect();
        let mut votes: HashMap<usize, usize> = HashMap::new();
        for (offset, (id, want)) in ids.iter().zip(wanted).enumerate() {
            if want.text.trim().len() < 2 {
                continue;
            }
            let Some(places) = usize::try_from(*id).ok().and_then(|id| table.places.get(id)) else { continue };
            self.work.take(places.len().min(MOST)).ok()?;
            for start in places.iter().take(MOST) {
                if let Some(at) = usize::try_from(*start).ok().and_then(|start| start.checked_sub(offset)) {
                    *votes.entry(at).or_default() += 1;
                }
            }
        }
        votes.into_iter().max_by_key(|(at, count)| (*count, std::cmp::Reverse(*at)))
    }
}

/// How much more `a` is than `b`.
fn difference(a: usize, b: usize) -> Option<isize> {
    isize::try_from(a).ok()?.checked_sub(isize::try_from(b).ok()?)
}

/// How many spaces a line begins with; nothing if there is any other blank among them.
pub(super) fn spaces(text: &str) -> Option<usize> {
    let indent = text.len() - text.trim_start_matches([' ', '\t', '\u{c}']).len();
    text.get(..indent).filter(|indent| indent.bytes().all(|b| b == b' ')).map(str::len)
}

fn blanks_key(text: &str) -> &str {
    text.trim_start_matches(BOM).trim_end()
}

fn bare_key(text: &str) -> &str {
    text.trim_start_matches(BOM).trim()
}

/// A line with typographic dashes, quotes, ellipses and spaces as ASCII.
fn folded_key(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in blanks_key(text).chars() {
        match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => folded.push('-'),
            '\u{2018}'..='\u{201b}' | '\u{2032}' => folded.push('\''),
            '\u{201c}'..='\u{201f}' | '\u{2033}' => folded.push('"'),
            '\u{2026}' => folded.push_str("..."),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => folded.push(' '),
            '\u{200b}' | '\u{2060}' => {}
            c => folded.push(c),
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, level: Level, lines: &[&str]) -> Vec<(usize, isize)> {
        let base = Base::new(text);
        let work = Work::new();
        let wanted: Vec<Wanted<'_>> =
            lines.iter().map(|text| Wanted { text, context: false, no_newline: false }).collect();
        let found = Index::new(&base, &work).find(level, &wanted).unwrap();
        found.places.iter().map(|place| (place.at, place.shift)).collect()
    }

    #[test]
    fn each_level_forgives_its_own_and_no_more() {
        assert_eq!(find("a\nb\na\n", Level::Exact, &["a"]), [(0, 0), (2, 0)]);
        assert_eq!(find("a\r\n", Level::Exact, &["a"]), []);
        assert_eq!(find("a\r\n", Level::Exact, &["a\r"]), [(0, 0)]);
        assert_eq!(find("a \r\n", Level::Blanks, &["a"]), [(0, 0)]);
        assert_eq!(find("    a\n      b\n", Level::Shift, &["a", "  b"]), [(0, 4)]);
        assert_eq!(find("    a\n      b\n", Level::Shift, &["a", "b"]), []);
        assert_eq!(find("\ta\n", Level::Shift, &["a"]), []);
        assert_eq!(find("a – b\n", Level::Typography, &["a - b"]), []);
        let base = Base::new("a – b\n");
        let work = Work::new();
        let wanted = [Wanted { text: "a - b", context: true, no_newline: false }];
        assert_eq!(Index::new(&base, &work).find(Level::Typography, &wanted).unwrap().places.len(), 1);
    }

    #[test]
    fn endless_repetition_ends() {
        let text = "a\n".repeat(100_000);
        let mut lines = vec!["a"; 50_000];
        lines.push("b");
        let text = text + "b\n" + &"a\n".repeat(100_000);
        assert_eq!(find(&text, Level::Exact, &lines).len(), 1);
        assert_eq!(find(&text, Level::Exact, &["a", "a"]).len(), MOST);
    }
}
