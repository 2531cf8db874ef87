//! The error that is to be explained, and what stood around it.

use super::code::{Code, look};
use super::diagnosis::{Cause, Fact, Place, Suggestion};
use super::failure::{Failure, StepText};
use super::trace::{self, Origin};
use crate::step::{Seen, StackLine, StepError, StepId};

/// How many causes of causes are followed.
const CHAIN: usize = 6;

/// Longest message that is told, in characters.
const MESSAGE: usize = 300;

/// A failure from the step that raised it.
pub(super) struct Case<'a> {
    /// All that is known.
    pub failure: &'a Failure<'a>,
    /// The error that is explained: the innermost of those that were only raised to say it in other words.
    pub error: &'a StepError,
    /// The error that the step ended with, where that is another.
    pub wrapper: Option<&'a StepError>,
    /// The frames that stand in steps, innermost first.
    pub frames: Vec<&'a StackLine>,
    /// The step whose text raised.
    pub step: &'a StepText<'a>,
    /// The line of it.
    pub line: u32,
}

impl<'a> Case<'a> {
    /// Looks for what is to be explained; nothing where no text of a step is to be blamed.
    pub fn new(failure: &'a Failure<'a>) -> Option<Self> {
        let mut error = failure.error;
        let mut frames: Vec<&StackLine> = in_steps(error);
        for _ in 0..CHAIN {
            let Some(inner) = error.context.as_deref().filter(|_| only_wraps(failure, error)) else { break };
            // The inner one was caught in one of these frames: those outside of it called it as well.
            let inside = in_steps(inner);
            let outermost = inside.last();
            let catcher = frames.iter().position(|frame| {
                outermost.is_some_and(|inner| inner.file == frame.file && inner.function == frame.function)
            });
            let callers = catcher.map_or(0, |at| at + 1);
            frames = inside.into_iter().chain(frames.into_iter().skip(callers)).collect();
            error = inner;
        }
        let step = error.step.as_ref().or(frames.first().and_then(|frame| frame.step.as_ref()));
        let step = step.and_then(|id| failure.step_text(id)).or_else(|| failure.step_text(failure.step))?;
        let line = error.line.or(frames.first().map(|frame| frame.line)).unwrap_or(1);
        let wrapper = (!std::ptr::eq(error, failure.error)).then_some(failure.error);
        Some(Self { failure, error, wrapper, frames, step, line })
    }

    /// Whether the error is of this class or one derived from it.
    pub fn is(&self, class: &str) -> bool {
        self.error.type_name == class
            || self.error.bases.iter().any(|base| base.rsplit('.').next().is_some_and(|name| name == class))
    }

    /// The message.
    pub fn message(&self) -> &'a str {
        &self.error.message
    }

    /// Type and message on one line, for the start of an explanation.
    pub fn what(&self) -> String {
        title(self.error)
    }

    /// An attribute of the exception.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.error.attributes.get(name).map(String::as_str)
    }

    /// The innermost frame of a step.
    pub fn frame(&self) -> Option<&'a StackLine> {
        self.frames.first().copied()
    }

    /// The names of the failing line that could hold a bad value.
    pub fn suspects(&self) -> Vec<(&'a str, &'a Seen)> {
        self.frame().map(trace::suspects).unwrap_or_default()
    }

    /// What a name of the failing line held.
    pub fn seen(&self, name: &str) -> Option<&'a Seen> {
        self.frame()?.saw.as_ref()?.names.get(name)
    }

    /// Where the value of a name comes from.
    pub fn origin(&self, name: &str) -> Option<Origin> {
        trace::origin(self.failure, &self.frames, name)
    }

    /// The step that made the value of a name; the step that raised where it can't be told.
    pub fn root_of(&self, name: &str) -> StepId {
        self.origin(name).map_or_else(|| self.step.id.clone(), |origin| origin.step)
    }

    /// Hands the tree of the step that raised to `work`.
    pub fn look<T: Send>(&self, work: impl FnOnce(&Code<'_>) -> T + Send) -> Option<T> {
        look(self.step.text, work)
    }

    /// The columns of the failing expression, if they are known.
    pub fn columns(&self) -> Option<(u32, u32)> {
        self.error.columns
    }

    /// The failing line's text, trimmed.
    pub fn line_text(&self) -> &'a str {
        let line = usize::try_from(self.line.saturating_sub(1)).unwrap_or(usize::MAX);
        self.step.text.lines().nth(line).unwrap_or_default().trim()
    }

    /// Where it raised.
    pub fn place(&self) -> Option<Place> {
        let expression = self.frame().and_then(|frame| frame.saw.as_ref()).and_then(|saw| saw.expression.clone());
        Some(Place {
            step: self.step.id.clone(),
            line: self.line,
            columns: self.columns(),
            text: expression.unwrap_or_else(|| cut(self.line_text(), MESSAGE)),
        })
    }

    /// `01_load, line 3`.
    pub fn at(&self) -> String {
        format!("{}, line {}", self.step.id, self.line)
    }

    /// A value that shows the fault.
    pub fn fact(&self, name: &str) -> Option<Fact> {
        let seen = self.seen(name)?;
        Some(Fact { name: name.to_owned(), value: told(seen), written_by: self.origin(name).map(|origin| origin.step) })
    }

    /// What a finding about this begins with: the values of the failing line.
    pub fn finding(&self, cause: Cause, root: StepId, text: impl Into<String>) -> Finding {
        let facts = self.suspects().into_iter().take(6).filter_map(|(name, _)| self.fact(name)).collect();
        Finding { cause, root: Some(root), text: text.into(), facts, suggestions: Vec::new() }
    }

    /// A finding whose fault is in the text that raised.
    pub fn here(&self, cause: Cause, text: impl Into<String>) -> Finding {
        self.finding(cause, self.step.id.clone(), text)
    }
}

