//! A graph as an SVG picture: a row for each depth, steps as boxes, needs as curves.

use std::fmt::Write as _;

use crate::step::plain_line;

use super::render::{Drawn, label, numbers};
use super::{Edge, EdgeKind};

/// Sizes in the picture's own units, which are pixels at 100 %.
const CHARACTER: usize = 8;
const HEIGHT: usize = 40;
const ROW: usize = 90;
const GAP: usize = 24;
const MARGIN: usize = 16;

/// Colours by status, that stand on white and on black.
fn fill(status: &str) -> &'static str {
    match status {
        "fresh" => "#c6e7cf",
        "stale" => "#f6e3a8",
        "running" => "#b8d8f8",
        "failed" => "#f4b9b6",
        "blocked" => "#e0c3ee",
        _ => "#e4e4e4",
    }
}

struct Box {
    x: usize,
    y: usize,
    width: usize,
}

pub(super) fn svg(steps: &[Drawn<'_>], edges: &[Edge]) -> String {
    let numbers = numbers(steps);
    let ends = |edge: &Edge| Some((*numbers.get(&edge.from)?, *numbers.get(&edge.to)?));
    // The depth of a step is the longest way to it. Edges lead onwards in the run, so one pass does.
    let mut depth = vec![0usize; steps.len()];
    let mut incoming: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (from, to) in edges.iter().filter_map(ends) {
        if let Some(list) = incoming.get_mut(to) {
            list.push(from);
        }
    }
    for (to, from) in incoming.iter().enumerate() {
        let deepest = from.iter().filter(|from| **from < to).filter_map(|from| depth.get(*from)).max();
        if let (Some(deepest), true) = (deepest.copied(), !from.is_empty())
            && let Some(own) = depth.get_mut(to)
        {
            *own = deepest + 1;
        }
    }
    let mut next = vec![MARGIN; depth.iter().max().map_or(1, |deepest| deepest + 1)];
    let mut boxes = Vec::with_capacity(steps.len());
    for (step, depth) in steps.iter().zip(&depth) {
        let letters = plain_line(step.id.as_str()).chars().count().max(step.status.len());
        let width = (letters.min(60) + 2) * CHARACTER;
        let x = next.get(*depth).copied().unwrap_or(MARGIN);
        if let Some(next) = next.get_mut(*depth) {
            *next += width + GAP;
        }
        boxes.push(Box { x, y: MARGIN + depth * ROW, width });
    }
    let width = next.iter().max().copied().unwrap_or(0) + MARGIN;
    let height = 2 * MARGIN + next.len() * ROW;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, monospace\" font-size=\"12\">"
    );
    out.push_str(
        "<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#777\"/></marker></defs>\n",
    );
    for edge in edges {
        let Some((from, to)) = ends(edge).and_then(|(from, to)| Some((boxes.get(from)?, boxes.get(to)?))) else {
            continue;
        };
        let (x1, y1) = (from.x + from.width / 2, from.y + HEIGHT);
        let (x2, y2) = (to.x + to.width / 2, to.y);
        let bend = ROW / 3;
        let dashes = if edge.kind == EdgeKind::Data { "" } else { " stroke-dasharray=\"4 3\"" };
        let _ = writeln!(
            out,
            "<path d=\"M{x1} {y1} C{x1} {} {x2} {} {x2} {y2}\" fill=\"none\" stroke=\"#777\"{dashes} \
             marker-end=\"url(#end)\"><title>{}</title></path>",
            y1 + bend,
            y2.saturating_sub(bend),
            escape(&label(edge)),
        );
    }
    for (step, place) in steps.iter().zip(&boxes) {
        let Box { x, y, width } = place;
        let id: String = plain_line(step.id.as_str()).chars().take(60).collect();
        let _ = writeln!(
            out,
            "<g><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"5\" fill=\"{}\" \
             stroke=\"#555\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#111\">{}</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#444\" font-size=\"10\">{}</text></g>",
            fill(step.status),
            x + width / 2,
            y + 17,
            escape(&id),
            x + width / 2,
            y + 32,
            escape(step.status),
        );
    }
    out.push_str("</svg>\n");
    out
}

fn escape(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for c in plain_line(text).chars() {
        match c {
            '&' => made.push_str("&amp;"),
            '<' => made.push_str("&lt;"),
            '>' => made.push_str("&gt;"),
            '"' => made.push_str("&quot;"),
            c => made.push(c),
        }
    }
    made
}
