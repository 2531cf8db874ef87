//! A line with styles over its parts, through a window or in rows, as spans.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::cell::cells_from;
use super::fit::through;
use super::wrap::narrowed;
use super::{Cell, CellKind, Cells, Row, Tab};

/// A style over some bytes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Which bytes.
    pub bytes: Range<usize>,
    /// What is put over the style below.
    pub style: Style,
}

impl Run {
    /// A style over some bytes.
    pub fn new(bytes: Range<usize>, style: impl Into<Style>) -> Self {
        Self { bytes, style: style.into() }
    }
}

/// A line to be drawn: text, and layers of runs. Each layer lies over the one before (syntax, then changed words,
/// then search), and its runs are in order and don't overlap.
#[derive(Debug, Clone, Copy)]
pub struct Painted<'a> {
    /// The line, hostile.
    pub line: &'a str,
    /// The layers, from the lowest up.
    pub layers: &'a [&'a [Run]],
    /// The stand-ins for what can't be printed; put over the layers.
    pub mark: Style,
    /// Columns between tab stops.
    pub tab: Tab,
}

impl<'a> Painted<'a> {
    /// A line without styles, with source tabs.
    pub fn plain(line: &'a str) -> Self {
        Self { line, layers: &[], mark: Style::new(), tab: Tab::SOURCE }
    }

    /// The columns `from..from + width`. `near` is a place in the line at or before `from`, if one is known: its
    /// byte and its column, as [`Ruler`] gives it.
    pub fn window(&self, from: usize, width: usize, near: Option<(usize, usize)>) -> Line<'static> {
        let (byte, column) = near.filter(|(_, column)| *column <= from).unwrap_or((0, 0));
        let (byte, column) = skip_plain(self.line, byte, column, from);
        self.collect(through(cells_from(self.line, self.tab, byte, column), from, width))
    }

    /// A row of the line, as [`super::wrap_with`] gave it for the same line and tab.
    pub fn row(&self, row: &Row) -> Line<'static> {
        let end = row.bytes.end;
        let mut cells: Cells<'_> = cells_from(self.line, self.tab, row.bytes.start, row.column);
        let mut taken = 0;
        let whole = row.text.len();
        // The row's text is what fits; what was cut at its end (blanks at the break) is not drawn.
        self.collect(std::iter::from_fn(|| {
            let cell = narrowed(cells.next().filter(|cell| cell.bytes.end <= end)?, row.width);
            taken += cell.text.len();
            (taken <= whole).then_some(cell)
        }))
    }

    fn collect<'c>(&self, cells: impl Iterator<Item = Cell<'c>>) -> Line<'static> {
        let mut places = vec![0; self.layers.len()];
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut text = String::new();
        let mut last = Style::new();
        for cell in cells {
            let mut style = Style::new();
            for (layer, place) in self.layers.iter().zip(&mut places) {
                *place += layer.iter().skip(*place).take_while(|run| run.bytes.end <= cell.bytes.start).count();
                if let Some(run) = layer.get(*place).filter(|run| run.bytes.start < cell.bytes.end) {
                    style = style.patch(run.style);
                }
            }
            if cell.kind == CellKind::Mark {
                style = style.patch(self.mark);
            }
            if style != last && !text.is_empty() {
                spans.push(Span::styled(std::mem::take(&mut text), last));
            }
            last = style;
            text.push_str(&cell.text);
        }
        if !text.is_empty() {
            spans.push(Span::styled(text, last));
        }
        Line::from(spans)
    }
}

/// Bytes looked at in one go.
const STRIDE: usize = 4096;

/// Goes on from a place over stretches in which each byte is one column, up to `to`.
fn skip_plain(line: &str, mut byte: usize, mut column: usize, to: usize) -> (usize, usize) {
    let bytes = line.as_bytes();
    // A mark may combine with the last byte before it, so each stretch must be followed by a plain byte too.
    while column + STRIDE <= to
        && bytes.get(byte..=byte + STRIDE).is_some_and(|part| part.iter().all(|b| matches!(b, b' '..=b'~')))
    {
        byte += STRIDE;
        column += STRIDE;
    }
    (byte, column)
}

/// Places in a long line, so that a window far to the right costs no more than one at its beginning. For lines
/// that [`Ruler::pays`] for; made once, away from the interface's thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ruler {
    /// A byte and its column, about every [`STRIDE`] columns.
    stops: Vec<(usize, usize)>,
    columns: usize,
}

