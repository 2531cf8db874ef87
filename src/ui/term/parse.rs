//! What a terminal sends, as keys, pastes, the mouse and answers.
//!
//! A pure machine: bytes in, [`Input`]s out, however the bytes are cut. It knows xterm's sequences (Xterm Control
//! Sequences, ctlseqs), the Linux console's function keys, and kitty's keyboard protocol
//! (<https://sw.kovidgoyal.net/kitty/keyboard-protocol/>); what it doesn't know is dropped whole, so that a late
//! answer of the terminal never appears as typed keys.

use super::input::{Answer, Input, Pointer, PointerKind};
use crate::ui::app::key::{Chord, Key};

/// Longest sequence that is waited for; longer ones are no keys.
const LONGEST: usize = 256;

/// Longest string (an answer to OSC or DCS) that is waited for.
const LONGEST_STRING: usize = 16 << 10;

/// A paste in which nothing came for so many pauses is taken for whole, lest a stray beginning swallow every key.
const PATIENCE: u8 = 40;

/// Most bytes kept of one paste.
const PASTE: usize = 4 << 20;

const PASTE_END: &[u8] = b"\x1b[201~";

/// See the module.
#[derive(Debug, Default)]
pub struct Parser {
    held: Vec<u8>,
    /// The paste that is coming.
    paste: Option<Vec<u8>>,
    /// How often in a row nothing came while a paste was not at its end.
    idle: u8,
}

/// What the bytes at the front came to.
enum Step {
    /// So many bytes are this, or nothing.
    Taken(usize, Option<Input>),
    /// A paste begins after so many bytes.
    Paste(usize),
    /// More must come.
    Wait,
}

impl Parser {
    /// Takes bytes as they came.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Input>) {
        self.idle = 0;
        self.held.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            if self.paste.is_some() {
                match self.take_paste(at) {
                    Some((end, text)) => {
                        at = end;
                        out.push(Input::Paste(text));
                        continue;
                    }
                    None => {
                        at = self.held.len();
                        break;
                    }
                }
            }
            let rest = self.held.get(at..).unwrap_or_default();
            match first(rest) {
                Step::Taken(n, input) => {
                    at += n.max(1);
                    out.extend(input);
                }
                Step::Paste(n) => {
                    at += n;
                    self.paste = Some(Vec::new());
                }
                Step::Wait => break,
            }
        }
        // A paste keeps its last bytes here, in case its end was cut in two.
        if self.paste.is_none() {
            self.held.drain(..at.min(self.held.len()));
        }
    }

    /// Whether bytes are held that may be the beginning of more.
    pub fn is_waiting(&self) -> bool {
        !self.held.is_empty() || self.paste.is_some()
    }

    /// Nothing more came for a while: an escape that was held is the key, other beginnings are dropped.
    pub fn settle(&mut self, out: &mut Vec<Input>) {
        if let Some(paste) = self.paste.take() {
            self.idle += 1;
            if self.idle < PATIENCE {
                self.paste = Some(paste);
                return;
            }
            let bytes = [paste, std::mem::take(&mut self.held)].concat();
            self.idle = 0;
            out.push(Input::Paste(pasted(&bytes)));
            return;
        }
        let held = std::mem::take(&mut self.held);
        match &*held {
            [0x1b] => out.push(Input::Key(Chord::plain(Key::Esc))),
            // What begins a sequence is also typed with Alt.
            [0x1b, c @ (b'[' | b']' | b'O' | b'P' | b'X' | b'^' | b'_')] => {
                out.push(Input::Key(Chord { alt: true, ..Chord::char(char::from(*c)) }));
            }
            _ => {}
        }
    }

    /// Moves bytes from `at` on into the paste; its end and text once it is whole.
    fn take_paste(&mut self, at: usize) -> Option<(usize, String)> {
        let paste = self.paste.as_mut()?;
        let rest = self.held.get(at..).unwrap_or_default();
        let end = rest.windows(PASTE_END.len()).position(|part| part == PASTE_END);
        // The last bytes may be the beginning of the end.
        let until = end.unwrap_or(rest.len().saturating_sub(PASTE_END.len() - 1));
        let room = PASTE.saturating_sub(paste.len());
        paste.extend_from_slice(rest.get(..until.min(room)).unwrap_or_default());
        if end.is_some() {
            let bytes = self.paste.take().unwrap_or_default();
            return Some((at + until + PASTE_END.len(), pasted(&bytes)));
        }
        self.held.drain(..at + until);
        None
    }
}

