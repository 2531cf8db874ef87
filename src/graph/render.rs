//! Pictures of a graph as text. Names and ids are hostile: each picture writes them so that they stay text.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::step::{StepId, plain_line};

use super::Edge;

/// How to draw a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Lines for people.
    Text,
    /// Graphviz.
    Dot,
    /// A Mermaid flowchart.
    Mermaid,
    /// One JSON document: `{"steps":[{"id","status"}…],"edges":[{"from","to","names","kind"}…]}`.
    Json,
    /// A picture that needs nothing else.
    Svg,
}

/// A step as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Drawn<'a> {
    /// Which.
    pub id: &'a StepId,
    /// How it stands, in a word: `fresh`, `stale`.
    pub status: &'a str,
}

/// Draws steps, in the order of the run, and the edges between them.
pub fn render(format: Format, steps: &[Drawn<'_>], edges: &[Edge]) -> String {
    match format {
        Format::Text => text(steps, edges),
        Format::Dot => dot(steps, edges),
        Format::Mermaid => mermaid(steps, edges),
        Format::Json => json(steps, edges),
        Format::Svg => super::svg::svg(steps, edges),
    }
}

/// The names of an edge, or what else it is.
pub(super) fn label(edge: &Edge) -> String {
    let names = edge.names.iter().map(|name| plain_line(name)).collect::<Vec<_>>().join(", ");
    match edge.kind {
        super::EdgeKind::Data => names,
        kind if names.is_empty() => kind.word().to_owned(),
        kind => format!("{}: {names}", kind.word()),
    }
}

/// Numbers for steps, since their ids can hold anything.
pub(super) fn numbers<'a>(steps: &'a [Drawn<'a>]) -> HashMap<&'a StepId, usize> {
    steps.iter().enumerate().map(|(number, step)| (step.id, number)).collect()
}

fn text(steps: &[Drawn<'_>], edges: &[Edge]) -> String {
    let mut needs: HashMap<&StepId, Vec<&Edge>> = HashMap::new();
    for edge in edges {
        needs.entry(&edge.to).or_default().push(edge);
    }
    let mut out = String::new();
    for step in steps {
        let _ = writeln!(out, "{}  {}", plain_line(step.id.as_str()), plain_line(step.status));
        for edge in needs.get(step.id).into_iter().flatten() {
            let _ = writeln!(out, "  <- {} ({})", plain_line(edge.from.as_str()), label(edge));
        }
    }
    out
}

fn dot(steps: &[Drawn<'_>], edges: &[Edge]) -> String {
    let quote = |text: &str| plain_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    let numbers = numbers(steps);
    let mut out = String::from("digraph run {\n  rankdir = TB;\n  node [shape = box];\n");
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(out, "  n{number} [label = \"{}\\n{}\"];", quote(step.id.as_str()), quote(step.status));
    }
    for edge in edges {
        if let (Some(from), Some(to)) = (numbers.get(&edge.from), numbers.get(&edge.to)) {
            let style = if edge.kind == super::EdgeKind::Data { "" } else { ", style = dashed" };
            let _ = writeln!(out, "  n{from} -> n{to} [label = \"{}\"{style}];", quote(&label(edge)));
        }
    }
    out.push_str("}\n");
    out
}

fn mermaid(steps: &[Drawn<'_>], edges: &[Edge]) -> String {
    // In a quoted text Mermaid reads only entities, and these have no `&`.
    let quote = |text: &str| {
        let text = plain_line(text);
        let mut made = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '"' | '#' | '<' | '>' | '&' | '`' | '\\' | ';' => {
                    let _ = write!(made, "#{};", u32::from(c));
                }
                c => made.push(c),
            }
        }
        made
    };
    let numbers = numbers(steps);
    let mut out = String::from("flowchart TB\n");
    for (number, step) in steps.iter().enumerate() {
        let _ = writeln!(out, "  n{number}[\"{}: {}\"]", quote(step.id.as_str()), quote(step.status));
    }
    for edge in edges {
        if let (Some(from), Some(to)) = (numbers.get(&edge.from), numbers.get(&edge.to)) {
            let arrow = if edge.kind == super::EdgeKind::Data { "-->" } else { "-.->" };
            let _ = writeln!(out, "  n{from} {arrow}|\"{}\"| n{to}", quote(&label(edge)));
        }
    }
    out
}

fn json(steps: &[Drawn<'_>], edges: &[Edge]) -> String {
    let mut out = serde_json::json!({"steps": steps, "edges": edges}).to_string();
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeKind;

    fn drawn(format: Format) -> String {
        let ids: Vec<StepId> = ["01_load", "02 \"x\"", "fit/03"].iter().map(|id| id.parse().unwrap()).collect();
        let steps: Vec<Drawn<'_>> =
            ids.iter().zip(["fresh", "stale", "never"]).map(|(id, status)| Drawn { id, status }).collect();
        let edge = |from: usize, to: usize, names: &[&str], kind| Edge {
            from: ids[from].clone(),
            to: ids[to].clone(),
            names: names.iter().map(|name| (*name).into()).collect(),
            kind,
        };
        let edges = [
            edge(0, 1, &["df", "np"], EdgeKind::Data),
            edge(0, 2, &["a<b>\x1b.csv"], EdgeKind::File),
            edge(1, 2, &[], EdgeKind::Declared),
        ];
        render(format, &steps, &edges)
    }

    #[test]
    fn text_lists_what_each_step_needs() {
        insta::assert_snapshot!(drawn(Format::Text), @r#"
        01_load  fresh
        02 "x"  stale
          <- 01_load (df, np)
        fit/03  never
          <- 01_load (file: a<b>␛.csv)
          <- 02 "x" (declared)
        "#);
    }

    #[test]
    fn dot_quotes_what_it_is_given() {
        insta::assert_snapshot!(drawn(Format::Dot), @r#"
        digraph run {
          rankdir = TB;
          node [shape = box];
          n0 [label = "01_load\nfresh"];
          n1 [label = "02 \"x\"\nstale"];
          n2 [label = "fit/03\nnever"];
          n0 -> n1 [label = "df, np"];
          n0 -> n2 [label = "file: a<b>␛.csv", style = dashed];
          n1 -> n2 [label = "declared", style = dashed];
        }
        "#);
    }

    #[test]
    fn mermaid_holds_no_markup_of_the_run() {
        insta::assert_snapshot!(drawn(Format::Mermaid), @r#"
        flowchart TB
          n0["01_load: fresh"]
          n1["02 #34;x#34;: stale"]
          n2["fit/03: never"]
          n0 -->|"df, np"| n1
          n0 -.->|"file: a#60;b#62;␛.csv"| n2
          n1 -.->|"declared"| n2
        "#);
    }

    #[test]
    fn json_is_one_line() {
        let text = drawn(Format::Json);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["edges"][1]["kind"], "file");
        assert_eq!(text.lines().count(), 1);
    }

    #[test]
    fn svg_is_closed_and_escaped() {
        let text = drawn(Format::Svg);
        assert!(text.starts_with("<svg ") && text.trim_end().ends_with("</svg>"), "{text}");
        assert!(text.contains("02 &quot;x&quot;") && text.contains("a&lt;b&gt;␛.csv"), "{text}");
        assert!(!text.contains('\x1b'));
    }
}
