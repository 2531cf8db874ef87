//! A theme file: what it says, and what is wrong with it.
//!
//! ```toml
//! inherits = "dark"
//! background = "dark"
//!
//! [palette]
//! sky = "#82aaff"
//!
//! [styles]
//! "border.focused" = "sky"
//! "status.failed" = { fg = "#ff7a85", bold = true }
//! ```
//!
//! What is wrong is left out and told; it never keeps the interface from starting.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use ratatui::style::{Color, Modifier, Style};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::color::NAMED;
use super::role::Role;

/// Whether the terminal's own background is dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Background {
    /// Light text on a dark ground.
    Dark,
    /// Dark text on a light ground.
    Light,
}

/// Something wrong in a theme file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// A colour as a file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Paint {
    /// A colour.
    Color(Color),
    /// A name: of the palette of this file or of one that inherits it, else of one of the terminal's own.
    Named(String),
}

/// A style as a file gives it, colours still by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spec {
    pub fg: Option<Paint>,
    pub bg: Option<Paint>,
    pub underline: Option<Paint>,
    pub modifiers: Modifier,
    /// Where it stands, for what is found out later.
    pub line: usize,
}

impl Spec {
    /// The style, with names looked up in a palette; names that are not there are given to `unknown`.
    pub fn style(&self, palette: &BTreeMap<String, Color>, mut unknown: impl FnMut(&str)) -> Style {
        let mut find = |paint: &Option<Paint>| match paint {
            None => None,
            Some(Paint::Color(color)) => Some(*color),
            Some(Paint::Named(name)) => {
                let found = palette.get(name).copied().or_else(|| named(name));
                if found.is_none() {
                    unknown(name);
                }
                found
            }
        };
        let mut style = Style::new().add_modifier(self.modifiers);
        style.fg = find(&self.fg);
        style.bg = find(&self.bg);
        style.underline_color = find(&self.underline);
        style
    }
}

/// A file read.
#[derive(Debug, Clone, Default)]
pub(super) struct Sheet {
    pub file: String,
    pub inherits: Option<(String, usize)>,
    pub background: Option<Background>,
    pub palette: BTreeMap<String, Color>,
    pub styles: BTreeMap<String, Spec>,
}

