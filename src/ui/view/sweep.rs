//! Every panel at every size that terminals have, and every theme over the whole screen.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use crate::ui::stage::{Stage, churn, text};
use crate::ui::theme::{BUILT_IN, Theme};

/// Everything that can be on the screen, by the keys that bring it there.
const SCENES: [(&str, &str); 19] = [
    ("steps", ""),
    ("source", "2 j l"),
    ("output", "3"),
    ("why", "} } } } E"),
    ("state", "4 space j j j space"),
    ("patch", "5 n y j j space"),
    ("split", "5 |"),
    ("result", "5 | |"),
    ("history", "6 j j space"),
    ("past", "6 j j t j"),
    ("context", "7 j space"),
    ("boxes", "v"),
    ("unsettled", "V"),
    ("zoomed", "3 z"),
    ("help", "?"),
    ("palette", ": r e"),
    ("plan", "P"),
    ("question", "d"),
    ("prompt", "r x"),
];

/// What is broken in what is drawn, if anything: a row that is not as wide as the screen, a control character, or a
/// border with a hole in it.
fn broken(stage: &Stage, buffer: &Buffer) -> Option<String> {
    let (width, _) = stage.model.size;
    for (y, line) in text(buffer).lines().enumerate() {
        if super::text::width(line) != usize::from(width) {
            return Some(format!("row {y} is {} wide: {line:?}", super::text::width(line)));
        }
        if let Some(bad) = line.chars().find(|c| c.is_control()) {
            return Some(format!("row {y} holds {bad:?}"));
        }
    }
    if !stage.model.overlays.is_empty() {
        // What lies over the panels hides some of their borders.
        return None;
    }
    let glyph = |x: u16, y: u16| buffer[(x, y)].symbol();
    for panel in &stage.model.screen().panels {
        let area = panel.area;
        let (right, bottom) = (area.x + area.width - 1, area.y + area.height - 1);
        let corners = [(area.x, area.y, "┌┏"), (right, area.y, "┐┓"), (area.x, bottom, "└┗"), (right, bottom, "┘┛")];
        let sides = (area.y + 1..bottom).flat_map(|y| [(area.x, y, "│┃"), (right, y, "│┃█▐")]);
        for (x, y, wanted) in corners.into_iter().chain(sides) {
            if !wanted.contains(glyph(x, y)) {
                return Some(format!("{:?} at {x},{y} where the border of {:?} is", glyph(x, y), panel.pane));
            }
        }
    }
    None
}

/// Draws a scene as the terminal is drawn to each of these sizes in turn.
fn drag(keys: &str, sizes: impl Iterator<Item = (u16, u16)>) -> Result<(), String> {
    let mut stage = Stage::new(120, 40, churn());
    stage.keys("g g j j j").keys(keys);
    for (width, height) in sizes {
        stage.send(crate::ui::app::Message::Resized(width, height));
        let buffer = stage.buffer();
        if let Some(what) = broken(&stage, &buffer) {
            return Err(format!("{keys:?} at {width}x{height}: {what}\n{}", text(&buffer)));
        }
    }
    Ok(())
}

#[test]
fn every_scene_at_every_width_and_height() {
    for (at, (name, keys)) in (0..).zip(SCENES) {
        // Each width and each height comes up; which go together, and with which scene, differs.
        let sizes = (20 + at % 5..=220u16).step_by(5).map(|width| (width, 5 + (width * 7 + at * 11) % 66));
        drag(keys, sizes).unwrap_or_else(|what| panic!("{name}: {what}"));
    }
}

#[test]
#[ignore = "252,054 screens take minutes; a part of them is drawn always"]
fn every_scene_at_every_size() {
    for (name, keys) in SCENES {
        let sizes = (20..=220).flat_map(|width| (5..=70).map(move |height| (width, height)));
        drag(keys, sizes).unwrap_or_else(|what| panic!("{name}: {what}"));
    }
}

/// The screen as text, under each row the styles of its cells, and at the end what these are.
fn styled(buffer: &Buffer) -> String {
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("!#$%&*+/<=>?@^~".chars()).collect();
    let mut known: Vec<Style> = Vec::new();
    let mut picture = String::new();
    for (y, line) in (0..buffer.area.height).zip(text(buffer).lines()) {
        picture.push_str(line.trim_end());
        picture.push('\n');
        let mut styles = String::new();
        for x in 0..buffer.area.width {
            let style = buffer[(x, y)].style();
            let at = known.iter().position(|other| *other == style).unwrap_or_else(|| {
                known.push(style);
                known.len() - 1
            });
            styles.push(if at == 0 { ' ' } else { letters[at - 1] });
        }
        picture.push_str(styles.trim_end());
        picture.push('\n');
    }
    for (at, style) in known.iter().enumerate() {
        let letter = if at == 0 { ' ' } else { letters[at - 1] };
        let color = |color: Option<ratatui::style::Color>| color.map(|color| color.to_string()).unwrap_or_default();
        let (fg, bg) = (color(style.fg), color(style.bg));
        picture.push_str(&format!("{letter}: {fg} on {bg} {:?}\n", style.add_modifier));
    }
    picture
}

#[test]
fn every_theme_over_the_whole_screen() {
    for (name, _) in BUILT_IN {
        let mut stage = Stage::new(110, 30, churn());
        stage.theme = Theme::built_in(name);
        stage.keys("g g j j j 5 n y j j space");
        insta::assert_snapshot!(format!("theme-{name}-110x30"), styled(&stage.buffer()));
    }
}
