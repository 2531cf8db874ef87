//! TypeError: arguments that a function does not take, or lacks.

use rustpython_parser::ast::{Expr, Stmt};

use super::rename;
use crate::feedback::case::{Case, Finding, or_list, quoted};
use crate::feedback::code::{Code, Function, bytes, look, name_of};
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::{replaced, suggest};
use crate::feedback::failure::StepText;
use crate::feedback::near;

pub(super) fn wrong(case: &Case<'_>) -> Option<Finding> {
    let message = case.message();
    if message.contains("unexpected keyword argument") || message.contains("is an invalid keyword argument") {
        return Some(keyword(case));
    }
    if message.contains("positional argument") && message.contains("given") {
        return Some(too_many(case));
    }
    let missing = message.contains("missing") && message.contains("required") && message.contains("argument");
    missing.then(|| lacking(case))
}

/// `area` of `Shape.area() takes …`, and of `area() got …`.
fn called<'a>(case: &Case<'a>) -> &'a str {
    let before = case.message().split("()").next().unwrap_or_default();
    before.rsplit(['.', ' ']).next().unwrap_or_default()
}

/// The step that defines a function of the run, the nearest before the one that calls it.
fn definition<'a>(case: &Case<'a>, name: &str) -> Option<&'a StepText<'a>> {
    let own = case.failure.step_text(case.failure.step);
    let steps = own.into_iter().chain(case.failure.before(case.failure.step));
    let defines = |step: &&StepText<'_>| {
        look(step.text, |code| code.function(name, None).is_some() || class(code, name).is_some()) == Some(true)
    };
    steps.into_iter().find(defines)
}

fn class<'t>(code: &Code<'t>, name: &str) -> Option<&'t rustpython_parser::ast::StmtClassDef> {
    code.statements().into_iter().find_map(|statement| match statement {
        Stmt::ClassDef(class) if class.name.as_str() == name => Some(class),
        _ => None,
    })
}

/// What a function of the run takes: its signature for people.
fn signature(case: &Case<'_>, name: &str) -> Option<(String, Vec<String>)> {
    let step = definition(case, name)?;
    look(step.text, |code| {
        let function = code.function(name, None)?;
        let parameters: Vec<String> = function.parameters().into_iter().map(str::to_owned).collect();
        Some((format!("`{name}({})`, which {} defines", parameters.join(", "), step.id), parameters))
    })
    .flatten()
}

fn keyword(case: &Case<'_>) -> Finding {
    let (_, after) = case.message().split_once("keyword argument").unwrap_or_default();
    let wanted = quoted(after).first().or(quoted(case.message()).first()).copied().unwrap_or_default().to_owned();
    let name = called(case);
    let own = signature(case, name);
    let takes: Vec<String> = match &own {
        Some((_, parameters)) => parameters.clone(),
        None => case.frame().and_then(|frame| frame.saw.as_ref()).map(|saw| saw.takes.clone()).unwrap_or_default(),
    };
    let given: Vec<String> = case
        .look(|code| {
            let mut given = Vec::new();
            for e in code.expressions_at(case.line, case.columns()) {
                if let Expr::Call(call) = e
                    && call.keywords.iter().any(|k| k.arg.as_deref() == Some(&wanted))
                {
                    given.extend(call.keywords.iter().filter_map(|k| k.arg.as_ref()).map(ToString::to_string));
                }
            }
            given
        })
        .unwrap_or_default();
    let free = takes
        .iter()
        .map(String::as_str)
        .filter(|name| *name != "self" && *name != "cls" && !given.iter().any(|g| g == name));
    let mut near = near::close(&wanted, free);
    if near.is_empty()
        && let Some(meant) = case.message().split("Did you mean '").nth(1).and_then(|rest| rest.split('\'').next())
    {
        near.push(meant);
    }
    let what = own.map_or_else(|| format!("`{name}()`"), |(signature, _)| signature);
    let text = format!("{what} takes no argument `{wanted}`, which {} gives it.", case.at());
    let patch = |other: &str, safe: bool| -> Option<Suggestion> {
        let pieces = case.look(|code| rename::of_keyword(code, case.line, &wanted, other)).filter(|p| !p.is_empty())?;
        let new = replaced(case.step.text, pieces)?;
        suggest(case.step, Rule::KeywordTypo, safe, format!("write {wanted}= as {other}="), new)
    };
    match near.as_slice() {
        [] if takes.is_empty() => {
            case.here(Cause::Arguments, text).and("Another version of the library may have taken it.")
        }
        [] => {
            let all =
                takes.iter().map(String::as_str).filter(|name| *name != "self").take(20).collect::<Vec<_>>().join(", ");
            case.here(Cause::Arguments, text).and(format!("It takes {all}."))
        }
        [one] => case.here(Cause::Arguments, text).and(format!("`{one}` is close to it.")).with(patch(one, true)),
        several => {
            let choice = format!("It may be {} misspelt.", or_list(several.iter().copied()));
            case.here(Cause::Arguments, text)
                .and(choice)
                .with(several.iter().take(4).filter_map(|other| patch(other, false)))
        }
    }
}

