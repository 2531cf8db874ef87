//! A terminal's screen as an SVG picture, exact to the cell.
//!
//! Every character has its own place, so that no font can shift a column; lines of boxes and blocks are drawn as shapes,
//! so that they join whatever the font.

#![allow(dead_code, reason = "each user takes a part of it")]

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// Size of a cell; the letters are as wide as their cell at `FONT_SIZE` in the usual fonts.
const CELL: (f32, f32) = (9.0, 19.0);
const FONT_SIZE: f32 = 15.0;
const FONTS: &str = "'JetBrains Mono', 'DejaVu Sans Mono', 'Noto Sans Mono CJK JP', monospace";

/// Around the cells, and the bar above them.
const MARGIN: f32 = 14.0;
const BAR: f32 = 32.0;

/// Grounds and colours of the terminal that is pictured.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub ground: [u8; 3],
    pub text: [u8; 3],
    pub bar: [u8; 3],
    pub title: [u8; 3],
    pub sixteen: [[u8; 3]; 16],
}

impl Look {
    pub const DARK: Self = Self {
        ground: [0x15, 0x18, 0x22],
        text: [0xd5, 0xda, 0xe8],
        bar: [0x1f, 0x23, 0x30],
        title: [0x8a, 0x92, 0xa8],
        sixteen: [
            [0x3a, 0x40, 0x52],
            [0xf0, 0x71, 0x78],
            [0x8f, 0xd0, 0x7f],
            [0xe6, 0xc0, 0x6a],
            [0x6f, 0x9c, 0xf5],
            [0xbd, 0x93, 0xf9],
            [0x6c, 0xc7, 0xd6],
            [0xc3, 0xc9, 0xd8],
            [0x7d, 0x86, 0xa0],
            [0xff, 0x8a, 0x94],
            [0xa6, 0xda, 0x95],
            [0xff, 0xd7, 0x87],
            [0x8f, 0xb4, 0xff],
            [0xd2, 0xb0, 0xff],
            [0x8c, 0xe0, 0xee],
            [0xf1, 0xf4, 0xfb],
        ],
    };

    pub const BLACK: Self = Self { ground: [0; 3], text: [0xff; 3], bar: [0x1c, 0x1e, 0x26], ..Self::DARK };

    pub const LIGHT: Self = Self {
        ground: [0xfb, 0xfb, 0xfd],
        text: [0x24, 0x29, 0x36],
        bar: [0xe9, 0xeb, 0xf1],
        title: [0x6a, 0x71, 0x83],
        ..Self::DARK
    };
}

/// A picture of a screen, as SVG.
pub fn svg(screen: &Screen, title: &str, look: &Look) -> String {
    let (rows, columns) = screen.size();
    let (width, height) = (f32::from(columns) * CELL.0, f32::from(rows) * CELL.1);
    let (full_width, full_height) = (width + 2.0 * MARGIN, height + BAR + MARGIN);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{full_width}\" height=\"{full_height}\" \
         viewBox=\"0 0 {full_width} {full_height}\">\n\
         <rect width=\"{full_width}\" height=\"{full_height}\" rx=\"9\" fill=\"{ground}\"/>\n\
         <path d=\"M0 {BAR}V9a9 9 0 0 1 9-9H{right}a9 9 0 0 1 9 9V{BAR}z\" fill=\"{bar}\"/>\n\
         <circle cx=\"20\" cy=\"16\" r=\"5.5\" fill=\"#ff6159\"/><circle cx=\"38\" cy=\"16\" r=\"5.5\" fill=\"#ffbd2e\"/>\
         <circle cx=\"56\" cy=\"16\" r=\"5.5\" fill=\"#28c941\"/>\n\
         <g font-family=\"{FONTS}\" font-size=\"{FONT_SIZE}\" xml:space=\"preserve\">\n\
         <text x=\"{middle}\" y=\"21\" text-anchor=\"middle\" font-size=\"13\" fill=\"{title_color}\">{title}</text>\n",
        ground = hex(look.ground),
        bar = hex(look.bar),
        right = full_width - 9.0,
        middle = full_width / 2.0,
        title_color = hex(look.title),
        title = escape(title),
    );
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {})\">", BAR + 7.0);
    for row in 0..rows {
        grounds(&mut out, screen, row, columns, look);
        letters(&mut out, screen, row, columns, look);
    }
    out.push_str("</g>\n</g>\n</svg>\n");
    out
}

