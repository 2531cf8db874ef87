//! Texts without what only a terminal understands.

/// `text` without escape sequences of terminals.
pub fn uncoloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            // A control sequence ends with a letter or the like.
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            // An operating system command ends with BEL or ESC \.
            Some(']') => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' {
                        break;
                    }
                    if c == '\u{1b}' {
                        chars.next_if_eq(&'\\');
                        break;
                    }
                }
            }
            // Choosing a character set takes one more character.
            Some('(' | ')') => {
                chars.next();
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_go_and_text_stays() {
        assert_eq!(uncoloured("\u{1b}[0;31mred\u{1b}[0m \u{1b}]0;title\u{7}b\u{1b}]8;;x\u{1b}\\c\u{1b}(B"), "red bc");
        assert_eq!(uncoloured("cut \u{1b}["), "cut ");
    }
}
