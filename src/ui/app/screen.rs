//! Where each panel is: the arithmetic of the screen's size classes.

use super::model::Pane;

/// A rectangle of cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Area {
    /// Column of its left edge.
    pub x: u16,
    /// Row of its upper edge.
    pub y: u16,
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Area {
    /// A rectangle.
    pub const fn new(x: u16, y: u16, width: u16, height: u16) -> Self {
        Self { x, y, width, height }
    }

    /// Whether the cell lies in it.
    pub fn contains(self, x: u16, y: u16) -> bool {
        let inside = |at: u16, from: u16, len: u16| at >= from && at - from < len;
        inside(x, self.x, self.width) && inside(y, self.y, self.height)
    }

    /// What is left inside a border of one cell.
    #[must_use]
    pub fn inner(self) -> Self {
        Self {
            x: self.x.saturating_add(1),
            y: self.y.saturating_add(1),
            width: self.width.saturating_sub(2),
            height: self.height.saturating_sub(2),
        }
    }

    /// The row at `at` from the top, empty beyond the end.
    #[must_use]
    pub fn row(self, at: u16) -> Self {
        let height = u16::from(at < self.height);
        Self { y: self.y.saturating_add(at), height, ..self }
    }

    fn columns(self, width: u16) -> (Self, Self) {
        let width = width.min(self.width);
        (Self { width, ..self }, Self { x: self.x + width, width: self.width - width, ..self })
    }

    fn rows(self, height: u16) -> (Self, Self) {
        let height = height.min(self.height);
        (Self { height, ..self }, Self { y: self.y + height, height: self.height - height, ..self })
    }
}

/// How much fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// From 110 columns: three panels.
    Wide,
    /// From 70 columns: the list, and one panel with tabs.
    Normal,
    /// From 40 columns: one panel with tabs.
    Narrow,
    /// Below 40 columns or 10 rows: one line that says so.
    TooSmall,
}

/// How the person shared the screen out, in percent of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// Of the width, for the list, from 110 columns.
    pub wide: u16,
    /// Of the width, for the list, below.
    pub normal: u16,
    /// Of the height, for the source over what is below it.
    pub source: u16,
}

impl Default for Shares {
    fn default() -> Self {
        Self { wide: 35, normal: 43, source: 43 }
    }
}

/// A panel's place and what it can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panel {
    /// Where, border included.
    pub area: Area,
    /// What it shows.
    pub pane: Pane,
    /// What it can show; one alone has no tabs.
    pub tabs: &'static [Pane],
}

/// The whole screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// How much fits.
    pub class: Class,
    /// The line at the top.
    pub header: Area,
    /// The panels.
    pub panels: Vec<Panel>,
    /// The line for notices and prompts.
    pub notice: Area,
    /// The line for hints.
    pub hints: Area,
}

/// Below this many rows the header gives its line to the panels.
const SHORT: u16 = 14;

impl Screen {
    /// Shares out a terminal of `size` columns and rows. `focus` is shown in any case; `tab` and `detail` say what
    /// the panels with tabs show when the focus is elsewhere; `zoom` gives the focused panel all there is.
    pub fn of(size: (u16, u16), shares: Shares, focus: Pane, tab: Pane, detail: Pane, zoom: bool) -> Self {
        let (width, height) = size;
        let class = match width {
            _ if width < 40 || height < 10 => Class::TooSmall,
            110.. => Class::Wide,
            70.. => Class::Normal,
            _ => Class::Narrow,
        };
        let all = Area::new(0, 0, width, height);
        if class == Class::TooSmall {
            let none = Area::default();
            return Self { class, header: all.row(0), panels: Vec::new(), notice: none, hints: none };
        }
        let (header, rest) = all.rows(u16::from(height >= SHORT));
        let (body, foot) = rest.rows(rest.height.saturating_sub(2));
        let panels = match class {
            _ if zoom => {
                vec![Panel { area: body, pane: focus, tabs: if focus == Pane::Steps { &[] } else { Pane::TABS } }]
            }
            Class::Narrow | Class::TooSmall => vec![Panel { area: body, pane: focus, tabs: Pane::ALL }],
            Class::Normal => {
                let (left, right) = body.columns(part(width, shares.normal, 26, 38));
                vec![
                    Panel { area: left, pane: Pane::Steps, tabs: &[] },
                    Panel { area: right, pane: if focus == Pane::Steps { tab } else { focus }, tabs: Pane::TABS },
                ]
            }
            Class::Wide => {
                let (left, right) = body.columns(part(width, shares.wide, 30, 50));
                let (above, below) = right.rows(part(right.height, shares.source, 4, 4));
                let shown = if matches!(focus, Pane::Steps | Pane::Source) { detail } else { focus };
                vec![
                    Panel { area: left, pane: Pane::Steps, tabs: &[] },
                    Panel { area: above, pane: Pane::Source, tabs: &[] },
                    Panel { area: below, pane: shown, tabs: Pane::DETAILS },
                ]
            }
        };
        Self { class, header, panels, notice: foot.row(0), hints: foot.row(1) }
    }

    /// The place of a pane, if it is shown.
    pub fn panel(&self, pane: Pane) -> Option<&Panel> {
        self.panels.iter().find(|panel| panel.pane == pane)
    }

    /// The cells inside the border of a pane; empty when it is not shown.
    pub fn inside(&self, pane: Pane) -> Area {
        self.panel(pane).map(|panel| panel.area.inner()).unwrap_or_default()
    }
}

/// `percent` of `whole`, at least `min`, and leaving at least `rest`.
fn part(whole: u16, percent: u16, min: u16, rest: u16) -> u16 {
    let part = u32::from(whole) * u32::from(percent.min(100)) / 100;
    let part = u16::try_from(part).unwrap_or(whole);
    part.min(whole.saturating_sub(rest)).max(min.min(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn screen(width: u16, height: u16) -> Screen {
        Screen::of((width, height), Shares::default(), Pane::Steps, Pane::Source, Pane::Output, false)
    }

    #[test]
    fn the_list_has_its_share() {
        assert_eq!(screen(120, 40).panels[0].area, Area::new(0, 1, 42, 37));
        assert_eq!(screen(120, 40).panels[1].area, Area::new(42, 1, 78, 15));
        assert_eq!(screen(80, 24).panels[0].area, Area::new(0, 1, 34, 21));
    }

    proptest! {
        #[test]
        fn panels_fill_the_body_and_never_overlap(
            width in 0u16..300, height in 0u16..120, wide in 0u16..150, source in 0u16..150, zoom: bool
        ) {
            let shares = Shares { wide, normal: wide, source };
            let screen = Screen::of((width, height), shares, Pane::Steps, Pane::Source, Pane::Output, zoom);
            if screen.class == Class::TooSmall {
                prop_assert!(screen.panels.is_empty());
                return Ok(());
            }
            for y in 0..height {
                for x in 0..width {
                    let mut owners = screen.panels.iter().map(|p| p.area).collect::<Vec<_>>();
                    owners.extend([screen.header, screen.notice, screen.hints]);
                    prop_assert_eq!(owners.iter().filter(|area| area.contains(x, y)).count(), 1, "{} {}", x, y);
                }
            }
            for panel in &screen.panels {
                prop_assert!(panel.area.width >= 26 && panel.area.height >= 4);
            }
        }
    }
}
