//! A line of hostile text as cells: what to print for each cluster, and how many columns it takes.

use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Range;

use unicode_segmentation::{GraphemeIndices, UnicodeSegmentation};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Combining marks kept on one base character; more would only cost time to draw.
const MARKS_KEPT: usize = 8;

/// Columns between tab stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tab(u8);

impl Tab {
    /// Stops as a terminal has them.
    pub const TERMINAL: Self = Self(8);
    /// Stops as Python sources are read.
    pub const SOURCE: Self = Self(4);

    /// Stops every `columns`, held between 1 and 16.
    pub fn every(columns: u8) -> Self {
        Self(columns.clamp(1, 16))
    }

    /// Columns from `column` to the next stop, at least one.
    pub fn step(self, column: usize) -> usize {
        let stop = usize::from(self.0);
        stop - column % stop
    }
}

impl Default for Tab {
    fn default() -> Self {
        Self::TERMINAL
    }
}

/// What a cell stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellKind {
    /// The text's own character.
    Text,
    /// Blanks that a tab takes.
    Tab,
    /// A stand-in for what can't be printed: a control character, a bidirectional control, something
    /// invisible.
    Mark,
}

/// One unit that is drawn whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell<'a> {
    /// What to print: never a control character, never something that changes the direction of text.
    pub text: Cow<'a, str>,
    /// Columns that it takes.
    pub width: usize,
    /// The bytes of the line that it stands for.
    pub bytes: Range<usize>,
    /// What it stands for.
    pub kind: CellKind,
}

/// The cells of a line, lazily: what is not asked for costs nothing.
///
/// Emoji joined by U+200D are given one after another, and presentation selectors and skin tones are
/// dropped: terminals disagree on the width of the joined forms, and agree on the width of the parts.
pub fn cells(line: &str, tab: Tab) -> Cells<'_> {
    cells_from(line, tab, 0, 0)
}

/// As [`cells`], for the rest of a line that begins at byte `at`, which lies in column `column`. `at` must be
/// where a cluster begins; anything else yields nothing.
pub fn cells_from(line: &str, tab: Tab, at: usize, column: usize) -> Cells<'_> {
    let rest = line.get(at..).unwrap_or_default();
    Cells { line, rest: rest.grapheme_indices(true).peekable(), offset: at, column, tab, pending: None }
}

/// See [`cells`].
#[derive(Debug)]
pub struct Cells<'a> {
    line: &'a str,
    rest: Peekable<GraphemeIndices<'a>>,
    offset: usize,
    column: usize,
    tab: Tab,
    /// Where a cluster of several cells goes on.
    pending: Option<Range<usize>>,
}

impl Cells<'_> {
    /// The column that the next cell begins in.
    pub fn column(&self) -> usize {
        self.column
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    fn next(&mut self) -> Option<Cell<'a>> {
        let bytes = match self.pending.take() {
            Some(bytes) => bytes,
            None => {
                let (at, cluster) = self.rest.next()?;
                self.offset + at..self.offset + at + cluster.len()
            }
        };
        let text = self.line.get(bytes.clone())?;
        let (cell, used) = first_cell(text, bytes.start, self.column, self.tab);
        if used < text.len() {
            self.pending = Some(bytes.start + used..bytes.end);
        }
        self.column += cell.width;
        Some(cell)
    }
}

