//! How parts of the screen are styled.
//!
//! # Architecture
//!
//! - [`Role`] (`role.rs`): what a part of the screen is; its dotted name falls back part by part.
//! - [`Theme`]: a style for each role, made from a theme file and those that it inherits, for a terminal's
//!   [`Depth`].
//! - `sheet.rs`: theme files and [`Problem`]s in them. The built-in ones lie in `themes/` at the top of the
//!   repository; a person's own lie beside their configuration.
//! - `color.rs`: [`Depth`], the nearest colour, and contrast.
//! - [`Glyphs`] (`glyphs.rs`): the signs, with Unicode and without.

pub mod color;
mod glyphs;
mod role;
mod sheet;

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::style::{Color, Modifier, Style};

pub use color::Depth;
pub use glyphs::{FrameGlyphs, Glyphs};
pub use role::Role;
pub use sheet::{Background, Problem};
use sheet::{Sheet, near, read};

/// The built-in themes by name.
pub const BUILT_IN: [(&str, &str); 5] = [
    ("dark", include_str!("../../../themes/dark.toml")),
    ("light", include_str!("../../../themes/light.toml")),
    ("high-contrast", include_str!("../../../themes/high-contrast.toml")),
    ("ansi16", include_str!("../../../themes/ansi16.toml")),
    ("mono", include_str!("../../../themes/mono.toml")),
];

/// Longer chains of `inherits` are taken for a mistake.
const CHAIN: usize = 8;

/// A style for each role, and the signs that go with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    name: String,
    background: Background,
    depth: Depth,
    styles: Vec<Style>,
    glyphs: Glyphs,
}

impl Theme {
    /// A built-in theme in full colour; the dark one where none has this name.
    pub fn built_in(name: &str) -> Self {
        Self::find(name, None).0
    }

    /// The theme of this name: `dir/name.toml`, or a built-in one. What is wrong with it is left out and told;
    /// where there is none, the dark one is given.
    pub fn find(name: &str, dir: Option<&Path>) -> (Self, Vec<Problem>) {
        Self::from_files(name, &|name| {
            let file = format!("{name}.toml");
            let plain = !name.contains(['/', '\\', '\0']) && !name.starts_with('.');
            let own = dir.filter(|_| plain).map(|dir| dir.join(&file));
            if let Some(path) = own
                && let Ok(bytes) = std::fs::read(&path)
            {
                return Some((path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned()));
            }
            let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
            Some((format!("themes/{file}"), (*text).to_owned()))
        })
    }

