//! What differs within a line, by words.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::{Line, Run};
use crate::patch::diff::differing;

/// Longest line that is compared by words, in bytes. Longer ones differ as a whole.
const LONGEST: usize = 4_000;

/// Most lines on a side of a run that are paired.
const LINES: usize = 200;

/// Lines of which less than this share is equal have nothing to do with each other, and are not marked.
const ALIKE: f64 = 0.35;

/// Marks in the lines of a run what differs from the line that each replaces: the first old with the first new,
/// and so on.
pub(super) fn mark(run: &mut Run) {
    if run.old.len() > LINES || run.new.len() > LINES {
        return;
    }
    for (old, new) in run.old.iter_mut().zip(&mut run.new) {
        if let Some((a, b)) = spans(&old.text, &new.text) {
            old.spans = a;
            new.spans = b;
        }
    }
    unmark_whole(&mut run.old);
    unmark_whole(&mut run.new);
}

/// Parts of a line, in bytes.
type Spans = Vec<Range<usize>>;

/// Where two lines differ; nothing if they are not alike or too long.
fn spans(old: &str, new: &str) -> Option<(Spans, Spans)> {
    if old.len() > LONGEST || new.len() > LONGEST {
        return None;
    }
    let (a, b) = (words(old), words(new));
    let changes =
        differing(&a.iter().map(|word| word.1).collect::<Vec<_>>(), &b.iter().map(|word| word.1).collect::<Vec<_>>());
    let bytes = |words: &[(usize, &str)], range: &Range<usize>| {
        let start = words.get(range.start).map(|word| word.0)?;
        let end = words.get(range.end.checked_sub(1)?).map(|word| word.0 + word.1.len())?;
        (start < end).then_some(start..end)
    };
    let left: Spans = changes.iter().filter_map(|(old, _)| bytes(&a, old)).collect();
    let right: Spans = changes.iter().filter_map(|(_, new)| bytes(&b, new)).collect();
    let differs = |spans: &[Range<usize>], text: &str| {
        spans.iter().map(|span| text.get(span.clone()).unwrap_or_default().trim().len()).sum::<usize>()
    };
    let filled = old.trim().len() + new.trim().len();
    let equal = filled.saturating_sub(differs(&left, old) + differs(&right, new));
    (filled > 0 && equal as f64 / filled as f64 >= ALIKE).then_some((left, right))
}

/// A line that is marked from end to end says nothing by its marks.
fn unmark_whole(lines: &mut [Line]) {
    for line in lines {
        if line.spans.iter().map(ExactSizeIterator::len).sum::<usize>()
            >= line.text.trim_end_matches(['\r', '\n']).len()
        {
            line.spans.clear();
        }
    }
}

/// Words with the bytes at which they begin; names keep their underscores, blanks are words.
fn words(text: &str) -> Vec<(usize, &str)> {
    text.split_word_bound_indices().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let line = |text: &str| Line { text: text.to_owned(), taken: true, spans: Vec::new() };
        let mut run = Run { at: 0, old: vec![line(old)], new: vec![line(new)] };
        mark(&mut run);
        let texts = |line: &Line| line.spans.iter().map(|span| line.text[span.clone()].to_owned()).collect();
        (texts(&run.old[0]), texts(&run.new[0]))
    }

    #[test]
    fn words_are_marked_where_lines_are_alike() {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(marked("total = price * quantity\n", "total = price * qty\n"), (own(&["quantity"]), own(&["qty"])));
        assert_eq!(marked("f(a)\n", "f(a, b)\n"), (own(&[]), own(&[", b"])));
        assert_eq!(marked("alpha beta\n", "x = 1\n"), (own(&[]), own(&[])));
        assert_eq!(marked("größe = 1\n", "größe = 2\n"), (own(&["1"]), own(&["2"])));
    }

    #[test]
    fn long_lines_are_left_alone() {
        let long = "x ".repeat(LONGEST);
        assert_eq!(marked(&long, &format!("{long}y")), (vec![], vec![]));
    }
}
