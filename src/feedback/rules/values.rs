//! ValueError: unpacking, conversions, shapes.

use rustpython_parser::ast::{Expr, Stmt};

use crate::feedback::case::{Case, Finding, quoted, told};
use crate::feedback::code::{Code, bytes, each_expression, name_of};
use crate::feedback::diagnosis::{Cause, Rule};
use crate::feedback::edit::{replaced, suggest};
use crate::step::{Seen, StepId};

pub(super) fn wrong(case: &Case<'_>) -> Option<Finding> {
    let message = case.message();
    if message.contains("to unpack") {
        return Some(unpacking(case));
    }
    // What the step raised itself, or what only repeats a check, is for the checks.
    let shape = message.contains("shape")
        || message.contains("broadcast")
        || message.contains("reshape")
        || message.contains("inconsistent numbers of samples")
        || message.contains("Length of values")
        || message.contains("same length")
        || message.contains("dimension")
        || message.contains("Expected 2D array")
        || message.contains("features, but")
        || message.contains("Length mismatch");
    if shape
        && case.error.stack.last().is_some_and(|last| last.step.is_none() || last.saw.is_some())
        && !raised_here(case)
    {
        return Some(self::shape(case));
    }
    let conversion = message.contains("invalid literal for int()")
        || message.contains("could not convert string to")
        || message.contains("does not match format")
        || message.contains("Invalid isoformat")
        || message.contains("doesn't match format")
        || message.contains("Unable to parse")
        || message.contains("malformed node or string")
        || matches!(
            case.error.type_name.as_str(),
            "JSONDecodeError" | "InvalidOperation" | "ParserError" | "DateParseError"
        );
    conversion.then(|| self::conversion(case))
}

/// Whether the step's own `raise` did it.
fn raised_here(case: &Case<'_>) -> bool {
    case.look(|code| matches!(code.statement_at(case.line), Some(Stmt::Raise(_)))).unwrap_or(false)
}

fn unpacking(case: &Case<'_>) -> Finding {
    let what = case.what();
    let at = case.at();
    let found = case.look(|code| unpacked(case, code)).flatten();
    let Some((names, value)) = found else {
        return case.here(Cause::Unpacking, format!("{what}, at {at}: `{}`.", case.line_text()));
    };
    let name = case.look(|code| value_name(code, &value, case.line)).flatten();
    let seen = name.as_deref().and_then(|name| case.seen(name));
    let is_table = seen.is_some_and(|seen| matches!(seen.type_name.as_str(), "dict" | "defaultdict" | "OrderedDict"));
    let is_loop = case.look(|code| matches!(code.statement_at(case.line), Some(Stmt::For(_)))).unwrap_or(false);
    if let (Some(name), true, true, 2) = (name.as_deref(), is_table, is_loop, names) {
        let text = format!(
            "{what}, at {at}: going through the table `{name}` gives its keys alone, not pairs of keys and values."
        );
        let patch = case
            .look(|code| match code.statement_at(case.line) {
                Some(Stmt::For(s)) if name_of(&s.iter) == Some(name) => Some(bytes(&*s.iter).end),
                _ => None,
            })
            .flatten()
            .and_then(|end| replaced(case.step.text, vec![(end..end, ".items()".to_owned())]))
            .and_then(|new| suggest(case.step, Rule::Entries, false, format!("go through {name}.items()"), new));
        return case.here(Cause::Unpacking, text).with(patch);
    }
    let root = name.as_deref().map_or_else(|| case.step.id.clone(), |name| case.root_of(name));
    let held = match (&name, seen) {
        (Some(name), Some(seen)) => format!("`{name}` is {}, as {root} left it", told(seen)),
        _ => format!("`{value}` gives another number"),
    };
    let text = format!(
        "{what}, at {at}: the line has {names} names, and {held}. Whether the names or the value are as they should be \
         can't be told from here."
    );
    case.finding(Cause::Unpacking, root, text)
}

/// How many names stand on the left, and the text of what is unpacked.
fn unpacked(case: &Case<'_>, code: &Code<'_>) -> Option<(usize, String)> {
    let count = |target: &Expr| match target {
        Expr::Tuple(t) => Some(t.elts.len()),
        Expr::List(t) => Some(t.elts.len()),
        _ => None,
    };
    match code.statement_at(case.line)? {
        Stmt::Assign(s) => Some((s.targets.iter().find_map(count)?, code.source(&*s.value).to_owned())),
        Stmt::For(s) => Some((count(&s.target)?, code.source(&*s.iter).to_owned())),
        _ => code.expressions_at(case.line, None).into_iter().find_map(|e| {
            let generators = match e {
                Expr::ListComp(e) => &e.generators,
                Expr::SetComp(e) => &e.generators,
                Expr::DictComp(e) => &e.generators,
                Expr::GeneratorExp(e) => &e.generators,
                _ => return None,
            };
            generators.iter().find_map(|one| Some((count(&one.target)?, code.source(&one.iter).to_owned())))
        }),
    }
}

/// The first name in an expression that stands on a line.
fn value_name(code: &Code<'_>, source: &str, line: u32) -> Option<String> {
    let expression = code.expressions_at(line, None).into_iter().find(|e| code.source(*e) == source)?;
    let mut found = None;
    let mut functions = Vec::new();
    each_expression(expression, &mut |e| {
        if let Expr::Call(call) = e {
            functions.extend(name_of(&call.func));
        }
        if let Some(name) = name_of(e)
            && found.is_none()
            && !functions.contains(&name)
        {
            found = Some(name.to_owned());
        }
    });
    // Where only a function is named, what it returned is its own doing.
    found.or_else(|| functions.first().map(|name| (*name).to_owned()))
}

