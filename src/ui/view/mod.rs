//! How the interface looks.
//!
//! # Architecture
//!
//! - [`view`] draws the whole model and tells what it drew where; it changes nothing. One file a panel:
//!   `steps.rs` with `graph.rs`, `source.rs`, `output.rs`, `state.rs`, `patch.rs`, `history.rs`, `context.rs`; `bars.rs` is the lines at the top and the foot, `panel.rs`
//!   the frames with their tabs, `overlay.rs` what lies over the panels.
//! - `pen.rs`: what they draw with.
//! - [`ansi`]: what programs print for a terminal, as text with colours.
//! - [`highlight`]: which bytes of a source are what.
//! - [`text`]: the only place that turns hostile text into cells.

pub mod ansi;
mod bars;
mod context;
mod graph;
pub mod highlight;
mod history;
mod output;
mod overlay;
mod panel;
mod patch;
mod pen;
#[cfg(test)]
mod screens;
mod source;
mod state;
mod steps;
#[cfg(test)]
mod sweep;
pub mod text;

use ratatui::Frame;
use ratatui::buffer::Buffer;

use self::pen::Pen;
use crate::ui::app::{Class, HitMap, Model, Pane};
use crate::ui::theme::{Role, Theme};

/// Draws the model and tells what was drawn where.
pub fn view(model: &Model, theme: &Theme, frame: &mut Frame<'_>) -> HitMap {
    let place = bars::cursor(model);
    let hits = draw(model, theme, frame.buffer_mut());
    if let Some(place) = place {
        frame.set_cursor_position(place);
    }
    hits
}

/// As [`view`], into cells that belong to no terminal.
pub fn draw(model: &Model, theme: &Theme, buffer: &mut Buffer) -> HitMap {
    let mut pen = Pen::new(buffer, theme);
    let screen = model.screen();
    let (width, height) = model.size;
    pen.clear(crate::ui::app::Area::new(0, 0, width, height), Role::Text);
    if screen.class == Class::TooSmall {
        pen.put(0, 0, width, &format!("reweave needs 40x10, this is {width}x{height}"), Role::Warning);
        return pen.hits;
    }
    bars::header(&mut pen, model, &screen);
    for panel in &screen.panels {
        panel::draw(&mut pen, model, panel);
        let inside = panel.area.inner();
        match panel.pane {
            Pane::Steps => steps::draw(&mut pen, model, inside),
            Pane::Source => source::draw(&mut pen, model, inside),
            Pane::Output => output::draw(&mut pen, model, inside),
            Pane::State => state::draw(&mut pen, model, inside),
            Pane::Patch => patch::draw(&mut pen, model, inside),
            Pane::History => history::draw(&mut pen, model, inside),
            Pane::Context => context::draw(&mut pen, model, inside),
        }
    }
    panel::borders(&mut pen, &screen);
    bars::notice(&mut pen, model, screen.notice);
    bars::hints(&mut pen, model, screen.hints);
    overlay::draw(&mut pen, model);
    let hits = pen.hits;
    if theme.glyphs().is_ascii() {
        only_ascii(buffer, theme);
    }
    hits
}

/// For terminals that can't show more: what a run holds of other characters becomes a question mark.
fn only_ascii(buffer: &mut Buffer, theme: &Theme) {
    for cell in &mut buffer.content {
        if !cell.symbol().is_ascii() {
            let sign = if cell.symbol() == text::ELLIPSIS { theme.glyphs().ellipsis } else { "?" };
            cell.set_symbol(sign);
        }
    }
}
