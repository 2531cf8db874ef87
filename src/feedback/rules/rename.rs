//! The same word written otherwise wherever a step means it.

use std::ops::Range;

use rustpython_parser::ast::{Expr, Stmt};

use crate::feedback::code::{Code, bytes, name_of, text_of};
use crate::feedback::known::Use;

/// Pieces of a text to be replaced.
pub(super) type Pieces = Vec<(Range<usize>, String)>;

/// Every place where a name is looked up or bound as a name.
pub(super) fn of_name(code: &Code<'_>, old: &str, new: &str) -> Pieces {
    let places = code.expressions().into_iter().filter(|e| name_of(e) == Some(old) && code.source(*e) == old);
    places.map(|e| (bytes(e), new.to_owned())).collect()
}

/// Every place where an attribute is asked of an expression of the same text, or of any.
pub(super) fn of_attribute(code: &Code<'_>, receiver: Option<&str>, old: &str, new: &str) -> Pieces {
    let mut pieces = Pieces::new();
    for expression in code.expressions() {
        if let Expr::Attribute(attribute) = expression
            && attribute.attr.as_str() == old
            && receiver.is_none_or(|receiver| code.source(&*attribute.value) == receiver)
        {
            let end = bytes(expression).end;
            let place = end.saturating_sub(old.len())..end;
            if code.text.get(place.clone()) == Some(old) {
                pieces.push((place, new.to_owned()));
            }
        }
    }
    pieces
}

/// Every plain literal of this text, as long as it is written in one piece.
pub(super) fn of_text(code: &Code<'_>, old: &str, new: &str) -> Pieces {
    let mut pieces = Pieces::new();
    for expression in code.expressions().into_iter().filter(|e| text_of(e) == Some(old)) {
        let source = code.source(expression);
        let Some(at) = source.find(old) else { continue };
        let quotes = (source.get(..at).unwrap_or_default(), source.get(at + old.len()..).unwrap_or_default());
        if !old.is_empty() && matches!(quotes.1, "'" | "\"" | "'''" | "\"\"\"") && quotes.0.ends_with(quotes.1) {
            let start = bytes(expression).start + at;
            let new = new.replace('\\', "\\\\").replace(quotes.1, &format!("\\{}", quotes.1));
            pieces.push((start..start + old.len(), new));
        }
    }
    pieces
}

/// A keyword argument of the calls on a line.
pub(super) fn of_keyword(code: &Code<'_>, line: u32, old: &str, new: &str) -> Pieces {
    let mut pieces = Pieces::new();
    for expression in code.expressions_at(line, None) {
        let Expr::Call(call) = expression else { continue };
        for keyword in call.keywords.iter().filter(|keyword| keyword.arg.as_deref() == Some(old)) {
            let start = bytes(keyword).start;
            if code.text.get(start..start + old.len()) == Some(old) {
                pieces.push((start..start + old.len(), new.to_owned()));
            }
        }
    }
    pieces
}

/// How a name is used, wherever it is looked up.
pub(super) fn uses<'t>(code: &Code<'t>, name: &str) -> Vec<Use<'t>> {
    let mut found = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    for expression in code.expressions() {
        let (inner, how) = match expression {
            Expr::Attribute(attribute) => (&*attribute.value, Use::Attribute(attribute.attr.as_str())),
            Expr::Call(call) => (&*call.func, Use::Call),
            other => (other, Use::Plain),
        };
        if name_of(inner) == Some(name) && !taken.contains(&bytes(inner).start) {
            taken.push(bytes(inner).start);
            found.push(how);
        }
    }
    found
}

/// Whether any statement of the text stores under this key, or makes a table with it.
pub(super) fn stores_key(code: &Code<'_>, key: &str) -> bool {
    let is_key = |e: &Expr| text_of(e) == Some(key);
    let subscript = |e: &Expr| matches!(e, Expr::Subscript(s) if is_key(&s.slice));
    let stored = code.statements().into_iter().any(|statement| match statement {
        Stmt::Assign(s) => s.targets.iter().any(subscript),
        Stmt::AugAssign(s) => subscript(&s.target),
        Stmt::AnnAssign(s) => subscript(&s.target),
        _ => false,
    });
    stored
        || code.expressions().into_iter().any(|e| match e {
            Expr::Dict(dict) => dict.keys.iter().flatten().any(is_key),
            _ => false,
        })
}

/// Whether a text constant stands anywhere in a text.
pub(super) fn has_text(code: &Code<'_>, wanted: &str) -> bool {
    code.expressions().into_iter().any(|e| text_of(e) == Some(wanted))
}
