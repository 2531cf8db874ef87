//! Makes parsable what writers of JSON got wrong, byte by byte and in bounded memory.

use std::io::{self, BufRead, Read};

/// What stands for a byte or half a surrogate pair that means nothing.
const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();
const ESCAPED_REPLACEMENT: &[u8] = br"\ufffd";

/// A reader of JSON that repairs what it passes on.
///
/// | found | passed on |
/// |---|---|
/// | a byte order mark at the start | nothing |
/// | bytes that are not UTF-8 | U+FFFD |
/// | half a surrogate pair, `\ud83d` alone (texts cut by UTF-16 units) | `\ufffd` |
/// | `NaN`, `Infinity`, `-Infinity` (Python writes them) | `null` |
/// | a control character inside a string | its escape |
/// | NUL outside strings | a space |
pub struct Clean<R> {
    inner: R,
    filter: Filter,
    raw: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: BufRead> Clean<R> {
    /// Repairs what `inner` gives.
    pub fn new(inner: R) -> Self {
        Self { inner, filter: Filter::default(), raw: Vec::new(), ready: Vec::new(), given: 0, ended: false }
    }
}

impl<R: BufRead> Read for Clean<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() && !self.ended {
            self.ready.clear();
            self.given = 0;
            let chunk = self.inner.fill_buf()?;
            let count = chunk.len();
            self.raw.extend_from_slice(chunk);
            self.inner.consume(count);
            self.ended = count == 0;
            let kept = self.filter.push(&self.raw, self.ended, &mut self.ready);
            self.raw.drain(..kept);
        }
        let rest = self.ready.get(self.given..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.given += count;
        Ok(count)
    }
}

/// Repairs a whole text.
pub fn clean(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    Filter::default().push(bytes, true, &mut out);
    out
}

/// Where in a JSON text the filter stands.
#[derive(Default)]
struct Filter {
    started: bool,
    in_string: bool,
    /// The escape that is being read: a backslash, and for `\u` up to four digits.
    escape: Vec<u8>,
    /// The first half of a surrogate pair, held back until the second is there.
    high: Option<Vec<u8>>,
    /// Letters outside strings, held back until the word ends.
    word: Vec<u8>,
}

