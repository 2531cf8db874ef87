//! A growing set of small numbers, joined and met word by word.

/// A set of `u32`, one bit each.
#[derive(Debug, Clone, Default)]
pub(crate) struct BitSet {
    words: Vec<u64>,
}

impl PartialEq for BitSet {
    fn eq(&self, other: &Self) -> bool {
        let (short, long) = if self.words.len() < other.words.len() { (self, other) } else { (other, self) };
        let (start, end) = long.words.split_at(short.words.len());
        start == short.words && end.iter().all(|word| *word == 0)
    }
}

impl BitSet {
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub fn contains(&self, bit: u32) -> bool {
        self.words.get((bit / 64) as usize).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    pub fn insert(&mut self, bit: u32) {
        let at = (bit / 64) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        if let Some(word) = self.words.get_mut(at) {
            *word |= 1 << (bit % 64);
        }
    }

    pub fn remove(&mut self, bit: u32) {
        if let Some(word) = self.words.get_mut((bit / 64) as usize) {
            *word &= !(1 << (bit % 64));
        }
    }

    /// Keeps what is in both.
    pub fn meet(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Takes in what is in the other.
    pub fn join(&mut self, other: &Self) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Takes in what is in the other, and tells of each that was not here before.
    pub fn take_in(&mut self, other: &Self, mut added: impl FnMut(u32)) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (at, (word, other)) in (0u32..).zip(self.words.iter_mut().zip(&other.words)) {
            bits(at, other & !*word).for_each(&mut added);
            *word |= other;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.words).flat_map(|(at, &word)| bits(at, word))
    }
}

/// The numbers that a word stands for, which is the `at`th.
fn bits(at: u32, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            at * 64 + bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_meet_and_join() {
        let mut a = BitSet::default();
        let mut b = BitSet::default();
        for bit in [1, 64, 200] {
            a.insert(bit);
        }
        for bit in [64, 3] {
            b.insert(bit);
        }
        let mut both = a.clone();
        both.meet(&b);
        assert_eq!(both.iter().collect::<Vec<_>>(), [64]);
        b.join(&a);
        assert_eq!(b.iter().collect::<Vec<_>>(), [1, 3, 64, 200]);
        b.remove(64);
        b.remove(9999);
        assert!(!b.contains(64) && b.contains(200));
        let mut added = Vec::new();
        b.take_in(&a, |bit| added.push(bit));
        assert_eq!((added, b.iter().collect::<Vec<_>>()), (vec![64], vec![1, 3, 64, 200]));
        a.remove(1);
        a.remove(200);
        assert_eq!(a.iter().collect::<Vec<_>>(), [64]);
        let mut one = BitSet::default();
        one.insert(64);
        assert_eq!((a.clone(), a.is_empty()), (one.clone(), false));
        assert_ne!(one, b);
        a.remove(64);
        assert!(a.is_empty() && a == BitSet::default());
    }
}
