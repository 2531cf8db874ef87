//! What the person is doing: the state of the interface and how it follows from what happens. Pure: no clock, no
//! files, no threads, no terminal.
//!
//! # Architecture
//!
//! - [`Model`]: the whole state. One file a panel holds that panel's part: [`steps`], [`source`], [`output`],
//!   [`state`], [`patch`] over a pure [`review`], [`history`], [`context`]; [`run`] is the run as it was last told, with who needs whom.
//! - [`Message`]: something that happened. [`update`] takes it into the model and gives [`Effect`]s, which the
//!   runtime performs and answers with further messages.
//! - [`action::TABLE`]: everything that a person can do, once; [`Keymap`], help, palette and hints come from it.
//! - [`Overlay`]: what is open over the panels. `typing.rs` takes the keys while something is.
//! - [`Screen`]: where each panel is. [`Window`]: which lines of a panel are seen.
//! - [`HitMap`]: what was drawn where, told by the view, so that a click means what is seen.
//!
//! Reading text is the one thing taken from the view ([`crate::ui::view::text`] and [`crate::ui::view::ansi`],
//! themselves pure), since how far a page goes depends on how lines wrap.

mod act;
pub mod action;
pub mod boxes;
pub mod context;
pub mod document;
mod events;
pub mod field;
pub mod filter;
pub mod history;
pub mod hit;
pub mod html;
pub mod hunt;
pub mod key;
pub mod keymap;
pub mod lines;
mod message;
pub mod model;
pub mod names;
pub mod notice;
pub mod output;
pub mod overlay;
pub mod panes;
pub mod patch;
pub mod picture;
pub mod remembered;
pub mod review;
mod reviewing;
pub mod run;
#[cfg(test)]
mod said;
#[cfg(test)]
mod scenes;
pub mod screen;
pub mod search;
pub mod source;
pub mod state;
pub mod steps;
mod typing;
mod update;
pub mod window;

pub use action::Action;
pub use hit::{HitMap, Target};
pub use keymap::Keymap;
pub use message::{Effect, Message, Mouse, MouseKind};
pub use model::{Model, Pane};
pub use overlay::Overlay;
pub use screen::{Area, Class, Screen};
pub use update::update;
pub use window::Window;
