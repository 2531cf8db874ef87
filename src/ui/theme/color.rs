//! Colours: how deep a terminal goes, the nearest that it has, and whether two can be told apart.

use ratatui::style::Color;

/// How many colours a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// None: bold, dim, underline and reverse only.
    None,
    /// The sixteen that the person chose for the terminal.
    Ansi16,
    /// xterm's palette of 256.
    Ansi256,
    /// 24 bits.
    True,
}

impl Depth {
    /// What a terminal shows, from the environment that it set.
    ///
    /// `NO_COLOR` (not empty, <https://no-color.org>) wins; then `COLORTERM` and `TERM` are believed.
    /// `CLICOLOR_FORCE` (neither empty nor `0`) asks for colour even where `TERM` says that there is none.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set("NO_COLOR").is_some() {
            return Self::None;
        }
        let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let term = set("TERM").unwrap_or_default().to_ascii_lowercase();
        let colorterm = set("COLORTERM").unwrap_or_default().to_ascii_lowercase();
        let program = set("TERM_PROGRAM").unwrap_or_default();
        let truecolor_terms = ["kitty", "alacritty", "wezterm", "ghostty", "foot", "direct", "contour", "rio"];
        if term == "dumb" || (term.is_empty() && !cfg!(windows)) {
            return if forced { Self::Ansi16 } else { Self::None };
        }
        if matches!(&*colorterm, "truecolor" | "24bit")
            || truecolor_terms.iter().any(|name| term.contains(name))
            || set("WT_SESSION").is_some()
            || matches!(&*program, "iTerm.app" | "vscode" | "WezTerm" | "ghostty")
        {
            return Self::True;
        }
        let deep = ["256", "tmux", "screen", "xterm", "rxvt", "konsole", "gnome", "vte", "st-"];
        if program == "Apple_Terminal" || deep.iter().any(|name| term.contains(name)) {
            return Self::Ansi256;
        }
        Self::Ansi16
    }

    /// The nearest colour that is there; `Color::Reset` where there are none.
    pub fn nearest(self, color: Color) -> Color {
        match (self, color) {
            (Self::None, _) => Color::Reset,
            (Self::True, color) => color,
            (Self::Ansi256, Color::Rgb(r, g, b)) => Color::Indexed(nearest_256([r, g, b])),
            (Self::Ansi16, Color::Rgb(r, g, b)) => nearest_16([r, g, b]),
            (Self::Ansi16, Color::Indexed(i)) => nearest_16(indexed(i)),
            (_, color) => color,
        }
    }
}

/// The levels of each channel in xterm's cube of 216 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// xterm's first sixteen colours, in the order of their numbers.
const XTERM: [[u8; 3]; 16] = [
    [0, 0, 0],
    [205, 0, 0],
    [0, 205, 0],
    [205, 205, 0],
    [0, 0, 238],
    [205, 0, 205],
    [0, 205, 205],
    [229, 229, 229],
    [127, 127, 127],
    [255, 0, 0],
    [0, 255, 0],
    [255, 255, 0],
    [92, 92, 255],
    [255, 0, 255],
    [0, 255, 255],
    [255, 255, 255],
];

/// The sixteen, in the order of their numbers.
pub const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// The channels of a colour of xterm's palette.
pub fn indexed(i: u8) -> [u8; 3] {
    let level = |n: u8| CUBE.get(usize::from(n)).copied().unwrap_or_default();
    match i {
        0..16 => XTERM.get(usize::from(i)).copied().unwrap_or_default(),
        16..232 => [level((i - 16) / 36), level((i - 16) / 6 % 6), level((i - 16) % 6)],
        232.. => [8 + 10 * (i - 232); 3],
    }
}

/// The channels of any colour; `None` for the terminal's own.
pub fn channels(color: Color) -> Option<[u8; 3]> {
    match color {
        Color::Reset => None,
        Color::Rgb(r, g, b) => Some([r, g, b]),
        Color::Indexed(i) => Some(indexed(i)),
        named => NAMED.iter().position(|c| *c == named).and_then(|i| XTERM.get(i).copied()),
    }
}

/// Distance between two colours as eyes tell them apart, by "redmean" (Compuphase, "Colour metric").
fn distance(a: [u8; 3], b: [u8; 3]) -> i64 {
    let [ar, ag, ab] = a.map(i64::from);
    let [br, bg, bb] = b.map(i64::from);
    let mean = (ar + br) / 2;
    let (dr, dg, db) = (ar - br, ag - bg, ab - bb);
    (((512 + mean) * dr * dr) >> 8) + 4 * dg * dg + (((767 - mean) * db * db) >> 8)
}

