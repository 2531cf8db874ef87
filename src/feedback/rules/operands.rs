//! TypeError: values that don't go together, or are not of the kind that is meant.

use rustpython_parser::ast::{Constant, Expr, ExprConstant, Operator};

use super::rename;
use crate::analysis::builtins;
use crate::feedback::case::{Case, Finding, quoted, told};
use crate::feedback::code::{Code, bytes, look, name_of, text_of};
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::{replaced, suggest, unified};
use crate::step::StepId;

pub(super) fn wrong(case: &Case<'_>) -> Option<Finding> {
    let message = case.message();
    if message.contains("not callable") {
        return Some(not_callable(case));
    }
    let is_text = message.contains("str");
    let operands = message.contains("unsupported operand")
        || message.contains("can only concatenate")
        || message.contains("not supported between")
        || message.contains("must be str, not")
        || message.contains("can't multiply sequence")
        || message.contains("ufunc");
    if operands {
        return Some(if is_text { with_text(case) } else { mixed(case) });
    }
    Some(kind(case))
}

/// What is known of an operand without running it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// Text that is written there and is no number.
    Words,
    /// Other text.
    Text,
    /// A number or another value that `str` writes as people expect.
    Value,
    Unknown,
}

fn operand(case: &Case<'_>, code: &Code<'_>, e: &Expr) -> Operand {
    match e {
        Expr::Constant(ExprConstant { value: Constant::Str(text), .. }) => {
            if text.trim().parse::<f64>().is_ok() {
                Operand::Text
            } else {
                Operand::Words
            }
        }
        Expr::Constant(ExprConstant { value: Constant::Int(_) | Constant::Float(_) | Constant::Bool(_), .. }) => {
            Operand::Value
        }
        // A string with fields.
        Expr::Tuple(_) if code.source(e).starts_with(['f', 'F', 'r', 'R']) => Operand::Words,
        Expr::Name(name) => match case.seen(&name.id).map(|seen| (seen.type_name.as_str(), seen.repr.as_str())) {
            Some(("str", repr)) if repr.trim_matches(['\'', '"', ' ']).parse::<f64>().is_ok() => Operand::Text,
            Some(("str", _)) => Operand::Text,
            Some((
                "int" | "float" | "bool" | "Decimal" | "Fraction" | "date" | "datetime" | "list" | "dict" | "tuple"
                | "int64" | "float64",
                _,
            )) => Operand::Value,
            _ => Operand::Unknown,
        },
        Expr::Call(call) => match name_of(&call.func) {
            Some("str" | "repr" | "format" | "chr" | "input") => Operand::Text,
            Some("len" | "sum" | "int" | "float" | "round" | "abs" | "max" | "min") => Operand::Value,
            _ => match &*call.func {
                Expr::Attribute(a)
                    if matches!(a.attr.as_str(), "join" | "format" | "upper" | "lower" | "strip" | "title") =>
                {
                    Operand::Text
                }
                _ => Operand::Unknown,
            },
        },
        Expr::BinOp(e) if e.op != Operator::Add => Operand::Value,
        _ => Operand::Unknown,
    }
}

/// The operands of a sum, from the left.
fn parts<'t>(e: &'t Expr, found: &mut Vec<&'t Expr>) {
    match e {
        Expr::BinOp(sum) if sum.op == Operator::Add => {
            parts(&sum.left, found);
            parts(&sum.right, found);
        }
        other => found.push(other),
    }
}

/// Text beside what is no text.
fn with_text(case: &Case<'_>) -> Finding {
    let what = case.what();
    let at = case.at();
    if let Some((new, title, values)) = case.look(|code| as_text(case, code)).flatten() {
        let text = format!("{what}, at {at}: text is put together with {values}, which is no text.");
        return case.here(Cause::Operands, text).with(suggest(case.step, Rule::ToText, true, title, new));
    }
    // Arithmetic: the text is what should have been a number.
    let texts: Vec<_> = case.suspects().into_iter().filter(|(_, seen)| seen.type_name == "str").collect();
    let holding = || case.suspects().into_iter().find(|(_, seen)| seen.repr.contains('\'') && seen.type_name != "str");
    let blamed = texts.first().copied().or_else(holding);
    let Some((name, seen)) = blamed else {
        let text = format!(
            "{what}, at {at}: `{}`. One side is text, the other is not; which of them is meant is a choice.",
            case.line_text()
        );
        return case.here(Cause::Operands, text);
    };
    let origin = case.origin(name);
    let root = origin.as_ref().map_or_else(|| case.step.id.clone(), |origin| origin.step.clone());
    let whence = origin.map(|origin| format!(", as {} left it", origin.step)).unwrap_or_default();
    let text = format!(
        "{what}, at {at}: `{name}` is {}{whence}. Whether it should be made a number where it is read, and of which kind, \
         is a choice.",
        told(seen)
    );
    case.finding(Cause::Operands, root, text)
}

