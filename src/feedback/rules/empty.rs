//! Something taken from what is empty: the index or the call is right, the value is not.

use crate::feedback::case::{Case, Finding, told};
use crate::feedback::diagnosis::Cause;
use crate::step::Seen;

/// An empty value on the failing line, where the message says that something was wanted of it.
pub(super) fn taken_from(case: &Case<'_>) -> Option<Finding> {
    let message = case.message();
    let says = case.is("IndexError")
        || message.contains("empty")
        || case.error.type_name == "StatisticsError"
        || message.contains("zero-size array")
        || message.contains("with 0 sample")
        || message.contains("Expecting value: line 1 column 1 (char 0)");
    if !says {
        return None;
    }
    let saw = case.frame()?.saw.as_deref()?;
    let empty = |seen: &Seen| seen.len == Some(0) || seen.shape.as_deref().is_some_and(|shape| shape.starts_with('0'));
    let (name, seen) = match (&saw.receiver, &saw.receiver_seen) {
        (Some(name), Some(seen)) if empty(seen) => (name.as_str(), seen),
        (Some(_), Some(_)) if case.is("IndexError") => return None,
        _ => case.suspects().into_iter().find(|(_, seen)| empty(seen))?,
    };
    let base = name.split(['.', '[', '(']).next().unwrap_or(name);
    let origin = case.origin(base);
    let whence = match &origin {
        Some(origin) => {
            let line = origin.line.map(|line| format!("line {line} of ")).unwrap_or_default();
            format!("It was left empty at {line}{}.", origin.step)
        }
        None => String::new(),
    };
    let root = origin.map_or_else(|| case.step.id.clone(), |origin| origin.step);
    let text = format!(
        "`{name}` is empty ({}), and {} takes something from it: `{}`. {whence} What should happen then is a choice: \
         another filter or source, a value for nothing, or to stop.",
        told(seen),
        case.at(),
        case.line_text(),
    );
    Some(case.finding(Cause::EmptyValue, root, text))
}
