//! A scanner that tells Python's strings, brackets, comments and lines apart, and no more.
//!
//! It reads any version's f-strings and t-strings by the rules of PEP 701, never fails, and never recurses:
//! what it is for is to look at a source before (or instead of) the parser.

use std::ops::Range;

/// A piece of source. White space and line joins are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word: a name or a keyword.
    Word,
    /// A number.
    Number,
    /// `(`, `[` or `{`.
    Open,
    /// `)`, `]` or `}`.
    Close,
    /// Any other punctuation, one byte each.
    Punctuation(u8),
    /// A string without fields, quotes and prefix included.
    Text,
    /// The prefix and the opening quotes of a string with fields.
    FormatStart,
    /// Text between the fields.
    FormatText,
    /// `{` before a field.
    FieldOpen,
    /// `}` after a field.
    FieldClose,
    /// `!r`, `!s`, `!a`.
    Conversion,
    /// The `=` of `{x=}`.
    Debug,
    /// `:` before a field's format, which is text with fields in turn.
    SpecStart,
    /// The closing quotes of a string with fields.
    FormatEnd,
    /// A comment, without the line's end.
    Comment,
    /// The end of a logical line.
    Newline,
    /// IPython's own syntax, from its mark to the end of its line. Only from [`tokens_with_magics`].
    Magic,
}

/// What is open at the place being read.
#[derive(Debug, Clone, Copy)]
enum Open {
    /// A bracket.
    Bracket,
    /// A string with fields, in its text.
    Format { quote: u8, triple: bool, raw: bool },
    /// A field of it: its expression.
    Field,
    /// A field's format.
    Spec { quote: u8, triple: bool },
}

/// The tokens of a source.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    scan(text, false)
}

/// The tokens of a source that may hold IPython's syntax.
pub(super) fn tokens_with_magics(text: &str) -> Vec<Token> {
    scan(text, true)
}

fn scan(text: &str, magics: bool) -> Vec<Token> {
    let tokens = Vec::with_capacity(text.len() / 4);
    let mut scanner = Scanner { text: text.as_bytes(), at: 0, open: Vec::new(), tokens, magics };
    scanner.run();
    scanner.tokens
}

struct Scanner<'s> {
    text: &'s [u8],
    at: usize,
    open: Vec<Open>,
    tokens: Vec<Token>,
    magics: bool,
}

