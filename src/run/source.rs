//! A step's bytes to its text and back: byte order mark, PEP 263 cookie, nothing else guessed.

use std::fmt;

use encoding_rs::Encoding as Table;

/// How a step's file is encoded. [`Encoding::encode`] gives back the bytes that were decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Encoding {
    charset: Charset,
    bom: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Charset {
    #[default]
    Utf8,
    Ascii,
    /// ISO 8859-1. The tables of the web read it as Windows-1252, Python does not.
    Latin1,
    Table(&'static Table),
}

/// Why a file's bytes are not the text of a step. Lines are 1-based.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    /// A byte that its encoding does not know.
    #[error("line {line} is not {encoding}")]
    Undecodable {
        /// Where.
        line: usize,
        /// What it was read as.
        encoding: String,
    },
    /// The cookie names an encoding that is not known.
    #[error("line {line} names the encoding {name:?}, which is not known here")]
    UnknownEncoding {
        /// Where the cookie stands.
        line: usize,
        /// What it says.
        name: String,
    },
    /// A byte order mark for UTF-8, and a cookie for something else.
    #[error("it starts with a UTF-8 byte order mark, but line {line} names the encoding {name:?}")]
    Contradiction {
        /// Where the cookie stands.
        line: usize,
        /// What it says.
        name: String,
    },
    /// A NUL, which no Python source may hold.
    #[error("line {line} holds a NUL byte")]
    Nul {
        /// Where.
        line: usize,
    },
}

/// A text that can't be written in a file's encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{character:?} can't be written in {encoding}")]
pub struct NotEncodable {
    /// The first character that can't.
    pub character: char,
    /// The file's encoding.
    pub encoding: Encoding,
}

impl Encoding {
    /// UTF-8 without a mark: what reweave writes unless a file says otherwise.
    pub const UTF8: Self = Self { charset: Charset::Utf8, bom: false };

    /// The bytes of `text` in this encoding, with the byte order mark that the file had.
    ///
    /// # Errors
    /// When a character has no place in it.
    pub fn encode(self, text: &str) -> Result<Vec<u8>, NotEncodable> {
        let refuse = |character| NotEncodable { character, encoding: self };
        let mut bytes = if self.bom { BOM.to_vec() } else { Vec::new() };
        match self.charset {
            Charset::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Charset::Ascii => match text.chars().find(|c| !c.is_ascii()) {
                Some(character) => return Err(refuse(character)),
                None => bytes.extend_from_slice(text.as_bytes()),
            },
            Charset::Latin1 => {
                for character in text.chars() {
                    bytes.push(u8::try_from(u32::from(character)).map_err(|_| refuse(character))?);
                }
            }
            Charset::Table(table) => {
                let mut buffer = [0; 4];
                for character in text.chars() {
                    let (encoded, _, failed) = table.encode(character.encode_utf8(&mut buffer));
                    if failed {
                        return Err(refuse(character));
                    }
                    bytes.extend_from_slice(&encoded);
                }
            }
        }
        Ok(bytes)
    }

