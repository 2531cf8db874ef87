//! What was shown: values and pictures.

use base64::Engine;

use super::text::shown;
use super::token::alike;
use super::{Tolerance, Volatile};
use crate::step::Display;

/// How two pictures stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// Byte by byte.
    Same,
    /// Of the same size, other bytes.
    OtherBytes,
    /// Of another size, or of another sort.
    OtherSize,
}

/// Whether a display is a figure of matplotlib's.
pub fn is_figure(display: &Display) -> bool {
    display.mime.keys().any(|mime| mime.starts_with("image/"))
        && (display.repr.starts_with("<Figure") || display.repr.contains("figure.Figure at "))
}

/// How two displays stand as pictures; `None` where neither is one.
pub fn picture(old: &Display, new: &Display) -> Option<Picture> {
    let of = |display: &'_ Display| {
        let entry = display.mime.iter().find(|(mime, _)| mime.starts_with("image/"));
        entry.map(|(mime, data)| (mime.clone(), data.split_whitespace().collect::<String>()))
    };
    Some(match (of(old), of(new)) {
        (None, None) => return None,
        (Some(old), Some(new)) if old == new => Picture::Same,
        (Some((old_mime, old)), Some((new_mime, new))) if old_mime == new_mime => match (size(&old), size(&new)) {
            (Some(a), Some(b)) if a != b => Picture::OtherSize,
            _ => Picture::OtherBytes,
        },
        _ => Picture::OtherSize,
    })
}

/// Width and height of a PNG in base64.
fn size(data: &str) -> Option<(u32, u32)> {
    let head = base64::engine::general_purpose::STANDARD.decode(data.get(..32)?).ok()?;
    let number = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    head.starts_with(b"\x89PNG\r\n\x1a\n").then(|| Some((number(16)?, number(20)?)))?
}

/// What of two displays is compared as text: the plain form where both have one.
pub fn texts<'d>(old: &'d Display, new: &'d Display) -> (&'d str, &'d str) {
    if !old.repr.is_empty() && !new.repr.is_empty() {
        return (&old.repr, &new.repr);
    }
    let shared = old.mime.iter().find_map(|(mime, text)| Some((text.as_str(), new.mime.get(mime)?.as_str())));
    shared.unwrap_or((&old.repr, &new.repr))
}

/// What is volatile between two values whose lines are broken at other places, or `None` where they differ.
/// IPython breaks the lines of long lists, Python does not.
pub fn on_one_line(old: &str, new: &str, tolerance: &Tolerance) -> Option<Vec<Volatile>> {
    const LONGEST: usize = 1 << 18;
    if old.len().max(new.len()) > LONGEST || !(old.contains('\n') || new.contains('\n')) {
        return None;
    }
    alike(&shown(old).lines.join(" "), &shown(new).lines.join(" "), tolerance)
}

/// A text without the quotes of its `repr`.
pub fn unquoted(text: &str) -> &str {
    ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text)
}

/// A display on one line.
pub fn told(display: &Display) -> String {
    let mimes: Vec<&str> = display.mime.keys().map(String::as_str).collect();
    match (display.repr.is_empty(), mimes.is_empty()) {
        (false, _) => display.repr.clone(),
        (true, false) => format!("<{}>", mimes.join(", ")),
        (true, true) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, tail: &[u8]) -> Display {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(10_u32.to_be_bytes());
        bytes.extend(tail);
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        Display { repr: "<Figure>".into(), mime: [("image/png".to_owned(), data)].into(), last: false }
    }

    #[test]
    fn pictures_are_compared_by_their_size() {
        assert_eq!(picture(&png(3, b"ab"), &png(3, b"ab")), Some(Picture::Same));
        assert_eq!(picture(&png(3, b"ab"), &png(3, b"cd")), Some(Picture::OtherBytes));
        assert_eq!(picture(&png(3, b"ab"), &png(4, b"ab")), Some(Picture::OtherSize));
        let text = Display { repr: "x".into(), mime: Default::default(), last: true };
        assert_eq!(picture(&png(3, b"ab"), &text), Some(Picture::OtherSize));
        assert_eq!(picture(&text, &text), None);
    }
}
