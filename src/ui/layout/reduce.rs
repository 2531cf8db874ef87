//! Transitive reduction: the edges that a longer way shows already are left out.

/// Beyond this many nodes the table of who reaches whom would not fit in a fair share of memory
/// (20,000 nodes: 50 MB for a moment), and the edges are given back as they came.
const LIMIT: usize = 20_000;

/// For each node the nodes that it needs, those left out that another need reaches by itself.
///
/// `needs[t]` holds smaller numbers than `t` only (others are dropped: a run has no way back), in any order; what
/// comes back is sorted, nearest first, and free of doubles.
pub fn reduce(needs: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let words = needs.len().div_ceil(64);
    let small = needs.len() <= LIMIT;
    let mut reach: Vec<u64> = if small { vec![0; words * needs.len()] } else { Vec::new() };
    let mut kept = Vec::with_capacity(needs.len());
    for (to, wanted) in needs.iter().enumerate() {
        let mut wanted: Vec<u32> = wanted.iter().copied().filter(|&from| (from as usize) < to).collect();
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        wanted.dedup();
        if small {
            let (before, rest) = reach.split_at_mut(to * words);
            let row = rest.get_mut(..words).unwrap_or_default();
            wanted.retain(|&from| {
                let from = from as usize;
                let (word, bit) = (from / 64, 1u64 << (from % 64));
                if row.get(word).is_some_and(|w| w & bit != 0) {
                    return false;
                }
                let other = before.get(from * words..(from + 1) * words).unwrap_or_default();
                for (mine, theirs) in row.iter_mut().zip(other) {
                    *mine |= theirs;
                }
                if let Some(w) = row.get_mut(word) {
                    *w |= bit;
                }
                true
            });
        }
        kept.push(wanted);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_edge_that_a_longer_way_shows_is_left_out() {
        assert_eq!(reduce(&[vec![], vec![0], vec![0, 1], vec![0, 2, 2]]), [vec![], vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn a_way_back_is_dropped() {
        assert_eq!(reduce(&[vec![1], vec![1, 0]]), [vec![], vec![0]]);
    }

    /// Who is reached from each node, told by walking.
    fn reached(needs: &[Vec<u32>]) -> Vec<std::collections::BTreeSet<u32>> {
        let mut all: Vec<std::collections::BTreeSet<u32>> = Vec::new();
        for wanted in needs {
            let mut set = std::collections::BTreeSet::new();
            for &from in wanted {
                set.insert(from);
                set.extend(all[from as usize].iter().copied());
            }
            all.push(set);
        }
        all
    }

    proptest! {
        #[test]
        fn who_reaches_whom_stays_and_nothing_more_can_go(
            raw in prop::collection::vec(prop::collection::vec(0u32..40, 0..5), 0..40)
        ) {
            let needs: Vec<Vec<u32>> = raw.iter().enumerate()
                .map(|(to, w)| w.iter().copied().filter(|&f| (f as usize) < to).collect()).collect();
            let kept = reduce(&needs);
            let all = reached(&needs);
            prop_assert_eq!(&reached(&kept), &all);
            for wanted in &kept {
                for &a in wanted {
                    prop_assert!(!wanted.iter().any(|&b| b != a && all[b as usize].contains(&a)));
                }
            }
        }
    }
}
