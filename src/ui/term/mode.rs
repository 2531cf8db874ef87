//! What the terminal is asked to be while the workbench has it, and how each of these is undone.

use std::io::{self, Write};

/// The modes that are asked for beside the alternate screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Modes {
    /// Report clicks, drags and the wheel. Takes the terminal's own text selection away.
    pub mouse: bool,
    /// Tell Escape and control keys apart (kitty's protocol). Only where the terminal said that it can.
    pub keyboard: bool,
}

/// Clicks and drags, written so that columns over 223 are told (SGR encoding).
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// Tell escape codes apart, and no more.
pub(super) const KEYBOARD_ON: &[u8] = b"\x1b[>1u";

impl Modes {
    /// Takes the terminal: alternate screen, hidden cursor, bracketed paste, and text in logical order (`CSI 8 l`,
    /// ECMA-48 BDSM), so that right-to-left text can't move what stands beside it.
    pub fn enter(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"\x1b[?1049h\x1b[0m\x1b[2J\x1b[H\x1b[?25l\x1b[?2004h\x1b[8l")?;
        if self.mouse {
            out.write_all(MOUSE_ON.as_bytes())?;
        }
        if self.keyboard {
            out.write_all(KEYBOARD_ON)?;
        }
        Ok(())
    }

    /// Gives it back, in the opposite order. A frame that was broken off is ended first.
    pub fn leave(self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"\x1b[?2026l")?;
        if self.keyboard {
            out.write_all(b"\x1b[<u")?;
        }
        // Off even if it is not on now: it may have been switched off and on since.
        out.write_all(MOUSE_OFF.as_bytes())?;
        out.write_all(b"\x1b[8h\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l")
    }

    /// Switches the mouse while the terminal is taken.
    pub fn switch_mouse(on: bool, out: &mut impl Write) -> io::Result<()> {
        out.write_all(if on { MOUSE_ON } else { MOUSE_OFF }.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left switched on after these bytes: DEC private modes, and pushes of the keyboard protocol.
    fn left_on(bytes: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(bytes);
        let mut on: Vec<String> = Vec::new();
        for part in text.split('\x1b').filter(|part| !part.is_empty()) {
            let (name, last) = part.split_at(part.len() - 1);
            match last {
                "h" if name.starts_with("[?") => on.push(name.to_owned()),
                "l" if name.starts_with("[?") => on.retain(|known| known != name),
                "u" if name.starts_with("[>") => on.push("keyboard".to_owned()),
                "u" => on.retain(|known| known != "keyboard"),
                _ => {}
            }
        }
        on
    }

    #[test]
    fn what_is_switched_on_is_switched_off() {
        for (mouse, keyboard) in [(false, false), (true, false), (true, true)] {
            let modes = Modes { mouse, keyboard };
            let mut bytes = Vec::new();
            modes.enter(&mut bytes).unwrap();
            assert!(left_on(&bytes).contains(&"[?1049".to_owned()));
            assert_eq!(left_on(&bytes).contains(&"[?1006".to_owned()), mouse);
            Modes::switch_mouse(true, &mut bytes).unwrap();
            modes.leave(&mut bytes).unwrap();
            // Showing the cursor is the one mode that is on when it is left alone.
            assert_eq!(left_on(&bytes), ["[?25"]);
        }
    }

    #[test]
    fn the_alternate_screen_is_left_last() {
        let mut bytes = Vec::new();
        Modes { mouse: true, keyboard: true }.leave(&mut bytes).unwrap();
        assert!(bytes.ends_with(b"\x1b[?1049l"));
    }
}