/// The text of a paste: terminals send returns for line breaks.
fn pasted(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

fn key(chord: Chord) -> Option<Input> {
    Some(Input::Key(chord))
}

/// What the first of these bytes are.
fn first(bytes: &[u8]) -> Step {
    match bytes {
        [] => Step::Wait,
        [0x1b] => Step::Wait,
        [0x1b, b'[', ..] => csi(bytes),
        [0x1b, b'O'] => Step::Wait,
        [0x1b, b'O', last, ..] => Step::Taken(3, ss3(*last).map(Chord::plain).and_then(key)),
        [0x1b, b']' | b'P' | b'X' | b'^' | b'_', ..] => string(bytes),
        [0x1b, 0x1b, ..] => Step::Taken(1, key(Chord::plain(Key::Esc))),
        [0x1b, rest @ ..] => match character(rest) {
            Step::Taken(n, Some(Input::Key(chord))) => Step::Taken(n + 1, key(Chord { alt: true, ..chord })),
            Step::Taken(n, other) => Step::Taken(n + 1, other),
            step => step,
        },
        _ => character(bytes),
    }
}

/// A control character or one of UTF-8.
fn character(bytes: &[u8]) -> Step {
    let Some(&byte) = bytes.first() else { return Step::Wait };
    let chord = match byte {
        b'\r' => Chord::plain(Key::Enter),
        b'\t' => Chord::plain(Key::Tab),
        0x7f => Chord::plain(Key::Backspace),
        0 => Chord::ctrl(' '),
        0x01..=0x1a => Chord::ctrl(char::from(byte - 1 + b'a')),
        0x1c..=0x1f => Chord::ctrl(char::from(byte - 0x1c + b'\\')),
        b' '..=b'~' => Chord::char(char::from(byte)),
        _ => return utf8(bytes),
    };
    Step::Taken(1, key(chord))
}

fn utf8(bytes: &[u8]) -> Step {
    let length = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return Step::Taken(1, None),
    };
    let candidate = bytes.get(..length.min(bytes.len())).unwrap_or_default();
    match std::str::from_utf8(candidate) {
        Ok(text) => Step::Taken(length, text.chars().next().filter(|c| !c.is_control()).map(Chord::char).and_then(key)),
        Err(error) if error.error_len().is_none() => Step::Wait,
        Err(error) => Step::Taken(error.valid_up_to() + error.error_len().unwrap_or(1), None),
    }
}

/// Keys of application mode.
fn ss3(last: u8) -> Option<Key> {
    Some(match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'F' => Key::End,
        b'H' => Key::Home,
        b'M' => Key::Enter,
        b'P'..=b'S' => Key::F(last - b'P' + 1),
        b'j'..=b'o' => Key::Char(char::from(last - b'j' + b'*')),
        b'p'..=b'y' => Key::Char(char::from(last - b'p' + b'0')),
        _ => return None,
    })
}

/// A string: `ESC ]` and its like, up to BEL or ST.
fn string(bytes: &[u8]) -> Step {
    let body = bytes.get(2..).unwrap_or_default();
    let Some(end) = body.iter().position(|b| matches!(b, 0x07 | 0x1b)) else {
        return if bytes.len() > LONGEST_STRING { Step::Taken(bytes.len(), None) } else { Step::Wait };
    };
    let text = body.get(..end).unwrap_or_default();
    let length = match body.get(end..) {
        Some([0x07, ..]) => end + 1,
        Some([0x1b, b'\\', ..]) => end + 2,
        Some([0x1b]) => return Step::Wait,
        // Broken off by another sequence, which begins here.
        _ => return Step::Taken(2 + end, None),
    };
    let answer = bytes.get(1).filter(|kind| **kind == b']').and_then(|_| background(text));
    Step::Taken(2 + length, answer.map(|rgb| Input::Answer(Answer::Background(rgb))))
}

/// `11;rgb:hhhh/hhhh/hhhh`, with one to four digits a channel, or `11;rgba:…`.
fn background(text: &[u8]) -> Option<[u8; 3]> {
    let text = std::str::from_utf8(text).ok()?.strip_prefix("11;")?;
    let channels = text.strip_prefix("rgb:").or_else(|| text.strip_prefix("rgba:"))?;
    let mut channels = channels.split('/').map(|digits| {
        let value = u32::from_str_radix(digits, 16).ok()?;
        let most = match digits.len() {
            n @ 1..=4 => (1u32 << (4 * n)) - 1,
            _ => return None,
        };
        u8::try_from(value * 255 / most).ok()
    });
    Some([channels.next()??, channels.next()??, channels.next()??])
}

