//! A line of text that is being typed.

use super::key::{Chord, Key};

/// A text and a cursor in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Field {
    text: String,
    /// Byte before which the cursor stands.
    cursor: usize,
}

impl Field {
    /// A field that holds `text`, the cursor at its end.
    pub fn of(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    /// What was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What lies before the cursor, and what after.
    pub fn halves(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cursor).unwrap_or((&self.text, ""))
    }

    /// Takes a key; says whether the text changed. Keys that mean nothing to a field are left alone.
    pub fn key(&mut self, chord: Chord) -> bool {
        let (before, after) = self.halves();
        let back = before.char_indices().next_back().map_or(0, |(at, _)| at);
        let ahead = self.cursor + after.chars().next().map_or(0, char::len_utf8);
        let word = before
            .trim_end()
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8));
        match (chord.ctrl, chord.key) {
            (false, Key::Backspace) => self.remove(back, self.cursor),
            (false, Key::Delete) | (true, Key::Char('d')) => self.remove(self.cursor, ahead),
            (true, Key::Char('w')) => self.remove(word.min(back), self.cursor),
            (true, Key::Char('u')) => self.remove(0, self.cursor),
            (true, Key::Char('k')) => self.remove(self.cursor, self.text.len()),
            (false, Key::Left) => self.go(back),
            (false, Key::Right) => self.go(ahead),
            (false, Key::Home) | (true, Key::Char('a')) => self.go(0),
            (false, Key::End) | (true, Key::Char('e')) => self.go(self.text.len()),
            _ => match chord.typed() {
                Some(c) => {
                    self.text.insert(self.cursor, c);
                    self.cursor += c.len_utf8();
                    true
                }
                None => false,
            },
        }
    }

    /// Takes pasted text: line breaks become blanks, other control characters are left out.
    pub fn paste(&mut self, text: &str) {
        let clean: String = text
            .trim_end_matches(['\r', '\n'])
            .chars()
            .map(|c| if c == '\n' || c == '\t' { ' ' } else { c })
            .filter(|c| !c.is_control())
            .collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
    }

    fn remove(&mut self, from: usize, to: usize) -> bool {
        if from < to {
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
        from < to
    }

    fn go(&mut self, to: usize) -> bool {
        self.cursor = to;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn typed(keys: &str) -> Field {
        let mut field = Field::of("load data");
        for chord in keys.split_whitespace() {
            field.key(chord.parse().unwrap());
        }
        field
    }

    #[test]
    fn a_field_is_edited_as_a_shell_is() {
        for (keys, halves) in [
            ("x", ("load datax", "")),
            ("left left X", ("load daX", "ta")),
            ("ctrl-w", ("load ", "")),
            ("ctrl-w ctrl-w", ("", "")),
            ("home delete", ("", "oad data")),
            ("ctrl-a right ctrl-k", ("l", "")),
            ("backspace backspace", ("load da", "")),
            ("left ctrl-u", ("", "a")),
        ] {
            assert_eq!(typed(keys).halves(), halves, "{keys}");
        }
    }

    #[test]
    fn what_is_pasted_runs_no_line() {
        let mut field = Field::default();
        field.paste("a\nb\x1b[31m\r\n");
        assert_eq!(field.text(), "a b[31m");
    }

    proptest! {
        #[test]
        fn the_cursor_never_cuts_a_character(
            text in "[aé世 _]{0,6}",
            keys in prop::collection::vec(prop::sample::select(vec![
                "left", "right", "home", "end", "backspace", "delete", "ctrl-w", "ctrl-u", "ctrl-k", "世", "é", "x",
            ]), 0..20)
        ) {
            let mut field = Field::of(text);
            for key in keys {
                field.key(key.parse().unwrap());
                prop_assert!(field.text.is_char_boundary(field.cursor));
            }
        }
    }
}
