//! HTML that a step shows, as text: tables as columns, all else as its words.
//!
//! What comes in is hostile and may be no HTML at all: everything is bounded, nothing is fetched or run, and what is
//! left goes through [`crate::ui::view::text`] like any other text.

use unicode_width::UnicodeWidthStr;

/// Most rows and columns of a table, and most columns of the screen for a cell.
const ROWS: usize = 2_000;
const COLUMNS: usize = 60;
const CELL: usize = 40;
/// Most bytes that are looked at.
const LONGEST: usize = 8 << 20;

/// A line of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The head of a table.
    Head(String),
    /// A row of a table, or a line of text.
    Text(String),
    /// The line under the head of a table, of so many columns.
    Rule(usize),
}

/// HTML as lines of text.
pub fn lines(html: &str) -> Vec<Line> {
    let mut reader = Reader::default();
    let mut rest = cut(html, LONGEST);
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        reader.text(text);
        if let Some(comment) = tag.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let Some((inner, after)) = tag.get(1..).and_then(|tag| tag.split_once('>')) else {
            rest = "";
            break;
        };
        rest = after;
        let name: String = inner.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if matches!(name.as_str(), "style" | "script" | "head" | "svg") && !inner.starts_with('/') {
            // Its content is no text.
            let end = format!("</{name}");
            rest = match find_ignoring_case(rest, &end) {
                Some(at) => rest.get(at..).and_then(|rest| rest.split_once('>')).map_or("", |(_, rest)| rest),
                None => "",
            };
            continue;
        }
        reader.tag(&name, inner);
    }
    reader.text(rest);
    reader.end()
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).position(|part| part.eq_ignore_ascii_case(wanted.as_bytes()))
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[derive(Debug, Default)]
struct Reader {
    lines: Vec<Line>,
    /// The text that is being read, outside of cells.
    text: String,
    table: Option<Table>,
}

#[derive(Debug, Default)]
struct Table {
    rows: Vec<Row>,
    cell: Option<String>,
    more: usize,
}

#[derive(Debug, Default)]
struct Row {
    head: bool,
    cells: Vec<String>,
}

impl Reader {
    fn text(&mut self, text: &str) {
        let into = match &mut self.table {
            None => &mut self.text,
            Some(table) => match &mut table.cell {
                Some(cell) => cell,
                None => return,
            },
        };
        into.push_str(&unescaped(text));
    }

    fn tag(&mut self, name: &str, inner: &str) {
        let closes = inner.starts_with('/');
        match (name, &mut self.table) {
            ("table", None) if !closes => {
                self.flush();
                self.table = Some(Table::default());
            }
            ("table", Some(_)) if closes => self.close_table(),
            ("tr" | "td" | "th" | "thead" | "tbody", Some(table)) => {
                table.close_cell();
                match name {
                    "tr" if !closes => table.open_row(),
                    "td" | "th" if !closes => {
                        if table.rows.is_empty() {
                            table.open_row();
                        }
                        let blanks = number_of(inner, "colspan").unwrap_or(1).clamp(1, COLUMNS) - 1;
                        if let Some(row) = table.rows.last_mut() {
                            row.head |= name == "th" && row.cells.is_empty();
                            row.head &= name == "th" || row.cells.is_empty();
                            // A wide cell stands over its last column.
                            let free = COLUMNS.saturating_sub(row.cells.len());
                            row.cells.extend(std::iter::repeat_n(String::new(), blanks.min(free)));
                        }
                        table.cell = Some(String::new());
                    }
                    _ => {}
                }
            }
            ("br" | "p" | "div" | "li" | "h1" | "h2" | "h3" | "h4" | "ul" | "ol" | "pre", None) => self.flush(),
            (_, Some(table)) => {
                if let Some(cell) = &mut table.cell {
                    cell.push(' ');
                }
            }
            _ => {}
        }
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let words = words(&text);
        if !words.is_empty() {
            self.lines.push(Line::Text(words));
        }
    }

    fn close_table(&mut self) {
        if let Some(mut table) = self.table.take() {
            table.close_cell();
            self.lines.extend(table.lines());
        }
    }

    fn end(mut self) -> Vec<Line> {
        self.close_table();
        self.flush();
        self.lines
    }
}

impl Table {
    fn open_row(&mut self) {
        if self.rows.len() < ROWS {
            self.rows.push(Row::default());
        } else {
            self.more += 1;
        }
    }

    fn close_cell(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        if self.more == 0
            && let Some(row) = self.rows.last_mut()
            && row.cells.len() < COLUMNS
        {
            row.cells.push(shortened(words(&cell)));
        }
    }

