//! A small graph as boxes in layers, with edges along the cells between them.
//!
//! The method is Sugiyama's: each node lies below all that it needs (longest path), edges over several layers are
//! led through places of their own, the order within layers is settled by barycentres, and edges run down, across
//! and down again. Made for up to about sixty boxes, which is more than a person takes in at once.

use std::collections::BTreeMap;

use super::Dirs;

/// A box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Which node of the graph.
    pub node: usize,
    /// Column of its left edge.
    pub x: usize,
    /// Row of its upper edge.
    pub y: usize,
    /// Columns, its border counted.
    pub width: usize,
    /// Its layer, from above.
    pub layer: usize,
}

/// A cell with lines of edges in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Where lines leave it.
    pub dirs: Dirs,
    /// The edges that go through it, by their place among those given.
    pub edges: Vec<usize>,
}

/// A picture of boxes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layers {
    /// The boxes, in the order of the nodes.
    pub nodes: Vec<Node>,
    /// The cells with lines, by row and column.
    pub cells: BTreeMap<(usize, usize), Cell>,
    /// Columns in all.
    pub width: usize,
    /// Rows in all.
    pub height: usize,
}

/// Columns between boxes.
const GAP: usize = 2;
/// How often the order within layers is looked over.
const SWEEPS: usize = 8;

/// A place in a layer: a node, or where an edge passes.
#[derive(Debug, Clone)]
struct Place {
    node: Option<usize>,
    width: usize,
    x: usize,
    /// Places in the layer above that it is joined to, with the edge.
    above: Vec<(usize, usize)>,
    /// Places in the layer below.
    below: Vec<(usize, usize)>,
}

impl Place {
    fn centre(&self) -> usize {
        self.x + self.width / 2
    }
}

impl Layers {
    /// Lays out nodes of these widths (border counted) and `rows` rows each, with edges from what is needed to what
    /// needs it. Edges that would go up are left out.
    pub fn of(widths: &[usize], edges: &[(usize, usize)], rows: usize) -> Self {
        let layer = layers(widths.len(), edges);
        let mut grid = places(widths, edges, &layer);
        order(&mut grid);
        settle(&mut grid);
        draw(&grid, widths.len(), rows.max(1))
    }
}

