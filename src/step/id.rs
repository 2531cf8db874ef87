//! Step ids and their order.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A Python name in the run's one namespace, NFKC-normalised.
pub type Name = Arc<str>;

/// Which step: its path in the run without the ending, with `/` between components.
///
/// Ids sort in the order in which the run executes: component by component, runs of ASCII digits by value
/// (of any length), ties by the shorter, then by bytes. A step sorts before the frame of the same name.
///
/// ```
/// use reweave::step::StepId;
/// let mut ids: Vec<StepId> = ["b", "a10", "a2/x", "a2"].iter().map(|s| s.parse().unwrap()).collect();
/// ids.sort();
/// assert_eq!(ids.iter().map(StepId::as_str).collect::<Vec<_>>(), ["a2", "a2/x", "a10", "b"]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StepId(Arc<str>);

/// Why a text is not a step id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a step's id: {why}")]
pub struct InvalidStepId {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl StepId {
    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last component: the file's name without its ending.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The frame that the step is in, `None` at the top.
    pub fn frame(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(frame, _)| frame)
    }

    /// How many frames enclose the step.
    pub fn depth(&self) -> usize {
        self.0.matches('/').count()
    }
}

impl FromStr for StepId {
    type Err = InvalidStepId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let why = if text.is_empty() {
            "it is empty"
        } else if text.starts_with('/') || text.ends_with('/') || text.contains("//") {
            "it has an empty component"
        } else if text.split('/').any(|part| part.starts_with('.')) {
            "a component starts with a dot"
        } else if text.contains('\0') {
            "it holds a NUL"
        } else {
            return Ok(Self(text.into()));
        };
        Err(InvalidStepId { text: text.to_owned(), why })
    }
}

impl Ord for StepId {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        // Lists of thousands of steps are sorted and searched all the time, and mostly the first difference decides.
        let (left, right) = (self.0.as_bytes(), other.0.as_bytes());
        let same = left.iter().zip(right).take_while(|(a, b)| a == b).count();
        let (a, b) = (left.get(same).copied(), right.get(same).copied());
        if !a.is_some_and(|a| a.is_ascii_digit()) && !b.is_some_and(|b| b.is_ascii_digit()) {
            return rank(a).cmp(&rank(b));
        }
        let begin = |text: &[u8]| {
            let common = text.get(..same).unwrap_or_default();
            common.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1)
        };
        let (m, n) = (left.get(begin(left)..).unwrap_or_default(), right.get(begin(right)..).unwrap_or_default());
        let starts = |text: &[u8]| text.first().is_some_and(u8::is_ascii_digit);
        if !(starts(m) && starts(n)) {
            return rank(a).cmp(&rank(b));
        }
        match by_value(split_digits(m).0, split_digits(n).0) {
            Ordering::Equal => self.by_components(other),
            unequal => unequal,
        }
    }
}

/// Where a byte, or the end, puts what goes on with it: the end of all before the end of a component, that before what
/// it goes on with.
fn rank(byte: Option<u8>) -> (u8, u8) {
    match byte {
        None => (0, 0),
        Some(b'/') => (1, 0),
        Some(byte) => (2, byte),
    }
}

impl StepId {
    /// The order in full, component by component.
    fn by_components(&self, other: &Self) -> Ordering {
        let (mut left, mut right) = (self.0.split('/'), other.0.split('/'));
        loop {
            match (left.next(), right.next()) {
                (None, None) => return Ordering::Equal,
                (None, Some(_)) => return Ordering::Less,
                (Some(_), None) => return Ordering::Greater,
                (Some(a), Some(b)) => match natural(a, b) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                },
            }
        }
    }
}

impl PartialOrd for StepId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Natural order of two path components.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut a, mut b) = (left.as_bytes(), right.as_bytes());
    while let (Some(&x), Some(&y)) = (a.first(), b.first()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, rest_a) = split_digits(a);
            let (n, rest_b) = split_digits(b);
            match by_value(m, n) {
                Ordering::Equal => (a, b) = (rest_a, rest_b),
                unequal => return unequal,
            }
        } else if x == y {
            (a, b) = (a.get(1..).unwrap_or_default(), b.get(1..).unwrap_or_default());
        } else {
            return x.cmp(&y);
        }
    }
    a.len().cmp(&b.len()).then_with(|| left.len().cmp(&right.len())).then_with(|| left.cmp(right))
}

/// The order of two runs of digits without leading zeros.
fn by_value(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// The leading run of digits without its zeros, and what follows it.
fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let start = digits.iter().position(|&byte| byte != b'0').unwrap_or(digits.len());
    (digits.get(start..).unwrap_or_default(), rest)
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StepId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(text: &str) -> StepId {
        text.parse().unwrap()
    }

    #[test]
    fn digits_sort_by_value_of_any_length() {
        let long = "1".repeat(40);
        let longer = "2".repeat(41);
        for (less, more) in
            [("2", "10"), ("a2b", "a10a"), ("1", "01"), ("a01", "a1b"), (long.as_str(), longer.as_str())]
        {
            assert!(id(less) < id(more), "{less} < {more}");
        }
    }

    #[test]
    fn a_step_comes_before_the_frame_of_the_same_name() {
        assert!(id("02_fit") < id("02_fit/01"));
        assert!(id("02_fit/99") < id("03"));
    }

    #[test]
    fn what_is_no_id_is_refused_by_name() {
        for text in ["", "/a", "a/", "a//b", "a/.b", ".a", "a\0"] {
            assert!(text.parse::<StepId>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn the_order_is_total(a in "[a-c0-2/]{1,6}", b in "[a-c0-2/]{1,6}", c in "[a-c0-2/]{1,6}") {
            let ids: Vec<StepId> = [a, b, c].iter().filter_map(|t| t.parse().ok()).collect();
            prop_assume!(ids.len() == 3);
            let (a, b, c) = (&ids[0], &ids[1], &ids[2]);
            prop_assert_eq!(a.cmp(b), b.cmp(a).reverse());
            prop_assert_eq!(a.cmp(b) == Ordering::Equal, a == b);
            prop_assert_eq!(a.cmp(b), a.by_components(b));
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }
    }
}