/// The first cell of a cluster, and how many of its bytes it stands for (at least one).
fn first_cell(cluster: &str, at: usize, column: usize, tab: Tab) -> (Cell<'_>, usize) {
    let mut chars = cluster.char_indices();
    let Some((_, base)) = chars.next() else {
        return (Cell { text: Cow::Borrowed(""), width: 0, bytes: at..at, kind: CellKind::Text }, 1);
    };
    let mark = |text: Cow<'static, str>, used: usize| {
        let width = columns(&text);
        (Cell { text, width, bytes: at..at + used, kind: CellKind::Mark }, used)
    };
    if base == '\t' {
        let width = tab.step(column);
        let blanks = Cow::Borrowed(blanks(width));
        return (Cell { text: blanks, width, bytes: at..at + 1, kind: CellKind::Tab }, 1);
    }
    if is_skin_tone(base) {
        return mark(code(base), base.len_utf8());
    }
    if let Some(name) = invisible(base) {
        return mark(name, base.len_utf8());
    }

    // A base, then what may stay on it. The cell ends before the first character that wants cells of its own.
    let mut kept = base.len_utf8();
    let mut end = kept;
    let mut plain = true;
    let mut text = String::new();
    let mut marks = 0;
    let mut joined = false;
    for (i, c) in chars {
        let next = i + c.len_utf8();
        if is_dropped(c, base) {
            joined |= c == '\u{200D}';
            plain = false;
        } else if is_skin_tone(c) || invisible(c).is_some() && !(is_joiner(c) && is_letter(base)) {
            break;
        } else if c.width() == Some(0) {
            marks += 1;
            if marks > MARKS_KEPT {
                plain = false;
            } else if plain {
                kept = next;
            } else {
                if text.is_empty() {
                    text.push_str(cluster.get(..kept).unwrap_or_default());
                }
                text.push(c);
            }
        } else if plain && !joined {
            // A spacing mark, the second half of a flag, a syllable's vowel: one unit with its base.
            kept = next;
        } else {
            break;
        }
        end = next;
    }
    let mut text =
        if text.is_empty() { Cow::Borrowed(cluster.get(..kept).unwrap_or_default()) } else { Cow::Owned(text) };
    let mut width = columns(&text);
    if width == 0 {
        // A mark without a base is shown on a dotted circle, as Unicode's own charts do.
        text = Cow::Owned(format!("\u{25CC}{text}"));
        width = columns(&text);
        if text.graphemes(true).nth(1).is_some() {
            return mark(code(base), base.len_utf8());
        }
    }
    if width > 2 && text.chars().nth(1).is_none() {
        return mark(code(base), end);
    }
    (Cell { text, width, bytes: at..at + end, kind: CellKind::Text }, end)
}

/// Columns as ratatui counts them: cluster by cluster.
fn columns(text: &str) -> usize {
    if text.len() == 1 {
        return 1;
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// `n` blanks, at most sixteen.
fn blanks(n: usize) -> &'static str {
    const BLANKS: &str = "                ";
    BLANKS.get(..n).unwrap_or(BLANKS)
}

/// What stands for a character that must not be printed as it is, or `None` when it may be.
fn invisible(c: char) -> Option<Cow<'static, str>> {
    let name = match c {
        ' '..='~' => return None,
        '\0'..='\x1f' => return Some(Cow::Owned(char::from_u32(0x2400 + u32::from(c))?.to_string())),
        '\x7f' => "\u{2421}",
        '\u{061C}' => "<ALM>",
        '\u{200B}' => "<ZWSP>",
        '\u{200C}' => "<ZWNJ>",
        '\u{200D}' => "<ZWJ>",
        '\u{200E}' => "<LRM>",
        '\u{200F}' => "<RLM>",
        '\u{2028}' => "<LS>",
        '\u{2029}' => "<PS>",
        '\u{202A}' => "<LRE>",
        '\u{202B}' => "<RLE>",
        '\u{202C}' => "<PDF>",
        '\u{202D}' => "<LRO>",
        '\u{202E}' => "<RLO>",
        '\u{2066}' => "<LRI>",
        '\u{2067}' => "<RLI>",
        '\u{2068}' => "<FSI>",
        '\u{2069}' => "<PDI>",
        '\u{FEFF}' => "<BOM>",
        _ if is_default_ignorable(c) || c.is_control() => return Some(code(c)),
        _ => return None,
    };
    Some(Cow::Borrowed(name))
}

fn code(c: char) -> Cow<'static, str> {
    Cow::Owned(format!("<U+{:04X}>", u32::from(c)))
}

/// Characters that terminals draw as nothing: Unicode's `Default_Ignorable_Code_Point`, and the interlinear
/// annotations (`DerivedCoreProperties.txt`, Unicode 16).
fn is_default_ignorable(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// What emoji are made of, roughly: wide enough to hold all bases of joined forms, and no script that needs
/// U+200D to shape its letters.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{00A9}' | '\u{00AE}' | '\u{2010}'..='\u{2BFF}' | '\u{3030}'..='\u{303D}' | '\u{3297}'..='\u{3299}'
        | '\u{1F000}'..='\u{1FAFF}')
}

/// Asks letters to join, or not to; at home in Arabic and Indic scripts.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}')
}

/// Whether it stands by itself: marks of Arabic are alphabetic too.
fn is_letter(c: char) -> bool {
    c.is_alphabetic() && c.width() != Some(0)
}

