//! Python tracebacks as recordings have them: text, often coloured.

use crate::interop::plain::uncoloured;
use crate::step::StepError;

/// The error that a traceback ends with, if `text` ends with one: its last line is `Type: message`.
///
/// Only texts that hold the words Python begins a traceback with are taken for one.
pub fn last_error(text: &str) -> Option<StepError> {
    let plain = uncoloured(text);
    let start = plain.rfind("Traceback (most recent call last)")?;
    let lines: Vec<&str> = plain.get(start..)?.lines().collect();
    // The first line that is not indented after the frames begins the exception.
    let at = lines.iter().skip(1).position(|line| is_exception_line(line))? + 1;
    let line = lines.get(at)?;
    let (name, first) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
    let mut message = first.to_owned();
    for line in lines.iter().skip(at + 1) {
        message.push('\n');
        message.push_str(line);
    }
    Some(StepError { line: own_line(&lines), ..named_error(name, message.trim_end()) })
}

/// An error from `pkg.mod.Name` and a message.
pub fn named_error(name: &str, message: &str) -> StepError {
    let (module, type_name) = name.rsplit_once('.').unwrap_or(("", name));
    StepError {
        type_name: type_name.to_owned(),
        module: module.to_owned(),
        message: message.to_owned(),
        ..StepError::default()
    }
}

/// `ValueError: …` or `pkg.mod.Error`: a dotted name at the start of the line, then nothing or a colon.
fn is_exception_line(line: &str) -> bool {
    let name = line.split(": ").next().unwrap_or_default().trim_end_matches(':');
    let is_word = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    name.split('.').all(is_word)
        && name.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_uppercase() || c == '_'))
}

/// The line of the code itself in a traceback: the first frame that is in no file.
fn own_line(lines: &[&str]) -> Option<u32> {
    lines.iter().find_map(|line| {
        let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once('"')?;
        let own = file.starts_with('<') && !file.starts_with("<frozen") || file.contains("/ipykernel_");
        let digits = own.then(|| rest.trim_start_matches(", line "))?;
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    })
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
    fn an_error_is_read_from_the_end_of_a_traceback() {
        let text = "out\nTraceback (most recent call last):\n  File \"<string>\", line 3, in <module>\n  \
                    File \"/lib/json.py\", line 9, in f\n    x\njson.decoder.JSONDecodeError: bad: at 1\nsecond line\n";
        let error = last_error(text).unwrap();
        assert_eq!(
            (error.type_name.as_str(), error.module.as_str(), error.message.as_str(), error.line),
            ("JSONDecodeError", "json.decoder", "bad: at 1\nsecond line", Some(3))
        );
        let error =
            last_error("Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyboardInterrupt").unwrap();
        assert_eq!((error.type_name.as_str(), error.message.as_str(), error.line), ("KeyboardInterrupt", "", None));
        assert_eq!(last_error("ValueError: only printed"), None);
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
