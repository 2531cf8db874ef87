//! A line that a program printed for a terminal, as text with colours.
//!
//! Of all that a program may send to a terminal, this keeps what a person reads: the text, its colours (SGR,
//! ECMA-48 8.3.117, with the 256 and 24-bit forms of ITU T.416), and what carriage returns, backspaces and
//! erasing leave of a line, so that a progress bar looks as it did at its end. All other sequences are dropped:
//! titles, clipboards, cursor moves to other lines, modes. What is left is still hostile and is drawn through
//! [`super::text`].

use std::ops::Range;

use ratatui::style::{Color, Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;

use super::text::{self, Run, Tab};
use crate::ui::theme::{Role, Theme};

/// Of a line that is written over again and again, only this many bytes at its end are looked at.
const OVERWRITTEN: usize = 64 << 10;

/// Columns that a program may move to.
const COLUMNS: usize = 4096;

/// A colour as a program asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ink {
    /// The ordinary one.
    #[default]
    Ordinary,
    /// One of the sixteen that a theme sets.
    Named(u8),
    /// One of xterm's 256.
    Indexed(u8),
    /// By its channels.
    Rgb(u8, u8, u8),
}

impl Ink {
    fn indexed(i: u8) -> Self {
        if i < 16 { Self::Named(i) } else { Self::Indexed(i) }
    }

    fn color(self, theme: &Theme) -> Option<Color> {
        let color = match self {
            Self::Ordinary => return None,
            Self::Named(i) => return theme.style(*Role::ANSI.get(usize::from(i))?).fg,
            Self::Indexed(i) => Color::Indexed(i),
            Self::Rgb(r, g, b) => Color::Rgb(r, g, b),
        };
        Some(theme.depth().nearest(color)).filter(|color| *color != Color::Reset)
    }
}

/// How a program asked for its text to look; goes on from line to line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Look {
    /// The colour of the letters.
    pub fg: Ink,
    /// The colour under them.
    pub bg: Ink,
    /// Weight and its like. Blinking is left out.
    pub modifiers: Modifier,
}

impl Look {
    /// In a theme's terms.
    pub fn style(self, theme: &Theme) -> Style {
        let mut style = Style::new().add_modifier(self.modifiers);
        style.fg = self.fg.color(theme);
        style.bg = self.bg.color(theme);
        style
    }

