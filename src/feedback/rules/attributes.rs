//! AttributeError on something that is there.

use rustpython_parser::ast::{Expr, Stmt};

use super::{keys, rename};
use crate::feedback::case::{Case, Finding, or_list, quoted, told};
use crate::feedback::code::{Code, bytes, look};
use crate::feedback::diagnosis::{Cause, Rule};
use crate::feedback::edit::{replaced, suggest};
use crate::feedback::near;

/// The attribute that is not there.
pub(super) fn wanted<'a>(case: &Case<'a>) -> Option<&'a str> {
    case.attribute("name").or_else(|| {
        let (_, rest) = case.message().split_once("has no attribute ")?;
        quoted(rest).first().copied()
    })
}

/// The class of what it was asked of.
pub(super) fn class_of<'a>(case: &Case<'a>) -> &'a str {
    let told = case.message().split_once("' object has no attribute").and_then(|(head, _)| head.rsplit('\'').next());
    case.attribute("obj_type").or(told).unwrap_or_default()
}

/// The text of the expression that it was asked of.
pub(super) fn receiver<'a>(case: &Case<'a>) -> Option<&'a str> {
    case.frame()?.saw.as_ref()?.receiver.as_deref()
}

/// The attributes that it has.
pub(super) fn has<'a>(case: &Case<'a>) -> Vec<&'a str> {
    if let Some(has) = case.attribute("obj_has").filter(|has| !has.is_empty()) {
        return has.split(' ').collect();
    }
    case.frame()
        .and_then(|frame| frame.saw.as_ref())
        .map(|saw| saw.receiver_has.iter().map(String::as_str).collect())
        .unwrap_or_default()
}

pub(super) fn missing(case: &Case<'_>) -> Option<Finding> {
    let name = wanted(case)?;
    let class = class_of(case);
    let at = case.at();
    let receiver = receiver(case);
    let seen = case.frame().and_then(|frame| frame.saw.as_ref()).and_then(|saw| saw.receiver_seen.as_ref());
    let object = match (case.attribute("obj_module"), case.attribute("obj_class"), receiver) {
        (Some(module), ..) => format!("module `{module}`"),
        (_, Some(class), _) => format!("class `{class}`"),
        (.., Some(receiver)) => {
            format!("`{receiver}`, which is {},", seen.map_or_else(|| format!("of type {class}"), told))
        }
        _ => format!("an object of type {class}"),
    };
    if matches!(class, "DataFrame" | "Series")
        && let Some(finding) = keys::column_as_attribute(case, name)
    {
        return Some(finding);
    }
    let has = has(case);
    if let Some(finding) = foreign(case, class, name, receiver) {
        return Some(finding);
    }
    if matches!(class, "dict" | "defaultdict" | "OrderedDict") {
        let literal = format!("'{name}'");
        if seen.is_some_and(|seen| seen.keys.contains(&literal)) {
            let text = format!("{object} has no attribute `{name}` (at {at}), but it has a key of that name.");
            let patch = receiver.and_then(|receiver| as_key(case, receiver, name));
            return Some(case.here(Cause::MissingAttribute, text).with(patch.and_then(|new| {
                suggest(case.step, Rule::ForeignMethod, false, format!("ask for the key {literal}"), new)
            })));
        }
    }
    let near: Vec<&str> = near::close(name, has.iter().copied());
    let is_set =
        case.failure.steps.iter().any(|step| look(step.text, |code| stores_attribute(code, name)) == Some(true));
    match near.as_slice() {
        [] => Some(absent(case, name, &object)),
        _ if is_set => {
            let text = format!(
                "{object} has no attribute `{name}` at {at}. Some step sets an attribute of that name, but it was not set \
                 on this object, or not yet."
            );
            Some(case.here(Cause::MissingAttribute, text))
        }
        [one] => {
            let text = format!("{object} has no attribute `{name}` (at {at}); it has `{one}`.");
            let new = case.look(|code| rename::of_attribute(code, receiver, name, one)).filter(|p| !p.is_empty());
            let patch = new
                .and_then(|pieces| replaced(case.step.text, pieces))
                .and_then(|new| suggest(case.step, Rule::AttributeTypo, true, format!("write .{name} as .{one}"), new));
            Some(case.here(Cause::MisspeltAttribute, text).with(patch))
        }
        several => {
            let text = format!(
                "{object} has no attribute `{name}` (at {at}). It may be {} misspelt.",
                or_list(several.iter().copied())
            );
            let patches = several.iter().take(4).filter_map(|other| {
                let pieces = case.look(|code| rename::of_attribute(code, receiver, name, other))?;
                let new = replaced(case.step.text, pieces)?;
                suggest(case.step, Rule::AttributeTypo, false, format!("write .{name} as .{other}"), new)
            });
            Some(case.here(Cause::MisspeltAttribute, text).with(patches))
        }
    }
}

