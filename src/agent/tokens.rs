//! What texts cost.

use std::collections::HashMap;

use super::telling::start_of;
use crate::step::Digest;

/// The vocabulary by which tokens are counted. Others differ by a few in a hundred.
pub const VOCABULARY: &str = "o200k_base";

/// A longer text is counted at its start, in bytes, and taken to go on like that.
const COUNTED: usize = 64 << 10;

/// Counted at once, in bytes.
const PIECE: usize = 4 << 10;

/// Most counts that are remembered.
const REMEMBERED: usize = 1 << 14;

/// Counts tokens, and remembers what it counted.
#[derive(Debug, Default)]
pub struct TokenCount {
    known: HashMap<Digest, usize>,
}

impl TokenCount {
    /// How many tokens a text costs. Of a text over 64 KiB this is an estimate by its start. The time is linear in the
    /// length, whatever the text.
    pub fn of(&mut self, text: &str) -> usize {
        // Shorter than the look-up is dear.
        if text.len() < 64 {
            return count(text);
        }
        let digest = Digest::of(text);
        if let Some(known) = self.known.get(&digest) {
            return *known;
        }
        let tokens = estimate(text);
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(digest, tokens);
        tokens
    }
}

fn estimate(text: &str) -> usize {
    if text.len() <= COUNTED {
        return count(text);
    }
    let start = start_of(text, COUNTED);
    count(start).saturating_mul(text.len()) / start.len().max(1)
}

/// The vocabulary splits at words, so that pieces cut at lines cost what the whole does; and no piece is long enough to
/// keep its pattern busy.
fn count(text: &str) -> usize {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    let mut rest = text;
    let mut tokens = 0;
    while !rest.is_empty() {
        let most = start_of(rest, PIECE).len();
        let (piece, _) = rest.split_at(most);
        let end = match piece.rfind('\n') {
            Some(line) if most < rest.len() => line + 1,
            _ => most,
        };
        let (piece, after) = rest.split_at(end);
        tokens += vocabulary.count_ordinary(piece);
        rest = after;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_the_vocabulary() {
        let mut count = TokenCount::default();
        assert_eq!(count.of(""), 0);
        assert_eq!(count.of("hello world"), 2);
        assert_eq!(count.of("def f(x):\n    return x + 1\n"), 11);
    }

    #[test]
    fn a_long_text_is_estimated_by_its_start() {
        let mut count = TokenCount::default();
        let line = "total = total + rows[3]\n";
        let exact: usize = count.of(&line.repeat(1_000));
        let long = count.of(&line.repeat(100_000));
        assert!((exact * 99..exact * 101).contains(&long), "{exact} {long}");
    }
}
