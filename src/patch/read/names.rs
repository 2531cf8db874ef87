//! The names of files in the headers of a diff.

use crate::patch::reading::Named;

/// The name in a `---` or `+++` line: up to a tab, unquoted.
pub(super) fn header_name(text: &str) -> String {
    let text = text.trim_end_matches('\r');
    let name = text.split('\t').next().unwrap_or_default().trim();
    unquote(name)
}

/// The two names of `diff --git a/x b/x`; nothing where blanks leave it open.
pub(super) fn git_names(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("diff --git ")?;
    if rest.starts_with('"') {
        let end = closing_quote(rest)?;
        let (old, new) = rest.split_at_checked(end + 1)?;
        return Some((unquote(old), unquote(new.trim_start())));
    }
    // Both names are the same but for the prefix unless the file is renamed; then other lines name it.
    let middle = rest.len() / 2;
    let halves = rest.split_at_checked(middle).and_then(|(old, new)| Some((old, new.strip_prefix(' ')?)));
    if let Some((old, new)) =
        halves.filter(|(old, new)| old.split_once('/').map(|x| x.1) == new.split_once('/').map(|x| x.1))
    {
        return Some((old.to_owned(), new.to_owned()));
    }
    let (old, new) = rest.split_once(' ')?;
    Some((old.to_owned(), new.to_owned()))
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(at),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// Takes git's C-style quotes off a name.
pub(super) fn unquote(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) else { return name.to_owned() };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(digit @ b'0'..=b'3') => {
                let mut value = digit - b'0';
                for _ in 0..2 {
                    if let Some(next) = rest.next_if(|b| matches!(b, b'0'..=b'7')) {
                        value = value.wrapping_mul(8).wrapping_add(next - b'0');
                    }
                }
                bytes.push(value);
            }
            Some(other) => bytes.push(other),
            None => bytes.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Which file two headers name, and under which other name it may be found.
///
/// Headers that differ rename nothing: git says so in lines of its own, and models write `a.py (new)`.
pub(super) fn named(old: Option<&str>, new: Option<&str>, git: Option<&(String, String)>) -> (Named, Option<Named>) {
    let real = |name: Option<&str>| name.filter(|n| *n != "/dev/null" && !n.is_empty()).map(str::to_owned);
    let (old, new) = match (real(old), real(new), git) {
        (None, None, Some((old, new))) => (Some(old.clone()), Some(new.clone())),
        (old, new, _) => (old, new),
    };
    match (old, new) {
        (Some(old), Some(new)) if old == new => (alone(old), None),
        (Some(old), Some(new)) => {
            let below = |name: &str| name.split_once('/').map(|(_, below)| below.to_owned());
            if below(&old).is_some() && below(&old) == below(&new) {
                (Named::Prefixed(old), None)
            } else {
                (alone(old), Some(alone(new)))
            }
        }
        (Some(one), None) | (None, Some(one)) => (alone(one), None),
        (None, None) => (Named::Nothing, None),
    }
}

fn alone(name: String) -> Named {
    if prefixed(&name) { Named::Prefixed(name) } else { Named::As(name) }
}

/// Git's prefixes: `a/` and `b/`, or with `diff.mnemonicPrefix` those of index, commit, work tree and object.
fn prefixed(name: &str) -> bool {
    ["a/", "b/", "i/", "w/", "c/", "o/"].iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes_with_blanks_and_octal_bytes_are_read() {
        assert_eq!(unquote(r#""a/st\303\251p \"1\".py""#), "a/stép \"1\".py");
        assert_eq!(git_names("diff --git a/a b.py b/a b.py"), Some(("a/a b.py".into(), "b/a b.py".into())));
        assert_eq!(header_name("a/x.py\t2026-01-01 00:00:00"), "a/x.py");
    }

    #[test]
    fn two_headers_name_one_file() {
        let read = |old, new| named(Some(old), Some(new), None);
        let text = |text: &str| text.to_owned();
        assert_eq!(read("a/x.py", "b/x.py"), (Named::Prefixed(text("a/x.py")), None));
        assert_eq!(read("old/x.py", "new/x.py"), (Named::Prefixed(text("old/x.py")), None));
        assert_eq!(read("/dev/null", "b/x.py"), (Named::Prefixed(text("b/x.py")), None));
        assert_eq!(read("x.py", "x.py.new"), (Named::As(text("x.py")), Some(Named::As(text("x.py.new")))));
    }
}
