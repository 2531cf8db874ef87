//! TOML with the lines on which things stand, and words that were likely meant.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something wrong in a TOML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// 1-based.
    pub line: usize,
    pub message: String,
}

/// A TOML document, read as far as it can be, and what is wrong with the rest.
pub(super) fn parse(text: &str) -> (DeTable<'_>, Vec<Fault>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let faults = errors
        .iter()
        .map(|error| Fault {
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            message: error.message().lines().collect::<Vec<_>>().join(", "),
        })
        .collect();
    (table.into_inner(), faults)
}

/// The 1-based line of a byte offset.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count()
}

/// The line on which a spanned thing starts.
pub(super) fn line(text: &str, span: Range<usize>) -> usize {
    line_of(text, span.start)
}

/// A value as people would name it in a message: its type, and itself where it is short.
pub(super) fn describe(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("{:?}", &**text),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// A whole number, whatever base it is written in.
pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A number, whole or not, that is neither infinite nor NaN.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "seconds and shares, far below 2^53")]
        DeValue::Integer(_) => integer(value).map(|n| n as f64),
        DeValue::Float(float) => float.as_str().parse().ok().filter(|n: &f64| n.is_finite()),
        _ => None,
    }
}

/// The word of `known` that `word` was likely meant to be, if exactly one is near.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    let mut tie = false;
    for candidate in known {
        let distance = edits(&word.to_lowercase().replace('-', "_"), &candidate.to_lowercase());
        match best {
            Some((least, _)) if distance > least => {}
            Some((least, _)) if distance == least => tie = true,
            _ => (best, tie) = (Some((distance, candidate)), false),
        }
    }
    best.filter(|(distance, _)| *distance <= allowed && !tie).map(|(_, candidate)| candidate)
}

/// Restricted Damerau-Levenshtein distance: inserted, removed, changed or swapped characters.
fn edits(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let width = right.len() + 1;
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..width).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let at = |cells: &[usize], k: usize| cells.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut least = (at(&above, j) + usize::from(a != b)).min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && left.get(i - 1) == Some(b) && right.get(j - 1) == Some(a);
            if swapped {
                least = least.min(at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_its_line() {
        let (_, faults) = parse("a = 1\nb = \nc = 'x'\n");
        assert_eq!(faults.first().map(|f| f.line), Some(2));
    }

    #[test]
    fn the_nearest_word_is_offered_only_when_it_is_one() {
        let known = ["timeout", "memory", "seed", "python"];
        assert_eq!(nearest("tiemout", known), Some("timeout"));
        assert_eq!(nearest("phyton", known), Some("python"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("ab", ["aa", "bb"]), None, "two are as near");
        assert_eq!(nearest("on-error", ["on_error", "seed"]), Some("on_error"));
    }
}
