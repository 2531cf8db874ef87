//! KeyError and missing columns.

use rustpython_parser::ast::Expr;

use super::{attributes, rename};
use crate::feedback::case::{Case, Finding, cut, or_list, quoted, told, unquoted};
use crate::feedback::code::{Code, bytes, look};
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::{replaced, suggest};
use crate::feedback::near;
use crate::feedback::trace::Origin;
use crate::step::{Seen, StepId};

/// What was asked for a key: its text, and what it held.
struct Receiver<'a> {
    text: String,
    seen: Option<&'a Seen>,
}

impl Receiver<'_> {
    fn is_frame(&self) -> bool {
        self.seen.is_some_and(|seen| seen.type_name == "DataFrame")
    }

    fn keys(&self) -> Vec<&str> {
        self.seen.map(|seen| seen.keys.iter().map(String::as_str).collect()).unwrap_or_default()
    }

    /// The name that it hangs from, if it is one or a part of one.
    fn base(&self) -> Option<&str> {
        let base = self.text.split(['.', '[', '(']).next()?;
        let is_name = !base.is_empty() && base.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then_some(base)
    }
}

pub(super) fn missing(case: &Case<'_>) -> Option<Finding> {
    let key = case.attribute("key").unwrap_or_else(|| case.message());
    // pandas puts several in one sentence: "['qty'] not in index".
    let listed = unquoted(key).filter(|text| text.contains("not in index") || text.contains("not found in axis"));
    let listed =
        listed.or_else(|| Some(key).filter(|text| text.contains("not in index") || text.contains("not found in axis")));
    let literal = match listed {
        Some(text) => {
            format!("'{}'", quoted(text).first().copied().or_else(|| text.trim_start_matches('[').split(']').next())?)
        }
        None => key.to_owned(),
    };
    if literal.contains("None of [Index(") {
        let wanted: Vec<&str> =
            quoted(&literal).into_iter().filter(|text| *text != "object" && *text != "str").collect();
        let literal = format!("'{}'", wanted.first()?);
        return Some(about(case, &literal));
    }
    Some(about(case, &literal))
}

/// A missing column that a library tells in another class than KeyError.
pub(super) fn missing_column(case: &Case<'_>) -> Option<Finding> {
    let message = case.message();
    // `usecols do not match columns`, `Missing column provided to 'parse_dates': 'x'`, `Index(['x']) not found in axis`, polars.
    let told = message.contains("not found in axis")
        || message.contains("do not match columns, columns expected but not found")
        || message.contains("Missing column provided")
        || case.error.type_name == "ColumnNotFoundError"
        || case.error.type_name == "UndefinedVariableError";
    if !told {
        return None;
    }
    let name = match case.error.type_name.as_str() {
        "ColumnNotFoundError" => {
            message.split(|c: char| !(c.is_alphanumeric() || c == '_')).find(|word| !word.is_empty())?
        }
        _ => quoted(message).last().copied()?,
    };
    Some(about(case, &format!("'{name}'")))
}

/// A column of a frame that is asked for as an attribute.
pub(super) fn column_as_attribute(case: &Case<'_>, name: &str) -> Option<Finding> {
    let receiver = receiver(case, &format!("'{name}'"))?;
    let keys = receiver.keys();
    let columns: Vec<&str> = keys.iter().filter_map(|key| unquoted(key)).collect();
    let near = near::close_key(name, columns.iter().copied());
    let methods = near::close(name, attributes::has(case).into_iter().filter(|has| !columns.contains(has)));
    let text = format!("The frame `{}` has no attribute or column `{name}` (at {}).", receiver.text, case.at());
    match (near.as_slice(), methods.as_slice()) {
        ([one], []) => {
            let is_word = one.chars().all(|c| c.is_alphanumeric() || c == '_');
            let of = receiver.text.clone();
            let pieces = case.look(|code| rename::of_attribute(code, Some(&of), name, one)).filter(|_| is_word);
            let patch = pieces
                .and_then(|pieces| replaced(case.step.text, pieces))
                .and_then(|new| suggest(case.step, Rule::KeyTypo, true, format!("write .{name} as .{one}"), new));
            Some(case.here(Cause::MisspeltColumn, text).and(format!("It has a column `{one}`.")).with(patch))
        }
        ([], _) => None,
        (columns, _) => {
            let all = columns.iter().chain(&methods).copied();
            Some(case.here(Cause::MisspeltColumn, text).and(format!("It may be {} misspelt.", or_list(all))))
        }
    }
}