    /// Applies the parameters of one SGR sequence.
    fn apply(&mut self, parameters: &str) {
        let mut groups = parameters.split(';');
        while let Some(group) = groups.next() {
            // Parts after a colon belong to the number before it: `38:2::r:g:b`, `4:3`.
            let mut parts = group.split(':');
            let first = parts.next().unwrap_or_default();
            let code: u16 = if first.is_empty() { 0 } else { first.parse().unwrap_or(u16::MAX) };
            let colons: Vec<&str> = parts.collect();
            match code {
                0 => *self = Self::default(),
                1 => self.modifiers |= Modifier::BOLD,
                2 => self.modifiers |= Modifier::DIM,
                3 => self.modifiers |= Modifier::ITALIC,
                4 if colons.first() == Some(&"0") => self.modifiers -= Modifier::UNDERLINED,
                4 | 21 => self.modifiers |= Modifier::UNDERLINED,
                7 => self.modifiers |= Modifier::REVERSED,
                9 => self.modifiers |= Modifier::CROSSED_OUT,
                22 => self.modifiers -= Modifier::BOLD | Modifier::DIM,
                23 => self.modifiers -= Modifier::ITALIC,
                24 => self.modifiers -= Modifier::UNDERLINED,
                27 => self.modifiers -= Modifier::REVERSED,
                29 => self.modifiers -= Modifier::CROSSED_OUT,
                30..=37 => self.fg = Ink::Named(low(code - 30)),
                39 => self.fg = Ink::Ordinary,
                40..=47 => self.bg = Ink::Named(low(code - 40)),
                49 => self.bg = Ink::Ordinary,
                90..=97 => self.fg = Ink::Named(low(code - 90 + 8)),
                100..=107 => self.bg = Ink::Named(low(code - 100 + 8)),
                38 | 48 => {
                    let ink = if colons.is_empty() {
                        extended(&mut groups)
                    } else {
                        // The colour space between `2` and the channels may be there or not.
                        let skip = usize::from(colons.first() == Some(&"2") && colons.len() > 4);
                        let mut rest = colons.iter().enumerate().filter(|(i, _)| *i != skip).map(|(_, part)| *part);
                        if skip == 0 { extended(&mut colons.iter().copied()) } else { extended(&mut rest) }
                    };
                    match ink {
                        Some(ink) if code == 38 => self.fg = ink,
                        Some(ink) => self.bg = ink,
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }
}

fn low(n: u16) -> u8 {
    n.to_le_bytes()[0]
}

/// The colour after 38 or 48: `5;n` or `2;r;g;b`.
fn extended<'p>(parts: &mut impl Iterator<Item = &'p str>) -> Option<Ink> {
    let kind = parts.next()?;
    let mut number = || parts.next()?.parse().ok();
    match kind {
        "5" => Some(Ink::indexed(number()?)),
        "2" => Some(Ink::Rgb(number()?, number()?, number()?)),
        _ => None,
    }
}

/// A line without its escape sequences.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Printed {
    /// The text, still hostile: to be drawn through [`super::text`].
    pub text: String,
    /// How its parts look, in order, without the ordinary ones.
    pub looks: Vec<(Range<usize>, Look)>,
}

impl Printed {
    fn push(&mut self, piece: &str, look: Look) {
        let start = self.text.len();
        self.text.push_str(piece);
        if look == Look::default() || piece.is_empty() {
            return;
        }
        match self.looks.last_mut() {
            Some((bytes, last)) if *last == look && bytes.end == start => bytes.end = self.text.len(),
            _ => self.looks.push((start..self.text.len(), look)),
        }
    }

    /// The looks as a layer for [`super::text::Painted`].
    pub fn runs(&self, theme: &Theme) -> Vec<Run> {
        self.looks.iter().map(|(bytes, look)| Run::new(bytes.clone(), look.style(theme))).collect()
    }
}

/// One line, without its line break, as it looks when all of it was printed, beginning with `look`; also how the
/// next line begins to look.
pub fn line(raw: &str, look: Look) -> (Printed, Look) {
    let mut look = look;
    if !raw.bytes().any(|b| matches!(b, b'\x1b' | b'\r' | b'\x08' | 0xC2)) {
        let mut printed = Printed::default();
        printed.push(raw, look);
        return (printed, look);
    }
    let raw = raw.strip_suffix('\r').unwrap_or(raw);
    let moves =
        raw.contains(['\r', '\x08']) || pieces(raw).any(|piece| matches!(piece, Piece::Control(c) if c.moves()));
    if !moves {
        let mut printed = Printed::default();
        for piece in pieces(raw) {
            match piece {
                Piece::Text(text) => printed.push(text, look),
                Piece::Control(control) if control.last == 'm' => look.apply(control.parameters),
                Piece::Control(_) | Piece::Dropped => {}
            }
        }
        return (printed, look);
    }
    overwritten(raw, look)
}

/// How the line after this one begins to look. Cheaper than [`line`].
pub fn look_after(raw: &str, look: Look) -> Look {
    let mut look = look;
    if raw.bytes().any(|b| b == b'\x1b' || b == 0xC2) {
        for piece in pieces(raw) {
            if let Piece::Control(control) = piece
                && control.last == 'm'
            {
                look.apply(control.parameters);
            }
        }
    }
    look
}

/// A text of any length without its escape sequences, for searching and copying; lines as they look at the end.
pub fn plain(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|raw| line(raw, Look::default()).0.text).collect();
    lines.join("\n")
}

/// What a column holds: a cluster, or the rest of a wide one, which is empty.
type Column = (String, Look);

/// A line in which the cursor goes back.
fn overwritten(raw: &str, look: Look) -> (Printed, Look) {
    let mut look = look;
    let mut seen = raw;
    if raw.len() > OVERWRITTEN {
        // Begin where the cursor was last at the left edge, before the part that is looked at.
        let mut from = raw.len() - OVERWRITTEN;
        while !raw.is_char_boundary(from) {
            from += 1;
        }
        let from = raw.get(from..).and_then(|tail| tail.find('\r')).map_or(from, |at| from + at);
        look = look_after(raw.get(..from).unwrap_or_default(), look);
        seen = raw.get(from..).unwrap_or_default();
    }
    let mut columns: Vec<Column> = Vec::new();
    let mut at = 0;
    for piece in pieces(seen) {
        match piece {
            Piece::Text(text) => write(&mut columns, &mut at, text, look),
            Piece::Control(control) => {
                let n = control.number().clamp(1, COLUMNS);
                match control.last {
                    'm' => look.apply(control.parameters),
                    'K' => match control.number() {
                        0 => columns.truncate(at),
                        1 => columns.iter_mut().take(at + 1).for_each(|column| *column = blank()),
                        _ => columns.clear(),
                    },
                    'G' | '`' => at = n - 1,
                    'C' => at = (at + n).min(COLUMNS),
                    'D' => at = at.saturating_sub(n),
                    'P' => {
                        let end = (at + n).min(columns.len());
                        columns.drain(at.min(end)..end);
                    }
                    _ => {}
                }
            }
            Piece::Dropped => {}
        }
    }
    let mut printed = Printed::default();
    for (text, look) in &columns {
        printed.push(text, *look);
    }
    (printed, look)
}

fn blank() -> Column {
    (" ".to_owned(), Look::default())
}

/// Writes text from column `at` on, over what is there.
fn write(columns: &mut Vec<Column>, at: &mut usize, text: &str, look: Look) {
    for cluster in text.graphemes(true) {
        match cluster {
            "\r" => *at = 0,
            "\x08" => *at = at.saturating_sub(1),
            "\t" => *at += Tab::TERMINAL.step(*at),
            _ => {
                let width = text::width(cluster).max(1);
                if columns.len() < *at + width {
                    columns.resize(*at + width, blank());
                }
                // A wide cluster that loses its second column is gone as a whole, and so is one that loses its first.
                if let Some(i) = at.checked_sub(1)
                    && columns.get(*at).is_some_and(|(text, _)| text.is_empty())
                    && let Some(before) = columns.get_mut(i)
                {
                    *before = blank();
                }
                if let Some(after) = columns.get_mut(*at + width)
                    && after.0.is_empty()
                {
                    *after = blank();
                }
                for (i, column) in columns.iter_mut().skip(*at).take(width).enumerate() {
                    *column = (if i == 0 { cluster.to_owned() } else { String::new() }, look);
                }
                *at += width;
            }
        }
    }
}

/// A control sequence: ESC `[` parameters last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Control<'a> {
    parameters: &'a str,
    last: char,
}