    fn decode(self, bytes: &[u8]) -> Result<String, NotText> {
        let wrong = |offset| NotText::Undecodable { line: line_of(bytes, offset), encoding: self.to_string() };
        match self.charset {
            Charset::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(text.to_owned()),
                Err(error) => Err(wrong(error.valid_up_to())),
            },
            Charset::Ascii => match bytes.iter().position(|byte| !byte.is_ascii()) {
                Some(offset) => Err(wrong(offset)),
                None => Ok(bytes.iter().map(|&byte| char::from(byte)).collect()),
            },
            Charset::Latin1 => Ok(bytes.iter().map(|&byte| char::from(byte)).collect()),
            Charset::Table(table) => match table.decode_without_bom_handling_and_without_replacement(bytes) {
                // Some tables read what they would not write: such a file could not be patched unharmed.
                Some(text) if self.encode(&text).is_ok_and(|again| again == bytes) => Ok(text.into_owned()),
                _ => Err(wrong(0)),
            },
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.charset {
            Charset::Utf8 => "UTF-8",
            Charset::Ascii => "ASCII",
            Charset::Latin1 => "ISO-8859-1",
            Charset::Table(table) => table.name(),
        })
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The text of a Python file, by its byte order mark and its PEP 263 cookie. The mark is not part of the text; line
/// ends are kept.
///
/// # Errors
/// Where CPython would raise a `SyntaxError` for the encoding.
pub fn decode_python(bytes: &[u8]) -> Result<(String, Encoding), NotText> {
    let (body, bom) = match bytes.strip_prefix(BOM) {
        Some(body) => (body, true),
        None => (bytes, false),
    };
    let charset = match cookie(body) {
        None => Charset::Utf8,
        Some((line, name)) => match charset_of(&name) {
            None => return Err(NotText::UnknownEncoding { line, name }),
            Some(charset) if bom && charset != Charset::Utf8 => return Err(NotText::Contradiction { line, name }),
            Some(charset) => charset,
        },
    };
    let encoding = Encoding { charset, bom };
    let text = encoding.decode(body)?;
    match text.find('\0') {
        Some(offset) => Err(NotText::Nul { line: line_of(text.as_bytes(), offset) }),
        None => Ok((text, encoding)),
    }
}

/// The text of a shell file: UTF-8, with or without a mark.
///
/// # Errors
/// When it is not UTF-8.
pub fn decode_shell(bytes: &[u8]) -> Result<(String, Encoding), NotText> {
    let encoding = Encoding { charset: Charset::Utf8, bom: bytes.starts_with(BOM) };
    let text = encoding.decode(bytes.strip_prefix(BOM).unwrap_or(bytes))?;
    Ok((text, encoding))
}

/// The encoding that one of the first two lines names, with its 1-based line: PEP 263's
/// `^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)`, on line two only if line one holds no code.
fn cookie(body: &[u8]) -> Option<(usize, String)> {
    for (number, line) in body.split(|&byte| byte == b'\n').take(2).enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\x0c'));
        let Some(text) = start.and_then(|start| line.get(start..)) else { continue };
        if text.first() != Some(&b'#') {
            return None;
        }
        if let Some(name) = cookie_in(text) {
            return Some((number + 1, name));
        }
    }
    None
}

fn cookie_in(comment: &[u8]) -> Option<String> {
    const WORD: &[u8] = b"coding";
    (0..comment.len()).find_map(|at| {
        let rest = comment.get(at..)?.strip_prefix(WORD)?;
        let rest = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"="))?;
        let name: String = rest
            .iter()
            .skip_while(|byte| matches!(byte, b' ' | b'\t'))
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
            .map(|&byte| char::from(byte))
            .collect();
        (!name.is_empty()).then_some(name)
    })
}

fn charset_of(name: &str) -> Option<Charset> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    // An editor's ending as in `utf-8-unix` is no part of the name (CPython's get_normal_name).
    let utf8 = name == "utf-8" || name.starts_with("utf-8-");
    let latin1 = ["latin-1", "iso-8859-1", "iso-latin-1"];
    if utf8 || name == "utf8" || name == "u8" || name == "cp65001" {
        Some(Charset::Utf8)
    } else if latin1.iter().any(|known| name.strip_prefix(known).is_some_and(|r| r.is_empty() || r.starts_with('-')))
        || matches!(name.as_str(), "latin1" | "l1" | "iso8859-1" | "8859" | "cp819" | "latin")
    {
        Some(Charset::Latin1)
    } else if matches!(name.as_str(), "ascii" | "us-ascii" | "646") {
        Some(Charset::Ascii)
    } else {
        let label = match name.as_str() {
            "gbk" | "cp936" | "936" | "gb2312" | "euc-cn" => "gbk",
            "sjis" | "shiftjis" | "shift-jis" | "s-jis" | "cp932" | "ms932" => "shift_jis",
            "eucjp" | "ujis" => "euc-jp",
            "cp949" | "949" | "uhc" | "euckr" => "euc-kr",
            "cp950" | "big5-tw" => "big5",
            "cp866" => "ibm866",
            "latin2" | "l2" => "iso-8859-2",
            "latin-9" | "latin9" | "l9" => "iso-8859-15",
            other => other,
        };
        let table = Table::for_label(label.as_bytes())
            .or_else(|| Table::for_label(label.replace("cp125", "windows-125").as_bytes()))
            .or_else(|| Table::for_label(label.replace("iso8859", "iso-8859").as_bytes()))?;
        // No Python source is UTF-16, and a stateful or replacing table can't be told back.
        let usable = table.is_ascii_compatible() && table != encoding_rs::UTF_8 && table != encoding_rs::REPLACEMENT;
        usable.then_some(Charset::Table(table))
    }
}