/// The colours of a cell as it is seen: letters, ground.
fn colors(cell: &Cell, look: &Look) -> ([u8; 3], Option<[u8; 3]>) {
    let color = |color: Color| match color {
        Color::Default => None,
        Color::Rgb(r, g, b) => Some([r, g, b]),
        Color::Idx(i) => Some(indexed(i, look)),
    };
    let (mut fg, mut bg) = (color(cell.fgcolor()), color(cell.bgcolor()));
    if cell.inverse() {
        (fg, bg) = (bg.or(Some(look.ground)), fg.or(Some(look.text)));
    }
    let mut fg = fg.unwrap_or(look.text);
    if cell.dim() {
        let under = bg.unwrap_or(look.ground);
        for (channel, under) in fg.iter_mut().zip(under) {
            *channel = u8::try_from((u16::from(*channel) * 3 + u16::from(under) * 2) / 5).unwrap();
        }
    }
    (fg, bg)
}

/// xterm's palette, with the terminal's own sixteen.
fn indexed(i: u8, look: &Look) -> [u8; 3] {
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match i {
        0..16 => look.sixteen[usize::from(i)],
        16..232 => [level((i - 16) / 36), level((i - 16) / 6 % 6), level((i - 16) % 6)],
        232.. => [8 + 10 * (i - 232); 3],
    }
}

fn grounds(out: &mut String, screen: &Screen, row: u16, columns: u16, look: &Look) {
    let ground = |column: u16| screen.cell(row, column).and_then(|cell| colors(cell, look).1);
    let mut column = 0;
    while column < columns {
        let Some(color) = ground(column) else {
            column += 1;
            continue;
        };
        let start = column;
        while column < columns && ground(column) == Some(color) {
            column += 1;
        }
        // A little wider than its cells, so that no seam shows between neighbours.
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
            f32::from(start) * CELL.0,
            f32::from(row) * CELL.1,
            f32::from(column - start) * CELL.0 + 0.2,
            CELL.1 + 0.2,
            hex(color)
        );
    }
}

fn letters(out: &mut String, screen: &Screen, row: u16, columns: u16, look: &Look) {
    let baseline = f32::from(row) * CELL.1 + 14.2;
    let style = |cell: &Cell| (colors(cell, look).0, cell.bold(), cell.italic(), cell.underline());
    let mut column = 0;
    while column < columns {
        let Some(cell) = screen.cell(row, column) else { break };
        let (color, bold, italic, underline) = style(cell);
        let x = f32::from(column) * CELL.0;
        if let Some(shape) = cell.contents().chars().next().and_then(|c| shape(c, x, f32::from(row) * CELL.1)) {
            let _ = writeln!(out, "<g stroke=\"{0}\" fill=\"{0}\">{shape}</g>", hex(color));
            column += 1;
            continue;
        }
        let (start, mut text, mut places) = (column, String::new(), String::new());
        while column < columns {
            let Some(cell) = screen.cell(row, column) else { break };
            let contents = cell.contents();
            let drawn = contents.chars().next().is_some_and(|c| shape(c, 0.0, 0.0).is_some());
            if style(cell) != (color, bold, italic, underline) || drawn {
                break;
            }
            if !cell.is_wide_continuation() {
                let contents = if contents.is_empty() { " " } else { contents };
                // One place for each character of a cluster would tear it apart: only its first has one.
                let _ = write!(places, "{} ", f32::from(column) * CELL.0);
                places.extend(contents.chars().skip(1).map(|_| format!("{} ", f32::from(column) * CELL.0)));
                text.push_str(contents);
            }
            column += 1;
        }
        if underline {
            let y = baseline + 2.5;
            let _ = writeln!(
                out,
                "<path d=\"M{x} {y}H{}\" stroke=\"{}\" stroke-width=\"1\"/>",
                f32::from(column) * CELL.0,
                hex(color)
            );
        }
        if !text.trim().is_empty() {
            let blank_tail = text.len() - text.trim_end().len();
            text.truncate(text.len() - blank_tail);
            let places: Vec<&str> = places.split_whitespace().take(text.chars().count()).collect();
            let weight = if bold { " font-weight=\"700\"" } else { "" };
            let slant = if italic { " font-style=\"italic\"" } else { "" };
            let (places, color) = (places.join(" "), hex(color));
            let text = escape(&text);
            let _ =
                writeln!(out, "<text x=\"{places}\" y=\"{baseline}\" fill=\"{color}\"{weight}{slant}>{text}</text>");
        }
        column = column.max(start + 1);
    }
}

