//! Hostile text made plain: what a terminal may be given of sources, outputs, names and messages.

use std::borrow::Cow;

/// `text` with everything that a terminal could obey shown instead of sent.
///
/// Newlines and tabs stay. Other control characters become their pictures (`ESC` is `␛`), C1 controls and
/// characters that reorder or hide text become `<U+202E>`. A carriage return before a newline goes.
///
/// ```
/// use reweave::step::plain;
/// assert_eq!(plain("a\x1b[2Jb\r\n"), "a␛[2Jb\n");
/// assert_eq!(plain("price \u{202e}001"), "price <U+202E>001");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_plain(c) => made.push(c),
            c => push_picture(&mut made, c),
        }
    }
    Cow::Owned(made)
}

/// As [`plain`], on one line: line ends become `⏎`, tabs become spaces.
///
/// ```
/// use reweave::step::plain_line;
/// assert_eq!(plain_line("two\nlines\t\x07"), "two⏎lines ␇");
/// ```
pub fn plain_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| is_plain(c) && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut made = plain(text).into_owned();
    if made.contains(['\n', '\t']) {
        made = made.replace('\n', "⏎").replace('\t', " ");
    }
    Cow::Owned(made)
}

/// Whether a character can be sent to a terminal as it is.
fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        '\0'..='\u{9f}' => false,
        c => !is_hiding(c),
    }
}

/// Characters that reorder, join or hide what stands around them (Unicode's `Bidi_Control`, line and
/// paragraph separators, and invisible format characters).
fn is_hiding(c: char) -> bool {
    matches!(c,
        '\u{061c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn push_picture(made: &mut String, c: char) {
    match c {
        '\0'..='\u{1f}' => made.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\u{7f}' => made.push('\u{2421}'),
        c => {
            use std::fmt::Write;
            // Writing to a string does not fail.
            let _ = write!(made, "<U+{:04X}>", u32::from(c));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(plain("naïve\n\tзебра 漢字 👩‍🔬"), Cow::Borrowed(_)));
        assert!(matches!(plain_line("one line"), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_are_shown() {
        assert_eq!(plain("\x1b]0;title\x07"), "␛]0;title␇");
        assert_eq!(plain("\u{9b}31m\u{7f}"), "<U+009B>31m␡");
        assert_eq!(plain("50%\r100%"), "50%␍100%");
        assert_eq!(plain_line("a\r\nb"), "a⏎b");
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_comes_through(text in any::<String>()) {
            prop_assert!(plain(&text).chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
            prop_assert!(plain_line(&text).chars().all(|c| !c.is_control()));
        }
    }
}