fn line_of(bytes: &[u8], offset: usize) -> usize {
    1 + bytes.iter().take(offset).filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(bytes: &[u8]) -> (String, String) {
        let (text, encoding) = decode_python(bytes).unwrap();
        assert_eq!(encoding.encode(&text).unwrap(), bytes, "the bytes come back");
        (text, encoding.to_string())
    }

    #[test]
    fn a_source_is_utf_8_unless_it_says_otherwise() {
        assert_eq!(text("x = 'é'\r\n".as_bytes()), ("x = 'é'\r\n".into(), "UTF-8".into()));
        assert_eq!(text(b"\xef\xbb\xbfx = 1\n"), ("x = 1\n".into(), "UTF-8".into()));
    }

    #[test]
    fn a_cookie_on_line_one_or_two_decides() {
        assert_eq!(
            text(b"# -*- coding: latin-1 -*-\nx = '\xe9\x85'\n").0,
            "# -*- coding: latin-1 -*-\nx = 'é\u{85}'\n"
        );
        let second = text(b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n");
        assert_eq!(second.1, "windows-1252");
        assert!(second.0.ends_with("'€'\n"));
        assert_eq!(text(b"# coding: shift-jis\nx = '\x93\xfa'\n").0, "# coding: shift-jis\nx = '日'\n");
        assert_eq!(text(b"# coding: utf-8-unix\n").1, "UTF-8");
    }

    #[test]
    fn a_cookie_after_code_or_on_line_three_is_only_a_comment() {
        for source in ["x = 1\n# coding: latin-1\n", "#\n#\n# coding: latin-1\n", "x = '# coding: latin-1'\n"] {
            assert_eq!(text(source.as_bytes()).1, "UTF-8", "{source:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let refuse = |bytes: &[u8]| decode_python(bytes).unwrap_err().to_string();
        insta::assert_snapshot!(refuse(b"a = 1\nb = '\xff'\n"), @"line 2 is not UTF-8");
        insta::assert_snapshot!(refuse(b"# coding: klingon\n"), @r#"line 1 names the encoding "klingon", which is not known here"#);
        insta::assert_snapshot!(refuse(b"\xef\xbb\xbf#\n# coding: latin-1\n"), @r#"it starts with a UTF-8 byte order mark, but line 2 names the encoding "latin-1""#);
        insta::assert_snapshot!(refuse(b"x = 1\n\0"), @"line 2 holds a NUL byte");
        insta::assert_snapshot!(refuse(b"# coding: ascii\nx = '\xc3\xa9'\n"), @"line 2 is not ASCII");
        insta::assert_snapshot!(refuse(b"# coding: utf-16\n"), @r#"line 1 names the encoding "utf-16", which is not known here"#);
    }

    #[test]
    fn a_text_that_does_not_fit_its_encoding_is_refused() {
        let (_, encoding) = decode_python(b"# coding: latin-1\n").unwrap();
        assert_eq!(encoding.encode("x = '€'").unwrap_err().to_string(), "'€' can't be written in ISO-8859-1");
    }

    proptest! {
        #[test]
        fn what_decodes_encodes_to_the_same_bytes(
            cookie in prop::sample::select(vec!["", "# coding: latin-1\n", "# coding: gbk\n", "# coding: big5\n",
                "# coding: euc-jp\n", "# coding: iso-2022-jp\n", "# coding: koi8-r\n", "# coding: cp1252\n"]),
            body in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let bytes = [cookie.as_bytes(), &body].concat();
            if let Ok((text, encoding)) = decode_python(&bytes) {
                prop_assert_eq!(encoding.encode(&text).unwrap(), bytes);
            }
        }
    }
}