/// What was asked: what the worker saw, or else what on the line has keys.
fn receiver<'a>(case: &Case<'a>, literal: &str) -> Option<Receiver<'a>> {
    let saw = case.frame()?.saw.as_deref()?;
    if let (Some(text), Some(seen)) = (&saw.receiver, &saw.receiver_seen)
        && (!seen.keys.is_empty() || seen.len == Some(0) || seen.type_name == "dict")
    {
        return Some(Receiver { text: text.clone(), seen: Some(seen) });
    }
    let mut with_keys: Vec<(&String, &Seen)> = saw
        .names
        .iter()
        .filter(|(_, seen)| !seen.keys.is_empty() && !seen.keys.iter().any(|key| key == literal))
        .collect();
    // A frame before a table of Python's: its methods take names of columns.
    with_keys.sort_by_key(|(_, seen)| seen.type_name != "DataFrame");
    match with_keys.first() {
        Some((name, seen)) => Some(Receiver { text: (*name).clone(), seen: Some(seen) }),
        None => saw.receiver.as_ref().map(|text| Receiver { text: text.clone(), seen: saw.receiver_seen.as_ref() }),
    }
}

fn about(case: &Case<'_>, literal: &str) -> Finding {
    let at = case.at();
    if case.look(|code| is_environment(code, case.line)).unwrap_or(false) {
        let text = format!(
            "The environment has no variable {literal}, which is asked for at {at}. It is set outside of the run."
        );
        return case.here(Cause::MissingKey, text);
    }
    let receiver = receiver(case, literal);
    let (column, keys) = match &receiver {
        Some(receiver) => (receiver.is_frame(), receiver.keys()),
        None => (false, Vec::new()),
    };
    let what = if column { "column" } else { "key" };
    let of =
        receiver.as_ref().map(|receiver| format!("`{}`", receiver.text)).unwrap_or_else(|| "What is asked".to_owned());
    let has = match (&receiver, keys.is_empty()) {
        (Some(Receiver { seen: Some(seen), .. }), true) if seen.len == Some(0) || seen.repr == "{}" => {
            format!("{of} is empty")
        }
        (_, true) => format!("{of} has no {what} {literal}"),
        (..) => format!("{of} has no {what} {literal}; it has {}", cut(&keys.join(", "), 300)),
    };
    let text = format!("{has} (asked for at {at}).");
    let origin = receiver.as_ref().and_then(|receiver| receiver.base()).and_then(|base| case.origin(base));
    let wanted = unquoted(literal);
    let texts: Vec<&str> = keys.iter().filter_map(|key| unquoted(key)).collect();
    let near: Vec<&str> = wanted.map(|wanted| near::close_key(wanted, texts.iter().copied())).unwrap_or_default();
    let facts = receiver.as_ref().and_then(|receiver| {
        let seen = receiver.seen?;
        let written_by = origin.as_ref().map(|origin| origin.step.clone());
        Some(crate::feedback::diagnosis::Fact { name: receiver.text.clone(), value: told(seen), written_by })
    });
    let mut finding = match (wanted, near.as_slice()) {
        (Some(wanted), [_, ..]) => misspelt(case, wanted, &near, column, origin.as_ref(), text),
        _ => nowhere(case, literal, column, origin.as_ref(), text),
    };
    if let Some(fact) = facts {
        finding.facts.retain(|known| known.name != fact.name);
        finding.facts.insert(0, fact);
    }
    finding
}