/// A control sequence: `ESC [`, parameters, one final byte.
fn csi(bytes: &[u8]) -> Step {
    let body = bytes.get(2..).unwrap_or_default();
    // The Linux console's F1 to F5: `ESC [ [ A`.
    if let [b'[', rest @ ..] = body {
        return match rest.first() {
            None => Step::Wait,
            Some(last @ b'A'..=b'E') => Step::Taken(4, key(Chord::plain(Key::F(last - b'A' + 1)))),
            Some(_) => Step::Taken(3, None),
        };
    }
    // The old mouse: `ESC [ M` and three bytes.
    if let [b'M', rest @ ..] = body {
        return match rest {
            [button, x, y, ..] => {
                let at = |byte: &u8| u16::from(byte.saturating_sub(33));
                // Here a release doesn't say of which button.
                let button = byte_to_button(button.saturating_sub(32));
                Step::Taken(6, button.map(|kind| Input::Pointer(Pointer { kind, x: at(x), y: at(y) })))
            }
            _ => Step::Wait,
        };
    }
    let end = body.iter().position(|b| !matches!(b, 0x20..=0x3f));
    let Some(end) = end else {
        return if bytes.len() > LONGEST { Step::Taken(bytes.len(), None) } else { Step::Wait };
    };
    let Some(&last) = body.get(end).filter(|b| matches!(b, 0x40..=0x7e)) else {
        // Broken off: what stands here begins something else.
        return Step::Taken(2 + end, None);
    };
    let taken = 2 + end + 1;
    let parameters = std::str::from_utf8(body.get(..end).unwrap_or_default()).unwrap_or_default();
    if let Some(private) = parameters.strip_prefix('<') {
        return Step::Taken(taken, sgr_mouse(private, last).map(Input::Pointer));
    }
    if parameters.starts_with('?') {
        let answer = match last {
            b'u' => Some(Input::Answer(Answer::Keyboard)),
            b'c' => Some(Input::Answer(Answer::Attributes)),
            _ => None,
        };
        return Step::Taken(taken, answer);
    }
    let mut groups = parameters.split(';');
    let mut group = || groups.next().unwrap_or_default();
    let (one, two) = (group(), group());
    let number: u32 = one.split(':').next().and_then(|n| n.parse().ok()).unwrap_or(1);
    if last == b'~' && number == 200 {
        return Step::Paste(taken);
    }
    let named = match last {
        b'A'..=b'D' | b'F' | b'H' | b'P' | b'Q' | b'S' => ss3(last),
        // `R` also ends a report of the cursor's place.
        b'R' if number == 1 => ss3(last),
        b'Z' => Some(Key::BackTab),
        b'~' => tilde(number),
        b'u' => code_point(number),
        _ => None,
    };
    Step::Taken(taken, named.and_then(|named| modified(named, two)).and_then(key))
}

fn tilde(number: u32) -> Option<Key> {
    Some(match number {
        1 | 7 => Key::Home,
        3 => Key::Delete,
        4 | 8 => Key::End,
        5 => Key::PageUp,
        6 => Key::PageDown,
        // VT220's numbering, which leaves gaps.
        11..=15 => function(number - 10)?,
        17..=21 => function(number - 11)?,
        23..=26 => function(number - 12)?,
        28..=29 => function(number - 13)?,
        31..=34 => function(number - 14)?,
        _ => return None,
    })
}

fn function(number: u32) -> Option<Key> {
    u8::try_from(number).ok().map(Key::F)
}

/// A key by kitty's number: a code point, or one of its private range.
fn code_point(number: u32) -> Option<Key> {
    const KEYPAD: [char; 17] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', '/', '*', '-', '+', '\r', '='];
    Some(match number {
        9 => Key::Tab,
        13 => Key::Enter,
        27 => Key::Esc,
        127 => Key::Backspace,
        57376..=57398 => function(number - 57376 + 13)?,
        57399..=57415 => match KEYPAD.get(usize::try_from(number - 57399).ok()?)? {
            '\r' => Key::Enter,
            c => Key::Char(*c),
        },
        57417 => Key::Left,
        57418 => Key::Right,
        57419 => Key::Up,
        57420 => Key::Down,
        57421 => Key::PageUp,
        57422 => Key::PageDown,
        57423 => Key::Home,
        57424 => Key::End,
        57426 => Key::Delete,
        57344..=63743 => return None,
        _ => Key::Char(char::from_u32(number).filter(|c| !c.is_control())?),
    })
}

