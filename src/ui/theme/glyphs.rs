//! The signs that the interface is drawn with, with Unicode and without.

use crate::step::Status;

/// One set of signs. Each takes one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// A fresh step.
    pub fresh: &'static str,
    /// A stale step.
    pub stale: &'static str,
    /// A running step; in turn, as time goes.
    pub running: &'static [&'static str],
    /// A failed step.
    pub failed: &'static str,
    /// A blocked step.
    pub blocked: &'static str,
    /// A step never run.
    pub never: &'static str,
    /// A step that a patch waits for.
    pub patch: &'static str,
    /// A step to stop at.
    pub breakpoint: &'static str,
    /// A choice that is taken.
    pub accepted: &'static str,
    /// A choice that is left.
    pub rejected: &'static str,
    /// A choice that is taken in part.
    pub partial: &'static str,
    /// A choice not made.
    pub undecided: &'static str,
    /// The row that is meant.
    pub pointer: &'static str,
    /// What lies under is shown.
    pub open: &'static str,
    /// What lies under is folded.
    pub folded: &'static str,
    /// To the right, or "becomes".
    pub right: &'static str,
    /// To the left, or "because of".
    pub left: &'static str,
    /// Upwards.
    pub up: &'static str,
    /// Downwards.
    pub down: &'static str,
    /// Something was cut off.
    pub ellipsis: &'static str,
    /// A long line goes on to the right.
    pub more_right: &'static str,
    /// A long line goes on to the left.
    pub more_left: &'static str,
    /// A row continues the one above.
    pub wrapped: &'static str,
    /// Between things of one kind.
    pub dot: &'static str,
    /// A line changed since the last run.
    pub changed: &'static str,
    /// The directory is watched.
    pub watching: &'static str,
    /// Eighths of a bar that grows upwards, from one to eight.
    pub bars: [&'static str; 8],
    /// A part that is full, in a bar that grows to the right.
    pub full: &'static str,
    /// A part that is empty.
    pub empty: &'static str,
    /// The upper half of a cell.
    pub half: &'static str,
    /// From nothing to all of a cell, where there are no colours.
    pub shades: [&'static str; 5],
    /// The thumb of a scrollbar.
    pub thumb: &'static str,
    /// Lines of a box: across, down, and the corners from the top left on, clockwise.
    pub frame: FrameGlyphs,
    /// The same for the panel that keys go to, so that focus is seen without colour.
    pub frame_focused: FrameGlyphs,
}

/// The lines of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameGlyphs {
    /// `─`
    pub across: &'static str,
    /// `│`
    pub down: &'static str,
    /// `┌`
    pub top_left: &'static str,
    /// `┐`
    pub top_right: &'static str,
    /// `┘`
    pub bottom_right: &'static str,
    /// `└`
    pub bottom_left: &'static str,
}

impl FrameGlyphs {
    /// As ratatui's blocks take it.
    pub fn set(&self) -> ratatui::symbols::border::Set<'static> {
        ratatui::symbols::border::Set {
            top_left: self.top_left,
            top_right: self.top_right,
            bottom_left: self.bottom_left,
            bottom_right: self.bottom_right,
            vertical_left: self.down,
            vertical_right: self.down,
            horizontal_top: self.across,
            horizontal_bottom: self.across,
        }
    }
}

impl Glyphs {
    /// For terminals whose font and locale have them.
    pub const UNICODE: Self = Self {
        fresh: "●",
        stale: "◌",
        running: &["◐", "◓", "◑", "◒"],
        failed: "✗",
        blocked: "⊘",
        never: "○",
        patch: "◆",
        breakpoint: "■",
        accepted: "✓",
        rejected: "✗",
        partial: "◐",
        undecided: "·",
        pointer: "▸",
        open: "▾",
        folded: "▸",
        right: "→",
        left: "←",
        up: "↑",
        down: "↓",
        ellipsis: "…",
        more_right: "›",
        more_left: "‹",
        wrapped: "↪",
        dot: "·",
        changed: "▎",
        watching: "⟳",
        bars: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
        full: "━",
        empty: "─",
        half: "▀",
        shades: [" ", "░", "▒", "▓", "█"],
        thumb: "█",
        frame: FrameGlyphs {
            across: "─",
            down: "│",
            top_left: "┌",
            top_right: "┐",
            bottom_right: "┘",
            bottom_left: "└",
        },
        frame_focused: FrameGlyphs {
            across: "━",
            down: "┃",
            top_left: "┏",
            top_right: "┓",
            bottom_right: "┛",
            bottom_left: "┗",
        },
    };

    /// Nothing but ASCII.
    pub const ASCII: Self = Self {
        fresh: "*",
        stale: "~",
        running: &[">", "-"],
        failed: "x",
        blocked: "!",
        never: "o",
        patch: "P",
        breakpoint: "#",
        accepted: "y",
        rejected: "n",
        partial: "%",
        undecided: ".",
        pointer: ">",
        open: "v",
        folded: ">",
        right: ">",
        left: "<",
        up: "^",
        down: "v",
        ellipsis: "~",
        more_right: ">",
        more_left: "<",
        wrapped: "\\",
        dot: ".",
        changed: "|",
        watching: "@",
        bars: ["_", ".", "-", "-", "=", "=", "#", "#"],
        full: "=",
        empty: "-",
        half: "#",
        shades: [" ", ".", ":", "+", "#"],
        thumb: "#",
        frame: FrameGlyphs {
            across: "-",
            down: "|",
            top_left: "+",
            top_right: "+",
            bottom_right: "+",
            bottom_left: "+",
        },
        frame_focused: FrameGlyphs {
            across: "=",
            down: "#",
            top_left: "#",
            top_right: "#",
            bottom_right: "#",
            bottom_left: "#",
        },
    };

    /// The sign of a status; of a running step, the `turn`-th.
    pub fn status(&self, status: Status, turn: usize) -> &'static str {
        match status {
            Status::Never => self.never,
            Status::Fresh => self.fresh,
            Status::Stale => self.stale,
            Status::Running => self.running.get(turn % self.running.len().max(1)).copied().unwrap_or("?"),
            Status::Failed => self.failed,
            Status::Blocked => self.blocked,
        }
    }

    /// Whether this set is the one without Unicode.
    pub fn is_ascii(&self) -> bool {
        self.fresh.is_ascii()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::text::width;

    /// Every string of a set stands between quotes in its debug form.
    fn all(set: &Glyphs) -> Vec<String> {
        format!("{set:?}").split('"').skip(1).step_by(2).map(|sign| sign.replace("\\\\", "\\")).collect()
    }

    #[test]
    fn each_sign_takes_one_column() {
        for sign in all(&Glyphs::UNICODE).into_iter().chain(all(&Glyphs::ASCII)) {
            assert_eq!(width(&sign), 1, "{sign}");
        }
    }

    #[test]
    fn the_ascii_set_is_ascii() {
        assert!(all(&Glyphs::ASCII).iter().all(|sign| sign.is_ascii()));
        assert!(Glyphs::ASCII.is_ascii() && !Glyphs::UNICODE.is_ascii());
    }

    #[test]
    fn statuses_are_told_apart_without_colour() {
        let statuses = [Status::Never, Status::Fresh, Status::Stale, Status::Running, Status::Failed, Status::Blocked];
        for set in [Glyphs::UNICODE, Glyphs::ASCII] {
            let signs: std::collections::HashSet<_> = statuses.iter().map(|s| set.status(*s, 0)).collect();
            assert_eq!(signs.len(), statuses.len());
        }
    }
}