/// Reads a file's text.
pub(super) fn read(file: &str, text: &str, problems: &mut Vec<Problem>) -> Sheet {
    let before = problems.len();
    let mut reader = Reader { file, text, problems };
    let mut sheet = Sheet { file: file.to_owned(), ..Sheet::default() };
    match DeTable::parse(text) {
        Ok(table) => reader.sheet(table.get_ref(), &mut sheet),
        Err(error) => reader.problem(error.span(), format!("not TOML: {}", error.message()), None),
    }
    if let Some(found) = problems.get_mut(before..) {
        found.sort_by_key(|problem| problem.line);
    }
    sheet
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, span: Option<Range<usize>>, what: String, hint: Option<String>) {
        let line = span.map(|span| self.line(span.start));
        self.problems.push(Problem { file: self.file.to_owned(), line, what, hint });
    }

    fn line(&self, at: usize) -> usize {
        1 + self.text.bytes().take(at).filter(|b| *b == b'\n').count()
    }

    fn sheet(&mut self, table: &DeTable<'_>, sheet: &mut Sheet) {
        for (key, value) in table {
            match &**key.get_ref() {
                "inherits" => {
                    let line = self.line(value.span().start);
                    sheet.inherits = self.string(value).map(|name| (name, line));
                }
                "background" => match self.string(value).as_deref() {
                    Some("dark") => sheet.background = Some(Background::Dark),
                    Some("light") => sheet.background = Some(Background::Light),
                    Some(other) => {
                        let what = format!("`background` is `{other}`");
                        self.problem(Some(value.span()), what, Some("write `dark` or `light`".into()));
                    }
                    None => {}
                },
                // For people who read the file.
                "name" | "about" => {}
                "palette" => {
                    for (name, value) in self.table(value) {
                        let paint = self.paint(value);
                        let color = match &paint {
                            Some(Paint::Color(color)) => Some(*color),
                            Some(Paint::Named(other)) => named(other),
                            None => continue,
                        };
                        match (color, paint) {
                            (Some(color), _) => drop(sheet.palette.insert(name.get_ref().to_string(), color)),
                            (None, Some(Paint::Named(other))) => {
                                let what = format!("`{other}` is no colour");
                                let hint = "write `#rrggbb`, a number from 0 to 255, or a name like `bright-red`";
                                self.problem(Some(value.span()), what, Some(hint.into()));
                            }
                            (None, _) => {}
                        }
                    }
                }
                "styles" => {
                    for (name, value) in self.table(value) {
                        let role = name.get_ref();
                        if !Role::is_name(role) {
                            let known = Role::ALL.iter().flat_map(|role| role.names());
                            let what = format!("no part of the screen is called `{role}`");
                            self.problem(Some(name.span()), what, near(role, known));
                            continue;
                        }
                        let spec = self.spec(value);
                        sheet.styles.insert(role.to_string(), spec);
                    }
                }
                other => {
                    let known = ["inherits", "background", "palette", "styles", "name", "about"];
                    let what = format!("a theme has no `{other}`");
                    self.problem(Some(key.span()), what, near(other, known));
                }
            }
        }
    }

    fn spec(&mut self, value: &Spanned<DeValue<'_>>) -> Spec {
        let mut spec = Spec { line: self.line(value.span().start), ..Spec::default() };
        let DeValue::Table(table) = value.get_ref() else {
            spec.fg = self.paint(value);
            return spec;
        };
        for (key, value) in table {
            let modifier = match &**key.get_ref() {
                "fg" => {
                    spec.fg = self.paint(value);
                    continue;
                }
                "bg" => {
                    spec.bg = self.paint(value);
                    continue;
                }
                "underline" => {
                    spec.underline = self.paint(value);
                    spec.modifiers |= Modifier::UNDERLINED;
                    continue;
                }
                "bold" => Modifier::BOLD,
                "dim" => Modifier::DIM,
                "italic" => Modifier::ITALIC,
                "underlined" => Modifier::UNDERLINED,
                "reversed" => Modifier::REVERSED,
                "crossed-out" => Modifier::CROSSED_OUT,
                other => {
                    let known =
                        ["fg", "bg", "underline", "bold", "dim", "italic", "underlined", "reversed", "crossed-out"];
                    let what = format!("a style has no `{other}`");
                    let hint = near(other, known).unwrap_or_else(|| format!("it may have {}", known.join(", ")));
                    self.problem(Some(key.span()), what, Some(hint));
                    continue;
                }
            };
            match value.get_ref() {
                DeValue::Boolean(true) => spec.modifiers |= modifier,
                DeValue::Boolean(false) => spec.modifiers -= modifier,
                _ => self.problem(Some(value.span()), "expected `true` or `false`".into(), None),
            }
        }
        spec
    }

    fn string(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            other => {
                self.problem(Some(value.span()), format!("expected text, found {}", other.type_str()), None);
                None
            }
        }
    }

    fn table<'v>(
        &mut self,
        value: &'v Spanned<DeValue<'_>>,
    ) -> Vec<(&'v Spanned<Cow<'v, str>>, &'v Spanned<DeValue<'v>>)> {
        match value.get_ref() {
            DeValue::Table(table) => table.iter().collect(),
            other => {
                self.problem(Some(value.span()), format!("expected a table, found {}", other.type_str()), None);
                Vec::new()
            }
        }
    }

    fn paint(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Paint> {
        match value.get_ref() {
            DeValue::Integer(number) => match u8::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Some(Paint::Color(Color::Indexed(number))),
                Err(_) => {
                    let hint = "a colour's number lies between 0 and 255";
                    self.problem(Some(value.span()), format!("{} is no colour", number.as_str()), Some(hint.into()));
                    None
                }
            },
            DeValue::String(text) => match parse(text) {
                Ok(paint) => Some(paint),
                Err(what) => {
                    self.problem(Some(value.span()), what, Some("write it as `#rrggbb`".into()));
                    None
                }
            },
            other => {
                self.problem(Some(value.span()), format!("expected a colour, found {}", other.type_str()), None);
                None
            }
        }
    }
}

