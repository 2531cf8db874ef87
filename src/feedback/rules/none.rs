//! `None` where a value was meant: what made it.

use rustpython_parser::ast::{Expr, Stmt};

use super::attributes;
use crate::feedback::case::{Case, Finding};
use crate::feedback::code::{Code, bytes, look, name_of};
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::{replaced, suggest};
use crate::feedback::failure::StepText;
use crate::feedback::trace::Origin;
use crate::step::StepId;

/// An attribute asked of `None`.
pub(super) fn attribute(case: &Case<'_>) -> Option<Finding> {
    if attributes::class_of(case) != "NoneType" {
        return None;
    }
    let asked = format!("`.{}`", attributes::wanted(case).unwrap_or_default());
    let expression = attributes::receiver(case).map(str::to_owned).or_else(|| only_none(case));
    Some(explain(case, expression.as_deref(), &format!("{asked} is asked of None")))
}

/// `None` that is added, compared, indexed, called, unpacked or gone through.
pub(super) fn operand(case: &Case<'_>) -> Option<Finding> {
    if !case.message().contains("NoneType") {
        return None;
    }
    let name = only_none(case);
    Some(explain(case, name.as_deref(), "None is used as if it were a value"))
}

/// The name of the failing line that held `None`, if there is one.
fn only_none(case: &Case<'_>) -> Option<String> {
    let none = |(_, seen): &(&str, &crate::step::Seen)| seen.type_name == "NoneType";
    let mut found = case.suspects().into_iter().filter(none).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    if found.is_empty() {
        let saw = case.frame()?.saw.as_ref()?;
        found =
            saw.names.iter().filter(|(_, seen)| seen.type_name == "NoneType").map(|(name, _)| name.clone()).collect();
    }
    found.into_iter().next()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn explain(case: &Case<'_>, expression: Option<&str>, what: &str) -> Finding {
    let at = case.at();
    let Some(expression) = expression else {
        // What is None has no name: a call on the line gave it.
        let returned = case.look(|code| called_without_return(case, code)).flatten();
        let text = match &returned {
            Some((step, function)) => {
                format!("{what} at {at}. `{function}` of {step} returns nothing on the path that it took.")
            }
            None => format!("{what} at {at}: `{}`. Something on that line gives None.", case.line_text()),
        };
        return match returned {
            Some((step, _)) => case.finding(Cause::NoneValue, step, text),
            None => case.here(Cause::NoneValue, text),
        };
    };
    let base = expression.split(['.', '[', '(']).next().unwrap_or_default();
    let origin = if is_name(expression) { case.origin(expression) } else { None };
    let Some(origin) = origin else {
        if expression.contains('(') {
            let made = case.look(|code| {
                let found = code.expressions_at(case.line, None).into_iter().find(|e| code.source(*e) == expression)?;
                Some(made_by(case, code, found))
            });
            let (why, root) = made.flatten().unwrap_or_default();
            let why = if why.is_empty() { format!("`{expression}` gave None.") } else { why };
            let text = format!("{what} at {at}. {why}");
            return case.finding(Cause::NoneValue, root.unwrap_or_else(|| case.step.id.clone()), text);
        }
        let root = if is_name(base) { case.root_of(base) } else { case.step.id.clone() };
        return case.finding(Cause::NoneValue, root, format!("{what} at {at}: `{expression}` is None."));
    };
    at_origin(case, expression, &origin, &format!("{what} at {at}"))
}

/// The value was given a name somewhere: what stands there.
fn at_origin(case: &Case<'_>, name: &str, origin: &Origin, what: &str) -> Finding {
    let unknown = |line: Option<u32>| match line {
        Some(line) => format!("{what}: `{name}` is None since line {line} of {}.", origin.step),
        None => format!("{what}: `{name}` is None, as {} left it.", origin.step),
    };
    let Some(step) = case.failure.step_text(&origin.step) else {
        return case.finding(Cause::NoneValue, origin.step.clone(), unknown(origin.line));
    };
    let found = look(step.text, |code| {
        let line = origin.line?;
        let statement = code.statement_at(line)?;
        let value = match statement {
            Stmt::Assign(s) => &*s.value,
            Stmt::AnnAssign(s) => s.value.as_deref()?,
            _ => return None,
        };
        let (why, root) = made_by(case, code, value);
        Some((why, root, in_place(step, code, statement), line))
    });
    match found.flatten() {
        Some((why, root, patches, line)) => {
            let why = if why.is_empty() { format!("`{name}` is None since then.") } else { why };
            let text = format!("{what}: `{name}` was made at line {line} of {}. {why}", origin.step);
            let root = root.unwrap_or_else(|| origin.step.clone());
            let returned = returning(case, &why, &root);
            case.finding(Cause::NoneValue, root, text).with(patches).with(returned)
        }
        None => case.finding(Cause::NoneValue, origin.step.clone(), unknown(origin.line)),
    }
}

/// Why an expression gives `None`, and the step whose fault that is, where it is another than the one it stands in.
fn made_by(case: &Case<'_>, code: &Code<'_>, value: &Expr) -> (String, Option<StepId>) {
    if code.source(value) == "None" {
        return ("It was set to None there.".to_owned(), None);
    }
    let Expr::Call(call) = value else { return (String::new(), None) };
    let inplace = call.keywords.iter().any(|k| k.arg.as_deref() == Some("inplace") && code.source(&k.value) == "True");
    match &*call.func {
        _ if inplace => ("With `inplace=True` the method changes the object and returns None.".to_owned(), None),
        Expr::Attribute(attribute) => {
            let method = attribute.attr.as_str();
            let of = code.source(&*attribute.value);
            let why = match method {
                "sort" | "append" | "extend" | "insert" | "reverse" | "clear" | "update" | "add" | "remove"
                | "discard" | "setdefault_all" | "appendleft" | "extendleft" => {
                    format!("`.{method}()` changes `{of}` in place and returns None.")
                }
                "shuffle" => "`shuffle()` changes its argument in place and returns None.".to_owned(),
                "seed" => "`seed()` returns None.".to_owned(),
                "match" | "search" | "fullmatch" => {
                    "A pattern that does not fit gives None. Whether the pattern, the text or a test for None is to \
                     change is a choice."
                        .to_owned()
                }
                "get" => "`.get()` gives None for a key that is not there.".to_owned(),
                "find" | "select_one" | "find_next" | "fetchone" | "getattr" | "first" | "one_or_none" | "scalar" => {
                    format!("`.{method}()` gives None where it finds nothing.")
                }
                _ => String::new(),
            };
            (why, None)
        }
        Expr::Name(function) => match without_return(case, &function.id) {
            Some((step, local)) => {
                let could = match local {
                    Some(local) => format!(" It binds `{local}` and may have been meant to return it."),
                    None => String::new(),
                };
                (format!("`{}` of {step} returns nothing.{could}", function.id), Some(step))
            }
            None if &*function.id == "print" => ("`print()` returns None.".to_owned(), None),
            None => (format!("`{}(…)` gave None.", function.id), None),
        },
        _ => (String::new(), None),
    }
}

/// The step whose function of this name returns nothing, and the only local that it binds.
fn without_return(case: &Case<'_>, function: &str) -> Option<(StepId, Option<String>)> {
    let steps = case.failure.step_text(case.failure.step).into_iter().chain(case.failure.before(case.failure.step));
    steps.into_iter().find_map(|step| {
        let found = look(step.text, |code| {
            let function = code.function(function, None)?;
            let silent = !function.returns_value() && !function.is_generator();
            let locals = function.locals();
            let only = match locals.as_slice() {
                [only] => Some((*only).to_owned()),
                _ => None,
            };
            silent.then_some(only)
        });
        Some((step.id.clone(), found.flatten()?))
    })
}

fn called_without_return(case: &Case<'_>, code: &Code<'_>) -> Option<(StepId, String)> {
    code.expressions_at(case.line, None).into_iter().find_map(|e| {
        let Expr::Call(call) = e else { return None };
        let function = name_of(&call.func)?;
        Some((without_return(case, function)?.0, function.to_owned()))
    })
}

/// A candidate that returns the only local of a function that returns nothing.
fn returning(case: &Case<'_>, why: &str, root: &StepId) -> Option<Suggestion> {
    if !why.contains("may have been meant to return it") {
        return None;
    }
    let step = case.failure.step_text(root)?;
    let function = why.split('`').nth(1)?;
    let (at, line) = look(step.text, |code| {
        let function = code.function(function, None)?;
        let last = function.body.last()?;
        let only = match function.locals().as_slice() {
            [only] => (*only).to_owned(),
            _ => return None,
        };
        let start = bytes(last).start;
        let indent = step.text.get(..start)?.rsplit('\n').next()?.to_owned();
        Some((bytes(last).end, format!("\n{indent}return {only}")))
    })
    .flatten()?;
    let new = replaced(step.text, vec![(at..at, line)])?;
    suggest(step, Rule::ReturnValue, false, format!("return what `{function}` made"), new)
}

/// Ways to keep the value that a method in place does not return.
fn in_place(step: &StepText<'_>, code: &Code<'_>, statement: &Stmt) -> Vec<Suggestion> {
    let Stmt::Assign(assign) = statement else { return Vec::new() };
    let ([target], Expr::Call(call)) = (assign.targets.as_slice(), &*assign.value) else { return Vec::new() };
    let (Some(target), Expr::Attribute(attribute)) = (name_of(target), &*call.func) else { return Vec::new() };
    let of = code.source(&*attribute.value);
    let whole = code.source(&*assign.value);
    let arguments: Vec<&str> = call
        .args
        .iter()
        .map(|e| code.source(e))
        .chain(call.keywords.iter().map(|k| code.text.get(bytes(k)).unwrap_or_default()))
        .collect();
    let given = arguments.join(", ");
    let range = bytes(statement);
    let indent = step.text.get(..range.start).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
    if !indent.trim().is_empty() {
        return Vec::new();
    }
    let is_name = is_name(of);
    let stated = |rule: Rule, title: &str, line: String| {
        let new = replaced(step.text, vec![(range.clone(), line)])?;
        suggest(step, rule, true, title, new)
    };
    let alone = || stated(Rule::InPlace, "change it in place, and assign nothing", whole.to_owned());
    let two =
        |of: &str| stated(Rule::InPlace, "change it first, then name it", format!("{whole}\n{indent}{target} = {of}"));
    let inplace = call.keywords.iter().find(|k| k.arg.as_deref() == Some("inplace") && code.source(&k.value) == "True");
    if inplace.is_some() {
        let rest: Vec<&str> =
            arguments.iter().copied().filter(|a| !a.replace(' ', "").starts_with("inplace=")).collect();
        let line = format!("{target} = {of}.{}({})", attribute.attr, rest.join(", "));
        let kept = stated(Rule::InPlace, "return a changed copy, without `inplace`", line);
        let own = if is_name && of == target { alone() } else { None };
        return kept.into_iter().chain(own).collect();
    }
    let found = match attribute.attr.as_str() {
        "sort" => {
            let more = if given.is_empty() { String::new() } else { format!(", {given}") };
            let sorted =
                stated(Rule::InPlace, "use sorted(), which returns the list", format!("{target} = sorted({of}{more})"));
            let own = if is_name && of == target { alone() } else { None };
            return sorted.into_iter().chain(own).collect();
        }
        "reverse" if !is_name => stated(
            Rule::InPlace,
            "use reversed(), which gives the items in reverse",
            format!("{target} = list(reversed({of}))"),
        ),
        "shuffle" => match call.args.as_slice() {
            [Expr::Name(list)] if list.id.as_str() == target => alone(),
            [Expr::Name(list)] => two(&list.id),
            _ => None,
        },
        "append" | "extend" | "insert" | "reverse" | "update" | "add" | "remove" | "discard" | "clear"
        | "appendleft" | "extendleft" => match (is_name, of == target) {
            (true, true) => alone(),
            (true, false) => two(of),
            (false, _) => None,
        },
        _ => None,
    };
    found.into_iter().collect()
}