/// The step with the operands of a text's sum that are no text turned into text, if that is what is meant.
fn as_text(case: &Case<'_>, code: &Code<'_>) -> Option<(String, String, String)> {
    let sums = code
        .expressions_at(case.line, case.columns())
        .into_iter()
        .filter(|e| matches!(e, Expr::BinOp(sum) if sum.op == Operator::Add));
    // The largest sum that the failing one is part of.
    let failing = sums.clone().next()?;
    let whole = sums
        .filter(|e| bytes(*e).start <= bytes(failing).start && bytes(*e).end >= bytes(failing).end)
        .max_by_key(|e| bytes(*e).len())?;
    let mut operands = Vec::new();
    parts(whole, &mut operands);
    let kinds: Vec<Operand> = operands.iter().map(|e| operand(case, code, e)).collect();
    let is_shown = shown(code, whole);
    let has_words = kinds.contains(&Operand::Words);
    let numeric = operands.iter().zip(&kinds).any(|(e, kind)| {
        *kind == Operand::Text
            && (text_of(e).is_some_and(|text| text.trim().parse::<f64>().is_ok())
                || name_of(e)
                    .and_then(|name| case.seen(name))
                    .is_some_and(|seen| seen.repr.trim_matches(['\'', '"', ' ']).parse::<f64>().is_ok()))
    });
    if !(has_words || (is_shown && !numeric && kinds.contains(&Operand::Text))) {
        return None;
    }
    let unknown = kinds.iter().filter(|kind| **kind == Operand::Unknown).count();
    let wrapped: Vec<&Expr> = operands
        .iter()
        .zip(&kinds)
        .filter(|(_, kind)| {
            **kind == Operand::Value || (unknown == 1 && **kind == Operand::Unknown && !kinds.contains(&Operand::Value))
        })
        .map(|(e, _)| *e)
        .collect();
    if wrapped.is_empty() || (unknown > 0 && kinds.contains(&Operand::Value)) {
        return None;
    }
    let pieces = wrapped.iter().map(|e| (bytes(*e), format!("str({})", code.source(*e)))).collect();
    let values = wrapped.iter().map(|e| format!("`{}`", code.source(*e))).collect::<Vec<_>>().join(", ");
    Some((replaced(case.step.text, pieces)?, format!("turn {} into text", values.replace('`', "")), values))
}

/// Whether an expression is shown to people: an argument of `print`, of a logger, of an exception.
fn shown(code: &Code<'_>, inner: &Expr) -> bool {
    let range = bytes(inner);
    code.expressions().into_iter().any(|e| {
        let Expr::Call(call) = e else { return false };
        let holds =
            call.args.iter().any(|argument| bytes(argument).start <= range.start && bytes(argument).end >= range.end);
        let shows = match &*call.func {
            Expr::Name(name) => {
                matches!(name.id.as_str(), "print" | "display" | "input")
                    || name.id.ends_with("Error")
                    || name.id.ends_with("Exception")
            }
            Expr::Attribute(a) => matches!(
                a.attr.as_str(),
                "debug" | "info" | "warning" | "error" | "critical" | "exception" | "write" | "log" | "title"
            ),
            _ => false,
        };
        holds && shows
    })
}

fn mixed(case: &Case<'_>) -> Finding {
    let what = case.what();
    let suspects = case.suspects();
    let values = suspects
        .iter()
        .take(4)
        .map(|(name, seen)| format!("`{name}` is {}", told(seen)))
        .collect::<Vec<_>>()
        .join("; ");
    let values = if values.is_empty() { String::new() } else { format!(" {values}.") };
    case.here(Cause::Operands, format!("{what}, at {}: `{}`.{values}", case.at(), case.line_text()))
}