    /// As [`Theme::find`], with files from anywhere: `file` gives the path and the text of a theme by name.
    pub fn from_files(name: &str, file: &dyn Fn(&str) -> Option<(String, String)>) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut sheets: Vec<Sheet> = Vec::new();
        let mut next = Some((name.to_owned(), None));
        let mut seen = Vec::new();
        while let Some((name, from)) = next.take() {
            let from: Option<(String, usize)> = from;
            let problem = |what: String, hint: Option<String>| {
                let (file, line) = from.clone().map_or(("theme".to_owned(), None), |(file, line)| (file, Some(line)));
                Problem { file, line, what, hint }
            };
            // A person's theme may carry the name of the built-in one that it starts from.
            let again = seen.contains(&name);
            let found = if again { built_in_file(&name) } else { file(&name) };
            let circle = again && (found.is_none() || seen.iter().filter(|known| **known == name).count() > 1);
            if circle || sheets.len() >= CHAIN {
                problems.push(problem(format!("`inherits` comes back to `{name}`"), None));
                break;
            }
            let Some((path, text)) = found else {
                let known = BUILT_IN.iter().map(|(name, _)| *name);
                let hint = near(&name, known.clone())
                    .unwrap_or_else(|| format!("there are {}", known.collect::<Vec<_>>().join(", ")));
                problems.push(problem(format!("there is no theme `{name}`"), Some(hint)));
                if sheets.is_empty() && name != "dark" {
                    next = Some(("dark".to_owned(), None));
                }
                continue;
            };
            seen.push(name);
            let sheet = read(&path, &text, &mut problems);
            next = sheet.inherits.clone().map(|(parent, line)| (parent, Some((path, line))));
            sheets.push(sheet);
        }
        let mut theme = Self::from_sheets(&sheets, &mut problems);
        theme.name = seen.into_iter().next().unwrap_or_else(|| "dark".to_owned());
        (theme, problems)
    }

    /// From the most particular file to the most general.
    fn from_sheets(sheets: &[Sheet], problems: &mut Vec<Problem>) -> Self {
        let mut palette: BTreeMap<String, Color> = BTreeMap::new();
        let mut styles: BTreeMap<&str, Style> = BTreeMap::new();
        for sheet in sheets.iter().rev() {
            palette.extend(sheet.palette.clone());
        }
        for sheet in sheets.iter().rev() {
            for (name, spec) in &sheet.styles {
                let style = spec.style(&palette, |unknown| {
                    problems.push(Problem {
                        file: sheet.file.clone(),
                        line: Some(spec.line),
                        what: format!("no colour is called `{unknown}`"),
                        hint: near(unknown, palette.keys().map(String::as_str))
                            .or_else(|| Some("add it to `[palette]`, or write `#rrggbb`".into())),
                    });
                });
                styles.insert(name, style);
            }
        }
        let style = |role: &Role| role.names().find_map(|name| styles.get(name).copied()).unwrap_or_default();
        Self {
            name: String::new(),
            background: sheets.iter().find_map(|sheet| sheet.background).unwrap_or(Background::Dark),
            depth: Depth::True,
            styles: Role::ALL.iter().map(style).collect(),
            glyphs: Glyphs::UNICODE,
        }
    }

    /// The name of the theme that suits a terminal when a person chose none.
    pub fn suited(background: Background, depth: Depth) -> &'static str {
        match (depth, background) {
            (Depth::None, _) => "mono",
            (Depth::Ansi16, Background::Dark) => "ansi16",
            (_, Background::Dark) => "dark",
            (_, Background::Light) => "light",
        }
    }

    /// The same for a terminal with fewer colours: each becomes the nearest that is there. Where there are
    /// none, what had a ground of its own is reversed.
    pub fn at_depth(mut self, depth: Depth) -> Self {
        let full = self.clone();
        for style in &mut self.styles {
            let nearest = |color: Option<Color>| color.map(|color| depth.nearest(color));
            if depth == Depth::None {
                if style.bg.is_some_and(|bg| bg != Color::Reset) {
                    *style = style.add_modifier(Modifier::REVERSED);
                }
                (style.fg, style.bg, style.underline_color) = (None, None, None);
            } else {
                (style.fg, style.bg) = (nearest(style.fg), nearest(style.bg));
                // Coloured underlines came with the terminals that have all colours; others take them for something else.
                style.underline_color =
                    style.underline_color.filter(|_| depth == Depth::True).map(|c| depth.nearest(c));
            }
        }
        for (came, went) in [(Role::Added, Role::Removed), (Role::AddedWord, Role::RemovedWord)] {
            // What comes and what goes must not look alike.
            if self.style(came).bg != self.style(went).bg || self.style(came).bg.is_none() {
                continue;
            }
            for (role, plain) in [(came, Color::Green), (went, Color::Red)] {
                let Some(style) = self.styles.get_mut(role.place()) else { continue };
                if depth == Depth::Ansi256 {
                    style.bg = full.style(role).bg.map(color::nearest_hue);
                } else {
                    (style.fg, style.bg) = (Some(plain), None);
                }
            }
        }
        self.depth = self.depth.min(depth);
        self
    }

    /// The same for a terminal whose underlines have the colour of the text.
    pub fn without_underline_colors(mut self) -> Self {
        self.styles.iter_mut().for_each(|style| style.underline_color = None);
        self
    }

    /// The same with other signs.
    pub fn with_glyphs(mut self, glyphs: Glyphs) -> Self {
        self.glyphs = glyphs;
        self
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role.place()).copied().unwrap_or_default()
    }

    /// The signs to draw with.
    pub fn glyphs(&self) -> &Glyphs {
        &self.glyphs
    }

    /// The name that it was found by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The ground that it is made for.
    pub fn background(&self) -> Background {
        self.background
    }

    /// The colours that it may use.
    pub fn depth(&self) -> Depth {
        self.depth
    }
}

impl Default for Theme {
    fn default() -> Self {
        Self::built_in("dark")
    }
}

fn built_in_file(name: &str) -> Option<(String, String)> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Some((format!("themes/{name}.toml"), (*text).to_owned()))
}

#[cfg(test)]
mod tests;
