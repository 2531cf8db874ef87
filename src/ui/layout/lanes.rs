//! One row a step, with lanes beside it.
//!
//! Rows are fed to `renderdag` from the last to the first with what they need as their parents, and the picture is
//! turned upside down. So a lane belongs to the step that made something: it starts below that step, passes beside
//! the steps that don't care, and ends at the last one that uses it. Fed the other way round, a step that many use
//! (the imports at the top of nearly every run) would open a lane for each of them: 11 lanes where this needs 2.

use renderdag::pipeline::GraphRowShaper;
use renderdag::pipeline::types::{Ancestor, GraphRowShape, LinkLine, NodeLine};
use renderdag::{OutputRendererOptions, pipeline::GraphRowShapeStyle};

use super::Dirs;

/// Stands for "no step" where an owner is told.
pub const NOBODY: u32 = u32::MAX;

/// The lanes of all rows, in the order of the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lanes {
    /// One entry a row.
    pub rows: Vec<LaneRow>,
    /// For each row the rows that it needs, as far as they are drawn.
    pub needs: Vec<Vec<u32>>,
    /// The most lanes that any row has.
    pub width: u16,
}

/// The lanes beside one row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneRow {
    /// In which lane the row itself stands.
    pub column: u16,
    /// For each lane the row whose lane passes beside this one, or [`NOBODY`].
    pub passing: Box<[u32]>,
    /// The line above the row that joins it to what it needs, if one is necessary.
    pub link: Option<Box<[Link]>>,
}

/// One cell of a joining line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Where lines leave the cell.
    pub dirs: Dirs,
    /// The row whose lane passes or joins here, or [`NOBODY`].
    pub owner: u32,
}

impl Lanes {
    /// Lays out rows, each with the rows that it needs (smaller numbers only; nearest first gives the
    /// straightest lines). About 4 µs a row.
    pub fn of(needs: Vec<Vec<u32>>) -> Self {
        let options = OutputRendererOptions {
            min_row_height: 0,
            stagger_consecutive_disconnected_nodes: false,
            graph_row_shape_style: GraphRowShapeStyle::default(),
        };
        let mut shaper = GraphRowShaper::<u32>::with_options(options);
        let mut owners: Vec<u32> = Vec::new();
        let mut rows = Vec::with_capacity(needs.len());
        let mut width = 0;
        for (place, wanted) in needs.iter().enumerate().rev() {
            let node = u32::try_from(place).unwrap_or(NOBODY);
            let shape = shaper.next_row_shape(node, wanted.iter().map(|&from| Ancestor::Parent(from)).collect());
            let row = row(&shape, wanted, &mut owners);
            width = width.max(row.passing.len()).max(row.link.as_ref().map_or(0, |link| link.len()));
            rows.push(row);
        }
        rows.reverse();
        Self { rows, needs, width: u16::try_from(width).unwrap_or(u16::MAX) }
    }
}

/// Turns a shape upside down and names the owner of each lane; `owners` is told on from row to row.
fn row(shape: &GraphRowShape<u32>, wanted: &[u32], owners: &mut Vec<u32>) -> LaneRow {
    let column = shape.node_column;
    owners.resize(owners.len().max(shape.node_line.len()), NOBODY);
    let passing = shape
        .node_line
        .iter()
        .zip(owners.iter())
        .map(|(line, &owner)| if matches!(line, NodeLine::Parent | NodeLine::Ancestor) { owner } else { NOBODY })
        .collect();
    claim(owners, column, wanted);
    let link = shape.link_line.as_ref().map(|line| {
        line.iter()
            .enumerate()
            .map(|(at, &cell)| Link { dirs: dirs(cell).flipped(), owner: owners.get(at).copied().unwrap_or(NOBODY) })
            .collect()
    });
    while owners.last() == Some(&NOBODY) {
        owners.pop();
    }
    LaneRow { column: u16::try_from(column).unwrap_or(u16::MAX), passing, link }
}

/// Gives lanes to what a row needs, by the rule of `renderdag`: a lane that is there already, else the row's own,
/// else the first empty one, else a new one; a single need comes to the row's own lane if that lies to the left.
fn claim(owners: &mut Vec<u32>, column: usize, wanted: &[u32]) {
    if let Some(own) = owners.get_mut(column) {
        *own = NOBODY;
    }
    let mut last = column;
    for &from in wanted {
        last = match owners.iter().position(|&owner| owner == from) {
            Some(at) => at,
            None => {
                let at = if owners.get(column) == Some(&NOBODY) {
                    column
                } else {
                    owners.iter().position(|&owner| owner == NOBODY).unwrap_or(owners.len())
                };
                if at == owners.len() {
                    owners.push(from);
                } else if let Some(owner) = owners.get_mut(at) {
                    *owner = from;
                }
                at
            }
        };
    }
    if wanted.len() == 1 && last > column {
        owners.swap(column, last);
    }
}