/// Lines of boxes (U+2500 to U+257F, those that are used) as arms up, right, down and left: 0 none, 1 light, 2 heavy.
fn arms(c: char) -> Option<[u8; 4]> {
    Some(match c {
        '─' | '╌' | '┄' | '╶' | '╴' => [0, u8::from(c != '╴'), 0, u8::from(c != '╶')],
        '━' => [0, 2, 0, 2],
        '│' | '╎' | '┆' => [1, 0, 1, 0],
        '╵' => [1, 0, 0, 0],
        '╷' => [0, 0, 1, 0],
        '┃' => [2, 0, 2, 0],
        '┌' | '╭' => [0, 1, 1, 0],
        '┐' | '╮' => [0, 0, 1, 1],
        '└' | '╰' => [1, 1, 0, 0],
        '┘' | '╯' => [1, 0, 0, 1],
        '┏' => [0, 2, 2, 0],
        '┓' => [0, 0, 2, 2],
        '┗' => [2, 2, 0, 0],
        '┛' => [2, 0, 0, 2],
        '├' => [1, 1, 1, 0],
        '┤' => [1, 0, 1, 1],
        '┬' => [0, 1, 1, 1],
        '┴' => [1, 1, 0, 1],
        '┼' => [1, 1, 1, 1],
        '┣' => [2, 2, 2, 0],
        '┫' => [2, 0, 2, 2],
        '┳' => [0, 2, 2, 2],
        '┻' => [2, 2, 0, 2],
        '╋' => [2, 2, 2, 2],
        '┠' => [2, 1, 2, 0],
        '┨' => [2, 0, 2, 1],
        _ => return None,
    })
}

