//! Which runs of lines differ between two texts, in time that can't explode.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use similar::algorithms::{Capture, diff_slices};
use similar::{Algorithm, DiffOp};

/// Product of two lengths up to which Myers' algorithm is used without dividing first: a tenth of a second at
/// the very worst.
const WHOLE: usize = 1 << 22;

/// How often a stretch is divided before it is taken as replaced whole.
const DEPTH: usize = 24;

/// The runs of `old` and `new` that differ, in order. Equal items lie between them.
///
/// Long texts are divided at items that both hold exactly once (patience diff); a stretch that can't be
/// divided and is still too long is taken as replaced whole.
pub fn differing<T: Hash + Eq>(old: &[T], new: &[T]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut ids: HashMap<&T, u32> = HashMap::new();
    let mut number = |item| {
        let next = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        *ids.entry(item).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(&mut number).collect();
    let new: Vec<u32> = new.iter().map(&mut number).collect();
    let mut runs = Vec::new();
    divide(&old, &new, (0, 0), DEPTH, &mut runs);
    join(runs)
}

type Runs = Vec<(Range<usize>, Range<usize>)>;

fn divide(old: &[u32], new: &[u32], at: (usize, usize), depth: usize, runs: &mut Runs) {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let old = old.get(..old.len() - tail).unwrap_or_default();
    let new = new.get(..new.len() - tail).unwrap_or_default();
    let (old_at, new_at) = (at.0 + head, at.1 + head);
    if old.is_empty() && new.is_empty() {
        return;
    }
    let whole = (old_at..old_at + old.len(), new_at..new_at + new.len());
    if old.is_empty() || new.is_empty() {
        runs.push(whole);
        return;
    }
    if old.len().saturating_mul(new.len()) <= WHOLE {
        // The raw script: `capture_diff_slices` of similar 2.7 moves runs and then gives wrong indices for some.
        let mut script = Capture::new();
        if diff_slices(Algorithm::Myers, &mut script, old, new).is_ok() {
            runs.extend(
                between_equals(&script.into_ops(), old.len(), new.len())
                    .map(|(a, b)| (a.start + old_at..a.end + old_at, b.start + new_at..b.end + new_at)),
            );
        } else {
            runs.push(whole);
        }
        return;
    }
    let anchors = if depth == 0 { Vec::new() } else { common_once(old, new) };
    if anchors.is_empty() {
        runs.push(whole);
        return;
    }
    let (mut a, mut b) = (0, 0);
    for (x, y) in anchors.into_iter().chain([(old.len(), new.len())]) {
        let (left, right) = (old.get(a..x).unwrap_or_default(), new.get(b..y).unwrap_or_default());
        divide(left, right, (old_at + a, new_at + b), depth - 1, runs);
        (a, b) = (x + 1, y + 1);
    }
}

/// The stretches between the equal parts of a script.
fn between_equals(ops: &[DiffOp], old: usize, new: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let equals = ops.iter().filter_map(|op| match *op {
        DiffOp::Equal { old_index, new_index, len } => Some((old_index, new_index, len)),
        _ => None,
    });
    let (mut a, mut b) = (0, 0);
    equals
        .chain([(old, new, 0)])
        .filter_map(move |(x, y, len)| {
            let run = (a..x, b..y);
            (a, b) = (x + len, y + len);
            (!run.0.is_empty() || !run.1.is_empty()).then_some(run)
        })
        .collect::<Vec<_>>()
        .into_iter()
}

/// The longest rising chain of places of items that both sides hold exactly once.
fn common_once(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let once = |side: &[u32]| {
        let mut places: HashMap<u32, Option<usize>> = HashMap::new();
        for (at, &id) in side.iter().enumerate() {
            places.entry(id).and_modify(|place| *place = None).or_insert(Some(at));
        }
        places
    };
    let in_new = once(new);
    let mut pairs: Vec<(usize, usize)> =
        once(old).into_iter().filter_map(|(id, at)| Some((at?, (*in_new.get(&id)?)?))).collect();
    pairs.sort_unstable();
    // Longest increasing subsequence by patience sorting: piles hold the pair that ends a chain of each length.
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for (index, &(_, y)) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|&top| pairs.get(top).is_some_and(|pair| pair.1 < y));
        if let Some(slot) = before.get_mut(index) {
            *slot = pile.checked_sub(1).and_then(|p| piles.get(p).copied());
        }
        match piles.get_mut(pile) {
            Some(top) => *top = index,
            None => piles.push(index),
        }
    }
    let mut chain = Vec::new();
    let mut next = piles.last().copied();
    while let Some(index) = next {
        chain.extend(pairs.get(index).copied());
        next = before.get(index).copied().flatten();
    }
    chain.reverse();
    chain
}

/// Joins runs that touch.
fn join(runs: Runs) -> Runs {
    let mut joined: Runs = Vec::with_capacity(runs.len());
    for (old, new) in runs {
        match joined.last_mut() {
            Some(last) if last.0.end == old.start && last.1.end == new.start => {
                last.0.end = old.end;
                last.1.end = new.end;
            }
            _ => joined.push((old, new)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn restore(old: &[u8], new: &[u8], runs: &[(Range<usize>, Range<usize>)]) -> Vec<u8> {
        let mut made = Vec::new();
        let mut at = 0;
        for (a, b) in runs {
            made.extend_from_slice(&old[at..a.start]);
            made.extend_from_slice(&new[b.clone()]);
            at = a.end;
        }
        made.extend_from_slice(&old[at..]);
        made
    }

    proptest! {
        #[test]
        fn the_runs_turn_old_into_new(old in "[a-d]{0,30}", new in "[a-d]{0,30}") {
            let runs = differing(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(restore(old.as_bytes(), new.as_bytes(), &runs), new.as_bytes());
        }
    }

    #[test]
    fn long_texts_are_divided_at_lines_that_are_there_once() {
        let old: Vec<u32> = (0..20_000).collect();
        let mut new = old.clone();
        new[5_000] = 900_001;
        new.insert(15_000, 900_002);
        new.remove(3);
        assert_eq!(
            differing(&old, &new),
            [(3..4, 3..3), (5_000..5_001, 4_999..5_000), (15_000..15_000, 14_999..15_000)]
                .map(|(a, b): (Range<usize>, Range<usize>)| (a, b))
                .to_vec()
        );
    }

    #[test]
    fn texts_with_nothing_in_common_cost_no_time() {
        let old: Vec<u32> = (0..200_000).collect();
        let new: Vec<u32> = (200_000..400_000).collect();
        assert_eq!(differing(&old, &new), [(0..200_000, 0..200_000)]);
    }
}