/// A key with `modifiers[:event]` as xterm and kitty number them; `None` for the release of one.
fn modified(key: Key, parameter: &str) -> Option<Chord> {
    let mut parts = parameter.split(':');
    let bits = parts.next().and_then(|n| n.parse::<u32>().ok()).unwrap_or(1).saturating_sub(1);
    if parts.next() == Some("3") {
        return None;
    }
    let (shift, alt, ctrl) = (bits & 1 != 0, bits & 0b10_0010 != 0, bits & 4 != 0);
    Some(match key {
        // A character says itself whether it is shifted.
        Key::Char(c) => {
            let c = if shift { c.to_uppercase().next().unwrap_or(c) } else { c };
            Chord { ctrl, alt, shift: false, key: Key::Char(c) }
        }
        Key::Tab if shift => Chord { ctrl, alt, shift: false, key: Key::BackTab },
        Key::BackTab => Chord { ctrl, alt, shift: false, key },
        _ => Chord { ctrl, alt, shift, key },
    })
}

/// `button;x;y` with `M` for a press and `m` for a release.
fn sgr_mouse(parameters: &str, last: u8) -> Option<Pointer> {
    let mut numbers = parameters.split(';').map(|n| n.parse::<u16>().ok());
    let (button, x, y) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let kind = match last {
        b'M' => byte_to_button(u8::try_from(button).ok()?).filter(|kind| *kind != PointerKind::Release)?,
        b'm' if button & 0b1110_0011 == 0 => PointerKind::Release,
        _ => return None,
    };
    Some(Pointer { kind, x: x.saturating_sub(1), y: y.saturating_sub(1) })
}

