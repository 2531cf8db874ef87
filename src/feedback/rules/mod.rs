//! The rules: one file for each family of failures.

mod arguments;
mod attributes;
mod checks;
mod empty;
mod files;
mod imports;
mod indentation;
mod keys;
mod limits;
mod names;
mod none;
mod numbers;
mod operands;
mod removed;
mod rename;
mod syntax;
mod syntax_edits;
mod values;

use super::case::{Case, Finding};
use super::diagnosis::Cause;
use super::failure::Failure;

/// What a family of rules is asked.
type Family = fn(&Case<'_>) -> Option<Finding>;

/// Explains a failure that a step's text raised: the first family that knows it, by class.
pub(super) fn find(case: &Case<'_>) -> Finding {
    let families: &[(&str, &[Family])] = &[
        ("IndentationError", &[indentation::wrong]),
        ("SyntaxError", &[syntax::wrong]),
        ("NameError", &[names::undefined]),
        ("ImportError", &[imports::failed]),
        ("AttributeError", &[removed::attribute, none::attribute, attributes::missing]),
        ("KeyError", &[keys::missing]),
        ("IndexError", &[empty::taken_from, numbers::index]),
        ("TypeError", &[removed::argument, none::operand, arguments::wrong, operands::wrong]),
        ("ZeroDivisionError", &[numbers::zero_divisor]),
        ("UnicodeError", &[files::encoding]),
        ("ValueError", &[removed::value, keys::missing_column, empty::taken_from, values::wrong]),
        ("OSError", &[files::unusable]),
        ("RecursionError", &[limits::recursion]),
        ("MemoryError", &[limits::memory]),
        ("AssertionError", &[checks::assertion]),
        ("Exception", &[keys::missing_column, checks::raised]),
    ];
    let known = families.iter().filter(|(class, _)| case.is(class)).flat_map(|(_, rules)| rules.iter());
    known.filter_map(|rule| rule(case)).next().unwrap_or_else(|| other(case))
}

/// A failure that no text raised: a limit, a death.
pub(super) fn outside(failure: &Failure<'_>) -> Finding {
    let what = super::case::title(failure.error);
    Finding {
        cause: Cause::Other,
        root: Some(failure.step.clone()),
        text: format!("{what}."),
        facts: Vec::new(),
        suggestions: Vec::new(),
    }
}

fn other(case: &Case<'_>) -> Finding {
    if let Some(finding) = limits::cut_off(case) {
        return finding;
    }
    let what = case.what();
    let at = case.at();
    let within = match case.error.stack.last() {
        Some(last) if last.step.is_none() => format!(" It came out of {} in {}.", last.function, last.file),
        _ => String::new(),
    };
    case.here(Cause::Other, format!("{what}, raised at {at}: `{}`.{within}", case.line_text()))
}