impl Scanner<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token { kind, range: start..self.at });
    }

    fn run(&mut self) {
        while self.at < self.text.len() {
            match self.open.last().copied() {
                Some(Open::Format { quote, triple, raw }) => self.format_text(quote, triple, raw, false),
                Some(Open::Spec { quote, triple }) => self.format_text(quote, triple, true, true),
                _ => self.code(),
            }
        }
        if self.tokens.last().is_some_and(|token| token.kind != Kind::Newline) {
            self.push(Kind::Newline, self.at);
        }
    }

    /// One token of code.
    fn code(&mut self) {
        let start = self.at;
        let byte = self.byte(0);
        if self.magics && self.is_magic(byte) {
            self.magic();
            return;
        }
        match byte {
            b' ' | b'\t' | 0x0c => self.at += 1,
            b'\n' | b'\r' => self.line_end(),
            b'\\' if matches!(self.byte(1), b'\n' | b'\r') => {
                self.at += if self.byte(1) == b'\r' && self.byte(2) == b'\n' { 3 } else { 2 };
            }
            b'#' => {
                while self.at < self.text.len() && !matches!(self.byte(0), b'\n' | b'\r') {
                    self.at += 1;
                }
                self.push(Kind::Comment, start);
            }
            b'"' | b'\'' => self.string(start),
            b'(' | b'[' | b'{' => {
                self.at += 1;
                self.open.push(Open::Bracket);
                self.push(Kind::Open, start);
            }
            b')' | b']' | b'}' => self.close(byte),
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(1).is_ascii_digit() => self.number(),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => {
                while matches!(self.byte(0), b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80..) {
                    self.at += 1;
                }
                if matches!(self.byte(0), b'"' | b'\'') && self.text.get(start..self.at).is_some_and(is_prefix) {
                    self.string(start);
                } else {
                    self.push(Kind::Word, start);
                }
            }
            b'!' if self.in_field() && self.byte(1) != b'=' => {
                self.at += 1;
                while self.byte(0).is_ascii_alphanumeric() || self.byte(0) == b'_' {
                    self.at += 1;
                }
                self.push(Kind::Conversion, start);
            }
            b':' if self.in_field() => {
                self.at += 1;
                self.push(Kind::SpecStart, start);
                let inside = self.open.iter().rev().find_map(|open| match open {
                    Open::Format { quote, triple, .. } => Some((*quote, *triple)),
                    _ => None,
                });
                if let Some((quote, triple)) = inside {
                    self.open.push(Open::Spec { quote, triple });
                }
            }
            b'=' if self.in_field() && self.ends_field_after_equals() => {
                self.at += 1;
                self.push(Kind::Debug, start);
            }
            // Two-byte operators that hold a byte with a meaning of its own here.
            b'=' | b'!' | b'<' | b'>' if self.byte(1) == b'=' => {
                self.at += 2;
                self.push(Kind::Punctuation(b'~'), start);
            }
            other => {
                self.at += 1;
                self.push(Kind::Punctuation(other), start);
            }
        }
    }

    /// Whether IPython's syntax begins here: at the start of a statement, or right of a `=`.
    fn is_magic(&self, byte: u8) -> bool {
        if !matches!(byte, b'%' | b'!' | b'?' | b'/' | b',' | b';') || !self.open.is_empty() {
            return false;
        }
        match self.tokens.last().map(|token| token.kind) {
            Some(Kind::Punctuation(b'=')) => match byte {
                b'!' => true,
                b'%' => self.byte(1).is_ascii_alphabetic(),
                _ => false,
            },
            Some(Kind::Comment) => {
                let comments = self.tokens.iter().rev().skip_while(|token| token.kind == Kind::Comment);
                comments.clone().next().is_none_or(|token| token.kind == Kind::Newline) && self.is_mark(byte)
            }
            None | Some(Kind::Newline) => self.is_mark(byte),
            _ => false,
        }
    }

    fn is_mark(&self, byte: u8) -> bool {
        matches!(byte, b'%' | b'!' | b'?') || self.byte(1).is_ascii_alphabetic() || self.byte(1) == b'_'
    }

    /// The rest of a line, and of those that a backslash joins to it.
    fn magic(&mut self) {
        let start = self.at;
        while self.at < self.text.len() && !matches!(self.byte(0), b'\n' | b'\r') {
            if self.byte(0) == b'\\' && matches!(self.byte(1), b'\n' | b'\r') {
                self.at += if self.byte(1) == b'\r' && self.byte(2) == b'\n' { 2 } else { 1 };
            }
            self.at += 1;
        }
        self.at = self.at.min(self.text.len());
        self.push(Kind::Magic, start);
    }

    fn in_field(&self) -> bool {
        matches!(self.open.last(), Some(Open::Field))
    }

    /// After `=` in a field come only spaces, and then the field's end.
    fn ends_field_after_equals(&self) -> bool {
        let rest = self.text.get(self.at + 1..).unwrap_or_default();
        let mut rest = rest.iter().skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        match rest.next() {
            Some(b'}' | b':') => true,
            Some(b'!') => rest.next() != Some(&b'='),
            _ => false,
        }
    }

    fn line_end(&mut self) {
        let start = self.at;
        self.at += if self.byte(0) == b'\r' && self.byte(1) == b'\n' { 2 } else { 1 };
        let blank = self.tokens.last().is_none_or(|token| token.kind == Kind::Newline);
        if self.open.is_empty() && !blank {
            self.push(Kind::Newline, start);
        }
    }

    fn close(&mut self, byte: u8) {
        let start = self.at;
        self.at += 1;
        match self.open.last() {
            Some(Open::Field) if byte == b'}' => {
                self.open.pop();
                self.push(Kind::FieldClose, start);
            }
            Some(Open::Bracket) => {
                self.open.pop();
                self.push(Kind::Close, start);
            }
            _ => self.push(Kind::Close, start),
        }
    }

    fn number(&mut self) {
        let start = self.at;
        while matches!(self.byte(0), b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.') {
            let exponent = matches!(self.byte(0), b'e' | b'E') && !self.is_hex(start);
            self.at += 1;
            if exponent && matches!(self.byte(0), b'+' | b'-') {
                self.at += 1;
            }
        }
        self.push(Kind::Number, start);
    }

    fn is_hex(&self, start: usize) -> bool {
        matches!(self.text.get(start..start + 2), Some(b"0x" | b"0X"))
    }

    /// A string from its prefix on; `self.at` is at the quote.
    fn string(&mut self, start: usize) {
        let prefix = self.text.get(start..self.at).unwrap_or_default();
        let raw = prefix.iter().any(|byte| matches!(byte, b'r' | b'R'));
        let format = prefix.iter().any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'));
        let quote = self.byte(0);
        let triple = self.byte(1) == quote && self.byte(2) == quote;
        self.at += if triple { 3 } else { 1 };
        if format {
            self.push(Kind::FormatStart, start);
            self.open.push(Open::Format { quote, triple, raw });
            return;
        }
        while self.at < self.text.len() {
            let byte = self.byte(0);
            if byte == b'\\' {
                self.at += 2;
            } else if byte == quote && (!triple || (self.byte(1) == quote && self.byte(2) == quote)) {
                self.at += if triple { 3 } else { 1 };
                break;
            } else if !triple && matches!(byte, b'\n' | b'\r') {
                // Not closed: the parser will say so.
                break;
            } else {
                self.at += 1;
            }
        }
        self.at = self.at.min(self.text.len());
        self.push(Kind::Text, start);
    }

    /// The text of a string with fields, or of a field's format, up to what ends it.
    fn format_text(&mut self, quote: u8, triple: bool, raw: bool, spec: bool) {
        let start = self.at;
        while self.at < self.text.len() {
            let byte = self.byte(0);
            match byte {
                b'\\' if !raw && self.byte(1) == b'N' && self.byte(2) == b'{' => {
                    // `\N{DASH}` is no field.
                    self.at += 3;
                    while self.at < self.text.len() && !matches!(self.byte(0), b'}' | b'\n' | b'\r') {
                        self.at += 1;
                    }
                }
                b'\\' if matches!(self.byte(1), b'{' | b'}') => self.at += 1,
                b'\\' => self.at += 2,
                b'{' if !spec && self.byte(1) == b'{' => self.at += 2,
                b'{' => {
                    self.text_before(start);
                    let open = self.at;
                    self.at += 1;
                    self.push(Kind::FieldOpen, open);
                    self.open.push(Open::Field);
                    return;
                }
                b'}' if spec => {
                    self.text_before(start);
                    self.open.pop();
                    self.close(byte);
                    return;
                }
                _ if byte == quote && (!triple || (self.byte(1) == quote && self.byte(2) == quote)) => {
                    self.text_before(start);
                    let end = self.at;
                    self.at += if triple { 3 } else { 1 };
                    self.leave_format();
                    self.push(Kind::FormatEnd, end);
                    return;
                }
                b'\n' | b'\r' if !triple => {
                    // Not closed: the parser will say so.
                    self.text_before(start);
                    let end = self.at;
                    self.leave_format();
                    self.push(Kind::FormatEnd, end);
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.text.len());
        self.text_before(start);
    }

    fn text_before(&mut self, start: usize) {
        if self.at > start {
            self.push(Kind::FormatText, start);
        }
    }

    /// Leaves the innermost string with fields, and what is still open in it.
    fn leave_format(&mut self) {
        while let Some(open) = self.open.pop() {
            if matches!(open, Open::Format { .. }) {
                break;
            }
        }
    }
}

/// Whether a word before a quote is a string's prefix.
fn is_prefix(word: &[u8]) -> bool {
    let lower = word.to_ascii_lowercase();
    matches!(lower.as_slice(), b"r" | b"u" | b"b" | b"f" | b"t" | b"br" | b"rb" | b"fr" | b"rf" | b"tr" | b"rt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        tokens(text)
            .into_iter()
            .map(|token| format!("{:?} {}", token.kind, text.get(token.range).unwrap_or("?")))
            .collect()
    }

    #[test]
    fn strings_and_fields_are_told_apart() {
        insta::assert_debug_snapshot!(shown("f'{d['k']!r:>{w}} {{'  # c\nx = '''a\n'''"), @r#"
        [
            "FormatStart f'",
            "FieldOpen {",
            "Word d",
            "Open [",
            "Text 'k'",
            "Close ]",
            "Conversion !r",
            "SpecStart :",
            "FormatText >",
            "FieldOpen {",
            "Word w",
            "FieldClose }",
            "FieldClose }",
            "FormatText  {{",
            "FormatEnd '",
            "Comment # c",
            "Newline \n",
            "Word x",
            "Punctuation(61) =",
            "Text '''a\n'''",
            "Newline ",
        ]
        "#);
    }

    #[test]
    fn lines_in_brackets_are_one() {
        let newlines = tokens("a = (1,\n2)\nb\\\n+ 1\n").into_iter().filter(|t| t.kind == Kind::Newline).count();
        assert_eq!(newlines, 2);
    }

    #[test]
    fn what_is_not_closed_ends_somewhere() {
        for text in ["'abc\nx", "f'{", "f'{a", "f'''{a:", "((((", "}}}}", "f'\\", "'\\", "f'{x!", "f'\\N{"] {
            let all = tokens(text);
            assert!(all.iter().all(|token| token.range.end <= text.len()), "{text:?}");
        }
    }
}
