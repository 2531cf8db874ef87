//! Two texts laid side by side, line by line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::token::{Sort, alike, tokens};
use super::{Tolerance, Volatile};

/// A line of the one text and its counterpart in the other.
#[derive(Debug, PartialEq)]
pub enum Pair {
    /// They say the same; what is volatile in them, with how often.
    Alike(BTreeMap<Volatile, usize>),
    /// They differ; one of them may be missing.
    Different {
        /// 1-based line in the old text at which it stands.
        line: usize,
        /// The old line.
        old: Option<String>,
        /// The new one.
        new: Option<String>,
    },
}

/// Pairs the lines of two texts; lines that are the same are left out.
pub fn pairs(old: &[String], new: &[String], tolerance: &Tolerance) -> Vec<Pair> {
    // Lines are matched by what does not change in them.
    let (old_keys, new_keys): (Vec<String>, Vec<String>) =
        (old.iter().map(|line| key(line)).collect(), new.iter().map(|line| key(line)).collect());
    // A diff of two long unlike texts may take long: after that, the rest counts as replaced.
    let deadline = Instant::now() + Duration::from_millis(500);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_keys, &new_keys, Some(deadline));
    let mut found = Vec::new();
    for op in ops {
        let (old_range, new_range) = (op.old_range(), op.new_range());
        let is_equal = matches!(op, DiffOp::Equal { .. });
        let mut olds = old.get(old_range.clone()).unwrap_or_default().iter();
        let mut news = new.get(new_range).unwrap_or_default().iter();
        let mut line = old_range.start + 1;
        loop {
            let (old, new) = (olds.next(), news.next());
            match (old, new) {
                (None, None) => break,
                (Some(old), Some(new)) => match alike(old, new, tolerance) {
                    Some(volatile) if volatile.is_empty() && is_equal => {}
                    Some(volatile) => {
                        let mut counted = BTreeMap::new();
                        volatile.into_iter().for_each(|what| *counted.entry(what).or_default() += 1);
                        found.push(Pair::Alike(counted));
                    }
                    None => found.push(Pair::Different { line, old: Some(old.clone()), new: Some(new.clone()) }),
                },
                (old, new) => found.push(Pair::Different { line, old: old.cloned(), new: new.cloned() }),
            }
            line += usize::from(old.is_some());
        }
    }
    found
}

/// A line with everything volatile made one.
fn key(line: &str) -> String {
    tokens(line)
        .iter()
        .map(|token| match token.sort {
            Sort::Word => token.text,
            Sort::Gap => " ",
            Sort::Number(_) => "0",
            Sort::Volatile(_) => "~",
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(old: &str, new: &str) -> Vec<Pair> {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        pairs(&lines(old), &lines(new), &Tolerance::default())
    }

    fn different(line: usize, old: Option<&str>, new: Option<&str>) -> Pair {
        Pair::Different { line, old: old.map(str::to_owned), new: new.map(str::to_owned) }
    }

    #[test]
    fn a_line_more_or_less_does_not_shift_the_rest() {
        assert_eq!(found("a\nb 1.5\nc", "a\nnew\nb 1.5\nc"), [different(2, None, Some("new"))]);
        assert_eq!(found("a\nb\nc", "a\nc"), [different(2, Some("b"), None)]);
        assert_eq!(found("a\nloss 0.5\nc", "a\nloss 0.7\nc"), [different(2, Some("loss 0.5"), Some("loss 0.7"))]);
        assert_eq!(found("a\nb", "a\nb"), []);
    }
}
