//! Whether a text is Python, asked without running anything.

use std::thread;

use rustpython_parser::{Mode, parse};

/// Where a text stops being Python, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxProblem {
    /// 1-based line.
    pub line: usize,
    /// In words.
    pub message: String,
}

/// What the parser says of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is Python.
    Parses,
    /// It is not.
    Fails(SyntaxProblem),
    /// It is too deep or too long to ask the parser, whose trees are walked on the stack.
    Unknown,
}

/// Longest text that is parsed, in bytes.
const LONGEST: usize = 16 << 20;

/// Deepest brackets: CPython refuses more than 200.
const BRACKETS: usize = 200;

/// Most operators and words between two commas or line ends, each of which may be one level of the tree.
const STRETCH: usize = 4_000;

/// Most `elif` in a text, each of which nests in the one before.
const BRANCHES: usize = 4_000;

/// Stack of the thread that parses and drops the tree.
const STACK: usize = 512 << 20;

/// Asks the parser about `source`.
pub fn check(source: &str) -> Verdict {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if source.len() > LONGEST || is_deep(source) {
        return Verdict::Unknown;
    }
    let owned = source.to_owned();
    let parsed = thread::Builder::new().name("parse".to_owned()).stack_size(STACK).spawn(move || {
        parse(&owned, Mode::Module, "<step>").map(drop).map_err(|e| (usize::from(e.offset), e.error.to_string()))
    });
    match parsed.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => Verdict::Parses,
        Ok(Ok(Err((offset, message)))) => {
            let before = source.get(..offset.min(source.len())).unwrap_or(source);
            Verdict::Fails(SyntaxProblem { line: before.matches('\n').count() + 1, message })
        }
        _ => Verdict::Unknown,
    }
}

/// Whether `source` surely is Python.
pub fn parses(source: &str) -> bool {
    check(source) == Verdict::Parses
}

/// Whether the tree of `source` may be too deep to be walked on a stack: an estimate from above.
fn is_deep(source: &str) -> bool {
    if source.matches("elif").count() > BRANCHES {
        return true;
    }
    let bytes = source.as_bytes();
    let (mut at, mut brackets, mut stretch) = (0, 0_usize, 0_usize);
    let mut word = false;
    while let Some(&byte) = bytes.get(at) {
        let was_word = std::mem::replace(&mut word, byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80);
        match byte {
            b'#' => {
                while bytes.get(at).is_some_and(|b| *b != b'\n') {
                    at += 1;
                }
                continue;
            }
            b'"' | b'\'' => {
                // What stands in an f-string is parsed: count it like code.
                let formatted = at.checked_sub(1).and_then(|i| bytes.get(i)).is_some_and(|b| matches!(b, b'f' | b'F'))
                    || (at >= 2 && bytes.get(at - 2..at).is_some_and(|p| p.eq_ignore_ascii_case(b"fr")));
                at = if formatted { at + 1 } else { string_end(bytes, at) };
                continue;
            }
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            b',' | b';' => stretch = 0,
            b'\n' if brackets == 0 => stretch = 0,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ if word && was_word => {}
            _ => stretch += 1,
        }
        if brackets > BRACKETS || stretch > STRETCH {
            return true;
        }
        at += 1;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    source.lines().map(indent).max().unwrap_or(0) > 4 * BRACKETS
}

/// Behind the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let Some(&quote) = bytes.get(at) else { return at + 1 };
    let triple = bytes.get(at..at + 3) == Some(&[quote; 3]);
    let mut next = at + if triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(next) {
        if byte == b'\\' {
            next += 2;
        } else if triple && bytes.get(next..next + 3) == Some(&[quote; 3]) {
            return next + 3;
        } else if !triple && (byte == quote || byte == b'\n') {
            return next + 1;
        } else {
            next += 1;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_is_told_from_what_is_not() {
        assert_eq!(check("x = 1\n"), Verdict::Parses);
        assert_eq!(check("\u{feff}x = 1\r\n"), Verdict::Parses);
        let Verdict::Fails(problem) = check("x = 1\nif x &gt; 0:\n    pass\n") else { panic!() };
        assert_eq!(problem.line, 2);
    }

    #[test]
    fn hostile_depth_is_refused_and_wide_data_is_not() {
        for (open, close) in [("(", ")"), ("-", ""), ("not ", ""), ("f'{(", "")] {
            let deep = format!("x = {}1{}", open.repeat(100_000), close.repeat(100_000));
            assert_eq!(check(&deep), Verdict::Unknown, "{open}");
        }
        assert_eq!(check(&format!("x = {}1", "1+".repeat(100_000))), Verdict::Unknown);
        assert_eq!(check(&format!("x = [{}]", "1, -2, 'a',\n".repeat(10_000))), Verdict::Parses);
    }
}
