//! The graph as a picture of its own.

use std::fmt::Write as _;

use super::{Picture, label};
use crate::step::{Status, plain_line};

/// Sizes in pixels of SVG's user space.
const ROW: usize = 44;
const BOX: usize = 28;
const INDENT: usize = 36;
const MARGIN: usize = 16;
/// Advance of a character of the font below.
const CHAR: usize = 8;

/// Steps from top to bottom in order, each to the right of what it needs; arrows curve down between them.
pub(super) fn draw(picture: &Picture) -> String {
    let depth = depths(picture);
    let width_of =
        |place: usize| picture.steps.get(place).map_or(0, |row| row.id.as_str().chars().count() * CHAR + 2 * CHAR);
    let left = |place: usize| MARGIN + depth.get(place).copied().unwrap_or(0) * INDENT;
    let top = |place: usize| MARGIN + place * ROW;
    let width = (0..picture.steps.len()).map(|place| left(place) + width_of(place)).max().unwrap_or(0) + 10 * MARGIN;
    let height = top(picture.steps.len()) + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"monospace\" font-size=\"13\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#888\"/></marker></defs>\n"
    );
    for ((from, to), names) in &picture.arrows {
        let (x0, y0) = (left(*from) + INDENT / 3, top(*from) + BOX);
        let (x1, y1) = (left(*to) + INDENT / 3, top(*to));
        let _ = writeln!(
            svg,
            "<path d=\"M{x0} {y0} C{x0} {} {x1} {} {x1} {y1}\" fill=\"none\" stroke=\"#888\" marker-end=\"url(#tip)\">\
             <title>{}</title></path>",
            y0 + ROW / 2,
            y1.saturating_sub(ROW / 2),
            escaped(&label(names)),
        );
    }
    for (place, row) in picture.steps.iter().enumerate() {
        let (x, y) = (left(place), top(place));
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{BOX}\" rx=\"5\" fill=\"#fff\" stroke=\"{}\" stroke-width=\"1.5\"/>\
             <text x=\"{}\" y=\"{}\">{}<title>{}</title></text>",
            width_of(place),
            colour(row.status),
            x + CHAR,
            y + BOX / 2 + 5,
            escaped(row.id.as_str()),
            row.status,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The longest way to each step.
fn depths(picture: &Picture) -> Vec<usize> {
    let mut depth = vec![0; picture.steps.len()];
    // Arrows only go forward, so when they are taken by where they begin, all that lead there came before.
    for (from, to) in picture.arrows.keys() {
        let here = depth.get(*from).map_or(0, |depth| depth + 1);
        if let Some(slot) = depth.get_mut(*to) {
            *slot = here.max(*slot);
        }
    }
    depth
}

fn colour(status: Status) -> &'static str {
    match status {
        Status::Fresh => "#2e8b57",
        Status::Stale | Status::Running => "#b8860b",
        Status::Failed => "#b22222",
        Status::Blocked => "#d2691e",
        Status::Never => "#888888",
    }
}

fn escaped(text: &str) -> String {
    plain_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_text_and_never_markup() {
        let svg = draw(&super::super::tests::picture());
        assert!(svg.contains("04_&quot;plot&quot;&lt;b&gt;"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 5);
        assert_eq!(svg.matches("<path d=\"M").count(), 6);
        assert_eq!(depths(&super::super::tests::picture()), [0, 1, 2, 3, 0]);
    }
}
