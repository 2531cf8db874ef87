//! A map that is kept for every step of a run.

use std::borrow::Borrow;
use std::fmt;
use std::iter::{FromIterator, FusedIterator};
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map as a list sorted by key.
///
/// A tree gives room to eleven entries with the first, and most maps of a step have one to three: in a run of 10,000
/// steps that was a third of all that the workbench holds. A key before the last costs the time to move what is after it,
/// so what may become large is best given sorted, or all at once.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pairs<K, V>(Vec<(K, V)>);

impl<K, V> Default for Pairs<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Pairs<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl<K, V> Pairs<K, V> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all out.
    pub fn clear(&mut self) {
        self.0 = Vec::new();
    }

    /// All, by key.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.0.iter())
    }

    /// All, by key, with values that can be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, sorted.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + DoubleEndedIterator + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// The values, by key.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + DoubleEndedIterator + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The values, by key, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The keys, sorted, as what they are.
    pub fn into_keys(self) -> impl Iterator<Item = K> {
        self.0.into_iter().map(|(key, _)| key)
    }

    /// Keeps those for which it is said so.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> Pairs<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().and_then(|at| self.0.get_mut(at)).map(|(_, value)| value)
    }

    /// Whether a key is there.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Gives a key a value, and the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        // What is read from a list that was written sorted comes in that order.
        let at = if self.0.last().is_none_or(|(last, _)| *last < key) { Err(self.0.len()) } else { self.find(&key) };
        match at {
            Ok(at) => self.0.get_mut(at).map(|(_, old)| std::mem::replace(old, value)),
            Err(at) => {
                if self.0.len() == self.0.capacity() {
                    self.0.reserve_exact(self.0.len() / 2 + 1);
                }
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Takes a key out, and gives the value that it had.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|at| self.0.remove(at).1)
    }

    /// Sorts what was put in as it came; of the same key the last counts.
    fn sorted(mut list: Vec<(K, V)>) -> Self {
        if !list.is_sorted_by(|(a, _), (b, _)| a < b) {
            list.reverse();
            list.sort_by(|(a, _), (b, _)| a.cmp(b));
            list.dedup_by(|(later, _), (kept, _)| later == kept);
        }
        list.shrink_to_fit();
        Self(list)
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Pairs<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(iter: I) -> Self {
        Self::sorted(iter.into_iter().collect())
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Pairs<K, V> {
    fn from(list: [(K, V); N]) -> Self {
        Self::sorted(list.into())
    }
}

impl<K: Ord, V> Extend<(K, V)> for Pairs<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, iter: I) {
        let mut list = std::mem::take(&mut self.0);
        list.extend(iter);
        *self = Self::sorted(list);
    }
}

impl<K, V> IntoIterator for Pairs<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a Pairs<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// All of a map, by key.
#[derive(Debug)]
pub struct Iter<'a, K, V>(std::slice::Iter<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}
impl<K, V> FusedIterator for Iter<'_, K, V> {}

impl<K: Serialize, V: Serialize> Serialize for Pairs<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Pairs<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
            type Value = Pairs<K, V>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(Pairs::sorted(list))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_map_that_a_tree_is(entries in prop::collection::vec((0..9_u8, any::<u8>()), 0..20), gone in 0..9_u8) {
            let mut tree: BTreeMap<u8, u8> = entries.iter().copied().collect();
            let mut one: Pairs<u8, u8> = Pairs::default();
            for (key, value) in &entries {
                one.insert(*key, *value);
            }
            let mut other: Pairs<u8, u8> = entries.iter().copied().collect();
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(one.remove(&gone), tree.remove(&gone));
            other.retain(|key, _| *key != gone);
            prop_assert_eq!(&one, &other);
            prop_assert!(one.iter().eq(&tree));
            prop_assert!((0..9).all(|key| one.get(&key) == tree.get(&key) && one.contains_key(&key) == tree.contains_key(&key)));
            other.extend(entries.iter().copied());
            tree.extend(entries.iter().copied());
            let text = serde_json::to_string(&tree).unwrap();
            prop_assert_eq!(serde_json::to_string(&other).unwrap(), text.clone());
            prop_assert_eq!(serde_json::from_str::<Pairs<u8, u8>>(&text).unwrap(), other);
        }
    }

    #[test]
    fn of_the_same_key_the_last_counts() {
        let pairs: Pairs<u8, char> = serde_json::from_str(r#"{"2":"a","1":"b","2":"c"}"#).unwrap();
        assert_eq!(pairs, Pairs::from([(1, 'b'), (2, 'c')]));
    }
}
