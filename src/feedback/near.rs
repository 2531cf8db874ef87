//! Which of several names is likely meant by another.

/// Longest name that is compared.
const LONGEST: usize = 64;

/// How many edits (insertions, deletions, substitutions and swaps of neighbours) lie between two names, or
/// `None` if more than `most`.
///
/// Optimal string alignment distance (Damerau 1964), by rows.
pub(super) fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() > LONGEST || b.len() > LONGEST || a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut two_back: Vec<usize> = Vec::new();
    let mut back: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut least = (at(&back, j) + usize::from(x != y)).min(at(&back, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                least = least.min(at(&two_back, j - 1) + 1);
            }
            row.push(least);
        }
        two_back = std::mem::replace(&mut back, row);
    }
    back.last().copied().filter(|d| *d <= most)
}

/// How many edits a name of this length may be away: a quarter, at least one.
fn most(name: &str) -> usize {
    (name.chars().count() / 4).max(1)
}

/// The names among `known` that `name` may have been meant to be, nearest first. Names of one or two characters
/// are like too many others.
pub(super) fn close<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    if name.chars().count() <= 2 {
        return Vec::new();
    }
    let most = most(name);
    let mut found: Vec<(usize, &str)> = Vec::new();
    for other in known {
        let is_new = other != name && other.chars().count() > 1 && !found.iter().any(|(_, known)| *known == other);
        if is_new && let Some(distance) = distance(name, other, most) {
            found.push((distance, other));
        }
    }
    found.sort_by_key(|(distance, _)| *distance);
    // Long names allow more edits; but beside one that is much nearer, the others are not meant.
    let nearest = found.first().map_or(0, |(distance, _)| *distance);
    found.retain(|(distance, _)| *distance <= nearest + 1);
    let names: Vec<&str> = found.into_iter().map(|(_, other)| other).collect();
    // A swap of case alone is one thing.
    let folded: Vec<&str> = names.iter().copied().filter(|other| other.eq_ignore_ascii_case(name)).collect();
    if folded.len() == 1 { folded } else { names }
}

/// As [`close`], and names that differ in case, blanks and separators only, however many edits that is.
pub(super) fn close_key<'n>(name: &str, known: impl IntoIterator<Item = &'n str> + Clone) -> Vec<&'n str> {
    let plain =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>();
    let wanted = plain(name);
    let mut alike: Vec<&str> = known
        .clone()
        .into_iter()
        .filter(|other| !wanted.is_empty() && plain(other) == wanted && *other != name)
        .collect();
    alike.dedup();
    if alike.is_empty() { close(name, known) } else { alike }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_swap_is_one_edit() {
        assert_eq!(distance("pirce", "price", 2), Some(1));
        assert_eq!(distance("salse", "sales", 1), Some(1));
        assert_eq!(distance("OrderdDict", "OrderedDict", 2), Some(1));
        assert_eq!(distance("price", "cost", 1), None);
        assert_eq!(distance("", "ab", 2), Some(2));
    }

    #[test]
    fn the_nearest_are_told_and_the_short_are_not() {
        assert_eq!(close("totl", ["total", "tab", "to"]), ["total"]);
        assert_eq!(close("JSONDecoderr", ["JSONEncoder", "JSONDecoder"]), ["JSONDecoder"]);
        assert_eq!(close("totl", ["total", "tote"]), ["total", "tote"]);
        assert!(close("ab", ["abc"]).is_empty());
        assert_eq!(close_key("unit price", ["Unit_Price", "unit", "price"]), ["Unit_Price"]);
        assert_eq!(close_key("Price", ["price", "Price ", "cost"]), ["price", "Price "]);
    }

    proptest! {
        #[test]
        fn distance_is_symmetric_and_bounded(a in "[abc]{0,6}", b in "[abc]{0,6}") {
            let d = distance(&a, &b, 12);
            prop_assert_eq!(d, distance(&b, &a, 12));
            prop_assert!(d.unwrap() <= a.len().max(b.len()));
            prop_assert_eq!(d == Some(0), a == b);
        }
    }
}
