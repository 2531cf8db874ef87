//! The value that a source gives to a name at its outermost level, written anew.

use std::ops::Range;

use rustpython_parser::ast::{self, Ranged};

use super::with_tree;

/// `source` with another value for `name` where it is assigned at the outermost level, `name = …`, the first time that
/// it is; `None` where it is assigned so nowhere. `value` is a Python expression.
///
/// ```
/// use reweave::analysis::with_value;
///
/// let source = "import math\nrate: float = 0.1  # per day\n";
/// assert_eq!(with_value(source, "rate", "0.5").as_deref(), Some("import math\nrate: float = 0.5  # per day\n"));
/// assert_eq!(with_value(source, "depth", "3"), None);
/// ```
pub fn with_value(source: &str, name: &str, value: &str) -> Option<String> {
    let place = with_tree(source, |statements| statements.iter().find_map(|statement| assigned(statement, name)))??;
    let (before, after) = (source.get(..place.start)?, source.get(place.end..)?);
    Some(format!("{before}{value}{after}"))
}

/// Where the value stands that a statement gives to `name` alone.
fn assigned(statement: &ast::Stmt, name: &str) -> Option<Range<usize>> {
    let (target, value) = match statement {
        ast::Stmt::Assign(assign) => match assign.targets.as_slice() {
            [target] => (target, &assign.value),
            _ => return None,
        },
        ast::Stmt::AnnAssign(assign) => (&*assign.target, assign.value.as_ref()?),
        _ => return None,
    };
    let is_it = matches!(target, ast::Expr::Name(target) if target.id.as_str() == name);
    is_it.then(|| value.range().start().to_usize()..value.range().end().to_usize())
}

/// What a person wrote on a command line, as a Python value: `True`, `False`, `None`, a whole or decimal number as it
/// stands, anything else as a string.
///
/// ```
/// use reweave::analysis::literal;
///
/// assert_eq!(["3", "-0.5", "1e-3", "True", "fast", "it's"].map(literal), ["3", "-0.5", "1e-3", "True", "'fast'", "'it\\'s'"]);
/// ```
pub fn literal(value: &str) -> String {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    // Python refuses whole numbers that begin with a zero, and `inf` and `nan` are names there.
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    let is_decimal = digits.contains(['.', 'e', 'E'])
        && digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.parse::<f64>().is_ok();
    if ["True", "False", "None"].contains(&value) || (!digits.is_empty() && is_whole) || is_decimal {
        return value.to_owned();
    }
    let mut text = String::with_capacity(value.len() + 2);
    text.push('\'');
    for character in value.chars() {
        match character {
            '\'' | '\\' => text.extend(['\\', character]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            control if control.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_assignment_at_the_outermost_level_is_written_anew() {
        let told = |source: &str| with_value(source, "n", "7");
        assert_eq!(told("n = 1\nn = 2\n").as_deref(), Some("n = 7\nn = 2\n"), "the first");
        assert_eq!(told("m = 'é'; n = (\n  1,\n)\n").as_deref(), Some("m = 'é'; n = 7\n"));
        assert_eq!(told("n = f'{1}'\r\n").as_deref(), Some("n = 7\r\n"));
        for other in ["n: int\n", "n += 1\n", "n = m = 1\n", "n, m = 1, 2\n", "if x:\n    n = 1\n", "n = = 1\n", ""] {
            assert_eq!(told(other), None, "{other:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_a_string() {
        for (given, wanted) in [("007", "'007'"), ("1_000", "'1_000'"), ("nan", "'nan'"), ("", "''"), (".5", ".5")] {
            assert_eq!(literal(given), wanted);
        }
        assert_eq!(literal("a\\b\n\u{1b}"), "'a\\\\b\\n\\u001b'");
    }
}
