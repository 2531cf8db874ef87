//! Frames: drawn in one go, with ASCII only where the terminal has no more.

use std::io::{self, Write};

use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::Modifier;
use ratatui::{Frame, Terminal};

use super::out::Out;
use super::session::Session;

/// What frames are drawn on.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Out>>,
    ascii: bool,
}

impl Screen {
    /// For a terminal that a session has taken.
    pub fn new(session: &Session, ascii: bool) -> io::Result<Self> {
        Ok(Self { terminal: session.terminal()?, ascii })
    }

    /// Whether only ASCII is drawn.
    pub fn set_ascii(&mut self, ascii: bool) {
        self.ascii = ascii;
    }

    /// Draws one frame. Only cells that changed are sent, between the marks of synchronized output (DEC mode 2026),
    /// so that terminals that know them show the frame at once.
    pub fn draw<T>(&mut self, view: impl FnOnce(&mut Frame<'_>) -> T) -> io::Result<T> {
        let mut result = None;
        self.terminal.backend_mut().write_all(b"\x1b[?2026h")?;
        self.terminal.draw(|frame| {
            result = Some(view(frame));
            if self.ascii {
                flatten(frame.buffer_mut());
            }
        })?;
        self.terminal.backend_mut().write_all(b"\x1b[?2026l")?;
        Write::flush(self.terminal.backend_mut())?;
        result.ok_or_else(|| io::Error::other("the frame was not drawn"))
    }

    /// Forgets what is on the screen, so that the next frame draws every cell.
    pub fn forget(&mut self) -> io::Result<()> {
        // Not `Terminal::clear`: that asks for the cursor's place and would take the answer from our own input.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }

    /// Columns and rows.
    pub fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }
}

/// Puts ASCII in place of everything else. The signs that the interface draws have their own ASCII forms
/// ([`crate::ui::theme::Glyphs::ASCII`]); this is for the rest, above all for what a run's texts hold.
pub fn flatten(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if cell.symbol().is_ascii() {
            continue;
        }
        let first = cell.symbol().chars().next().unwrap_or(' ');
        let control = match first {
            // Control pictures: their letter, reversed, as old editors show them.
            '\u{2400}'..='\u{241F}' => char::from_u32(u32::from(first) - 0x2400 + 0x40),
            '\u{2421}' => Some('?'),
            _ => None,
        };
        if let Some(letter) = control {
            cell.set_char(letter);
            cell.modifier |= Modifier::REVERSED;
        } else {
            cell.set_char(ascii(first));
        }
    }
}

/// The nearest to a character that ASCII has.
fn ascii(c: char) -> char {
    match c {
        '─' | '━' | '╌' | '┄' | '–' | '—' | '−' | '‾' | '▔' | '╶' | '╴' => '-',
        '│' | '┃' | '╎' | '┆' | '▎' | '▏' | '▕' | '╷' | '╵' => '|',
        '═' => '=',
        '\u{2500}'..='\u{257F}' => '+',
        '█' | '▓' | '▇' | '▆' | '▅' | '■' => '#',
        '▒' | '░' | '▄' | '▃' | '▂' | '▁' | '▀' => ':',
        '●' | '◆' | '•' | '★' => '*',
        '○' | '◌' | '◯' => 'o',
        '◐' | '◑' | '◒' | '◓' => '%',
        '✗' | '✘' | '✕' | '×' => 'x',
        '✓' | '✔' => 'v',
        '⊘' => '!',
        '→' | '▸' | '▶' | '›' | '»' | '↪' => '>',
        '←' | '◂' | '◀' | '‹' | '«' => '<',
        '↑' | '▴' | '▲' => '^',
        '↓' | '▾' | '▼' => 'v',
        '…' | '⋯' => '~',
        '·' | '∙' => '.',
        '“' | '”' | '„' => '"',
        '‘' | '’' => '\'',
        '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{3000}' => ' ',
        c => base_letter(c).unwrap_or('?'),
    }
}

/// The ASCII letter under an accent, if that is what it is.
fn base_letter(c: char) -> Option<char> {
    use unicode_normalization::UnicodeNormalization;
    std::iter::once(c).nfkd().next().filter(char::is_ascii_graphic)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::*;
    use crate::ui::view::text::safe_line;

    fn flat(text: &str) -> (String, Buffer) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 1));
        buffer.set_stringn(0, 0, safe_line(text), 80, Style::new());
        flatten(&mut buffer);
        (buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned(), buffer)
    }

    #[test]
    fn signs_have_their_nearest() {
        assert_eq!(flat("┌─┐│●◌✗⊘→…").0, "+-+|*ox!>~");
        assert_eq!(flat("café ﬁn “x”").0, "cafe fn \"x\"");
        assert_eq!(flat("世x").0, "? x");
    }

    #[test]
    fn control_characters_stay_told_apart_from_letters() {
        let (text, buffer) = flat("\x1b[m[");
        assert_eq!(text, "[[m[");
        assert!(buffer.content[0].modifier.contains(Modifier::REVERSED));
        assert!(!buffer.content[1].modifier.contains(Modifier::REVERSED));
    }

    proptest! {
        #[test]
        fn nothing_but_ascii_is_left(text in any::<String>()) {
            prop_assert!(flat(&text).1.content.iter().all(|cell| cell.symbol().is_ascii()));
        }
    }
}
