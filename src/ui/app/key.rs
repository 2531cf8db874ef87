//! Keys as words: what a terminal sends, what a configuration file writes and what help shows.

use std::fmt;
use std::str::FromStr;

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A character, shifted already: `G`, `?`, ` `.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key.
    F(u8),
}

/// A key with its modifiers. Written `ctrl-d`, `alt-x`, `shift-up`, `space`, `G`, `f1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chord {
    /// Control.
    pub ctrl: bool,
    /// Alt.
    pub alt: bool,
    /// Shift; never set with a character, which says so itself.
    pub shift: bool,
    /// The key.
    pub key: Key,
}

impl Chord {
    /// A key alone.
    pub const fn plain(key: Key) -> Self {
        Self { ctrl: false, alt: false, shift: false, key }
    }

    /// A character alone.
    pub const fn char(c: char) -> Self {
        Self::plain(Key::Char(c))
    }

    /// A character with control.
    pub const fn ctrl(c: char) -> Self {
        Self { ctrl: true, alt: false, shift: false, key: Key::Char(c) }
    }

    /// The character that it types into a text field, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.key {
            Key::Char(c) if !self.ctrl && !self.alt && !c.is_control() => Some(c),
            _ => None,
        }
    }
}

const NAMES: [(&str, Key); 18] = [
    ("enter", Key::Enter),
    ("esc", Key::Esc),
    ("tab", Key::Tab),
    ("shift-tab", Key::BackTab),
    ("backspace", Key::Backspace),
    ("delete", Key::Delete),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
    ("home", Key::Home),
    ("end", Key::End),
    ("pageup", Key::PageUp),
    ("pagedown", Key::PageDown),
    ("space", Key::Char(' ')),
    ("minus", Key::Char('-')),
    ("return", Key::Enter),
    ("escape", Key::Esc),
];

/// Why a text names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a key: {why}")]
pub struct InvalidKey {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl FromStr for Chord {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why| InvalidKey { text: text.to_owned(), why };
        let mut chord = Self::char(' ');
        let mut rest = text;
        loop {
            let lower = rest.to_lowercase();
            if let Some((_, key)) = NAMES.iter().find(|(name, _)| *name == lower) {
                chord.key = *key;
                break;
            }
            match lower.split_once('-') {
                Some(("ctrl" | "control" | "c", after)) if !after.is_empty() => chord.ctrl = true,
                Some(("alt" | "meta" | "a" | "m", after)) if !after.is_empty() => chord.alt = true,
                Some(("shift" | "s", after)) if !after.is_empty() => chord.shift = true,
                _ => {
                    let mut chars = rest.chars();
                    match (chars.next(), chars.next()) {
                        (Some(c), None) if !c.is_control() => {
                            chord.key = Key::Char(c);
                            break;
                        }
                        (Some('f' | 'F'), Some('0'..='9')) => {
                            let number = rest.get(1..).and_then(|n| n.parse().ok()).filter(|n| (1..=24).contains(n));
                            chord.key = Key::F(number.ok_or_else(|| wrong("function keys go from f1 to f24"))?);
                            break;
                        }
                        (None, _) => return Err(wrong("it is empty")),
                        _ => return Err(wrong("write one character, or a name like enter, space, ctrl-d, f1")),
                    }
                }
            }
            rest = rest.split_once('-').map_or("", |(_, after)| after);
        }
        if chord.shift {
            match chord.key {
                Key::Char(c) if c.is_alphabetic() => {
                    chord.key = Key::Char(c.to_uppercase().next().unwrap_or(c));
                    chord.shift = false;
                }
                Key::Char(_) => return Err(wrong("write the shifted character itself")),
                _ => {}
            }
        }
        Ok(chord)
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (on, word) in [(self.ctrl, "ctrl-"), (self.alt, "alt-"), (self.shift, "shift-")] {
            if on {
                text.push_str(word);
            }
        }
        match self.key {
            Key::Char(' ') => text.push_str("space"),
            Key::Char(c) => text.push(c),
            Key::F(n) => text.push_str(&format!("f{n}")),
            key => text.push_str(NAMES.iter().find(|(_, k)| *k == key).map_or("", |(name, _)| name)),
        }
        f.pad(&text)
    }
}

/// One or two chords that together mean an action: `g g`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sequence(pub Vec<Chord>);

impl FromStr for Sequence {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let chords: Vec<Chord> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        match chords.len() {
            0 => Err(InvalidKey { text: text.to_owned(), why: "it is empty" }),
            1 | 2 => Ok(Self(chords)),
            _ => Err(InvalidKey { text: text.to_owned(), why: "a sequence has at most two keys" }),
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: Vec<String> = self.0.iter().map(Chord::to_string).collect();
        f.pad(&text.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_written_is_what_is_meant() {
        for (text, chord) in [
            ("x", Chord::char('x')),
            ("G", Chord::char('G')),
            ("shift-g", Chord::char('G')),
            ("ctrl-d", Chord::ctrl('d')),
            ("C-d", Chord::ctrl('d')),
            ("space", Chord::char(' ')),
            ("-", Chord::char('-')),
            ("ctrl--", Chord::ctrl('-')),
            ("f12", Chord::plain(Key::F(12))),
            ("F", Chord::char('F')),
            ("shift-tab", Chord::plain(Key::BackTab)),
            ("shift-up", Chord { shift: true, ..Chord::plain(Key::Up) }),
        ] {
            assert_eq!(text.parse(), Ok(chord), "{text}");
        }
        assert_eq!("g g".parse::<Sequence>().unwrap().to_string(), "g g");
    }

    #[test]
    fn what_is_no_key_says_why() {
        for (text, why) in [
            ("", "it is empty"),
            ("foo", "write one character, or a name like enter, space, ctrl-d, f1"),
            ("f99", "function keys go from f1 to f24"),
            ("shift-1", "write the shifted character itself"),
        ] {
            assert_eq!(text.parse::<Chord>().unwrap_err().why, why, "{text}");
        }
        assert!("a b c".parse::<Sequence>().is_err());
    }

    proptest! {
        #[test]
        fn a_chord_reads_back_as_it_is_written(ctrl: bool, alt: bool, c in "[a-z0-9?/:;.,+*|<>]") {
            let chord = Chord { ctrl, alt, ..Chord::char(c.chars().next().unwrap()) };
            prop_assert_eq!(chord.to_string().parse(), Ok(chord));
        }
    }
}