/// The layer of each node: one below the lowest that it needs.
fn layers(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut layer = vec![0; nodes];
    // Each round settles at least one more node; a way back never settles and is left where it is.
    for _ in 0..nodes {
        let mut moved = false;
        for &(from, to) in edges.iter().filter(|(from, to)| from < to) {
            if let (Some(&above), Some(below)) = (layer.get(from), layer.clone().get(to))
                && *below <= above
                && let Some(slot) = layer.get_mut(to)
            {
                *slot = above + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    layer
}

fn places(widths: &[usize], edges: &[(usize, usize)], layer: &[usize]) -> Vec<Vec<Place>> {
    let depth = layer.iter().max().map_or(0, |deepest| deepest + 1);
    let mut grid: Vec<Vec<Place>> = vec![Vec::new(); depth];
    let mut at = Vec::with_capacity(widths.len());
    let blank = |node, width| Place { node, width, x: 0, above: Vec::new(), below: Vec::new() };
    for (node, &width) in widths.iter().enumerate() {
        let layer = layer.get(node).copied().unwrap_or(0);
        if let Some(row) = grid.get_mut(layer) {
            at.push((layer, row.len()));
            row.push(blank(Some(node), width.max(1)));
        }
    }
    for (edge, &(from, to)) in edges.iter().enumerate() {
        let (Some(&(first, mut place)), Some(&(last, end))) = (at.get(from), at.get(to)) else { continue };
        for here in first..last {
            let next = if here + 1 == last {
                end
            } else {
                let row = grid.get_mut(here + 1);
                row.map_or(0, |row| {
                    row.push(blank(None, 1));
                    row.len() - 1
                })
            };
            let upper = grid.get_mut(here).and_then(|row| row.get_mut(place));
            upper.into_iter().for_each(|upper| upper.below.push((next, edge)));
            let lower = grid.get_mut(here + 1).and_then(|row| row.get_mut(next));
            lower.into_iter().for_each(|lower| lower.above.push((place, edge)));
            place = next;
        }
    }
    grid
}

/// Orders the places within layers so that edges cross little: each goes to the middle of those it is joined to.
fn order(grid: &mut Vec<Vec<Place>>) {
    let mut best = grid.clone();
    let mut fewest = crossings(grid);
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let layers: Vec<usize> =
            if down { (1..grid.len()).collect() } else { (0..grid.len().saturating_sub(1)).rev().collect() };
        for layer in layers {
            let middle = |place: &Place, at: usize| {
                let joined = if down { &place.above } else { &place.below };
                if joined.is_empty() {
                    return at as f64;
                }
                joined.iter().map(|(other, _)| *other as f64).sum::<f64>() / joined.len() as f64
            };
            let Some(row) = grid.get(layer) else { continue };
            let mut wanted: Vec<(f64, usize)> =
                row.iter().enumerate().map(|(at, place)| (middle(place, at), at)).collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let order: Vec<usize> = wanted.into_iter().map(|(_, at)| at).collect();
            reorder(grid, layer, &order);
        }
        let now = crossings(grid);
        if now < fewest {
            fewest = now;
            best.clone_from(grid);
        }
    }
    *grid = best;
}

/// Puts a layer into another order (`order[new] = old`), and tells the layers beside it.
fn reorder(grid: &mut [Vec<Place>], layer: usize, order: &[usize]) {
    let mut place_of = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        if let Some(slot) = place_of.get_mut(old) {
            *slot = new;
        }
    }
    let to = |old: usize| place_of.get(old).copied().unwrap_or(old);
    if let Some(row) = grid.get_mut(layer) {
        let old = std::mem::take(row);
        *row = order.iter().filter_map(|at| old.get(*at).cloned()).collect();
    }
    let above = layer.checked_sub(1).and_then(|layer| grid.get_mut(layer));
    above.into_iter().flatten().flat_map(|place| &mut place.below).for_each(|(other, _)| *other = to(*other));
    let below = grid.get_mut(layer + 1);
    below.into_iter().flatten().flat_map(|place| &mut place.above).for_each(|(other, _)| *other = to(*other));
}

fn crossings(grid: &[Vec<Place>]) -> usize {
    grid.iter()
        .map(|row| {
            let ends: Vec<(usize, usize)> = row
                .iter()
                .enumerate()
                .flat_map(|(at, place)| place.below.iter().map(move |(other, _)| (at, *other)))
                .collect();
            let crosses = |a: &(usize, usize), b: &(usize, usize)| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1);
            ends.iter()
                .enumerate()
                .map(|(at, a)| ends.iter().skip(at + 1).filter(|b| crosses(a, b)).count())
                .sum::<usize>()
        })
        .sum()
}