/// The nearest of the 240 colours that every terminal shows alike.
fn nearest_256(rgb: [u8; 3]) -> u8 {
    (16..=255).min_by_key(|i| distance(rgb, indexed(*i))).unwrap_or(15)
}

/// The nearest of the 240 in which the same channel is the strongest: a dark red stays red, where the nearest of all is
/// grey.
pub fn nearest_hue(color: Color) -> Color {
    let Some(rgb) = channels(color) else { return color };
    let strongest = |rgb: [u8; 3]| (0..3).find(|at| (0..3).all(|other| other == *at || rgb[other] < rgb[*at]));
    let same = |i: &u8| strongest(indexed(*i)) == strongest(rgb);
    (16..=231).filter(same).min_by_key(|i| distance(rgb, indexed(*i))).map_or(color, Color::Indexed)
}

/// The nearest of the sixteen. A colour keeps its hue before its lightness: a pale red is red, not white.
fn nearest_16([r, g, b]: [u8; 3]) -> Color {
    let (max, min) = (r.max(g).max(b), r.min(g).min(b));
    let grey = u16::from(max - min) * 5 < u16::from(max);
    if grey {
        return match max {
            0..=40 => Color::Black,
            41..=150 => Color::DarkGray,
            151..=215 => Color::Gray,
            216.. => Color::White,
        };
    }
    // A channel counts as lit from the middle between the extremes.
    let middle = min / 2 + max / 2;
    let bright = max > 160;
    match (r > middle, g > middle, b > middle, bright) {
        (true, false, false, false) => Color::Red,
        (true, false, false, true) => Color::LightRed,
        (false, true, false, false) => Color::Green,
        (false, true, false, true) => Color::LightGreen,
        (true, true, false, false) => Color::Yellow,
        (true, true, false, true) => Color::LightYellow,
        (false, false, true, false) => Color::Blue,
        (false, false, true, true) => Color::LightBlue,
        (true, false, true, false) => Color::Magenta,
        (true, false, true, true) => Color::LightMagenta,
        (false, true, true, false) => Color::Cyan,
        (false, true, true, true) => Color::LightCyan,
        (_, _, _, false) => Color::DarkGray,
        (_, _, _, true) => Color::White,
    }
}

/// Relative luminance, 0 to 1 (WCAG 2.1, "relative luminance").
pub fn luminance(rgb: [u8; 3]) -> f64 {
    let [r, g, b] = rgb.map(|channel| {
        let c = f64::from(channel) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// Contrast ratio, 1 to 21 (WCAG 2.1, "contrast ratio"). Text wants 4.5, what is only decoration 3.
pub fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(pairs: &[(&str, &str)]) -> Depth {
        Depth::detect(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_depth_comes_from_the_environment() {
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Depth::True);
        assert_eq!(depth(&[("TERM", "xterm-256color")]), Depth::Ansi256);
        assert_eq!(depth(&[("TERM", "tmux")]), Depth::Ansi256);
        assert_eq!(depth(&[("TERM", "xterm-kitty")]), Depth::True);
        assert_eq!(depth(&[("TERM", "linux")]), Depth::Ansi16);
        assert_eq!(depth(&[("TERM", "dumb")]), Depth::None);
        assert_eq!(depth(&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")]), Depth::Ansi16);
        assert_eq!(depth(&[("TERM", "xterm"), ("COLORTERM", "24bit"), ("NO_COLOR", "1")]), Depth::None);
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]), Depth::Ansi256);
    }

    #[test]
    fn a_colour_becomes_the_nearest_there_is() {
        let red = Color::Rgb(0xf7, 0x76, 0x8e);
        assert_eq!(Depth::True.nearest(red), red);
        assert_eq!(Depth::Ansi256.nearest(Color::Rgb(255, 135, 0)), Color::Indexed(208));
        assert_eq!(Depth::Ansi256.nearest(Color::Rgb(8, 8, 8)), Color::Indexed(232));
        assert_eq!(Depth::Ansi16.nearest(red), Color::LightRed);
        assert_eq!(Depth::Ansi16.nearest(Color::Indexed(208)), Color::LightYellow);
        assert_eq!(Depth::Ansi16.nearest(Color::Rgb(0x66, 0x6e, 0x74)), Color::DarkGray);
        assert_eq!(Depth::None.nearest(red), Color::Reset);
        assert_eq!(Depth::Ansi16.nearest(Color::Blue), Color::Blue);
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        assert!((contrast([0, 0, 0], [255, 255, 255]) - 21.0).abs() < 1e-9);
        assert!((contrast([0x77; 3], [255; 3]) - 4.478).abs() < 0.001);
    }
}
