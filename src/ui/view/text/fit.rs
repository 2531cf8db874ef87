//! A line made to fit: measured, cut, padded, or seen through a window.

use std::borrow::Cow;

use super::{Cell, CellKind, Cells, Tab, cells};

/// Stands for what was cut off.
pub const ELLIPSIS: &str = "…";

/// Columns that a line takes, with tab stops every eight.
pub fn width(line: &str) -> usize {
    if is_plain(line) { line.len() } else { cells(line, Tab::TERMINAL).map(|cell| cell.width).sum() }
}

/// A line with nothing in it that a terminal would act on: control characters shown as glyphs, tabs as
/// blanks, what hides or turns text by its name.
pub fn safe_line(line: &str) -> Cow<'_, str> {
    if is_plain(line) {
        return Cow::Borrowed(line);
    }
    Cow::Owned(cells(line, Tab::TERMINAL).fold(String::with_capacity(line.len()), |mut text, cell| {
        text.push_str(&cell.text);
        text
    }))
}

/// A line in at most `width` columns; what is longer ends with `…`. Safe as [`safe_line`].
pub fn cut(line: &str, width: usize) -> String {
    cut_measured(line, width).0
}

/// As [`cut`], with the columns that the result takes.
fn cut_measured(line: &str, width: usize) -> (String, usize) {
    let mut text = String::new();
    let mut column = 0;
    // Where to go back to when the line turns out to be longer: the last place that leaves a column free.
    let (mut fallback, mut fallback_column) = (0, 0);
    for cell in cells(line, Tab::TERMINAL) {
        if column + cell.width > width {
            text.truncate(fallback);
            if width == 0 {
                return (text, 0);
            }
            text.push_str(ELLIPSIS);
            return (text, fallback_column + 1);
        }
        text.push_str(&cell.text);
        column += cell.width;
        if column < width {
            (fallback, fallback_column) = (text.len(), column);
        }
    }
    (text, column)
}

/// As [`cut`], but keeps the end of the line: for paths.
pub fn cut_start(line: &str, width: usize) -> String {
    let all: Vec<Cell<'_>> = cells(line, Tab::TERMINAL).collect();
    if all.iter().map(|cell| cell.width).sum::<usize>() <= width {
        return all.into_iter().map(|cell| cell.text.into_owned()).collect();
    }
    if width == 0 {
        return String::new();
    }
    let mut left = width - 1;
    let mut from = all.len();
    for (i, cell) in all.iter().enumerate().rev() {
        if cell.width > left {
            break;
        }
        left -= cell.width;
        from = i;
    }
    let mut text = String::from(ELLIPSIS);
    all.iter().skip(from).for_each(|cell| text.push_str(&cell.text));
    text
}

/// A line in exactly `width` columns: [`cut`], then filled with blanks.
pub fn pad(line: &str, width: usize) -> String {
    let (mut text, taken) = cut_measured(line, width);
    text.extend(std::iter::repeat_n(' ', width.saturating_sub(taken)));
    text
}

/// As [`pad`], with the blanks in front: for numbers.
pub fn pad_start(line: &str, width: usize) -> String {
    let (text, taken) = cut_measured(line, width);
    let mut padded = " ".repeat(width.saturating_sub(taken));
    padded.push_str(&text);
    padded
}

/// The part of a line that lies in the columns `from..from + width`, safe as [`safe_line`]. A cell cut by
/// either edge shows as blanks, so that columns stand where they would.
pub fn window(line: &str, from: usize, width: usize, tab: Tab) -> String {
    let mut text = String::new();
    for part in through(cells(line, tab), from, width) {
        text.push_str(&part.text);
    }
    text
}

/// The cells seen in the columns `from..from + width`; see [`window`].
pub(super) fn through<'a>(cells: Cells<'a>, from: usize, width: usize) -> impl Iterator<Item = Cell<'a>> {
    let end = from.saturating_add(width);
    let mut column = cells.column();
    cells
        .map(move |cell| {
            let start = column;
            column += cell.width;
            (start, cell)
        })
        .take_while(move |(start, _)| *start < end)
        .filter_map(move |(start, cell)| {
            let stop = start + cell.width;
            if stop <= from {
                return None;
            }
            let seen = stop.min(end) - start.max(from);
            if seen == cell.width {
                return Some(cell);
            }
            // Names such as <RLO> are ASCII and can be cut anywhere; all else is all or nothing.
            let text = match cell.kind {
                CellKind::Mark if cell.text.is_ascii() => {
                    let skip = from.saturating_sub(start);
                    Cow::Owned(cell.text.get(skip..skip + seen).unwrap_or_default().to_owned())
                }
                _ => Cow::Owned(" ".repeat(seen)),
            };
            Some(Cell { text, width: seen, ..cell })
        })
}

/// Whether each byte is one printable character in one column.
pub(super) fn is_plain(line: &str) -> bool {
    line.bytes().all(|b| matches!(b, b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_fits_is_left_alone() {
        assert_eq!(cut("load_config", 11), "load_config");
        assert_eq!(cut("世界", 4), "世界");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn a_longer_line_ends_with_an_ellipsis() {
        assert_eq!(cut("load_config", 10), "load_conf…");
        assert_eq!(cut("世界地図", 5), "世界…");
        assert_eq!(cut("世界地図", 4), "世…");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("世", 1), "…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn a_path_keeps_its_end() {
        assert_eq!(cut_start("/home/ada/runs/churn", 12), "…/runs/churn");
        assert_eq!(cut_start("churn", 5), "churn");
        assert_eq!(cut_start("churn", 0), "");
    }

    #[test]
    fn padding_fills_to_the_column() {
        assert_eq!(pad("世", 4), "世  ");
        assert_eq!(pad("abcdef", 4), "abc…");
        assert_eq!(pad_start("7", 3), "  7");
        assert_eq!(pad("\x1b]0;x\x07", 8), "␛]0;x␇  ");
    }

    #[test]
    fn a_window_keeps_columns_where_they_are() {
        assert_eq!(window("a世b", 0, 4, Tab::SOURCE), "a世b");
        assert_eq!(window("a世b", 2, 4, Tab::SOURCE), " b");
        assert_eq!(window("a世b", 0, 2, Tab::SOURCE), "a ");
        assert_eq!(window("\tx", 2, 4, Tab::SOURCE), "  x");
        assert_eq!(window("a\u{202e}b", 2, 3, Tab::SOURCE), "RLO");
    }
}
