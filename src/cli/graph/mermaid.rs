//! The graph for Mermaid, which many forges render.

use std::fmt::Write as _;

use super::{Picture, label};
use crate::step::{Status, plain_line};

/// A flowchart from top to bottom.
pub(super) fn draw(picture: &Picture) -> String {
    let mut text = String::from("flowchart TD\n");
    for (place, row) in picture.steps.iter().enumerate() {
        let _ = writeln!(text, "  n{place}[\"{}\"]:::{}", escaped(row.id.as_str()), row.status);
    }
    for ((from, to), names) in &picture.arrows {
        let label = label(names);
        if label.is_empty() {
            let _ = writeln!(text, "  n{from} --> n{to}");
        } else {
            let _ = writeln!(text, "  n{from} -->|\"{}\"| n{to}", escaped(&label));
        }
    }
    for (status, colour) in COLOURS {
        let _ = writeln!(text, "  classDef {status} stroke:{colour}");
    }
    text
}

const COLOURS: [(Status, &str); 6] = [
    (Status::Fresh, "#2e8b57"),
    (Status::Stale, "#b8860b"),
    (Status::Running, "#b8860b"),
    (Status::Failed, "#b22222"),
    (Status::Blocked, "#d2691e"),
    (Status::Never, "#888888"),
];

/// Text inside quotes: what means something to Mermaid or to the HTML that it makes is written as an entity code.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain_line(text).chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | ';' | '`' | '\\' | '[' | ']' | '{' | '}' | '|' => {
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out_of_its_quotes() {
        insta::assert_snapshot!(draw(&super::super::tests::picture()), @r#"
        flowchart TD
          n0["01_load"]:::fresh
          n1["02_clean"]:::fresh
          n2["03_fit"]:::failed
          n3["04_#34;plot#34;#60;b#62;"]:::blocked
          n4["05_alone"]:::never
          n0 -->|"rows"| n1
          n0 -->|"rows"| n3
          n1 -->|"x, y"| n2
          n1 -->|"a, b, c, d +1"| n3
          n2 -->|"model"| n3
          classDef fresh stroke:#2e8b57
          classDef stale stroke:#b8860b
          classDef running stroke:#b8860b
          classDef failed stroke:#b22222
          classDef blocked stroke:#d2691e
          classDef never stroke:#888888
        "#);
    }
}