fn too_many(case: &Case<'_>) -> Finding {
    let name = called(case);
    let numbers: Vec<u32> = case.message().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let one_more = matches!(numbers.as_slice(), [.., takes, given] if *given == takes + 1);
    if one_more && let Some(finding) = without_self(case, name) {
        return finding;
    }
    let what = case.what();
    let of = signature(case, name).map(|(signature, _)| format!(" It is {signature}.")).unwrap_or_default();
    let text = format!(
        "{what}, at {}: `{}`.{of} Which of what it is given is too much can't be told.",
        case.at(),
        case.line_text()
    );
    case.here(Cause::Arguments, text)
}

/// A method that does not take the object which it is called on.
fn without_self(case: &Case<'_>, name: &str) -> Option<Finding> {
    let own = case.failure.step_text(case.failure.step);
    let steps = own.into_iter().chain(case.failure.before(case.failure.step));
    let (step, class, place, empty) = steps.into_iter().find_map(|step| {
        let found = look(step.text, |code| {
            let function = methods(code, name).into_iter().find(|function| {
                let first = function.parameters().first().copied();
                function.decorators.is_empty()
                    && !matches!(first, Some("self" | "cls" | "this"))
                    && !uses_first_as_object(code, function)
            })?;
            let class = code.class_of(&function)?.to_owned();
            let range = bytes(function.statement);
            let head = code.source(function.statement);
            let open = head.find(&format!("{name}(")).or_else(|| head.find('('))?;
            let open = open + head.get(open..)?.find('(')? + 1;
            let empty = head.get(open..)?.trim_start().starts_with(')');
            Some((class, range.start + open, empty))
        });
        let (class, place, empty) = found.flatten()?;
        Some((step, class, place, empty))
    })?;
    // Called on the class itself, the object is not handed over.
    let on_class = case
        .look(|code| {
            code.expressions_at(case.line, case.columns()).into_iter().any(|e| match e {
                Expr::Call(call) => matches!(&*call.func, Expr::Attribute(a) if a.attr.as_str() == name && name_of(&a.value) == Some(class.as_str())),
                _ => false,
            })
        })
        .unwrap_or(false);
    if on_class {
        return None;
    }
    let new = replaced(step.text, vec![(place..place, if empty { "self".to_owned() } else { "self, ".to_owned() })])?;
    let text = format!(
        "`{class}.{name}` is called on an object at {}, which is handed over as its first argument, but it takes none \
         for it: `self` is missing where {} defines it.",
        case.at(),
        step.id
    );
    let patch = suggest(step, Rule::AddSelf, true, format!("add self to {class}.{name}"), new);
    Some(case.finding(Cause::Arguments, step.id.clone(), text).with(patch))
}

/// The functions of this name that stand in classes.
fn methods<'t>(code: &Code<'t>, name: &str) -> Vec<Function<'t>> {
    let lines = code.statements().into_iter().filter_map(|statement| match statement {
        Stmt::FunctionDef(f) if f.name.as_str() == name => Some(code.lines_of(statement).0),
        Stmt::AsyncFunctionDef(f) if f.name.as_str() == name => Some(code.lines_of(statement).0),
        _ => None,
    });
    lines
        .filter_map(|line| code.function(name, Some(line)))
        .filter(|function| code.class_of(function).is_some())
        .collect()
}

/// Whether the first parameter is used as an object with attributes: then it is `self` by another name.
fn uses_first_as_object(code: &Code<'_>, function: &Function<'_>) -> bool {
    let Some(first) = function.parameters().first().copied() else { return false };
    let whole = bytes(function.statement);
    code.expressions()
        .into_iter()
        .any(|e| whole.contains(&bytes(e).start) && matches!(e, Expr::Attribute(a) if name_of(&a.value) == Some(first)))
}

fn lacking(case: &Case<'_>) -> Finding {
    let name = called(case);
    let (_, after) = case.message().split_once("argument").unwrap_or_default();
    let names = quoted(after);
    let missing = if names.is_empty() { "something".to_owned() } else { format!("`{}`", names.join("`, `")) };
    let of = signature(case, name).map(|(signature, _)| format!(" It is {signature}.")).unwrap_or_default();
    let mut text = format!("`{name}()` is called at {} without {missing}.{of}", case.at());
    if names.first() == Some(&"self") {
        text.push_str(" It is called on the class, not on an object of it.");
    } else {
        text.push_str(" What it should be given can't be guessed.");
    }
    case.here(Cause::Arguments, text)
}
