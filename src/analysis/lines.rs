//! Lines and columns of places in a text.

/// Where lines begin. Lines end as Python ends them: `\n`, `\r\n` or `\r`.
#[derive(Debug, Clone)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Finds the lines of a text.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                starts.push(at + 1);
            }
        }
        Self { starts }
    }

    /// The 1-based line of a byte.
    pub fn line(&self, at: usize) -> u32 {
        self.starts.partition_point(|start| *start <= at) as u32
    }

    /// The byte at which a 1-based line begins.
    pub fn start(&self, line: u32) -> Option<usize> {
        self.starts.get((line as usize).checked_sub(1)?).copied()
    }

    /// The 1-based line and the 1-based column, in characters, of a byte of the same text.
    pub fn position(&self, text: &str, at: usize) -> (u32, u32) {
        let line = self.line(at);
        let start = self.start(line).unwrap_or(0);
        let column = text.get(start..at).map_or(0, |part| part.chars().count());
        (line, column as u32 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_line_ends_count() {
        let text = "a\nbé c\r\nd\re";
        let lines = Lines::new(text);
        assert_eq!(lines.position(text, 0), (1, 1));
        assert_eq!(lines.position(text, 6), (2, 4));
        assert_eq!(lines.position(text, 9), (3, 1));
        assert_eq!(lines.position(text, 11), (4, 1));
        assert_eq!(lines.start(2), Some(2));
        assert_eq!(lines.start(0), None);
    }
}
