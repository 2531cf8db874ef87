//! A text as lines that keep their endings, and changes to runs of those lines.

use std::ops::Range;

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With the text: the last line of a file without a final newline.
    None,
    /// With a line feed.
    Lf,
    /// With a carriage return and a line feed.
    CrLf,
}

impl Ending {
    /// The bytes of it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// One line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'t> {
    /// The line with its ending.
    pub whole: &'t str,
    /// The line without its ending.
    pub text: &'t str,
    /// How it ends.
    pub ending: Ending,
}

/// The byte order mark that some editors put before UTF-8.
pub const BOM: char = '\u{feff}';

/// A text that a patch is placed on.
#[derive(Debug)]
pub struct Base<'t> {
    /// Its lines. A byte order mark is part of the first.
    pub lines: Vec<Line<'t>>,
    /// The whole.
    pub text: &'t str,
    /// The ending that most lines have; line feed where there are none.
    pub ending: Ending,
    /// Whether lines end in more than one way.
    pub mixed: bool,
}

/// The lines of `text`: split after each line feed.
pub fn split(text: &str) -> Vec<Line<'_>> {
    text.split_inclusive('\n')
        .map(|whole| match whole.strip_suffix('\n') {
            None => Line { whole, text: whole, ending: Ending::None },
            Some(text) => match text.strip_suffix('\r') {
                Some(text) => Line { whole, text, ending: Ending::CrLf },
                None => Line { whole, text, ending: Ending::Lf },
            },
        })
        .collect()
}

impl<'t> Base<'t> {
    /// The lines of `text`, with what is known of their endings.
    pub fn new(text: &'t str) -> Self {
        let lines = split(text);
        let crlf = lines.iter().filter(|line| line.ending == Ending::CrLf).count();
        let lf = lines.iter().filter(|line| line.ending == Ending::Lf).count();
        let ending = if crlf > lf { Ending::CrLf } else { Ending::Lf };
        Self { lines, text, ending, mixed: crlf > 0 && lf > 0 }
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Whether the last line ends with a newline; true for an empty text.
    pub fn has_final_newline(&self) -> bool {
        self.lines.last().is_none_or(|line| line.ending != Ending::None)
    }

    /// Whether the text begins with a byte order mark.
    pub fn has_bom(&self) -> bool {
        self.text.starts_with(BOM)
    }

    /// The ending for a new line at `at` (0-based): that of the line there, of the one before, or the usual.
    pub fn ending_near(&self, at: usize) -> Ending {
        let real = |index: usize| self.lines.get(index).map(|line| line.ending).filter(|e| *e != Ending::None);
        at.checked_sub(1).and_then(real).or_else(|| real(at)).unwrap_or(self.ending)
    }
}

/// A run of lines of a base, and the lines that take its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The lines that go, 0-based; empty for an insertion before `start`.
    pub old: Range<usize>,
    /// The lines that come, with their endings.
    pub new: Vec<String>,
}

impl Change {
    /// Whether both can't be made together: they take the same line, or it is open which of two insertions
    /// comes first.
    pub fn clashes(&self, other: &Self) -> bool {
        let (a, b) = (&self.old, &other.old);
        if a.is_empty() && b.is_empty() {
            return a.start == b.start;
        }
        a.start < b.end && b.start < a.end
    }
}

/// The text of `base` with `changes` made, which must not clash and be in order of place.
///
/// A line without an ending that is no longer the last gets the usual one.
pub fn rebuild(base: &Base<'_>, changes: &[Change]) -> String {
    let mut text = String::with_capacity(base.text.len());
    let mut next = 0;
    let mut push = |line: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(base.ending.as_str());
        }
        text.push_str(line);
    };
    for change in changes {
        for line in base.lines.get(next..change.old.start).unwrap_or_default() {
            push(line.whole);
        }
        for line in &change.new {
            push(line);
        }
        next = change.old.end;
    }
    for line in base.lines.get(next..).unwrap_or_default() {
        push(line.whole);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_insertion_after_a_line_without_newline_ends_that_line() {
        let base = Base::new("a\r\nb");
        let change = Change { old: 2..2, new: vec!["c".to_owned()] };
        assert_eq!(rebuild(&base, &[change]), "a\r\nb\r\nc");
    }

    #[test]
    fn two_insertions_at_one_gap_clash_and_one_beside_a_replacement_does_not() {
        let change = |old: Range<usize>| Change { old, new: vec![] };
        assert!(change(3..3).clashes(&change(3..3)));
        assert!(change(3..5).clashes(&change(4..4)));
        assert!(!change(3..5).clashes(&change(5..5)));
        assert!(!change(3..5).clashes(&change(3..3)));
        assert!(!change(3..5).clashes(&change(5..6)));
    }

    proptest! {
        #[test]
        fn lines_put_together_are_the_text(text in "[ab\r\n]{0,12}") {
            let base = Base::new(&text);
            prop_assert_eq!(base.lines.iter().map(|l| l.whole).collect::<String>(), text.as_str());
            prop_assert_eq!(rebuild(&base, &[]), text);
        }
    }
}