/// A character that is drawn as a shape, with its top left corner at a point.
fn shape(c: char, x: f32, y: f32) -> Option<String> {
    let (w, h) = CELL;
    let (cx, cy) = (x + w / 2.0, y + h / 2.0);
    let block = |left: f32, top: f32, right: f32, bottom: f32| {
        let (x, y) = (x + left * w, y + top * h);
        let (width, height) = ((right - left) * w + 0.1, (bottom - top) * h + 0.1);
        Some(format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" stroke=\"none\"/>"))
    };
    match c {
        '█' => return block(0.0, 0.0, 1.0, 1.0),
        '▀' => return block(0.0, 0.0, 1.0, 0.5),
        '▔' => return block(0.0, 0.0, 1.0, 0.125),
        '▐' => return block(0.5, 0.0, 1.0, 1.0),
        '▁'..='▇' => return block(0.0, 1.0 - f32::from(eighth(c, '▁')) / 8.0, 1.0, 1.0),
        '▉'..='▏' => return block(0.0, 0.0, 1.0 - f32::from(eighth(c, '▉')) / 8.0, 1.0),
        _ => {}
    }
    if let Some(sign) = sign(c, cx, cy) {
        return Some(sign);
    }
    let arms = arms(c)?;
    if matches!(c, '╭' | '╮' | '╰' | '╯') {
        let (dx, dy) = (if arms[1] > 0 { 1.0 } else { -1.0 }, if arms[2] > 0 { 1.0 } else { -1.0 });
        let (edge_x, edge_y) = (cx + dx * w / 2.0, cy + dy * h / 2.0);
        let radius = w / 2.0;
        return Some(format!(
            "<path d=\"M{cx} {edge_y}V{}Q{cx} {cy} {edge_x} {cy}\" fill=\"none\" stroke-width=\"1.2\"/>",
            cy + dy * radius
        ));
    }
    let ends = [(cx, y), (x + w, cy), (cx, y + h), (x, cy)];
    let mut out = String::new();
    for (weight, (end_x, end_y)) in arms.into_iter().zip(ends).filter(|(weight, _)| *weight > 0) {
        let thick = if weight == 2 { 2.4 } else { 1.2 };
        // Each arm reaches a little over the middle, so that corners are closed.
        let (from_x, from_y) = (cx - (end_x - cx).signum() * thick / 2.0, cy - (end_y - cy).signum() * thick / 2.0);
        let (from_x, from_y) = (if end_x == cx { cx } else { from_x }, if end_y == cy { cy } else { from_y });
        let dash = if matches!(c, '╌' | '┄' | '╎' | '┆') { " stroke-dasharray=\"2.5 2\"" } else { "" };
        let _ = write!(out, "<path d=\"M{from_x} {from_y}L{end_x} {end_y}\" stroke-width=\"{thick}\"{dash}/>");
    }
    Some(out)
}

/// The signs of statuses, so that they are one size whatever the font has.
fn sign(c: char, cx: f32, cy: f32) -> Option<String> {
    let radius = 3.9;
    let ring = |dash: &str| {
        format!("<circle cx=\"{cx}\" cy=\"{cy}\" r=\"{}\" fill=\"none\" stroke-width=\"1.3\"{dash}/>", radius - 0.65)
    };
    let half = |from: (f32, f32), to: (f32, f32)| {
        let arc = format!("M{} {}A{radius} {radius} 0 0 1 {} {}z", cx + from.0, cy + from.1, cx + to.0, cy + to.1);
        format!("{}<path d=\"{arc}\" stroke=\"none\"/>", ring(""))
    };
    let polygon = |points: &[(f32, f32)]| {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", cx + x, cy + y)).collect();
        format!("<polygon points=\"{}\" stroke=\"none\"/>", points.join(" "))
    };
    Some(match c {
        '●' => format!("<circle cx=\"{cx}\" cy=\"{cy}\" r=\"{radius}\" stroke=\"none\"/>"),
        '○' => ring(""),
        '◌' => ring(" stroke-dasharray=\"1.9 1.65\""),
        '◐' => half((0.0, radius), (0.0, -radius)),
        '◑' => half((0.0, -radius), (0.0, radius)),
        '◓' => half((-radius, 0.0), (radius, 0.0)),
        '◒' => half((radius, 0.0), (-radius, 0.0)),
        '◆' => polygon(&[(0.0, -4.4), (4.4, 0.0), (0.0, 4.4), (-4.4, 0.0)]),
        '■' => polygon(&[(-3.6, -3.6), (3.6, -3.6), (3.6, 3.6), (-3.6, 3.6)]),
        '▸' => polygon(&[(-2.6, -3.6), (3.2, 0.0), (-2.6, 3.6)]),
        '▾' => polygon(&[(-3.6, -2.4), (3.6, -2.4), (0.0, 3.4)]),
        '⊘' => {
            let d = radius * 0.62;
            let (x1, y1, x2, y2) = (cx - d, cy + d, cx + d, cy - d);
            format!("{}<path d=\"M{x1} {y1}L{x2} {y2}\" stroke-width=\"1.3\"/>", ring(""))
        }
        _ => return None,
    })
}

/// How many eighths after the first character of a row of blocks, from one.
fn eighth(c: char, first: char) -> u8 {
    u8::try_from(u32::from(c) - u32::from(first) + 1).unwrap()
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
