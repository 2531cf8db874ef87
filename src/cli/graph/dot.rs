//! The graph for Graphviz.

use std::fmt::Write as _;

use super::{Picture, label};
use crate::step::{Status, plain_line};

/// A directed graph in the DOT language.
pub(super) fn draw(picture: &Picture) -> String {
    let mut text = String::from("digraph run {\n  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n");
    for (place, row) in picture.steps.iter().enumerate() {
        let _ = writeln!(text, "  n{place} [label={}, color={}];", quoted(row.id.as_str()), colour(row.status));
    }
    for ((from, to), names) in &picture.arrows {
        let _ = writeln!(text, "  n{from} -> n{to} [label={}];", quoted(&label(names)));
    }
    text.push_str("}\n");
    text
}

/// A double-quoted string of the DOT language: only the quote is special, but a backslash begins an escape in
/// labels.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}

fn colour(status: Status) -> &'static str {
    match status {
        Status::Fresh => "forestgreen",
        Status::Stale | Status::Running => "goldenrod",
        Status::Failed => "firebrick",
        Status::Blocked => "darkorange",
        Status::Never => "gray",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_a_node() {
        insta::assert_snapshot!(draw(&super::super::tests::picture()), @r#"
        digraph run {
          node [shape=box, style="rounded,filled", fillcolor=white];
          n0 [label="01_load", color=forestgreen];
          n1 [label="02_clean", color=forestgreen];
          n2 [label="03_fit", color=firebrick];
          n3 [label="04_\"plot\"<b>", color=darkorange];
          n4 [label="05_alone", color=gray];
          n0 -> n1 [label="rows"];
          n0 -> n3 [label="rows"];
          n1 -> n2 [label="x, y"];
          n1 -> n3 [label="a, b, c, d +1"];
          n2 -> n3 [label="model"];
        }
        "#);
    }
}
