//! Three-way merge by lines: what two people made of one text, put together, or where they clash.

use std::ops::Range;

use super::diff::differing;
use super::lines::split;

/// Where both sides changed the same lines, or lines that touch, in different ways. 0-based lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// In the common base.
    pub base: Range<usize>,
    /// In the first side.
    pub ours: Range<usize>,
    /// In the second.
    pub theirs: Range<usize>,
}

/// The two sides put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The text; where they clash, that of the first side.
    pub text: String,
    /// Where they clash; none if the merge is clean.
    pub clashes: Vec<Clash>,
}

/// Merges `ours` and `theirs`, both made from `base`.
///
/// Changes that touch without overlapping clash too, as in git: neither side saw the other's lines beside its
/// own.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Merged {
    let lines = |text| split(text).into_iter().map(|line| line.whole).collect::<Vec<&str>>();
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let mut left = differing(&base, &ours).into_iter().peekable();
    let mut right = differing(&base, &theirs).into_iter().peekable();
    let mut merged = Merged { text: String::new(), clashes: Vec::new() };
    let (mut at, mut left_at, mut right_at) = (0, 0, 0);
    loop {
        let start = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(a), None) => a.0.start,
            (None, Some(b)) => b.0.start,
            (Some(a), Some(b)) => a.0.start.min(b.0.start),
        };
        push(&mut merged.text, &base, at..start);
        let (from_left, from_right) = (left_at + (start - at), right_at + (start - at));
        // Everything that overlaps or touches is one region.
        let mut end = start;
        let (mut left_end, mut right_end) = (from_left, from_right);
        let (mut left_to, mut right_to) = (start, start);
        loop {
            if let Some((old, new)) = left.next_if(|(old, _)| old.start <= end) {
                end = end.max(old.end);
                (left_to, left_end) = (old.end, new.end);
            } else if let Some((old, new)) = right.next_if(|(old, _)| old.start <= end) {
                end = end.max(old.end);
                (right_to, right_end) = (old.end, new.end);
            } else {
                break;
            }
        }
        let ours_range = from_left..left_end + (end - left_to);
        let theirs_range = from_right..right_end + (end - right_to);
        let side = |lines: &[&str], range: &Range<usize>| lines.get(range.clone()).unwrap_or_default().concat();
        let (was, mine, other) = (side(&base, &(start..end)), side(&ours, &ours_range), side(&theirs, &theirs_range));
        if mine == was {
            merged.text.push_str(&other);
        } else {
            if other != was && other != mine {
                merged.clashes.push(Clash { base: start..end, ours: ours_range.clone(), theirs: theirs_range.clone() });
            }
            merged.text.push_str(&mine);
        }
        (at, left_at, right_at) = (end, ours_range.end, theirs_range.end);
    }
    push(&mut merged.text, &base, at..base.len());
    merged
}

fn push(text: &mut String, lines: &[&str], range: Range<usize>) {
    for line in lines.get(range).unwrap_or_default() {
        text.push_str(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changes_apart_are_both_made_and_changes_that_touch_clash() {
        let base = "a\nb\nc\nd\ne\n";
        let clean = merge(base, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
        assert_eq!((clean.text.as_str(), clean.clashes.len()), ("A\nb\nc\nd\nE\n", 0));
        let touching = merge(base, "A\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n");
        assert_eq!(touching.clashes, [Clash { base: 0..2, ours: 0..2, theirs: 0..2 }]);
        assert_eq!(touching.text, "A\nb\nc\nd\ne\n");
        let same = merge(base, "a\nX\nc\nd\ne\n", "a\nX\nc\nd\ne\n");
        assert_eq!((same.text.as_str(), same.clashes.len()), ("a\nX\nc\nd\ne\n", 0));
        let both_add = merge(base, "a\n1\nb\nc\nd\ne\n", "a\n2\nb\nc\nd\ne\n");
        assert_eq!(both_add.clashes.len(), 1);
    }

    proptest! {
        #[test]
        fn a_side_that_changed_nothing_yields(base in "([ab]\n){0,8}", new in "([abc]\n){0,8}") {
            prop_assert_eq!(merge(&base, &base, &new), Merged { text: new.clone(), clashes: vec![] });
            prop_assert_eq!(merge(&base, &new, &base), Merged { text: new.clone(), clashes: vec![] });
            prop_assert_eq!(merge(&base, &new, &new), Merged { text: new, clashes: vec![] });
        }

        #[test]
        fn a_merge_clashes_the_same_from_both_sides(base in "([ab]\n){0,8}", x in "([abc]\n){0,8}", y in "([abc]\n){0,8}") {
            let (one, other) = (merge(&base, &x, &y), merge(&base, &y, &x));
            prop_assert_eq!(one.clashes.len(), other.clashes.len());
            if one.clashes.is_empty() {
                prop_assert_eq!(one.text, other.text);
            }
        }
    }
}