impl Filter {
    /// Passes `bytes` on, repaired, and says how many were used: a character cut at the end waits for the rest.
    fn push(&mut self, bytes: &[u8], last: bool, out: &mut Vec<u8>) -> usize {
        let mut used = 0;
        if !self.started && (bytes.len() >= 3 || last) {
            self.started = true;
            if bytes.starts_with(b"\xef\xbb\xbf") {
                used = 3;
            }
        }
        if !self.started {
            return 0;
        }
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    self.text(valid.as_bytes(), out);
                    used = bytes.len();
                    break;
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    self.text(rest.get(..valid).unwrap_or_default(), out);
                    used += valid;
                    match error.error_len() {
                        Some(length) => used += length,
                        None if last => used = bytes.len(),
                        None => break,
                    }
                    self.text(REPLACEMENT, out);
                }
            }
        }
        if last {
            self.end_word(out);
            self.end_high(out);
            out.append(&mut self.escape);
        }
        used
    }

    fn text(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.in_string && self.escape.is_empty() {
                // The long middle of a string is copied in one piece.
                let plain = rest.iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(rest.len());
                let (copied, left) = rest.split_at(plain);
                if !copied.is_empty() {
                    self.end_high(out);
                    out.extend_from_slice(copied);
                }
                rest = left;
            }
            let Some((&byte, left)) = rest.split_first() else { break };
            rest = left;
            if self.in_string { self.string_byte(byte, out) } else { self.outside_byte(byte, out) }
        }
    }

    fn outside_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte.is_ascii_alphabetic() || byte == b'-' {
            // No word of JSON is longer than `-Infinity`.
            if self.word.len() > 16 {
                self.end_word(out);
            }
            self.word.push(byte);
            return;
        }
        self.end_word(out);
        self.in_string = byte == b'"';
        out.push(if byte == 0 { b' ' } else { byte });
    }

    fn string_byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.escape.len() {
            0 => match byte {
                b'"' => {
                    self.end_high(out);
                    self.in_string = false;
                    out.push(byte);
                }
                b'\\' => self.escape.push(byte),
                _ if byte < 0x20 => {
                    self.end_high(out);
                    out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                }
                _ => {
                    self.end_high(out);
                    out.push(byte);
                }
            },
            1 if byte != b'u' => {
                self.end_high(out);
                self.escape.clear();
                out.extend_from_slice(&[b'\\', byte]);
            }
            _ => {
                self.escape.push(byte);
                if self.escape.len() == 6 {
                    let escape = std::mem::take(&mut self.escape);
                    self.unicode_escape(escape, out);
                }
            }
        }
    }

    fn unicode_escape(&mut self, escape: Vec<u8>, out: &mut Vec<u8>) {
        let unit = escape
            .get(2..)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match unit {
            Some(0xd800..=0xdbff) => {
                self.end_high(out);
                self.high = Some(escape);
            }
            Some(0xdc00..=0xdfff) => match self.high.take() {
                Some(high) => {
                    out.extend_from_slice(&high);
                    out.extend_from_slice(&escape);
                }
                None => out.extend_from_slice(ESCAPED_REPLACEMENT),
            },
            _ => {
                self.end_high(out);
                out.extend_from_slice(&escape);
            }
        }
    }

    fn end_high(&mut self, out: &mut Vec<u8>) {
        if self.high.take().is_some() {
            out.extend_from_slice(ESCAPED_REPLACEMENT);
        }
    }

    fn end_word(&mut self, out: &mut Vec<u8>) {
        match self.word.as_slice() {
            b"NaN" | b"Infinity" | b"-Infinity" => out.extend_from_slice(b"null"),
            word => out.extend_from_slice(word),
        }
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn parsed(bytes: &[u8]) -> Value {
        serde_json::from_slice(&clean(bytes)).unwrap()
    }

    #[test]
    fn what_writers_get_wrong_is_read() {
        assert_eq!(parsed(b"\xef\xbb\xbf[1]"), json!([1]));
        assert_eq!(parsed(b"[\"\xff\xfe caf\xe9\"]"), json!(["\u{fffd}\u{fffd} caf\u{fffd}"]));
        assert_eq!(parsed(br#"["cut \ud83d", "\udc00x", "\ud83d\ude00", "\ud83d\ud83d\ude00"]"#), {
            json!(["cut \u{fffd}", "\u{fffd}x", "😀", "\u{fffd}😀"])
        });
        assert_eq!(parsed(br#"[NaN, -Infinity, Infinity, -1.5e-3, true, "NaN"]"#), {
            json!([null, null, null, -0.0015, true, "NaN"])
        });
        assert_eq!(parsed(b"[\"a\nb\x00\"]"), json!(["a\nb\0"]));
        assert_eq!(parsed(br#"["\\u", "\"\\ud83d"]"#), json!(["\\u", "\"\\ud83d"]));
    }

    /// Reads one byte at a time, so that every character and escape is cut somewhere.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    proptest! {
        #[test]
        fn good_json_is_left_alone(text in "\\PC{0,40}", number in any::<f64>(), flag in any::<bool>()) {
            let text = json!({ "k": [text, number, flag, null], "é": {} }).to_string();
            prop_assert_eq!(clean(text.as_bytes()), text.into_bytes());
        }

        #[test]
        fn where_the_input_is_cut_makes_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut slowly = Vec::new();
            Clean::new(io::BufReader::with_capacity(1, Slow(&bytes))).read_to_end(&mut slowly).unwrap();
            prop_assert_eq!(slowly, clean(&bytes));
        }
    }
}
