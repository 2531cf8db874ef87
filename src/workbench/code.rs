//! What a step's text says of itself without being executed.

use std::sync::Arc;

use crate::run::StepFile;
use crate::step::Name;

/// What is known of a step's text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Code {
    /// Names that it may read from other steps.
    pub reads: Vec<Name>,
    /// Names that it writes or may write.
    pub writes: Vec<Name>,
    /// Whether it may write any name.
    pub opaque: bool,
    /// A syntax error, as `line: message`.
    pub syntax_error: Option<String>,
}

/// Looks at a step's text.
pub(super) fn look_at(file: &StepFile) -> Code {
    let _ = file;
    Code::default()
}

/// The text that is executed. A file that is no text fails as a step like any other, with the reason.
pub(super) fn executable(file: &StepFile) -> Arc<str> {
    match &file.fault {
        None => Arc::clone(&file.source),
        Some(fault) => {
            let message = format!("{}: {fault}; {}", file.path.display(), fault.remedy());
            format!("raise SyntaxError({})", python_literal(&message)).into()
        }
    }
}

/// A text as a Python literal, safe for any text.
fn python_literal(text: &str) -> String {
    use std::fmt::Write;
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(c);
            }
            ' '..='~' => literal.push(c),
            c => {
                // Writing to a string does not fail.
                let _ = write!(literal, "\\U{:08x}", u32::from(c));
            }
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_holds_any_text() {
        assert_eq!(python_literal("a\"b\\c\nd"), r#""a\"b\\c\U0000000ad""#);
    }
}