    fn lines(self) -> Vec<Line> {
        let count = self.rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let cell = |row: &Row, at: usize| row.cells.get(at).cloned().unwrap_or_default();
        let is_number = |text: &str| text.parse::<f64>().is_ok() || text.is_empty() || text == "NaN" || text == "...";
        let columns: Vec<(usize, bool)> = (0..count)
            .map(|at| {
                let width = self.rows.iter().map(|row| cell(row, at).width()).max().unwrap_or(0);
                let body = self.rows.iter().filter(|row| !row.head);
                (width, body.map(|row| cell(row, at)).all(|text| is_number(&text)))
            })
            .collect();
        let mut lines = Vec::new();
        let mut ruled = false;
        for row in self.rows.iter().filter(|row| !row.cells.is_empty()) {
            let line: Vec<String> =
                columns.iter().enumerate().map(|(at, (width, right))| padded(&cell(row, at), *width, *right)).collect();
            let line = line.join("  ").trim_end().to_owned();
            if !row.head && !ruled && !lines.is_empty() {
                let widths = columns.iter().map(|(width, _)| width + 2).sum::<usize>().saturating_sub(2);
                lines.push(Line::Rule(widths));
            }
            ruled |= !row.head;
            lines.push(if row.head { Line::Head(line) } else { Line::Text(line) });
        }
        if self.more > 0 {
            lines.push(Line::Text(format!("{} more rows", self.more)));
        }
        lines
    }
}

fn padded(text: &str, width: usize, right: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(text.width()));
    if right { blanks + text } else { text.to_owned() + &blanks }
}

fn shortened(text: String) -> String {
    if text.width() <= CELL {
        return text;
    }
    let mut short = String::new();
    for c in text.chars() {
        if short.width() + 2 > CELL {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// The words of a text, one blank between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number that a tag gives an attribute.
fn number_of(tag: &str, attribute: &str) -> Option<usize> {
    let after = tag.get(find_ignoring_case(tag, attribute)? + attribute.len()..)?;
    let digits: String =
        after.trim_start_matches(['=', '"', '\'', ' ']).chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// A text in which what `&…;` stands for is put in its place.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let found = from.get(1..).and_then(|name| name.split_once(';')).filter(|(name, _)| name.len() <= 8);
        let meant = found.and_then(|(name, after)| Some((entity(name)?, after)));
        match meant {
            Some((c, after)) => {
                out.push(c);
                rest = after;
            }
            None => {
                out.push('&');
                rest = from.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "times" => '×',
        "hellip" => '…',
        "ndash" => '–',
        "mdash" => '—',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(html: &str) -> String {
        let line = |line: Line| match line {
            Line::Head(text) => format!("# {text}\n"),
            Line::Text(text) => format!("  {text}\n"),
            Line::Rule(width) => format!("# {}\n", "-".repeat(width)),
        };
        lines(html).into_iter().map(line).collect()
    }

    #[test]
    fn a_table_stands_in_columns() {
        let html = "<div><style scoped>\n .dataframe tbody { color: red }\n</style>\n<table border=\"1\" class=\"dataframe\">\
            <thead><tr style=\"text-align: right;\"><th></th><th>city</th><th>rides</th></tr></thead>\
            <tbody><tr><th>0</th><td>K&ouml;ln &amp; Bonn</td><td>12</td></tr>\
            <tr><th>1</th><td><b>名古屋</b></td><td>1.5</td></tr></tbody></table>\n<p>2 rows &times; 2 columns</p></div>";
        insta::assert_snapshot!(shown(html), @r"
        #    city              rides
        # --------------------------
          0  K&ouml;ln & Bonn     12
          1  名古屋              1.5
          2 rows × 2 columns
        ");
    }

    #[test]
    fn what_is_no_table_is_its_words() {
        assert_eq!(shown("<h1>All  well</h1>a<br>b <i>c</i><script>alert('no')</script>"), "  All well\n  a\n  b c\n");
        assert_eq!(shown("<table><tr><td>open"), "  open\n");
        assert_eq!(shown("1 < 2"), "  1\n");
    }

    proptest! {
        #[test]
        fn nothing_that_comes_is_too_odd(html in "(<(table|tr|td|th|/tr|/table|style|!--|p)( colspan=[0-9]{1,9})?>?|&[a-z#0-9]{0,9};|[<>&a ]){0,40}") {
            for line in lines(&html) {
                prop_assert!(!matches!(line, Line::Head(text) | Line::Text(text) if text.contains('\n')));
            }
        }
    }
}