/// Where lines leave a cell, seen with the row above and what it needs below. A line that only crosses a lane goes
/// over it as a bridge, so that it is not taken for a joint.
fn dirs(cell: LinkLine) -> Dirs {
    let mut dirs = Dirs::NONE;
    let joins = LinkLine::ANY_FORK_OR_MERGE | LinkLine::CHILD;
    if cell.intersects(LinkLine::HORIZONTAL) {
        dirs = dirs.with(Dirs::HORIZONTAL);
        if !cell.intersects(joins) {
            return dirs;
        }
    }
    for (flags, add) in [
        (LinkLine::VERTICAL, Dirs::VERTICAL),
        (LinkLine::LEFT_FORK, Dirs::LEFT.with(Dirs::DOWN)),
        (LinkLine::RIGHT_FORK, Dirs::RIGHT.with(Dirs::DOWN)),
        (LinkLine::LEFT_MERGE, Dirs::LEFT.with(Dirs::UP)),
        (LinkLine::RIGHT_MERGE, Dirs::RIGHT.with(Dirs::UP)),
        (LinkLine::CHILD, Dirs::UP),
    ] {
        if cell.intersects(flags) {
            dirs = dirs.with(add);
        }
    }
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::layout::reduce;
    use proptest::prelude::*;

    /// The picture as text, with lanes two cells apart.
    fn picture(lanes: &Lanes) -> String {
        let glyph = |dirs: Dirs| {
            ["  ", "╵ ", "╷ ", "│ ", "╴ ", "╯ ", "╮ ", "┤ ", "╶─", "╰─", "╭─", "├─", "──", "┴─", "┬─", "┼─"]
                [dirs.0 as usize]
        };
        let mut text = String::new();
        for (place, row) in lanes.rows.iter().enumerate() {
            if let Some(link) = &row.link {
                text.push_str(link.iter().map(|cell| glyph(cell.dirs)).collect::<String>().trim_end());
                text.push('\n');
            }
            for (at, &owner) in row.passing.iter().enumerate() {
                text.push_str(match (at == row.column as usize, owner) {
                    (true, _) => "● ",
                    (_, NOBODY) => "  ",
                    _ => "│ ",
                });
            }
            text.push_str(&format!("{:02}\n", place + 1));
        }
        text
    }

    #[test]
    fn branches_open_and_close() {
        let needs = vec![vec![], vec![0], vec![0], vec![1], vec![3, 2], vec![4], vec![4], vec![6, 5]];
        insta::assert_snapshot!(picture(&Lanes::of(reduce(&needs))), @r"
        ● 01
        ├─╮
        ● │ 02
        │ ● 03
        ● │ 04
        ├─╯
        ●   05
        ├─╮
        │ ● 06
        ● │ 07
        ├─╯
        ●   08
        ");
    }

    #[test]
    fn what_many_use_has_one_lane() {
        let needs: Vec<Vec<u32>> = (0..7).map(|to| if to == 0 { vec![] } else { vec![0] }).collect();
        let lanes = Lanes::of(reduce(&needs));
        assert_eq!(lanes.width, 2);
        insta::assert_snapshot!(picture(&lanes), @r"
        ● 01
        ├─╮
        │ ● 02
        ├─╮
        │ ● 03
        ├─╮
        │ ● 04
        ├─╮
        │ ● 05
        ├─╮
        │ ● 06
        ● 07
        ");
    }

    proptest! {
        /// Follow each lane from the row that needs to the row that is needed: it never breaks.
        #[test]
        fn every_edge_is_drawn_and_nothing_else(
            raw in prop::collection::vec(prop::collection::vec(0u32..30, 0..4), 0..30)
        ) {
            let needs = reduce(&raw);
            let lanes = Lanes::of(needs.clone());
            prop_assert_eq!(lanes.rows.len(), needs.len());
            for (to, wanted) in needs.iter().enumerate() {
                for &from in wanted {
                    for between in from as usize + 1..to {
                        prop_assert!(lanes.rows[between].passing.contains(&from), "{from} to {to} at {between}");
                    }
                }
            }
            for (at, row) in lanes.rows.iter().enumerate() {
                for &owner in row.passing.iter().filter(|&&owner| owner != NOBODY) {
                    let reader = needs.iter().enumerate().any(|(to, w)| to > at && w.contains(&owner));
                    prop_assert!((owner as usize) < at && reader);
                }
                if let Some(link) = &row.link {
                    for pair in link.windows(2) {
                        prop_assert_eq!(pair[0].dirs.has(Dirs::RIGHT), pair[1].dirs.has(Dirs::LEFT));
                    }
                }
            }
        }
    }
}
