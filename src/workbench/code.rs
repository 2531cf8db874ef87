//! What the steps' texts say of themselves without being executed.

use std::path::Path;
use std::sync::Arc;

use crate::analysis::{self, AnalyzedBy, Options, StepNames};
use crate::engine::InterpreterParser;
use crate::graph::Resolved;
use crate::run::StepFile;
use crate::step::{Kind, Name};

/// What is known of a step's text among the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Code {
    /// Names that it, or functions of other steps that it runs, may read from other steps.
    pub reads: Vec<Name>,
    /// Names that it writes or may write.
    pub writes: Vec<Name>,
    /// Whether it may write any name.
    pub opaque: bool,
    /// A syntax error, as `line: message`.
    pub syntax_error: Option<String>,
    /// What it names that reaches outside.
    pub reaches: Vec<String>,
}

impl Code {
    /// What the graph knows of a step.
    pub(super) fn new(names: &StepNames, resolved: &Resolved) -> Self {
        Self {
            reads: resolved.reads.union(&resolved.late_reads).cloned().collect(),
            writes: resolved.writes.keys().cloned().collect(),
            opaque: resolved.writes_anything,
            reaches: analysis::outward(names).iter().map(ToString::to_string).collect(),
            syntax_error: names.syntax_error.as_ref().map(|error| format!("{}: {}", error.line, error.message)),
        }
    }
}

/// Looks at texts. The interpreter is started only for those that the parser built in could not read.
pub(super) fn look_at(files: &[&StepFile], python: &Path) -> Vec<StepNames> {
    let sources: Vec<&str> = files.iter().map(|file| readable(file)).collect();
    let mut all = analysis::analyze_all(&sources, &Options::default());
    let unclear = |names: &StepNames| names.syntax_error.is_some() || names.analyzed_by == AnalyzedBy::Opaque;
    let unread: Vec<usize> = (0..all.len()).filter(|place| all.get(*place).is_some_and(unclear)).collect();
    if unread.is_empty() {
        return all;
    }
    let parser = InterpreterParser::new(python);
    let options = Options { python: None, parser: Some(&parser) };
    let sources: Vec<&str> = unread.iter().filter_map(|place| sources.get(*place).copied()).collect();
    for (place, names) in unread.into_iter().zip(analysis::analyze_all(&sources, &options)) {
        if let Some(slot) = all.get_mut(place) {
            *slot = names;
        }
    }
    all
}

/// The text that is Python. A shell step uses no names; a file that is no text is never read.
fn readable(file: &StepFile) -> &str {
    if file.kind == Kind::Shell || file.fault.is_some() { "" } else { &file.source }
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
