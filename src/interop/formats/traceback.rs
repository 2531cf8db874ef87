//! Python tracebacks as recordings have them: text, often coloured.

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

/// The line of a notebook's cell at which an error left it, from IPython's own way of writing tracebacks: the
/// arrow in the first frame of a cell.
pub fn cell_line(traceback: &str) -> Option<u32> {
    let plain = uncoloured(traceback);
    let mut in_cell = false;
    for line in plain.lines() {
        if line.contains("<ipython-input-") || line.contains("Cell In[") || line.contains("/ipykernel_") {
            in_cell = true;
        }
        let Some(arrow) = in_cell.then(|| line.trim_start()).filter(|line| line.starts_with("--")) else { continue };
        let digits: String = arrow
            .trim_start_matches('-')
            .strip_prefix("> ")
            .unwrap_or_default()
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        if let Ok(line) = digits.parse() {
            return Some(line);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_go_and_text_stays() {
        assert_eq!(uncoloured("\u{1b}[0;31mred\u{1b}[0m \u{1b}]0;title\u{7}b\u{1b}]8;;x\u{1b}\\c\u{1b}(B"), "red bc");
        assert_eq!(uncoloured("cut \u{1b}["), "cut ");
    }

    #[test]
    fn the_line_of_a_cell_is_where_the_arrow_points() {
        let old = "\u{1b}[0;32m<ipython-input-3-abc>\u{1b}[0m in \u{1b}[0;36m<module>\u{1b}[0;34m()\u{1b}[0m\n      1 a\n\
                   \u{1b}[0;32m----> 2\u{1b}[0;31m \u{1b}[0mb\n\n/lib/x.py in f()\n---> 99 c";
        assert_eq!(cell_line(old), Some(2));
        assert_eq!(cell_line("Cell In[4], line 7\n      6 x\n----> 7 y"), Some(7));
        assert_eq!(cell_line("/lib/x.py in f()\n---> 99 c"), None);
    }
}