/// A key that is there in another spelling.
fn misspelt(
    case: &Case<'_>,
    wanted: &str,
    near: &[&str],
    column: bool,
    origin: Option<&Origin>,
    text: String,
) -> Finding {
    let cause = if column { Cause::MisspeltColumn } else { Cause::MisspeltKey };
    let other_texts = case.failure.steps.iter().filter(|step| step.id != case.step.id);
    let others: Vec<&StepId> = other_texts
        .filter(|step| look(step.text, |code| rename::has_text(code, wanted)) == Some(true))
        .map(|step| step.id)
        .collect();
    let made_here = case.look(|code| rename::stores_key(code, wanted)).unwrap_or(false);
    let only_blanks = matches!(near, [one] if one.trim() == wanted.trim() && *one != wanted);
    let patch = |other: &str, safe: bool| -> Option<Suggestion> {
        let pieces = case.look(|code| rename::of_text(code, wanted, other)).filter(|pieces| !pieces.is_empty())?;
        let new = replaced(case.step.text, pieces)?;
        suggest(case.step, Rule::KeyTypo, safe, format!("write '{wanted}' as '{other}'"), new)
    };
    match near {
        [one] if others.is_empty() && !made_here => {
            let finding = case
                .here(cause, text)
                .and(format!("`{one}` is close to it, and the spelling `{wanted}` stands nowhere else."));
            finding.with(patch(one, true)).with(normalise(case, only_blanks && column, origin))
        }
        [one] => {
            // Others use the same spelling, so whoever made the value may be the one who misspelt it.
            let root = origin.map_or_else(|| case.step.id.clone(), |origin| origin.step.clone());
            let whose = match others.first() {
                Some(step) => format!(
                    "`{one}` is close to it, but {step} writes `{wanted}` too: which of the two is meant is a choice."
                ),
                None => format!("`{one}` is close to it, but this step makes `{wanted}` itself elsewhere."),
            };
            case.finding(cause, root, text).and(whose).with(patch(one, false)).with(normalise(
                case,
                only_blanks && column,
                origin,
            ))
        }
        several => {
            let choice = format!("Several are close to it: {}.", or_list(several.iter().copied()));
            case.here(cause, text).and(choice).with(several.iter().take(4).filter_map(|other| patch(other, false)))
        }
    }
}

/// A candidate that takes blanks off the names of columns where the frame is made.
fn normalise(case: &Case<'_>, wanted: bool, origin: Option<&Origin>) -> Option<Suggestion> {
    let origin = origin.filter(|_| wanted)?;
    let step = case.failure.step_text(&origin.step)?;
    let place = look(step.text, |code| {
        let statement = code.statement_at(origin.line?)?;
        let range = bytes(statement);
        let indent = code.text.get(..range.start)?.rsplit('\n').next()?.to_owned();
        Some((range.end, indent))
    });
    let (end, indent) = place.flatten()?;
    let line = format!("\n{indent}{0}.columns = {0}.columns.str.strip()", origin.name);
    let new = replaced(step.text, vec![(end..end, line)])?;
    suggest(step, Rule::NormaliseColumns, false, "take the blanks off the names of columns where they are read", new)
}

/// A key that nothing is close to.
fn nowhere(case: &Case<'_>, literal: &str, column: bool, origin: Option<&Origin>, text: String) -> Finding {
    let cause = if column { Cause::MissingColumn } else { Cause::MissingKey };
    let (root, whence) = match origin {
        Some(origin) if origin.step != *case.step.id => {
            let line = origin.line.map(|line| format!(", line {line}")).unwrap_or_default();
            (origin.step.clone(), format!("It was made by {}{line}: there it is missing.", origin.step))
        }
        Some(origin) => (origin.step.clone(), "Nothing that is there is close to it.".to_owned()),
        None => (case.step.id.clone(), "Nothing that is there is close to it.".to_owned()),
    };
    let wanted = unquoted(literal);
    let later = wanted.and_then(|wanted| {
        let makes = |step: &&crate::feedback::failure::StepText<'_>| {
            look(step.text, |code| rename::stores_key(code, wanted)) == Some(true)
        };
        case.failure.after(case.failure.step).find(makes)
    });
    let finding = case.finding(cause, root, text).and(whence);
    match later {
        Some(step) => finding.and(format!("{} makes it, but comes later.", step.id)),
        None => finding.and("A default in its place would only hide that."),
    }
}

/// Whether a line asks `os.environ`.
fn is_environment(code: &Code<'_>, line: u32) -> bool {
    code.expressions_at(line, None).into_iter().any(|e| match e {
        Expr::Subscript(s) => code.source(&*s.value).ends_with("environ"),
        _ => false,
    })
}
