//! Checks that do not hold: asserts, tests, and errors that a step raises itself.

use rustpython_parser::ast::{Expr, Stmt};

use crate::feedback::case::{Case, Finding, told};
use crate::feedback::code::{Code, each_expression, name_of};
use crate::feedback::diagnosis::Cause;
use crate::step::StepId;

/// What never changes because of it.
const KEPT: &str = "A check is evidence: it is not to be weakened.";

pub(super) fn assertion(case: &Case<'_>) -> Option<Finding> {
    let at = case.at();
    let message = case.message().lines().next().unwrap_or_default();
    let said = if message.is_empty() { String::new() } else { format!(" (\"{message}\")") };
    let checked = case.look(|code| checked(case, code)).flatten();
    let Some((condition, names)) = checked else {
        let text = format!("A check does not hold at {at}: `{}`{said}. {KEPT}", case.line_text());
        let root = first_value(case).unwrap_or_else(|| case.step.id.clone());
        return Some(case.finding(Cause::FailedCheck, root, text));
    };
    let values = values(case, &names);
    let root = blamed(case, &names);
    let text = format!("`{condition}` does not hold at {at}{said}.{values} {KEPT}");
    Some(case.finding(Cause::FailedCheck, root, text))
}

/// An error that the step raises itself: the condition before it is what did not hold.
pub(super) fn raised(case: &Case<'_>) -> Option<Finding> {
    let found = case.look(|code| {
        let line = case.line;
        if !matches!(code.statement_at(line)?, Stmt::Raise(_)) {
            return None;
        }
        let around = code.statements().into_iter().filter(|statement| code.is_at(*statement, line));
        let mut test = around.filter_map(|statement| match statement {
            Stmt::If(s) if code.lines_of(statement).0 < line => Some(&*s.test),
            _ => None,
        });
        let test = test.next_back()?;
        Some((code.source(test).to_owned(), names_in(test)))
    })?;
    let (condition, names) = found?;
    let values = values(case, &names);
    let root = blamed(case, &names);
    let text = format!(
        "{}: the step raises it itself at {}, because of `{condition}`.{values} {KEPT}",
        case.what(),
        case.at()
    );
    Some(case.finding(Cause::FailedCheck, root, text))
}

/// The condition that failed, and its names, those most to blame first.
fn checked(case: &Case<'_>, code: &Code<'_>) -> Option<(String, Vec<String>)> {
    let statement = code.statement_at(case.line)?;
    let test = match statement {
        Stmt::Assert(s) => &*s.test,
        // `self.assertEqual(a, b)`, `np.testing.assert_allclose(a, b)`, `pd.testing.assert_frame_equal(a, b)`.
        Stmt::Expr(s) => match &*s.value {
            Expr::Call(call) => {
                let mut names = Vec::new();
                call.args.iter().for_each(|e| names.extend(names_in(e)));
                return Some((code.source(&*s.value).to_owned(), names));
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((code.source(test).to_owned(), names_in(test)))
}

/// The names in an expression, values before what is called, each once.
fn names_in(expression: &Expr) -> Vec<String> {
    let mut values = Vec::new();
    let mut called = Vec::new();
    each_expression(expression, &mut |e| {
        if let Expr::Call(call) = e {
            called.extend(name_of(&call.func).map(str::to_owned));
        }
        values.extend(name_of(e).map(str::to_owned));
    });
    values.retain(|name| !called.contains(name));
    values.extend(called);
    let mut found: Vec<String> = Vec::new();
    for name in values {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The step that made what was checked: a value before a function, what was made last first.
fn blamed(case: &Case<'_>, names: &[String]) -> StepId {
    let is_plain = |name: &&String| {
        case.seen(name)
            .is_none_or(|seen| !matches!(seen.type_name.as_str(), "module" | "type" | "builtin_function_or_method"))
    };
    let is_function = |name: &String| case.seen(name).is_some_and(|seen| seen.type_name == "function");
    let origins = |functions: bool| -> Vec<StepId> {
        let wanted = names.iter().filter(is_plain).filter(|name| is_function(name) == functions);
        wanted.filter_map(|name| case.origin(name)).map(|origin| origin.step).collect()
    };
    let values = origins(false);
    let order = |step: &StepId| case.failure.steps.iter().position(|other| other.id == step);
    let elsewhere = values.iter().filter(|step| *step != case.step.id).max_by_key(|step| order(step));
    let functions = origins(true);
    let called = functions.iter().find(|step| *step != case.step.id);
    elsewhere.or(called).or(values.first()).or(functions.first()).cloned().unwrap_or_else(|| case.step.id.clone())
}

fn first_value(case: &Case<'_>) -> Option<StepId> {
    case.suspects().first().map(|(name, _)| case.root_of(name))
}

/// The values that were checked, and who made them.
fn values(case: &Case<'_>, names: &[String]) -> String {
    let one = |name: &String| {
        let seen = case.seen(name)?;
        if matches!(seen.type_name.as_str(), "module" | "type" | "function" | "builtin_function_or_method") {
            return None;
        }
        Some(format!("`{name}` is {}, from {}", told(seen), case.root_of(name)))
    };
    let all: Vec<String> = names.iter().take(4).filter_map(one).collect();
    if all.is_empty() { String::new() } else { format!(" {}.", all.join("; ")) }
}