fn absent(case: &Case<'_>, name: &str, object: &str) -> Finding {
    let at = case.at();
    // A value of another type than was meant is the fault of who made it.
    let plain = matches!(
        class_of(case),
        "str" | "int" | "float" | "list" | "dict" | "tuple" | "set" | "bool" | "bytes" | "generator"
    );
    let base = receiver(case).filter(|receiver| receiver.chars().all(|c| c.is_alphanumeric() || c == '_'));
    if case.message().contains("partially initialized module") {
        let text = format!(
            "{object} has no `{name}` yet at {at}: it is still being imported. A file of the run with the name of the \
             module that is meant does this."
        );
        return case.here(Cause::ImportFailed, text);
    }
    let text = format!("{object} has no attribute `{name}` (at {at}), and none that is close to it.");
    match base.filter(|_| plain) {
        Some(base) => {
            let origin = case.origin(base);
            let root = origin.as_ref().map_or_else(|| case.step.id.clone(), |origin| origin.step.clone());
            let whence = match origin.and_then(|origin| Some((origin.step, origin.line?))) {
                Some((step, line)) => format!("`{base}` was given this value at line {line} of {step}."),
                None => "Its value is of another type than the line means.".to_owned(),
            };
            case.finding(Cause::WrongType, root, text).and(whence)
        }
        None => case.here(Cause::MissingAttribute, text),
    }
}

/// Whether a text sets an attribute of this name on anything.
fn stores_attribute(code: &Code<'_>, name: &str) -> bool {
    let is_it = |e: &Expr| matches!(e, Expr::Attribute(attribute) if attribute.attr.as_str() == name);
    code.statements().into_iter().any(|statement| match statement {
        Stmt::Assign(s) => s.targets.iter().any(is_it),
        Stmt::AugAssign(s) => is_it(&s.target),
        Stmt::AnnAssign(s) => is_it(&s.target),
        _ => false,
    })
}

/// `d.key` as `d['key']`.
fn as_key(case: &Case<'_>, receiver: &str, name: &str) -> Option<String> {
    let pieces = case.look(|code| {
        let mut pieces = rename::of_attribute(code, Some(receiver), name, &format!("['{name}']"));
        // The point before it goes as well.
        for (range, _) in &mut pieces {
            range.start = range.start.saturating_sub(1);
        }
        pieces
    })?;
    replaced(case.step.text, pieces)
}