/// What a rule found.
pub(super) struct Finding {
    /// What kind of fault it is.
    pub cause: Cause,
    /// The step in which it lies.
    pub root: Option<StepId>,
    /// In plain sentences.
    pub text: String,
    /// The values that show it.
    pub facts: Vec<Fact>,
    /// What could be done.
    pub suggestions: Vec<Suggestion>,
}

impl Finding {
    /// The same with something that could be done.
    pub fn with(mut self, suggestion: impl IntoIterator<Item = Suggestion>) -> Self {
        for suggestion in suggestion {
            let known = |other: &Suggestion| !other.files.is_empty() && other.files == suggestion.files;
            if !self.suggestions.iter().any(known) {
                self.suggestions.push(suggestion);
            }
        }
        self
    }

    /// The same with another sentence.
    pub fn and(mut self, sentence: impl AsRef<str>) -> Self {
        self.text.push(' ');
        self.text.push_str(sentence.as_ref());
        self
    }
}

fn in_steps(error: &StepError) -> Vec<&StackLine> {
    error.stack.iter().rev().filter(|line| line.step.is_some()).collect()
}

/// Whether an error was raised by a step on purpose, to say another one in other words; or is a group.
fn only_wraps(failure: &Failure<'_>, error: &StepError) -> bool {
    if error.type_name.ends_with("ExceptionGroup") {
        return true;
    }
    let Some(last) = error.stack.last() else { return false };
    let Some(step) = last.step.as_ref().and_then(|id| failure.step_text(id)) else { return false };
    let is_raise = |code: &Code<'_>| {
        code.statements().into_iter().any(|statement| {
            matches!(statement, rustpython_parser::ast::Stmt::Raise(_)) && code.is_at(statement, last.line)
        })
    };
    look(step.text, is_raise).unwrap_or(false)
}

/// Type and message on one line.
pub(super) fn title(error: &StepError) -> String {
    let message = first_line(&error.message);
    if message.is_empty() { error.type_name.clone() } else { format!("{}: {message}", error.type_name) }
}

/// The first line of a message, cut.
pub(super) fn first_line(message: &str) -> String {
    cut(message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end(), MESSAGE)
}

/// A text cut to so many characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A value in words: `list of 0: []`.
pub(super) fn told(seen: &Seen) -> String {
    let mut text = seen.type_name.clone();
    if let Some(shape) = &seen.shape {
        text.push_str(&format!(" {shape}"));
    } else if let Some(len) = seen.len.filter(|_| seen.type_name != "str") {
        text.push_str(&format!(" of {len}"));
    }
    let is_bare = seen.repr.is_empty() || seen.repr == format!("<{}>", seen.type_name);
    if seen.type_name == "NoneType" {
        return "None".to_owned();
    }
    if is_bare && !seen.keys.is_empty() {
        return format!("{text} with {}", cut(&seen.keys.join(", "), 200));
    }
    if is_bare { text } else { format!("{text}: {}", cut(&seen.repr, 200)) }
}

/// The pieces of a message in single or double quotes.
pub(super) fn quoted(message: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = message;
    while let Some(start) = rest.find(['\'', '"']) {
        let (Some(quote), Some(after)) = (rest.get(start..=start), rest.get(start + 1..)) else { break };
        let Some(end) = after.find(quote) else { break };
        found.extend(after.get(..end));
        rest = after.get(end + 1..).unwrap_or_default();
    }
    found
}

/// The text of a Python literal for a text, as `repr` writes it; nothing for other literals.
pub(super) fn unquoted(literal: &str) -> Option<&str> {
    let inner = |quote| literal.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).filter(|text| !text.contains('\\'))
}

/// Names in a list for people: `a, b or c`.
pub(super) fn or_list<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().take(8).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