/// Gives places their columns: each as near as may be to the middle of those it is joined to.
fn settle(grid: &mut [Vec<Place>]) {
    for row in grid.iter_mut() {
        let mut x = 0;
        for place in row.iter_mut() {
            place.x = x;
            x += place.width + GAP;
        }
    }
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let layers: Vec<usize> = if down { (0..grid.len()).collect() } else { (0..grid.len()).rev().collect() };
        for layer in layers {
            let row = grid.get(layer).map_or(&[][..], Vec::as_slice);
            let wanted: Vec<i64> = row.iter().map(|place| column(grid, layer, place, down)).collect();
            let widths: Vec<i64> = row.iter().map(|place| signed(place.width)).collect();
            let mut columns = spread(&widths, &wanted);
            // What would lie left of the edge pushes all others to the right.
            let least = columns.iter().copied().min().unwrap_or(0).min(0);
            if least < 0 {
                for place in grid.iter_mut().flatten() {
                    place.x += usize::try_from(-least).unwrap_or(0);
                }
                columns.iter_mut().for_each(|x| *x -= least);
            }
            for (place, x) in grid.get_mut(layer).into_iter().flatten().zip(columns) {
                place.x = usize::try_from(x).unwrap_or(0);
            }
        }
    }
    let left = grid.iter().flatten().map(|place| place.x).min().unwrap_or(0);
    grid.iter_mut().flatten().for_each(|place| place.x -= left);
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The column at which a place would stand in the middle of those that it is joined to above, or below.
fn column(grid: &[Vec<Place>], layer: usize, place: &Place, down: bool) -> i64 {
    let centre = |layer: usize, other: usize| grid.get(layer).and_then(|row| row.get(other)).map(Place::centre);
    let mut middles: Vec<usize> = match (down, layer.checked_sub(1)) {
        (true, Some(above)) => place.above.iter().filter_map(|(other, _)| centre(above, *other)).collect(),
        (true, None) => Vec::new(),
        (false, _) => place.below.iter().filter_map(|(other, _)| centre(layer + 1, *other)).collect(),
    };
    middles.sort_unstable();
    let at = |at: usize| middles.get(at).copied().unwrap_or(0);
    let middle = match middles.len() {
        0 => place.centre(),
        n if n % 2 == 1 => at(n / 2),
        n => (at(n / 2 - 1) + at(n / 2)) / 2,
    };
    signed(middle) - signed(place.width / 2)
}

/// Columns near those wanted, in order and apart from one another: what is pushed from the left and what is pushed
/// from the right meet in the middle.
fn spread(widths: &[i64], wanted: &[i64]) -> Vec<i64> {
    let gap = signed(GAP);
    let mut lefts = Vec::with_capacity(widths.len());
    let mut edge = i64::MIN;
    for (width, want) in widths.iter().zip(wanted) {
        let x = (*want).max(edge);
        lefts.push(x);
        edge = x + width + gap;
    }
    let mut rights = Vec::with_capacity(widths.len());
    let mut limit = i64::MAX;
    for (width, want) in widths.iter().zip(wanted).rev() {
        let x = (*want).min(limit.saturating_sub(*width));
        rights.push(x);
        limit = x.saturating_sub(gap);
    }
    rights.reverse();
    let mut edge = i64::MIN;
    let middles = lefts.iter().zip(&rights).zip(widths).map(|((left, right), width)| {
        let x = ((left + right) / 2).max(edge);
        edge = x + width + gap;
        x
    });
    middles.collect()
}

/// Edges between two layers, each in a row of its own where they would lie upon one another.
fn draw(grid: &[Vec<Place>], nodes: usize, rows: usize) -> Layers {
    let mut picture = Layers::default();
    let mut found: Vec<Option<Node>> = vec![None; nodes];
    let mut y = 0;
    for (layer, row) in grid.iter().enumerate() {
        for place in row {
            picture.width = picture.width.max(place.x + place.width);
            match place.node {
                Some(node) => {
                    if let Some(slot) = found.get_mut(node) {
                        *slot = Some(Node { node, x: place.x, y, width: place.width, layer });
                    }
                }
                None => {
                    for &(_, edge) in &place.below {
                        (y..y + rows).for_each(|y| picture.line(place.centre(), y, Dirs::VERTICAL, edge));
                    }
                }
            }
        }
        y += rows;
        let Some(below) = grid.get(layer + 1) else { continue };
        let tracks = tracks(row, below);
        let count = tracks.iter().map(|(.., track)| track + 1).max().unwrap_or(0);
        let height = if tracks.is_empty() { 1 } else { count + 1 };
        for &(from, to, edge, track) in &tracks {
            let turn = y + track;
            (y..turn).for_each(|y| picture.line(from, y, Dirs::VERTICAL, edge));
            if from == to {
                picture.line(from, turn, Dirs::VERTICAL, edge);
            } else {
                let right = to > from;
                let (out, back) = if right { (Dirs::RIGHT, Dirs::LEFT) } else { (Dirs::LEFT, Dirs::RIGHT) };
                picture.line(from, turn, Dirs::UP.with(out), edge);
                picture.line(to, turn, Dirs::DOWN.with(back), edge);
                (from.min(to) + 1..from.max(to)).for_each(|x| picture.line(x, turn, Dirs::HORIZONTAL, edge));
            }
            (turn + 1..y + height).for_each(|y| picture.line(to, y, Dirs::VERTICAL, edge));
        }
        y += height;
    }
    picture.height = y;
    picture.nodes = found.into_iter().flatten().collect();
    picture
}

