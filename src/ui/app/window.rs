//! Which lines of a text are seen, and which one the cursor is on.

/// A window on a text of lines, each of which may take several rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// The line that the cursor is on.
    pub cursor: usize,
    /// The first line that is seen.
    pub top: usize,
    /// How many rows of the first line are above the window.
    pub skip: usize,
    /// How many columns are left of the window.
    pub left: usize,
}

/// What a window looks at: how many lines there are, how many rows fit, and how many rows each line takes.
pub struct Ground<'a> {
    /// Lines.
    pub lines: usize,
    /// Rows of the window.
    pub height: usize,
    /// Rows of a line; at least 1.
    pub rows: &'a dyn Fn(usize) -> usize,
}

impl Ground<'_> {
    fn rows(&self, line: usize) -> usize {
        (self.rows)(line).max(1)
    }
}

impl Window {
    /// Moves the cursor by lines; within a line taller than the window, by rows.
    pub fn step(&mut self, by: isize, ground: &Ground<'_>) {
        if by == 1 && self.cursor == self.top && ground.rows(self.top).saturating_sub(self.skip) > ground.height {
            self.skip += 1;
        } else if by == -1 && self.cursor == self.top && self.skip > 0 {
            self.skip -= 1;
        } else {
            self.cursor = self.cursor.saturating_add_signed(by);
        }
        self.settle(ground);
    }

    /// Puts the cursor on a line.
    pub fn go(&mut self, line: usize, ground: &Ground<'_>) {
        self.cursor = line;
        self.settle(ground);
    }

    /// Moves the window by rows and takes the cursor along where it would be left outside.
    pub fn scroll(&mut self, by: isize, ground: &Ground<'_>) {
        let last = ground.lines.saturating_sub(1);
        for _ in 0..by.unsigned_abs() {
            if by > 0 {
                if self.ends(ground) {
                    break;
                }
                if self.skip + 1 < ground.rows(self.top) {
                    self.skip += 1;
                } else if self.top < last {
                    (self.top, self.skip) = (self.top + 1, 0);
                }
            } else if self.skip > 0 {
                self.skip -= 1;
            } else if self.top > 0 {
                self.top -= 1;
                self.skip = ground.rows(self.top) - 1;
            }
        }
        let first = self.top + usize::from(self.skip > 0 && self.top < last && ground.height > 1);
        self.cursor = self.cursor.clamp(first.min(self.last(ground)), self.last(ground));
    }

    /// Brings all numbers into their bounds and the cursor into the window.
    pub fn settle(&mut self, ground: &Ground<'_>) {
        let last = ground.lines.saturating_sub(1);
        self.cursor = self.cursor.min(last);
        self.top = self.top.min(last);
        // A window that is not drawn now keeps its place.
        if ground.height > 0 {
            self.take_in(ground);
            self.fill(ground);
        }
    }

    /// Leaves no room below the end of the text while there is some above.
    fn fill(&mut self, ground: &Ground<'_>) {
        let mut room = ground.height + self.skip;
        for line in self.top..ground.lines {
            let rows = ground.rows(line);
            if rows > room {
                return;
            }
            room -= rows;
        }
        while room > 0 {
            if self.skip > 0 {
                let back = self.skip.min(room);
                (self.skip, room) = (self.skip - back, room - back);
            } else if self.top > 0 {
                self.top -= 1;
                let rows = ground.rows(self.top);
                self.skip = rows.saturating_sub(room);
                room -= rows - self.skip;
            } else {
                return;
            }
        }
    }

    /// Brings the cursor into the window.
    fn take_in(&mut self, ground: &Ground<'_>) {
        if self.cursor < self.top {
            (self.top, self.skip) = (self.cursor, 0);
        }
        self.skip = self.skip.min(ground.rows(self.top) - 1);
        if self.cursor == self.top {
            let rows = ground.rows(self.top);
            self.skip = if rows <= ground.height { 0 } else { self.skip.min(rows - ground.height) };
            return;
        }
        // From the cursor upwards: the first line from which the cursor's line is wholly seen.
        let mut room = ground.height.saturating_sub(ground.rows(self.cursor));
        let mut first = self.cursor;
        while first > self.top {
            let rows = ground.rows(first - 1) - if first - 1 == self.top { self.skip } else { 0 };
            if rows > room {
                break;
            }
            room -= rows;
            first -= 1;
        }
        if first > self.top {
            (self.top, self.skip) = (first, 0);
        }
    }

    /// The last line of which a row is seen.
    fn last(&self, ground: &Ground<'_>) -> usize {
        let mut room = (ground.height + self.skip).saturating_sub(ground.rows(self.top));
        let mut line = self.top;
        while line + 1 < ground.lines && room >= ground.rows(line + 1) {
            line += 1;
            room -= ground.rows(line);
        }
        line
    }

    /// Whether the end of the text is seen.
    pub fn ends(&self, ground: &Ground<'_>) -> bool {
        let mut room = ground.height + self.skip;
        for line in self.top..ground.lines {
            let rows = ground.rows(line);
            if rows > room {
                return false;
            }
            room -= rows;
        }
        true
    }

    /// Puts the cursor on the last line and the end of the text at the window's foot.
    pub fn end(&mut self, ground: &Ground<'_>) {
        self.go(ground.lines.saturating_sub(1), ground);
        if self.cursor == self.top {
            self.skip = ground.rows(self.top).saturating_sub(ground.height);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_cursor_pulls_the_window_along() {
        let ground = Ground { lines: 100, height: 10, rows: &|_| 1 };
        let mut window = Window::default();
        window.go(50, &ground);
        assert_eq!((window.top, window.cursor), (41, 50));
        window.step(-9, &ground);
        assert_eq!((window.top, window.cursor), (41, 41));
        window.step(-1, &ground);
        assert_eq!(window.top, 40);
        window.scroll(20, &ground);
        assert_eq!((window.top, window.cursor), (60, 60));
        window.scroll(1000, &ground);
        assert_eq!(window.top, 90);
        assert!(window.ends(&ground));
    }

    #[test]
    fn a_line_taller_than_the_window_is_gone_through_by_rows() {
        let ground = Ground { lines: 3, height: 4, rows: &|line| if line == 1 { 10 } else { 1 } };
        let mut window = Window::default();
        window.step(1, &ground);
        assert_eq!((window.cursor, window.top, window.skip), (1, 1, 0));
        for _ in 0..6 {
            window.step(1, &ground);
        }
        assert_eq!((window.cursor, window.skip), (1, 6));
        window.step(1, &ground);
        assert_eq!(window.cursor, 2);
        assert!(window.ends(&ground));
    }

    proptest! {
        #[test]
        fn the_cursor_is_always_seen(
            heights in prop::collection::vec(1usize..12, 0..20), height in 1usize..8,
            moves in prop::collection::vec((0u8..4, -12isize..12), 0..20)
        ) {
            let ground = Ground { lines: heights.len(), height, rows: &|at| heights.get(at).copied().unwrap_or(1) };
            let mut window = Window::default();
            for (kind, by) in moves {
                match kind {
                    0 => window.step(by, &ground),
                    1 => window.scroll(by, &ground),
                    2 => window.go(by.unsigned_abs(), &ground),
                    _ => window.end(&ground),
                }
                prop_assert!(window.cursor < ground.lines.max(1));
                prop_assert!(window.top <= window.cursor);
                let above: usize = (window.top..window.cursor).map(|at| ground.rows(at)).sum();
                prop_assert!(above.saturating_sub(window.skip) < height, "{window:?}");
                prop_assert!(window.skip < ground.rows(window.top));
            }
        }
    }
}