/// What only changes the looks of `base`, and its width differently from terminal to terminal.
fn is_dropped(c: char, base: char) -> bool {
    match c {
        '\u{200D}' => is_pictograph(base),
        '\u{FE0E}' | '\u{FE0F}' => is_pictograph(base) || matches!(base, '0'..='9' | '#' | '*'),
        _ if is_skin_tone(c) => is_pictograph(base),
        // Regional flags are a black flag and letters that can't be seen.
        '\u{E0020}'..='\u{E007F}' => base == '\u{1F3F4}',
        _ => false,
    }
}

fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Vec<(String, usize)> {
        cells(line, Tab::TERMINAL).map(|c| (c.text.into_owned(), c.width)).collect()
    }

    fn flat(line: &str) -> String {
        cells(line, Tab::TERMINAL).map(|c| c.text.into_owned()).collect()
    }

    #[test]
    fn control_characters_are_shown_as_glyphs() {
        assert_eq!(flat("a\x1b[31mb\x07\x7f"), "a␛[31mb␇␡");
        assert_eq!(flat("\u{9b}31m"), "<U+009B>31m");
        assert_eq!(flat("a\r\nb"), "a␍␊b");
    }

    #[test]
    fn tabs_go_to_the_next_stop() {
        let at = |stop, line| cells(line, Tab::every(stop)).map(|c| c.width).collect::<Vec<_>>();
        assert_eq!(at(8, "\ta\tb"), [8, 1, 7, 1]);
        assert_eq!(at(4, "ab\tc"), [1, 1, 2, 1]);
        assert_eq!(at(2, "世\tc"), [2, 2, 1]);
        assert_eq!(at(0, "\t\t"), [1, 1]);
    }

    #[test]
    fn joined_emoji_fall_into_parts_whose_width_all_terminals_know() {
        assert_eq!(shown("👨\u{200d}👩\u{200d}👧"), [("👨".into(), 2), ("👩".into(), 2), ("👧".into(), 2)]);
        assert_eq!(shown("❤\u{fe0f}"), [("❤".into(), 1)]);
        assert_eq!(shown("👍🏽"), [("👍".into(), 2)]);
        assert_eq!(shown("1\u{fe0f}\u{20e3}"), [("1\u{20e3}".into(), 1)]);
        assert_eq!(shown("🇩🇪"), [("🇩🇪".into(), 2)]);
    }

    #[test]
    fn combining_marks_stay_on_their_base() {
        assert_eq!(shown("e\u{301}x"), [("e\u{301}".into(), 1), ("x".into(), 1)]);
        assert_eq!(shown("\u{301}x"), [("◌\u{301}".into(), 1), ("x".into(), 1)]);
        assert_eq!(flat("\u{64b}\u{200d}"), "◌\u{64b}<ZWJ>");
        let piled = format!("z{}", "\u{301}".repeat(500));
        assert_eq!(shown(&piled), [(format!("z{}", "\u{301}".repeat(MARKS_KEPT)), 1)]);
    }

    #[test]
    fn what_hides_or_turns_text_is_named() {
        assert_eq!(flat("a\u{202e}b\u{2066}c\u{2069}"), "a<RLO>b<LRI>c<PDI>");
        assert_eq!(flat("a\u{200b}b\u{feff}"), "a<ZWSP>b<BOM>");
        assert_eq!(flat("a\u{e0041}\u{e0042}"), "a<U+E0041><U+E0042>");
        assert_eq!(flat("😀\u{fe00}"), "😀<U+FE00>");
        assert_eq!(flat("\u{3164}"), "<U+3164>");
    }

    #[test]
    fn right_to_left_text_keeps_its_order_and_its_columns() {
        assert_eq!(flat("abc שלום مرحبا 1"), "abc שלום مرحبا 1");
        let widths: usize = cells("שלום", Tab::TERMINAL).map(|c| c.width).sum();
        assert_eq!(widths, 4);
    }

    #[test]
    fn cells_cover_the_line() {
        let line = "a\t👨\u{200d}👩e\u{301}\u{202e}z";
        let mut at = 0;
        for cell in cells(line, Tab::SOURCE) {
            assert_eq!(cell.bytes.start, at);
            at = cell.bytes.end;
        }
        assert_eq!(at, line.len());
    }
}