impl Layers {
    fn line(&mut self, x: usize, y: usize, dirs: Dirs, edge: usize) {
        let cell = self.cells.entry((y, x)).or_default();
        cell.dirs = cell.dirs.with(dirs);
        if !cell.edges.contains(&edge) {
            cell.edges.push(edge);
        }
        self.width = self.width.max(x + 1);
    }
}

/// Lines in one row that are joined: from where to where, whose they are and where they lead.
#[derive(Debug, Clone)]
struct Joined {
    left: usize,
    right: usize,
    sources: Vec<usize>,
    targets: Vec<usize>,
}

/// Each edge between two layers with the row in which it runs across. Edges share a row where they don't meet, or
/// where all that meet leave one place or arrive at one, so that no joint says what is not so. An edge that comes
/// down where another leaves turns below it.
fn tracks(row: &[Place], below: &[Place]) -> Vec<(usize, usize, usize, usize)> {
    let mut edges: Vec<(usize, usize, usize)> = row
        .iter()
        .flat_map(|place| place.below.iter().map(move |(other, edge)| (place.centre(), *other, *edge)))
        .filter_map(|(from, other, edge)| Some((from, below.get(other)?.centre(), edge)))
        .collect();
    edges.sort_by_key(|&(from, to, edge)| (from.abs_diff(to), from, edge));
    let leaves: Vec<usize> = edges.iter().map(|&(from, ..)| from).collect();
    let (first, last): (Vec<_>, Vec<_>) =
        edges.into_iter().partition(|&(from, to, _)| from == to || !leaves.contains(&to));
    let mut rows: Vec<Vec<Joined>> = Vec::new();
    let mut placed: Vec<(usize, usize, usize, usize)> = Vec::new();
    for (from, to, edge) in first.into_iter().chain(last) {
        if from == to {
            placed.push((from, to, edge, 0));
            continue;
        }
        let over = placed.iter().filter(|(other, arrives, ..)| *other == to && other != arrives);
        let mut track = over.map(|(.., track)| track + 1).max().unwrap_or(0);
        let joined = loop {
            if rows.len() <= track {
                rows.push(Vec::new());
            }
            if let Some(joined) = rows.get(track).and_then(|row| join(row, from, to)) {
                break joined;
            }
            track += 1;
        };
        if let Some(row) = rows.get_mut(track) {
            row.retain(|other| !meets(other, &joined));
            row.push(joined);
        }
        placed.push((from, to, edge, track));
    }
    placed
}

fn meets(a: &Joined, b: &Joined) -> bool {
    a.left <= b.right && b.left <= a.right
}

