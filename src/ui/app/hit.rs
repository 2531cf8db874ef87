//! What was drawn where, so that a click means what is seen under it.

use super::action::Action;
use super::model::Pane;
use super::screen::Area;

/// Something on the screen that answers to the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A panel, where nothing finer was drawn.
    Pane(Pane),
    /// The title of a tab.
    Tab(Pane),
    /// A row of the list of steps.
    Row(usize),
    /// A line of a panel's text.
    Line(Pane, usize),
    /// A word in the line of hints.
    Hint(Action),
    /// A row of what is open over the panels.
    Choice(usize),
    /// The border that can be dragged between the list and the rest.
    Divider,
    /// The border that can be dragged between the source and what is below it.
    Ledge,
}

/// What was drawn where, later things over earlier ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HitMap {
    hits: Vec<(Area, Target)>,
}

impl HitMap {
    /// Notes that `target` was drawn in `area`.
    pub fn add(&mut self, area: Area, target: Target) {
        self.hits.push((area, target));
    }

    /// What is seen at a cell.
    pub fn at(&self, x: u16, y: u16) -> Option<Target> {
        self.hits.iter().rev().find(|(area, _)| area.contains(x, y)).map(|(_, target)| *target)
    }

    /// The panel at a cell, whatever was drawn in it.
    pub fn pane_at(&self, x: u16, y: u16) -> Option<Pane> {
        self.hits.iter().rev().find_map(|(area, target)| match target {
            Target::Pane(pane) if area.contains(x, y) => Some(*pane),
            _ => None,
        })
    }
}