fn not_callable(case: &Case<'_>) -> Finding {
    let at = case.at();
    let kind = quoted(case.message()).first().copied().unwrap_or_default();
    let called = case.look(|code| {
        code.expressions_at(case.line, case.columns()).into_iter().find_map(|e| match e {
            Expr::Call(call) => name_of(&call.func)
                .filter(|name| case.seen(name).is_some_and(|seen| seen.type_name == kind))
                .map(str::to_owned),
            _ => None,
        })
    });
    let Some(name) = called.flatten() else {
        let text = format!(
            "{}, at {at}: `{}`. What stands before the brackets is no function.",
            case.what(),
            case.line_text()
        );
        return case.here(Cause::NotCallable, text);
    };
    let root = case.root_of(&name);
    if builtins::is_builtin(&name) {
        let text = format!(
            "`{name}` is called at {at}, but {root} gave that name, which is Python's own, to a {kind}: from there on the \
             builtin can't be reached by it."
        );
        return case.finding(Cause::NotCallable, root.clone(), text).with(shadow(case, &name, &root));
    }
    let hint = match kind {
        "module" => format!(" `{name}` is a module: what is meant may be `{name}.{name}`, or `from {name} import …`."),
        "str" | "int" | "float" | "list" | "dict" | "tuple" | "DataFrame" | "Series" => {
            " If an item of it is meant, that is written in square brackets.".to_owned()
        }
        _ => String::new(),
    };
    let value = case.seen(&name).map(told).unwrap_or_default();
    let text = format!("`{name}` is called at {at}, but it is {value}, as {root} left it.{hint}");
    case.finding(Cause::NotCallable, root, text)
}

/// The variable that hides a builtin, by another name: in the step that binds it, and wherever its value is used.
fn shadow(case: &Case<'_>, name: &str, root: &StepId) -> Option<Suggestion> {
    let new = format!("{name}_");
    let steps = case.failure.steps;
    let taken = steps.iter().any(|step| step.names.occurrences.iter().any(|place| *place.name == *new));
    let first = steps.iter().position(|step| step.id == root)?;
    if taken || steps.get(..first)?.iter().any(|step| step.writes(name)) {
        return None;
    }
    let mut files = std::collections::BTreeMap::new();
    let mut patch = String::new();
    for (place, step) in steps.iter().enumerate().skip(first) {
        if place > first && step.writes(name) {
            return None;
        }
        let pieces = look(step.text, |code| {
            let called: Vec<usize> = code
                .expressions()
                .into_iter()
                .filter_map(|e| match e {
                    Expr::Call(call) => {
                        name_of(&call.func).filter(|called| *called == name).map(|_| bytes(&*call.func).start)
                    }
                    _ => None,
                })
                .collect();
            let mut pieces = rename::of_name(code, name, &new);
            pieces.retain(|(range, _)| !called.contains(&range.start));
            pieces
        })?;
        if !pieces.is_empty() {
            let text = replaced(step.text, pieces)?;
            patch.push_str(&unified(step.path, step.text, &text));
            files.insert(step.path.to_owned(), text);
        }
    }
    let title = format!("call the variable {new}, so that {name}() is the builtin");
    (!files.is_empty()).then_some(Suggestion { title, rule: Rule::Shadow, safe: true, files, patch })
}

/// Other uses of a value that its type does not allow.
fn kind(case: &Case<'_>) -> Finding {
    let what = case.what();
    let at = case.at();
    let message = case.message();
    let kind = quoted(message).first().copied().unwrap_or_default();
    let indexed =
        message.contains("indices must be") || message.contains("unhashable") || message.contains("item assignment");
    let blamed = case.suspects().into_iter().find(|(_, seen)| seen.type_name == kind).filter(|_| !indexed);
    match blamed {
        Some((name, seen)) => {
            let root = case.root_of(name);
            let text = format!("{what}, at {at}: `{name}` is {}, as {root} left it.", told(seen));
            case.finding(Cause::WrongType, root, text)
        }
        None => {
            let text = format!("{what}, at {at}: `{}`.", case.line_text());
            let hint = match message {
                m if m.contains("list indices must be") => {
                    " A list is indexed by numbers; a key is for a table or a row of it."
                }
                m if m.contains("unhashable") => " What can change can't be a key or a member of a set; a tuple can.",
                m if m.contains("JSON serializable") => {
                    " What is not text, number, list or table has to be turned into one of them first."
                }
                _ => "",
            };
            case.here(Cause::WrongType, format!("{text}{hint}"))
        }
    }
}
