//! A line in several rows.

use std::ops::Range;

use super::{Cell, CellKind, Tab, cells, cells_from};

/// One row of a wrapped line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The row as text, safe, without blanks at the break.
    pub text: String,
    /// The bytes of the line that it shows.
    pub bytes: Range<usize>,
    /// The column of the unwrapped line that it begins in.
    pub column: usize,
    /// The columns that it had.
    pub width: usize,
}

/// The rows of a line in `width` columns, broken after blanks or punctuation where there are some in the
/// second half of a row, anywhere else. At least one row; lazily, so that the rows of a long line that are not
/// shown cost nothing. A tab wider than `width` is as wide as the row; another cluster shows as `…`.
pub fn wrap(line: &str, width: usize) -> Rows<'_> {
    wrap_with(line, width, Tab::TERMINAL)
}

/// As [`wrap`], with other tab stops.
pub fn wrap_with(line: &str, width: usize, tab: Tab) -> Rows<'_> {
    Rows { line, tab, width, at: 0, column: 0, done: false }
}

/// See [`wrap`].
#[derive(Debug)]
pub struct Rows<'a> {
    line: &'a str,
    tab: Tab,
    width: usize,
    at: usize,
    column: usize,
    done: bool,
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if self.done {
            return None;
        }
        let start = self.at;
        let mut row: Vec<Cell<'_>> = Vec::new();
        let mut used = 0;
        let mut fits = true;
        for cell in cells_from(self.line, self.tab, self.at, self.column) {
            let cell = narrowed(cell, self.width);
            if used + cell.width > self.width {
                fits = false;
                break;
            }
            used += cell.width;
            row.push(cell);
        }
        if !fits {
            let keep = break_at(&row);
            row.truncate(keep);
        }
        let end = row.last().map_or(start, |cell| cell.bytes.end);
        let bytes = start..end;
        let column = self.column;
        self.done = fits || end >= self.line.len();
        self.at = end;
        self.column += row.iter().map(|cell| cell.width).sum::<usize>();
        let mut text: String = row.iter().map(|cell| &*cell.text).collect();
        if !fits {
            text.truncate(text.trim_end_matches(' ').len());
        }
        Some(Row { text, bytes, column, width: self.width })
    }
}

/// A cell that fits a row of `width` columns at all.
pub(super) fn narrowed(cell: Cell<'_>, width: usize) -> Cell<'_> {
    if cell.width <= width {
        return cell;
    }
    let (text, width) = match cell.kind {
        _ if width == 0 => (String::new(), 0),
        CellKind::Tab => (" ".repeat(width), width),
        CellKind::Text | CellKind::Mark => (super::ELLIPSIS.to_owned(), 1),
    };
    Cell { text: text.into(), width, ..cell }
}

/// How many of a full row's cells to keep, so that a word is not broken if it need not be.
fn break_at(row: &[Cell<'_>]) -> usize {
    row.iter()
        .enumerate()
        .rev()
        .take_while(|(i, _)| i * 2 >= row.len())
        .find(|(_, cell)| matches!(&*cell.text, " " | "," | ";" | ")" | "]" | "}" | "/" | "-" | "|"))
        .map_or(row.len(), |(i, _)| i + 1)
}

/// How many rows a line takes, at most `limit`.
pub fn rows(line: &str, width: usize, tab: Tab, limit: usize) -> usize {
    if width > 0 && line.len() <= width && super::fit::is_plain(line) {
        return 1.min(limit);
    }
    wrap_with(line, width, tab).take(limit).count()
}

/// The first column after a line's indentation, for rows that go on below it.
pub fn indent(line: &str, tab: Tab) -> usize {
    cells(line, tab).take_while(|cell| cell.text.trim_matches(' ').is_empty()).map(|cell| cell.width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, width: usize) -> Vec<String> {
        wrap(line, width).map(|row| row.text).collect()
    }

    #[test]
    fn rows_break_after_blanks_where_they_can() {
        assert_eq!(shown("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(shown("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(shown("a bcdefghij", 6), ["a bcde", "fghij"]);
        assert_eq!(shown("", 5), [""]);
        assert_eq!(shown("exact", 5), ["exact"]);
    }

    #[test]
    fn wide_characters_are_never_halved() {
        assert_eq!(shown("世界地図", 5), ["世界", "地図"]);
        assert_eq!(shown("世界", 1), ["…", "…"]);
        assert_eq!(shown("ab", 0), [""]);
    }

    #[test]
    fn rows_tell_their_bytes_and_columns() {
        let found: Vec<_> = wrap("世界地図", 5).map(|row| (row.bytes, row.column)).collect();
        assert_eq!(found, [(0..6, 0), (6..12, 4)]);
    }

    #[test]
    fn rows_are_counted_up_to_a_limit() {
        assert_eq!(rows(&"x".repeat(100), 10, Tab::SOURCE, 1000), 10);
        assert_eq!(rows(&"x".repeat(100), 10, Tab::SOURCE, 3), 3);
        assert_eq!(rows("", 10, Tab::SOURCE, 3), 1);
    }

    #[test]
    fn the_indentation_is_measured_with_tabs() {
        assert_eq!(indent("\t  x", Tab::SOURCE), 6);
        assert_eq!(indent("x", Tab::SOURCE), 0);
    }
}
