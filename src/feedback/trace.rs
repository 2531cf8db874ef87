//! From a bad value back to the step that made it.

use rustpython_parser::ast::{Expr, Stmt};

use super::code::{Code, look, name_of};
use super::failure::{Failure, StepText};
use crate::analysis::OccurrenceKind;
use crate::step::{Seen, StackLine, StepId};

/// How many renames are followed.
const HOPS: usize = 16;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// The step that made it.
    pub step: StepId,
    /// The name that it has there.
    pub name: String,
    /// 1-based line of that step at which the name was bound, where it can be seen.
    pub line: Option<u32>,
}

/// Where the value that `name` held in `frames[0]` (the innermost of the frames given, callers after it) comes
/// from: the step that bound the name last, found through plain renames and through arguments of calls.
pub(super) fn origin(failure: &Failure<'_>, frames: &[&StackLine], name: &str) -> Option<Origin> {
    let mut name = name.to_owned();
    let mut frames = frames;
    // Up through the calls, as long as the name is a parameter.
    loop {
        let frame = frames.first()?;
        let step = failure.step_text(frame.step.as_ref()?)?;
        let seen = frame.saw.as_ref().and_then(|saw| saw.names.get(&name)).filter(|seen| !seen.origin.is_empty());
        let origin = seen.map_or_else(|| scope(step, frame, &name), |seen| seen.origin.as_str());
        if origin == "global" || frame.function == "<module>" {
            return bound(failure, step, name, Some(frame.line));
        }
        let here = Origin { step: step.id.clone(), name: name.clone(), line: Some(frame.line) };
        if origin != "parameter" {
            // A local: of a comprehension, it is what the function around it sees; else the function made it.
            if frame.function.starts_with('<') && frames.len() > 1 {
                frames = frames.get(1..)?;
                continue;
            }
            return Some(here);
        }
        let Some(caller) = frames.get(1) else { return Some(here) };
        let Some(caller_step) = caller.step.as_ref().and_then(|id| failure.step_text(id)) else { return Some(here) };
        let position = look(step.text, |code| {
            let function = code.function(&frame.function, Some(frame.line))?;
            let place = function.parameters().iter().position(|p| *p == name)?;
            Some((place, function.parameters().first().is_some_and(|p| matches!(*p, "self" | "cls"))))
        });
        let Some(Some((place, method))) = position else { return Some(here) };
        let argument = look(caller_step.text, |code| {
            argument_of(code, caller, &frame.function, &name, place, method).map(|e| name_of(e).map(str::to_owned))
        });
        frames = frames.get(1..)?;
        match argument.flatten() {
            Some(Some(argument)) => name = argument,
            // Made where it is handed over.
            _ => return Some(Origin { step: caller_step.id.clone(), name, line: Some(caller.line) }),
        }
    }
}

/// Where a name of a function that did not stand in the failing line is: as the text says.
fn scope(step: &StepText<'_>, frame: &StackLine, name: &str) -> &'static str {
    let found = look(step.text, |code| {
        let function = code.function(&frame.function, Some(frame.line))?;
        let is_parameter = function.parameters().contains(&name);
        let is_local = function.locals().contains(&name);
        Some(if is_parameter {
            "parameter"
        } else if is_local {
            "local"
        } else {
            "global"
        })
    });
    found.flatten().unwrap_or("global")
}

/// The argument that a call on the caller's line hands over for a parameter.
fn argument_of<'t>(
    code: &Code<'t>,
    caller: &StackLine,
    function: &str,
    parameter: &str,
    place: usize,
    method: bool,
) -> Option<&'t Expr> {
    code.expressions_at(caller.line, None).into_iter().find_map(|expression| {
        let Expr::Call(call) = expression else { return None };
        let called = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return None,
        };
        if called != function && function != "__init__" {
            return None;
        }
        let named = call.keywords.iter().find(|k| k.arg.as_deref() == Some(parameter)).map(|k| &k.value);
        named.or_else(|| call.args.get(place.checked_sub(usize::from(method))?))
    })
}

/// The step that bound a name of the run last before a line of `step`, through plain renames.
pub(super) fn bound(failure: &Failure<'_>, step: &StepText<'_>, name: String, line: Option<u32>) -> Option<Origin> {
    let mut name = name;
    let mut step = step;
    let mut line = line;
    for _ in 0..HOPS {
        let own = line.filter(|line| touches_before(step, &name, *line)).is_some();
        let writer = if own { step } else { failure.before(step.id).find(|earlier| earlier.writes(&name))? };
        let before = if own { line } else { None };
        let found = look(writer.text, |code| {
            let statement = code.binding(&name, before)?;
            Some((code.lines_of(statement).0, renamed(statement).map(str::to_owned)))
        })
        .flatten();
        match found {
            Some((at, Some(other))) if other != name => {
                (name, step, line) = (other, writer, Some(at));
            }
            found => return Some(Origin { step: writer.id.clone(), name, line: found.map(|(at, _)| at) }),
        }
    }
    None
}

/// The other name, if a statement only gives a value, a part of it or its items in turn a second one.
fn renamed(statement: &Stmt) -> Option<&str> {
    match statement {
        Stmt::Assign(s) if s.targets.len() == 1 && matches!(s.targets.first(), Some(Expr::Name(_))) => {
            part_of(&s.value)
        }
        Stmt::AnnAssign(s) => s.value.as_deref().and_then(part_of),
        Stmt::For(s) => items_of(&s.iter),
        _ => None,
    }
}

/// The name that an expression is, or is a part of.
fn part_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Subscript(s) => part_of(&s.value),
        Expr::Attribute(a) => part_of(&a.value),
        other => name_of(other),
    }
}

/// The name whose items a loop goes through.
fn items_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Call(call) => match &*call.func {
            Expr::Name(name) if matches!(name.id.as_str(), "enumerate" | "sorted" | "reversed" | "list" | "iter") => {
                call.args.first().and_then(items_of)
            }
            Expr::Attribute(a)
                if matches!(a.attr.as_str(), "items" | "values" | "keys" | "iterrows" | "itertuples") =>
            {
                part_of(&a.value)
            }
            _ => None,
        },
        other => part_of(other),
    }
}

/// Whether the step itself binds or changes a name before a line, while it runs.
fn touches_before(step: &StepText<'_>, name: &str, line: u32) -> bool {
    step.names.occurrences.iter().any(|place| {
        &*place.name == name
            && !place.deferred
            && place.line < line
            && !matches!(place.kind, OccurrenceKind::Read | OccurrenceKind::Declare | OccurrenceKind::Delete)
    })
}

/// The names in the failing expression, or in the statement where the expression is not known, that could hold
/// a bad value: no functions, classes or modules.
pub(super) fn suspects(frame: &StackLine) -> Vec<(&str, &Seen)> {
    let Some(saw) = &frame.saw else { return Vec::new() };
    let values = || {
        saw.names.iter().filter(|(_, seen)| {
            !matches!(seen.type_name.as_str(), "function" | "type" | "module" | "builtin_function_or_method" | "method")
        })
    };
    let within: Vec<(&str, &Seen)> = values().filter(|(_, seen)| seen.within).map(|(n, s)| (n.as_str(), s)).collect();
    if within.is_empty() { values().map(|(n, s)| (n.as_str(), s)).collect() } else { within }
}