/// Shift, Alt and Control (4, 8, 16) are left out of account, and so are buttons other than the left one.
fn byte_to_button(button: u8) -> Option<PointerKind> {
    match button & 0b1110_0011 {
        0 => Some(PointerKind::Press),
        3 => Some(PointerKind::Release),
        32 => Some(PointerKind::Drag),
        64 => Some(PointerKind::WheelUp),
        65 => Some(PointerKind::WheelDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(bytes: &[u8]) -> Vec<Input> {
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        parser.feed(bytes, &mut out);
        parser.settle(&mut out);
        out
    }

    fn keys(bytes: &[u8]) -> Vec<String> {
        parse(bytes)
            .into_iter()
            .map(|input| match input {
                Input::Key(chord) => chord.to_string(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn characters_and_control_keys() {
        assert_eq!(keys(b"jG ?"), ["j", "G", "space", "?"]);
        assert_eq!(keys("é世😀".as_bytes()), ["é", "世", "😀"]);
        assert_eq!(keys(b"\r\t\x7f\x04\x1a\n"), ["enter", "tab", "backspace", "ctrl-d", "ctrl-z", "ctrl-j"]);
        assert_eq!(keys(b"\x1c\x1d\x1f"), ["ctrl-\\", "ctrl-]", "ctrl-_"]);
        assert_eq!(keys(b"\xff\xc3\x28"), ["("]);
    }

    #[test]
    fn an_escape_alone_is_the_key_once_nothing_follows() {
        assert_eq!(keys(b"\x1b"), ["esc"]);
        assert_eq!(keys(b"\x1bx"), ["alt-x"]);
        assert_eq!(keys(b"\x1b\x1b"), ["esc", "esc"]);
        assert_eq!(keys(b"\x1b["), ["alt-["]);
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        parser.feed(b"\x1b", &mut out);
        assert!(out.is_empty() && parser.is_waiting());
        parser.feed(b"[A", &mut out);
        assert_eq!(out, [Input::Key(Chord::plain(Key::Up))]);
        assert!(!parser.is_waiting());
    }

    #[test]
    fn named_keys_in_all_their_dialects() {
        assert_eq!(keys(b"\x1b[A\x1bOB\x1b[1;5C\x1b[1;2D"), ["up", "down", "ctrl-right", "shift-left"]);
        assert_eq!(keys(b"\x1b[H\x1b[4~\x1b[5~\x1b[6;5~\x1b[3~"), ["home", "end", "pageup", "ctrl-pagedown", "delete"]);
        assert_eq!(keys(b"\x1bOP\x1b[15~\x1b[24~\x1b[[A\x1b[1;5P"), ["f1", "f5", "f12", "f1", "ctrl-f1"]);
        assert_eq!(keys(b"\x1b[Z"), ["shift-tab"]);
    }

    #[test]
    fn the_keyboard_protocol_tells_keys_apart() {
        assert_eq!(keys(b"\x1b[27u\x1b[105;5u\x1b[9u\x1b[13;2u"), ["esc", "ctrl-i", "tab", "shift-enter"]);
        assert_eq!(keys(b"\x1b[97;3u\x1b[120;6u\x1b[57404u"), ["alt-a", "ctrl-X", "5"]);
        // Releases and lone modifier keys are nothing.
        assert_eq!(keys(b"\x1b[97;1:3u\x1b[57441u\x1b[57358u"), [""; 0]);
    }

    #[test]
    fn the_mouse_presses_drags_and_turns_its_wheel() {
        let pointer = |kind, x, y| Input::Pointer(Pointer { kind, x, y });
        assert_eq!(
            parse(b"\x1b[<0;3;5M\x1b[<32;300;5M\x1b[<0;3;5m\x1b[<64;1;1M\x1b[<65;1;1M"),
            [
                pointer(PointerKind::Press, 2, 4),
                pointer(PointerKind::Drag, 299, 4),
                pointer(PointerKind::Release, 2, 4),
                pointer(PointerKind::WheelUp, 0, 0),
                pointer(PointerKind::WheelDown, 0, 0),
            ]
        );
        assert_eq!(parse(b"\x1b[M !\""), [pointer(PointerKind::Press, 0, 1)]);
        // Other buttons, movement without one.
        assert_eq!(parse(b"\x1b[<2;3;5M\x1b[<35;3;5M\x1b[<2;3;5m"), []);
    }

    #[test]
    fn a_paste_is_one_input_and_no_keys() {
        assert_eq!(
            parse(b"\x1b[200~dd\r\nq\x1b[31m\x1b[201~x"),
            [Input::Paste("dd\nq\x1b[31m".into()), Input::Key(Chord::char('x'))]
        );
        assert_eq!(parse(b"\x1b[200~\x1b[201~"), [Input::Paste(String::new())]);
        assert_eq!(parse(b"\x1b[200~never ends"), []);
        let (mut parser, mut out) = (Parser::default(), Vec::new());
        parser.feed(b"\x1b[200~never ends", &mut out);
        (0..PATIENCE).for_each(|_| parser.settle(&mut out));
        parser.feed(b"j", &mut out);
        assert_eq!(out, [Input::Paste("never ends".into()), Input::Key(Chord::char('j'))]);
    }

    #[test]
    fn answers_are_told_and_never_typed() {
        assert_eq!(
            parse(b"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[?1u\x1b[?62;4c"),
            [
                Input::Answer(Answer::Background([0x1e, 0x1e, 0x2e])),
                Input::Answer(Answer::Keyboard),
                Input::Answer(Answer::Attributes)
            ]
        );
        assert_eq!(parse(b"\x1b]11;rgb:f/f/f\x07"), [Input::Answer(Answer::Background([255; 3]))]);
        assert_eq!(parse(b"\x1b]11;rgba:ffff/0/0/ffff\x07"), [Input::Answer(Answer::Background([255, 0, 0]))]);
        // A report of the cursor, of a mode, a name, a broken colour: nothing.
        assert_eq!(
            parse(b"\x1b[12;40R\x1b[?2026;2$y\x1bP>|foot\x1b\\\x1b]11;what\x07j"),
            [Input::Key(Chord::char('j'))]
        );
    }

    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        let likely = prop::sample::select(vec![
            &b"\x1b"[..],
            b"[",
            b"]",
            b"O",
            b"A",
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b\\",
            b"\x07",
            b";",
            b"1",
            b"u",
            b"M",
            b"<",
            b"~",
            "é".as_bytes(),
            b"\xc3",
            b"P",
            b"?",
        ])
        .prop_map(<[u8]>::to_vec);
        let other = any::<u8>().prop_map(|b| vec![b]);
        prop::collection::vec(prop_oneof![3 => likely, 1 => other], 0..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn it_doesnt_matter_how_the_bytes_are_cut(bytes in any_bytes(), size in 1..5usize) {
            let (mut parser, mut out) = (Parser::default(), Vec::new());
            for piece in bytes.chunks(size) {
                parser.feed(piece, &mut out);
            }
            parser.settle(&mut out);
            prop_assert_eq!(out, parse(&bytes));
        }

        #[test]
        fn after_any_bytes_a_key_is_a_key(bytes in any_bytes()) {
            let (mut parser, mut out) = (Parser::default(), Vec::new());
            parser.feed(&bytes, &mut out);
            parser.feed(PASTE_END, &mut out);
            parser.settle(&mut out);
            out.clear();
            parser.feed(b"j", &mut out);
            prop_assert_eq!(out, [Input::Key(Chord::char('j'))]);
        }
    }
}
