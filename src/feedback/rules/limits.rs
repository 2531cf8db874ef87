//! Recursion without end, and what was cut off from outside: time, memory, the death of the process.

use std::collections::BTreeMap;

use crate::feedback::case::{Case, Finding};
use crate::feedback::code::look;
use crate::feedback::diagnosis::Cause;
use crate::step::StackLine;

pub(super) fn recursion(case: &Case<'_>) -> Option<Finding> {
    let at = case.at();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for frame in &case.frames {
        *counts.entry((frame.file.as_str(), frame.function.as_str())).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 2);
    let Some(((file, function), _)) = most else {
        let text = format!(
            "The stack was used up at {at}: `{}`. Something calls itself again and again, or a value is nested too deep. \
             A higher limit would only move the place.",
            case.line_text()
        );
        return Some(case.here(Cause::EndlessRecursion, text));
    };
    let is_it = |frame: &&&StackLine| frame.file == file && frame.function == function;
    let frame = case.frames.iter().find(is_it).copied()?;
    let root = frame.step.clone().unwrap_or_else(|| case.step.id.clone());
    let returns = case
        .failure
        .step_text(&root)
        .and_then(|step| look(step.text, |code| code.function(function, Some(frame.line)).map(|f| branches(f.body))));
    let why = match returns.flatten() {
        Some(false) => "It has no branch that ends without calling itself.",
        _ => "The branch that should end it was not reached: look at how its argument changes from call to call.",
    };
    let argument = frame.saw.as_ref().and_then(|saw| saw.names.iter().find(|(_, seen)| seen.origin == "parameter"));
    let value =
        argument.map(|(name, seen)| format!(" At the last call `{name}` was {}.", seen.repr)).unwrap_or_default();
    let text = format!(
        "`{function}` of {root} calls itself without end (line {}: `{}`). {why}{value} A higher limit is no repair.",
        frame.line, frame.text
    );
    Some(case.finding(Cause::EndlessRecursion, root, text))
}

/// Whether a body has any branch.
fn branches(body: &[rustpython_parser::ast::Stmt]) -> bool {
    use rustpython_parser::ast::Stmt;
    body.iter().any(|statement| {
        matches!(statement, Stmt::If(_) | Stmt::While(_) | Stmt::For(_) | Stmt::Match(_) | Stmt::Try(_))
    })
}

pub(super) fn memory(case: &Case<'_>) -> Option<Finding> {
    let text = format!(
        "There was no memory for what {} makes: `{}`. {} Look at the sizes of what it is made from; less at a time, or a \
         smaller type, is a repair, a higher limit is not.",
        case.at(),
        case.line_text(),
        case.message()
    );
    Some(case.here(Cause::OutOfMemory, text))
}

/// What ended a step from outside.
pub(super) fn cut_off(case: &Case<'_>) -> Option<Finding> {
    let step = case.step;
    let effects = match case.error.type_name.as_str() {
        "TimeLimit" => (
            Cause::TimedOut,
            format!(
                "{} {}. It either waits for something, or does more than was meant: look for a loop whose condition never \
                 changes, or for data that is larger than it was.",
                step.id,
                case.message()
            ),
        ),
        "MemoryLimit" => (Cause::OutOfMemory, format!("{} {}.", step.id, case.message())),
        "ProcessDied" => (
            Cause::Died,
            format!(
                "{}: {}. Nothing in Python ends like this: native code crashed, the step ended the process itself \
                 (`os._exit`, `os.abort`), or the system stopped it, most often for want of memory.",
                step.id,
                case.message()
            ),
        ),
        "MissingProduct" => (
            Cause::FileNotWritten,
            format!("{} says in its header what it produces, and did not: {}.", step.id, case.message()),
        ),
        "Stopped" | "KeyboardInterrupt" => (Cause::Other, format!("{} was stopped by a person.", step.id)),
        "SystemExit" => (
            Cause::Other,
            format!(
                "{} ends the program itself at {}: `{}`. A step that is done ends at its last line.",
                step.id,
                case.at(),
                case.line_text()
            ),
        ),
        _ => return None,
    };
    let (cause, text) = effects;
    Some(case.here(cause, text))
}
