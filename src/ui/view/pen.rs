//! What the views draw with: cells, the theme, and the note of what was drawn where.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::text;
use crate::ui::app::{Area, HitMap, Target};
use crate::ui::theme::{Glyphs, Role, Theme};

/// Draws into cells.
pub struct Pen<'a> {
    buffer: &'a mut Buffer,
    theme: &'a Theme,
    /// What was drawn where.
    pub hits: HitMap,
}

impl<'a> Pen<'a> {
    /// A pen over the cells of a frame.
    pub fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self { buffer, theme, hits: HitMap::default() }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// The theme.
    pub fn theme(&self) -> &'a Theme {
        self.theme
    }

    /// The signs.
    pub fn glyphs(&self) -> &'a Glyphs {
        self.theme.glyphs()
    }

    /// A piece of text that is ours or was made safe.
    pub fn span(&self, safe: impl Into<String>, role: Role) -> Span<'static> {
        Span::styled(safe.into(), self.style(role))
    }

    /// A piece of text from outside, cut to a width.
    pub fn cut(&self, hostile: &str, width: usize, role: Role) -> Span<'static> {
        Span::styled(text::cut(hostile, width), self.style(role))
    }

    /// Draws pieces that are safe into a row, from its left edge; what doesn't fit is left out.
    pub fn line(&mut self, row: Area, line: &Line<'_>) {
        let row = self.clip(row);
        if row.height > 0 {
            self.buffer.set_line(row.x, row.y, line, row.width);
        }
    }

    /// Draws pieces that are safe so that they end at the right edge of a row.
    pub fn line_right(&mut self, row: Area, line: &Line<'_>) {
        let width = u16::try_from(line.width()).unwrap_or(u16::MAX).min(row.width);
        self.line(Area { x: row.x + row.width - width, width, ..row }, line);
    }

    /// Draws text from outside at a place, in at most `width` columns; gives the columns that it took.
    pub fn put(&mut self, x: u16, y: u16, width: u16, hostile: &str, role: Role) -> u16 {
        let span = self.cut(hostile, usize::from(width), role);
        let taken = u16::try_from(span.width()).unwrap_or(width);
        self.line(Area::new(x, y, width, 1), &Line::from(span));
        taken
    }

    /// Puts a style over cells.
    pub fn shade(&mut self, area: Area, style: Style) {
        let area = self.clip(area);
        self.buffer.set_style(area, style);
    }

    /// Empties cells.
    pub fn clear(&mut self, area: Area, role: Role) {
        let area = self.clip(area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                    cell.set_style(self.theme.style(role));
                }
            }
        }
    }

    /// Draws the frame of a panel.
    pub fn frame(&mut self, area: Area, focused: bool, role: Role) {
        let glyphs = if focused { self.glyphs().frame_focused } else { self.glyphs().frame };
        if area.width < 2 || area.height < 2 {
            return;
        }
        let style = self.style(role);
        let (right, bottom) = (area.x + area.width - 1, area.y + area.height - 1);
        let mut set = |x: u16, y: u16, sign: &str| {
            if let Some(cell) = self.buffer.cell_mut((x, y)) {
                cell.set_symbol(sign).set_style(style);
            }
        };
        for x in area.x + 1..right {
            set(x, area.y, glyphs.across);
            set(x, bottom, glyphs.across);
        }
        for y in area.y + 1..bottom {
            set(area.x, y, glyphs.down);
            set(right, y, glyphs.down);
        }
        set(area.x, area.y, glyphs.top_left);
        set(right, area.y, glyphs.top_right);
        set(right, bottom, glyphs.bottom_right);
        set(area.x, bottom, glyphs.bottom_left);
    }

    /// Draws a heading with a rule through the rest of the row.
    pub fn rule(&mut self, row: Area, title: &str, role: Role) {
        let across = self.glyphs().frame.across;
        let width = usize::from(row.width);
        let mut line = Line::from(self.span(across.repeat(2.min(width)), Role::Border));
        if !title.is_empty() {
            line.push_span(Span::raw(" "));
            line.push_span(self.cut(title, width.saturating_sub(6), role));
            line.push_span(Span::raw(" "));
        }
        let rest = width.saturating_sub(line.width());
        line.push_span(self.span(across.repeat(rest), Role::Border));
        self.line(row, &line);
    }

    fn clip(&self, area: Area) -> Rect {
        Rect::new(area.x, area.y, area.width, area.height).intersection(self.buffer.area)
    }

    /// Notes that a target was drawn.
    pub fn hit(&mut self, area: Area, target: Target) {
        self.hits.add(area, target);
    }
}