/// What replaces a call of another language's method.
enum Python {
    /// A method of another name, with the same arguments.
    Method(&'static str),
    /// `len(receiver)`.
    Length,
    /// `argument in receiver`.
    In,
}

/// A method that other languages have.
fn foreign(case: &Case<'_>, class: &str, name: &str, receiver: Option<&str>) -> Option<Finding> {
    let is_text = class == "str";
    let python = match (class, name) {
        ("list", "push" | "add" | "push_back" | "append_item") => Python::Method("append"),
        ("list", "addAll" | "concat" | "add_all") => Python::Method("extend"),
        ("list", "indexOf" | "index_of") | ("str", "lastIndexOf") if !is_text => Python::Method("index"),
        ("str", "indexOf" | "index_of") => Python::Method("find"),
        ("str", "lastIndexOf") => Python::Method("rfind"),
        ("set", "push" | "append" | "insert") => Python::Method("add"),
        ("set", "has" | "contains" | "includes") => Python::In,
        ("deque", "push") => Python::Method("append"),
        ("list" | "tuple" | "str" | "dict" | "set", "length" | "size" | "count" | "len") => Python::Length,
        ("list" | "tuple" | "str", "contains" | "includes" | "has") => Python::In,
        (
            "dict" | "defaultdict" | "OrderedDict" | "Counter",
            "has_key" | "containsKey" | "contains" | "has" | "hasOwnProperty",
        ) => Python::In,
        ("dict", "iteritems" | "entries" | "viewitems") => Python::Method("items"),
        ("dict", "iterkeys" | "viewkeys") => Python::Method("keys"),
        ("dict", "itervalues" | "viewvalues") => Python::Method("values"),
        ("dict", "putAll" | "merge") => Python::Method("update"),
        ("str", "trim" | "strip_whitespace" | "chomp") => Python::Method("strip"),
        ("str", "trimStart" | "trimLeft" | "ltrim") => Python::Method("lstrip"),
        ("str", "trimEnd" | "trimRight" | "rtrim") => Python::Method("rstrip"),
        ("str", "toLowerCase" | "toLower" | "to_lower" | "lowercase" | "downcase") => Python::Method("lower"),
        ("str", "toUpperCase" | "toUpper" | "to_upper" | "uppercase" | "upcase") => Python::Method("upper"),
        ("str", "startsWith" | "starts_with" | "start_with") => Python::Method("startswith"),
        ("str", "endsWith" | "ends_with" | "end_with") => Python::Method("endswith"),
        ("str", "replaceAll" | "replace_all" | "gsub") => Python::Method("replace"),
        ("bytes", "encode") | ("str", "decode") => return Some(already(case, class, name)),
        _ => return None,
    };
    let pieces = case.look(|code| {
        let mut pieces = Vec::new();
        for expression in code.expressions() {
            let (whole, call) = match expression {
                Expr::Call(call) => (expression, Some(call)),
                other => (other, None),
            };
            let Expr::Attribute(attribute) = call.map_or(expression, |call| &*call.func) else { continue };
            let of = code.source(&*attribute.value);
            if attribute.attr.as_str() != name || receiver.is_some_and(|receiver| receiver != of) {
                continue;
            }
            match (&python, call) {
                (Python::Method(new), Some(call)) => {
                    let end = bytes(&*call.func).end;
                    pieces.push((end.saturating_sub(name.len())..end, (*new).to_owned()));
                }
                (Python::Length, Some(call)) if call.args.is_empty() && call.keywords.is_empty() => {
                    pieces.push((bytes(whole), format!("len({of})")));
                }
                // The call around it comes first, and has taken it.
                (Python::Length, None)
                    if !pieces
                        .iter()
                        .any(|(range, _)| range.end >= bytes(whole).end && range.start <= bytes(whole).start) =>
                {
                    pieces.push((bytes(whole), format!("len({of})")));
                }
                (Python::In, Some(call)) if call.keywords.is_empty() => {
                    let [argument] = call.args.as_slice() else { continue };
                    let bare = stands_alone(code, whole);
                    let test = format!("{} in {of}", code.source(argument));
                    pieces.push((bytes(whole), if bare { test } else { format!("({test})") }));
                }
                _ => {}
            }
        }
        pieces
    })?;
    if pieces.is_empty() {
        return None;
    }
    let new = replaced(case.step.text, pieces)?;
    let (means, title) = match python {
        Python::Method(method) => (format!("`.{method}(…)`"), format!("write .{name} as .{method}")),
        Python::Length => ("`len(…)`".to_owned(), format!("write .{name} as len(…)")),
        Python::In => ("`… in …`".to_owned(), format!("write .{name}(…) as … in …")),
    };
    let text =
        format!("A {class} of Python has no `{name}`, which is asked for at {}: Python writes {means}.", case.at());
    Some(case.here(Cause::ForeignMethod, text).with(suggest(case.step, Rule::ForeignMethod, true, title, new)))
}

/// Whether an expression is all of a statement's value, an argument or a condition, so that it needs no brackets.
fn stands_alone(code: &Code<'_>, expression: &Expr) -> bool {
    let range = bytes(expression);
    let before = code.text.get(..range.start).unwrap_or_default().trim_end_matches([' ', '\t']);
    let after = code.text.get(range.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let opens = before.is_empty()
        || before.ends_with(['(', ',', '[', '\n', '\r', ':'])
        || (before.ends_with('=') && !before.ends_with("==") && !before.ends_with("!="))
        || ["if", "elif", "while", "return", "assert"].iter().any(|word| before.ends_with(word));
    opens && (after.is_empty() || after.starts_with([')', ',', ']', ':', '\n', '\r', '#', ';']))
}

fn already(case: &Case<'_>, class: &str, name: &str) -> Finding {
    let text = format!(
        "`.{name}()` is asked of a {class} at {}: it is {} already.",
        case.at(),
        if class == "str" { "text" } else { "bytes" }
    );
    case.here(Cause::WrongType, text)
}