impl Ruler {
    /// Measures a line.
    pub fn of(line: &str, tab: Tab) -> Self {
        let mut stops = Vec::new();
        let (mut byte, mut column) = skip_plain(line, 0, 0, usize::MAX);
        while byte < line.len() {
            stops.push((byte, column));
            let goal = column + STRIDE;
            let before = byte;
            let mut cells = cells_from(line, tab, byte, column);
            for cell in cells.by_ref() {
                (byte, column) = (cell.bytes.end, column + cell.width);
                // Only where a new cluster begins can a place be gone on from.
                if column >= goal && line.get(byte..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii())) {
                    break;
                }
            }
            if byte == before {
                break;
            }
            (byte, column) = skip_plain(line, byte, column, usize::MAX);
        }
        Self { stops, columns: column }
    }

    /// Whether a line is so long, and such, that it wants one.
    pub fn pays(line: &str) -> bool {
        line.len() > 16 * STRIDE && !line.is_ascii()
    }

    /// How many columns the whole line takes.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The last known place at or before a column.
    pub fn near(&self, column: usize) -> Option<(usize, usize)> {
        let after = self.stops.partition_point(|(_, at)| *at <= column);
        self.stops.get(after.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::Color;

    use super::super::{window, wrap_with};
    use super::*;

    fn flat(line: &Line<'_>) -> String {
        line.spans.iter().map(|span| &*span.content).collect()
    }

    fn style(color: Color) -> Style {
        Style::new().fg(color)
    }

    #[test]
    fn layers_lie_over_each_other() {
        let syntax = [Run::new(0..3, style(Color::Blue)), Run::new(4..5, style(Color::Red))];
        let search = [Run::new(2..4, Style::new().bg(Color::Yellow))];
        let layers: [&[Run]; 2] = [&syntax, &search];
        let painted = Painted { layers: &layers, ..Painted::plain("def x") };
        let found = painted.window(0, 80, None);
        let expected = [
            ("de", style(Color::Blue)),
            ("f", style(Color::Blue).bg(Color::Yellow)),
            (" ", Style::new().bg(Color::Yellow)),
            ("x", style(Color::Red)),
        ];
        assert_eq!(found.spans, expected.map(|(text, style)| Span::styled(text.to_owned(), style)));
    }

    #[test]
    fn stand_ins_are_marked() {
        let painted = Painted { mark: style(Color::Red), ..Painted::plain("a\x1bb") };
        let spans = painted.window(0, 80, None).spans;
        assert_eq!(spans.len(), 3);
        assert_eq!((&*spans[1].content, spans[1].style), ("␛", style(Color::Red)));
    }

    #[test]
    fn rows_keep_their_styles() {
        let runs = [Run::new(6..11, style(Color::Blue))];
        let layers: [&[Run]; 1] = [&runs];
        let painted = Painted { layers: &layers, ..Painted::plain("hello world again") };
        let rows: Vec<_> = wrap_with(painted.line, 8, painted.tab).map(|row| painted.row(&row)).collect();
        assert_eq!(rows.iter().map(flat).collect::<Vec<_>>(), ["hello", "world", "again"]);
        assert_eq!(rows[1].spans[0].style, style(Color::Blue));
    }

    #[test]
    fn a_ruler_finds_places_in_a_long_line() {
        let line = "x世\t".repeat(40_000);
        let ruler = Ruler::of(&line, Tab::SOURCE);
        assert!(Ruler::pays(&line) && !Ruler::pays(&"x".repeat(1 << 20)));
        assert_eq!(ruler.columns(), 160_000);
        let (byte, column) = ruler.near(100_000).unwrap();
        assert!(column <= 100_000 && 100_000 - column < 2 * STRIDE, "{byte} {column}");
        let painted = Painted::plain(&line);
        assert_eq!(flat(&painted.window(100_000, 8, Some((byte, column)))), "x世 x世 ");
    }

    #[test]
    fn far_in_a_long_line_costs_what_is_seen() {
        let line = format!("{}é{}", "x".repeat(10 << 20), "y".repeat(10 << 20));
        let painted = Painted::plain(&line);
        assert_eq!(flat(&painted.window((10 << 20) - 2, 5, None)), "xxéyy");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_painted_window_shows_what_a_plain_one_does(line in "[a-c\tü世\u{301}\x1b ]{0,40}", from in 0..30usize, w in 0..30usize) {
            let painted = Painted::plain(&line);
            prop_assert_eq!(flat(&painted.window(from, w, None)), window(&line, from, w, Tab::SOURCE));
        }

        #[test]
        fn painted_rows_show_what_plain_ones_do(line in "[a-c\tü世 ]{0,60}", w in 2..30usize) {
            let painted = Painted::plain(&line);
            for row in wrap_with(&line, w, Tab::SOURCE) {
                prop_assert_eq!(flat(&painted.row(&row)), row.text);
            }
        }

        #[test]
        fn a_ruler_changes_nothing_that_is_seen(piece in "[a-c\tü世\u{301} ]{1,20}", n in 1..500usize, from in 0..9000usize) {
            let line = piece.repeat(n);
            let ruler = Ruler::of(&line, Tab::SOURCE);
            let painted = Painted::plain(&line);
            prop_assert_eq!(flat(&painted.window(from, 20, ruler.near(from))), flat(&painted.window(from, 20, None)));
        }
    }
}