fn conversion(case: &Case<'_>) -> Finding {
    let what = case.what();
    let at = case.at();
    let literal = quoted(case.message()).first().copied().unwrap_or_default();
    let holds = |seen: &Seen| seen.type_name == "str" && (seen.repr.contains(literal) || literal.is_empty());
    let name = case.suspects().into_iter().find(|(_, seen)| holds(seen)).map(|(name, _)| name);
    let for_people = as_number(literal);
    let whence = name.map(|name| format!(" `{name}` holds it, as {} left it.", case.root_of(name))).unwrap_or_default();
    match for_people {
        // The text is as people write numbers: it is the conversion that does not know of it.
        Some(how) => {
            let text = format!("{what}, at {at}: {how}.{whence} How such texts are to be read is a choice.");
            let finding = case.here(Cause::Conversion, text);
            let patch = name.filter(|_| literal.contains(',')).and_then(|name| without_commas(case, name));
            finding.with(patch)
        }
        None => {
            let root = name.map_or_else(|| blamed(case), |name| case.root_of(name));
            let text = format!("{what}, at {at}: the text is not of the form that is wanted.{whence}");
            case.finding(Cause::Conversion, root, text)
        }
    }
}

/// The step that made the first value on the line.
fn blamed(case: &Case<'_>) -> StepId {
    case.suspects().first().map_or_else(|| case.step.id.clone(), |(name, _)| case.root_of(name))
}

/// In which way a text is a number all the same.
fn as_number(text: &str) -> Option<&'static str> {
    let bare = text.trim();
    let digits = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+' | ' ' | '_' | '\''))
    };
    if bare.is_empty() || !bare.chars().any(|c| c.is_ascii_digit()) {
        return None;
    }
    if bare.parse::<f64>().is_ok() {
        return Some("the text is a number with a fraction or an exponent, which int() does not read");
    }
    let plain = bare.trim_matches(['$', '€', '£', '¥', '%', ' ']);
    if plain != bare && digits(plain) {
        return Some("the text is a number with a sign of currency or per cent");
    }
    digits(bare).then_some("the text is a number with separators, which may stand for thousands or for the fraction")
}

/// A candidate that takes commas out before the conversion.
fn without_commas(case: &Case<'_>, name: &str) -> Option<crate::feedback::diagnosis::Suggestion> {
    let pieces = case.look(|code| {
        let calls = code.expressions_at(case.line, case.columns()).into_iter().filter_map(|e| match e {
            Expr::Call(call) if matches!(name_of(&call.func), Some("float" | "int")) => call.args.first(),
            _ => None,
        });
        calls
            .filter(|e| name_of(e) == Some(name))
            .map(|e| (bytes(e), format!("{name}.replace(',', '')")))
            .take(1)
            .collect::<Vec<_>>()
    })?;
    let new = replaced(case.step.text, pieces)?;
    suggest(case.step, Rule::ParseNumber, false, "take commas for separators of thousands", new)
}

fn shape(case: &Case<'_>) -> Finding {
    let what = case.what();
    let at = case.at();
    let shaped: Vec<(&str, &Seen)> = case
        .suspects()
        .into_iter()
        .filter(|(_, seen)| seen.shape.is_some() || seen.len.is_some())
        .filter(|(_, seen)| seen.type_name != "str")
        .collect();
    let values = shaped
        .iter()
        .take(4)
        .map(|(name, seen)| match (&seen.shape, seen.len) {
            (Some(shape), _) => format!("`{name}` is {shape}, from {}", case.root_of(name)),
            (None, Some(len)) => format!("`{name}` has {len}, from {}", case.root_of(name)),
            (None, None) => String::new(),
        })
        .collect::<Vec<_>>()
        .join("; ");
    // Of several, the one that was made last: what came before it stood when it was made.
    let order = |step: &StepId| case.failure.steps.iter().position(|other| other.id == step);
    let root = shaped
        .iter()
        .map(|(name, _)| case.root_of(name))
        .max_by_key(|step| order(step))
        .unwrap_or_else(|| case.step.id.clone());
    let values = if values.is_empty() { String::new() } else { format!(" {values}.") };
    let finding = case.finding(Cause::Shape, root, format!("{what}, at {at}: the shapes don't go together.{values}"));
    if !case.message().contains("Reshape your data") {
        return finding;
    }
    let one = shaped
        .iter()
        .find(|(_, seen)| seen.shape.as_deref().is_some_and(|shape| !shape.contains('×')) || seen.type_name == "list");
    let patch = one.and_then(|(name, seen)| {
        let pieces = case.look(|code| {
            let found = code.expressions_at(case.line, None).into_iter().find(|e| name_of(e) == Some(name))?;
            let new = match seen.type_name.as_str() {
                "Series" => format!("{name}.to_frame()"),
                "list" => format!("[[value] for value in {name}]"),
                _ => format!("{name}.reshape(-1, 1)"),
            };
            Some(vec![(bytes(found), new)])
        })??;
        suggest(case.step, Rule::Guard, false, "take it as one column", replaced(case.step.text, pieces)?)
    });
    finding.with(patch)
}