/// An edge joined with what it meets in a row; `None` where that would say what is not so.
fn join(row: &[Joined], from: usize, to: usize) -> Option<Joined> {
    let mut whole = Joined { left: from.min(to), right: from.max(to), sources: vec![from], targets: vec![to] };
    let alone = whole.clone();
    for other in row.iter().filter(|other| meets(other, &alone)) {
        whole.left = whole.left.min(other.left);
        whole.right = whole.right.max(other.right);
        whole.sources.extend(&other.sources);
        whole.targets.extend(&other.targets);
    }
    whole.sources.sort_unstable();
    whole.sources.dedup();
    whole.targets.sort_unstable();
    whole.targets.dedup();
    (whole.sources.len() == 1 || whole.targets.len() == 1).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn picture(names: &[&str], edges: &[(usize, usize)]) -> String {
        let widths: Vec<usize> = names.iter().map(|name| name.len() + 2).collect();
        let layers = Layers::of(&widths, edges, 1);
        let mut rows = vec![vec![' '; layers.width]; layers.height];
        let signs = [' ', '╵', '╷', '│', '╴', '╯', '╮', '┤', '╶', '╰', '╭', '├', '─', '┴', '┬', '┼'];
        for (&(y, x), cell) in &layers.cells {
            rows[y][x] = signs[cell.dirs.0 as usize];
        }
        for node in &layers.nodes {
            for (at, c) in format!("[{}]", names[node.node]).chars().enumerate() {
                rows[node.y][node.x + at] = c;
            }
        }
        rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_chain_and_a_diamond() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
        insta::assert_snapshot!(picture(&["load", "events", "users", "join", "split"], &edges), @r"
             [load]
            ╭───┴────╮
            │        │
        [events]  [users]
            ╰───┬────╯
                │
             [join]
                │
                │
             [split]
        ");
    }

    #[test]
    fn an_edge_over_several_layers_goes_beside_them() {
        insta::assert_snapshot!(picture(&["a", "b", "c", "d"], &[(0, 1), (1, 2), (2, 3), (0, 3)]), @r"
          [a]
         ╭─┴─╮
         │   │
        [b]  │
         │   │
         │   │
        [c]  │
         ╰─┬─╯
           │
          [d]
        ");
    }

    #[test]
    fn many_to_one_and_one_to_many() {
        let edges = [(0, 4), (1, 4), (2, 4), (3, 4), (4, 5), (4, 6), (4, 7)];
        insta::assert_snapshot!(picture(&["a", "bb", "ccc", "dddd", "join", "x", "yy", "zzz"], &edges), @r"
        [a]  [bb]  [ccc]  [dddd]
         ╰─────┴───┬─┴───────╯
                   │
                [join]
             ╭─────┼─────╮
             │     │     │
            [x]  [yy]  [zzz]
        ");
    }

    proptest! {
        #[test]
        fn boxes_never_touch_and_every_edge_is_joined(
            widths in prop::collection::vec(1usize..14, 1..24),
            raw in prop::collection::vec((0usize..24, 0usize..24), 0..40),
        ) {
            let count = widths.len();
            let edges: Vec<(usize, usize)> = raw.into_iter().filter(|&(a, b)| a < b && b < count).collect();
            let layers = Layers::of(&widths, &edges, 3);
            prop_assert_eq!(layers.nodes.len(), count);
            for a in &layers.nodes {
                for b in layers.nodes.iter().filter(|b| b.node != a.node && b.y == a.y) {
                    prop_assert!(a.x + a.width < b.x || b.x + b.width < a.x, "{a:?} {b:?}");
                }
                prop_assert!(a.x + a.width <= layers.width && a.y + 3 <= layers.height);
            }
            for &(from, to) in &edges {
                prop_assert!(layers.nodes[from].y < layers.nodes[to].y);
            }
            for (&(y, x), cell) in &layers.cells {
                let inside = layers.nodes.iter().any(|n| (n.y..n.y + 3).contains(&y) && (n.x..n.x + n.width).contains(&x));
                prop_assert!(!inside, "a line through a box at {x},{y}");
                for (dir, next, back) in [
                    (Dirs::RIGHT, (y, x + 1), Dirs::LEFT),
                    (Dirs::DOWN, (y + 1, x), Dirs::UP),
                ] {
                    if cell.dirs.has(dir) {
                        let joined = layers.cells.get(&next).is_some_and(|other| other.dirs.has(back));
                        let ends = layers.nodes.iter().any(|n| n.y == next.0 && (n.x..n.x + n.width).contains(&next.1));
                        prop_assert!(joined || ends, "a loose end at {x},{y}");
                    }
                }
            }
        }
    }
}
