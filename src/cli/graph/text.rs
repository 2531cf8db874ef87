//! The graph as lanes beside the list of steps.

use renderdag::{Ancestor, GraphRowRenderer, Renderer};

use super::Picture;
use crate::cli::{Palette, Role};
use crate::step::{Status, plain_line};

/// One line or two a step. Lanes lead down to the steps that need it; what is reached through others anyway is
/// not drawn.
pub(super) fn draw(picture: &Picture, palette: Palette) -> String {
    let mut renderer = GraphRowRenderer::new().output().with_min_row_height(1).build_box_drawing();
    let mut text = String::new();
    for (place, (row, next)) in picture.steps.iter().zip(picture.reduced()).enumerate() {
        let below = next.into_iter().map(Ancestor::Parent).collect();
        let id = plain_line(row.id.as_str());
        let message = format!("{}  {}", palette.paint(Role::Name, &*id), palette.paint(row.status, row.status));
        let drawn = renderer.next_row(place, below, glyph(row.status).to_owned(), message);
        for line in drawn.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn glyph(status: Status) -> &'static str {
    match status {
        Status::Fresh => "●",
        Status::Stale => "◐",
        Status::Running => "◉",
        Status::Failed => "✗",
        Status::Blocked => "⊘",
        Status::Never => "○",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_lead_to_those_who_need() {
        insta::assert_snapshot!(draw(&super::super::tests::picture(), Palette::PLAIN), @r#"
        ●  01_load  fresh
        ●  02_clean  fresh
        ✗  03_fit  failed
        ⊘  04_"plot"<b>  blocked

        ○  05_alone  never
        "#);
    }
}