/// A colour by its channels; any other word is the name of one.
fn parse(text: &str) -> Result<Paint, String> {
    if let Some(digits) = text.strip_prefix('#') {
        let number = u32::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is no colour"))?;
        let [_, r, g, b] = number.to_be_bytes();
        return match digits.len() {
            6 => Ok(Paint::Color(Color::Rgb(r, g, b))),
            3 => {
                let channel = |shift: u32| (((number >> shift) & 0xf) * 17).to_be_bytes()[3];
                Ok(Paint::Color(Color::Rgb(channel(8), channel(4), channel(0))))
            }
            _ => Err(format!("`{text}` is no colour")),
        };
    }
    Ok(Paint::Named(text.to_owned()))
}

/// One of the terminal's own colours.
fn named(name: &str) -> Option<Color> {
    const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    if name == "default" {
        return Some(Color::Reset);
    }
    let (first, word) = name.strip_prefix("bright-").map_or((0, name), |word| (NAMES.len(), word));
    let place = NAMES.iter().position(|known| *known == word)?;
    NAMED.get(first + place).copied()
}

/// `did you mean …?` where a known name is near.
pub(super) fn near<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let best = known.into_iter().map(|name| (edits(word, name), name)).min()?;
    (best.0 <= 1 + word.chars().count() / 4).then(|| format!("did you mean `{}`?", best.1))
}

/// Levenshtein distance in characters.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut next = vec![left];
        for (to, pair) in b.iter().zip(row.windows(2)) {
            let [diagonal, above] = pair else { continue };
            left = (diagonal + usize::from(from != *to)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        read("my.toml", text, &mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn styles_are_words_or_tables() {
        let mut problems = Vec::new();
        let sheet = read(
            "my.toml",
            "[styles]\n\"border\" = \"#123\"\n\"match\" = { fg = 208, bg = \"sky\", bold = true }\n",
            &mut problems,
        );
        assert_eq!(problems, []);
        assert_eq!(sheet.styles["border"].fg, Some(Paint::Color(Color::Rgb(0x11, 0x22, 0x33))));
        assert_eq!(sheet.styles["match"].fg, Some(Paint::Color(Color::Indexed(208))));
        assert_eq!(sheet.styles["match"].bg, Some(Paint::Named("sky".into())));
        assert_eq!(sheet.styles["match"].modifiers, Modifier::BOLD);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_and_what_is_near() {
        insta::assert_snapshot!(problems(
            "inherit = \"dark\"\nbackground = \"grey\"\n[palette]\nred = \"#12345\"\nx = \"what\"\n[styles]\n\
             \"border.focussed\" = \"red\"\n\"title\" = { gf = \"red\", bold = 1 }\n\"match\" = 300\n\"hint\" = 1.5\n"
        ).join("\n"), @r"
        my.toml:1: a theme has no `inherit` (did you mean `inherits`?)
        my.toml:2: `background` is `grey` (write `dark` or `light`)
        my.toml:4: `#12345` is no colour (write it as `#rrggbb`)
        my.toml:5: `what` is no colour (write `#rrggbb`, a number from 0 to 255, or a name like `bright-red`)
        my.toml:7: no part of the screen is called `border.focussed` (did you mean `border.focused`?)
        my.toml:8: expected `true` or `false`
        my.toml:8: a style has no `gf` (it may have fg, bg, underline, bold, dim, italic, underlined, reversed, crossed-out)
        my.toml:9: 300 is no colour (a colour's number lies between 0 and 255)
        my.toml:10: expected a colour, found float
        ");
        insta::assert_snapshot!(problems("[styles\n").join("\n"), @"my.toml:1: not TOML: unclosed table, expected `]`");
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("border", "boarder"), 1);
        assert_eq!(edits("", "ab"), 2);
        assert_eq!(edits("kitten", "sitting"), 3);
    }
}