impl Control<'_> {
    /// Its first number; 0 where there is none.
    fn number(self) -> usize {
        self.parameters.split([';', ':']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
    }

    /// Whether it changes where in the line the next text goes.
    fn moves(self) -> bool {
        matches!(self.last, 'K' | 'G' | '`' | 'C' | 'D' | 'P')
    }
}

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Control(Control<'a>),
    Dropped,
}

fn pieces(raw: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, len) = first_piece(rest);
        rest = rest.get(len..).unwrap_or_default();
        Some(piece)
    })
}

/// The first piece of a text that is not empty, and how many bytes it takes.
fn first_piece(text: &str) -> (Piece<'_>, usize) {
    let starts = |c: char| matches!(c, '\x1b' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}' | '\u{9e}' | '\u{9f}');
    let until = text.find(starts).unwrap_or(text.len());
    if until > 0 {
        return (Piece::Text(text.get(..until).unwrap_or_default()), until);
    }
    let mut chars = text.chars();
    let first = chars.next().unwrap_or('\x1b');
    let (kind, head) = match first {
        '\x1b' => match chars.next() {
            Some(kind) => (kind, 1 + kind.len_utf8()),
            // An escape that ends the line: shown, since what it began can't be told.
            None => return (Piece::Text(text), text.len()),
        },
        '\u{9b}' => ('[', first.len_utf8()),
        '\u{9d}' => (']', first.len_utf8()),
        _ => ('P', first.len_utf8()),
    };
    let body = text.get(head..).unwrap_or_default();
    match kind {
        '[' => {
            // ECMA-48 5.4: parameter bytes, intermediate bytes, one final byte.
            let end = body.find(|c: char| !matches!(c, '\x20'..='\x3f')).unwrap_or(body.len());
            let parameters = body.get(..end).unwrap_or_default();
            match body.get(end..).and_then(|rest| rest.chars().next()) {
                Some(last @ '\x40'..='\x7e') => {
                    // Private parameters and intermediate bytes make another sequence of the same letter.
                    let ours = parameters.chars().all(|c| matches!(c, '0'..=';'));
                    let piece = if ours { Piece::Control(Control { parameters, last }) } else { Piece::Dropped };
                    (piece, head + end + last.len_utf8())
                }
                // Broken off: the sequence is dropped, the text after it is not.
                _ => (Piece::Dropped, head + end),
            }
        }
        ']' | 'P' | 'X' | '^' | '_' => {
            // A string, up to BEL or ST. One that doesn't end in this line is shown, lest it hide the rest.
            let end = body.find(['\x07', '\u{9c}', '\x1b', '\r']);
            match end.and_then(|end| body.get(end..).map(|rest| (end, rest))) {
                Some((end, rest)) if rest.starts_with('\x07') => (Piece::Dropped, head + end + 1),
                Some((end, rest)) if rest.starts_with('\u{9c}') || rest.starts_with("\x1b\\") => {
                    (Piece::Dropped, head + end + 2)
                }
                _ => (Piece::Text(text.get(..head).unwrap_or_default()), head),
            }
        }
        // ESC, intermediate bytes, one final byte: `ESC ( B`, `ESC 7`, `ESC c`.
        '\x20'..='\x2f' => {
            let end = body.find(|c: char| !matches!(c, '\x20'..='\x2f')).unwrap_or(body.len());
            let last = body.get(end..).and_then(|rest| rest.chars().next()).filter(|c| matches!(c, '\x30'..='\x7e'));
            (Piece::Dropped, head + end + last.map_or(0, char::len_utf8))
        }
        '\x30'..='\x7e' => (Piece::Dropped, head),
        // Not a sequence: the escape is shown, what follows is looked at again.
        _ => (Piece::Text(text.get(..first.len_utf8()).unwrap_or_default()), first.len_utf8()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flat(raw: &str) -> String {
        line(raw, Look::default()).0.text
    }

    fn looks(raw: &str) -> Vec<(String, Look)> {
        let printed = line(raw, Look::default()).0;
        printed.looks.iter().map(|(bytes, look)| (printed.text[bytes.clone()].to_owned(), *look)).collect()
    }

    fn named(i: u8) -> Look {
        Look { fg: Ink::Named(i), ..Look::default() }
    }

    #[test]
    fn colours_are_read_in_all_their_forms() {
        assert_eq!(looks("a\x1b[31mred\x1b[0mb"), [("red".into(), named(1))]);
        assert_eq!(looks("\x1b[91mx"), [("x".into(), named(9))]);
        assert_eq!(looks("\x1b[38;5;208mx")[0].1.fg, Ink::Indexed(208));
        assert_eq!(looks("\x1b[38;5;3mx")[0].1.fg, Ink::Named(3));
        assert_eq!(looks("\x1b[38;2;1;2;3mx")[0].1.fg, Ink::Rgb(1, 2, 3));
        assert_eq!(looks("\x1b[48:2::1:2:3mx")[0].1.bg, Ink::Rgb(1, 2, 3));
        assert_eq!(looks("\x1b[38:2:1:2:3mx")[0].1.fg, Ink::Rgb(1, 2, 3));
        assert_eq!(looks("\x1b[38:5:9mx")[0].1.fg, Ink::Named(9));
        assert_eq!(looks("\x1b[1;4;32mx\x1b[22mx")[0].1.modifiers, Modifier::BOLD | Modifier::UNDERLINED);
        assert_eq!(looks("\u{9b}32mx"), [("x".into(), named(2))]);
        assert_eq!(looks("\x1b[38;2;1mx\x1b[999mx\x1b[;mx"), []);
    }

    #[test]
    fn a_look_goes_on_in_the_next_line() {
        let (_, look) = line("\x1b[31mred", Look::default());
        assert_eq!(look, named(1));
        assert_eq!(look_after("\x1b[31mred", Look::default()), look);
        assert_eq!(line("still", look).0.looks, [(0..5, named(1))]);
    }

    #[test]
    fn a_progress_bar_looks_as_it_did_at_its_end() {
        assert_eq!(flat(" 10%|#    |\r 50%|##   |\r100%|#####|"), "100%|#####|");
        assert_eq!(flat("downloading\rdone"), "doneloading");
        assert_eq!(flat("downloading\r\x1b[Kdone"), "done");
        assert_eq!(flat("downloading\x1b[2K\rdone"), "done");
        assert_eq!(flat("abc\x08\x08X"), "aXc");
        assert_eq!(flat("abc\r"), "abc");
        assert_eq!(flat("世界\rx"), "x 界");
        assert_eq!(flat("世界\rab\x1b[1Gc"), "cb界");
        assert_eq!(flat("\x1b[5Gx"), "    x");
    }

    #[test]
    fn a_bar_of_a_thousand_turns_is_read_from_its_end() {
        let turns: String = (0..200_000).map(|n| format!("\r{n:>7}")).collect();
        assert_eq!(flat(&turns), " 199999");
    }

    #[test]
    fn all_other_sequences_are_dropped() {
        assert_eq!(flat("a\x1b]0;title\x07b\x1b]52;c;aGk=\x1b\\c"), "abc");
        assert_eq!(flat("\x1b[2J\x1b[Hx\x1b[?1049h\x1b[?25ly\x1b[6nz"), "xyz");
        assert_eq!(flat("\x1bP+q544e\x1b\\x\x1b_Ga=T;AAAA\x1b\\y"), "xy");
        assert_eq!(flat("\x1b(0x\x1b(B\x1bcy\x1b7z"), "xyz");
        assert_eq!(flat("\x1b]8;;http://x\x07link\x1b]8;;\x07"), "link");
        assert_eq!(flat("\x1b[>4;1mx"), "x");
    }

    #[test]
    fn what_is_broken_off_hides_nothing() {
        assert_eq!(flat("a\x1b]0;no end"), "a\x1b]0;no end");
        assert_eq!(flat("a\x1b[3"), "a");
        assert_eq!(flat("a\x1b[3é"), "aé");
        assert_eq!(flat("a\x1b"), "a\x1b");
        assert_eq!(flat("a\x1bé"), "a\x1bé");
    }

    #[test]
    fn a_text_without_sequences_can_be_searched() {
        assert_eq!(plain("\x1b[1mone\x1b[0m\ntwo\rTWO\n"), "one\nTWO\n");
    }

    #[test]
    fn a_theme_sets_the_sixteen() {
        let theme = Theme::built_in("dark");
        assert_eq!(named(1).style(&theme).fg, theme.style(Role::Red).fg);
        let mono = Theme::built_in("mono").at_depth(crate::ui::theme::Depth::None);
        let deep = Look { fg: Ink::Rgb(1, 2, 3), bg: Ink::Indexed(200), modifiers: Modifier::BOLD };
        assert_eq!(deep.style(&mono), Style::new().add_modifier(Modifier::BOLD));
    }

    proptest! {
        #[test]
        fn no_sequence_is_left_that_a_terminal_would_take(
            raw in prop::collection::vec(prop_oneof![
                Just("\x1b".to_owned()), Just("[".to_owned()), Just("]".to_owned()), Just("\x07".to_owned()),
                Just("\x1b\\".to_owned()), Just("31m".to_owned()), Just("\r".to_owned()), Just("\u{9b}".to_owned()),
                Just("世".to_owned()), "[ -~]{1,4}", any::<char>().prop_map(String::from),
            ], 0..20).prop_map(|parts| parts.concat())
        ) {
            let (printed, look) = line(&raw, Look::default());
            prop_assert_eq!(look, look_after(&raw, Look::default()));
            // Whatever is left is drawn by the module that lets nothing through.
            prop_assert!(!text::safe_line(&printed.text).contains('\x1b'));
            let mut at = 0;
            for (bytes, _) in &printed.looks {
                prop_assert!(bytes.start >= at && bytes.end > bytes.start && bytes.end <= printed.text.len());
                at = bytes.end;
            }
        }
    }
}
