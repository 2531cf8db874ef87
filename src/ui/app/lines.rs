//! A text with an index of its lines, which may still grow at its end.

/// A text and where its lines begin. What is beyond the first 4 GB of it is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    text: String,
    /// Byte at which each line begins; the first is 0, the last may be the end of the text.
    starts: Vec<u32>,
}

impl Default for Lines {
    fn default() -> Self {
        Self { text: String::new(), starts: vec![0] }
    }
}

impl From<&str> for Lines {
    fn from(text: &str) -> Self {
        let mut lines = Self::default();
        lines.push(text);
        lines
    }
}

impl Lines {
    /// Adds text at the end.
    pub fn push(&mut self, more: &str) {
        let before = self.text.len();
        let after = |at: usize| u32::try_from(before + at + 1).ok();
        if after(more.len()).is_none() {
            return;
        }
        self.text.push_str(more);
        self.starts.extend(memchr::memchr_iter(b'\n', more.as_bytes()).filter_map(after));
    }

    /// Makes room for so much more text at once.
    pub fn reserve(&mut self, bytes: usize) {
        self.text.reserve_exact(bytes);
    }

    /// Takes whole lines away from the beginning, `bytes` or somewhat more. Gives how many lines and bytes those were.
    pub fn forget(&mut self, bytes: usize) -> (usize, usize) {
        let lines = self.starts.partition_point(|&start| (start as usize) < bytes);
        let Some(&end) = self.starts.get(lines) else { return (0, 0) };
        self.text.drain(..end as usize);
        self.starts.drain(..lines);
        self.starts.iter_mut().for_each(|start| *start -= end);
        (lines, end as usize)
    }

    /// How many lines; a line break at the very end begins no further one. An empty text has none.
    pub fn len(&self) -> usize {
        match self.starts.last() {
            Some(&last) if last as usize == self.text.len() => self.starts.len() - 1,
            _ => self.starts.len(),
        }
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Line `at`, counted from 0, without its line break; empty beyond the end.
    pub fn line(&self, at: usize) -> &str {
        let (Some(&start), end) = (self.starts.get(at), self.starts.get(at + 1)) else { return "" };
        let end = end.map_or(self.text.len(), |&end| end as usize);
        let line = self.text.get(start as usize..end).unwrap_or_default();
        let line = line.strip_suffix('\n').unwrap_or(line);
        line.strip_suffix('\r').unwrap_or(line)
    }

    /// Byte at which line `at` begins.
    pub fn start(&self, at: usize) -> usize {
        self.starts.get(at).map_or(self.text.len(), |&start| start as usize)
    }

    /// In which line the byte lies.
    pub fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= byte).saturating_sub(1)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_last_line_break_begins_no_line() {
        for (text, lines) in
            [("", vec![]), ("a", vec!["a"]), ("a\n", vec!["a"]), ("a\r\n\nb", vec!["a", "", "b"]), ("\n", vec![""])]
        {
            let index = Lines::from(text);
            assert_eq!((0..index.len()).map(|at| index.line(at)).collect::<Vec<_>>(), lines, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(pieces in prop::collection::vec("[ab\n\r]{0,6}", 0..6)) {
            let mut grown = Lines::default();
            pieces.iter().for_each(|piece| grown.push(piece));
            let whole = Lines::from(pieces.concat().as_str());
            prop_assert_eq!(&grown, &whole);
            prop_assert_eq!(whole.len(), whole.text().lines().count());
            for at in 0..whole.len() {
                prop_assert_eq!(whole.line_of(whole.start(at)), at);
            }
        }

        #[test]
        fn what_is_forgotten_is_gone_in_whole_lines(text in "[ab\n]{0,20}", bytes in 0..25_usize) {
            let whole = Lines::from(text.as_str());
            let mut rest = whole.clone();
            let (lines, length) = rest.forget(bytes);
            prop_assert_eq!(&rest, &Lines::from(&text[length..]));
            prop_assert!((0..rest.len()).all(|at| rest.line(at) == whole.line(at + lines)));
            prop_assert!(length >= bytes || length == 0);
        }
    }
}
