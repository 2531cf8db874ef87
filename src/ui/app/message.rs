//! What comes in, and what goes out.

use std::sync::Arc;

use super::document::Document;
use super::hit::Target;
use super::key::Chord;
use super::model::Pane;
use super::source::HighlightJob;
use super::steps::LaneJob;
use crate::step::{Execution, Millis, StepId};
use crate::ui::layout::Lanes;
use crate::ui::view::highlight::Token;
use crate::workbench::{Command, Event, Level};

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Message {
    /// What time it is; comes before whatever else happened.
    Now(Millis),
    /// A key was pressed.
    Key(Chord),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something.
    Mouse(Mouse),
    /// The terminal has this many columns and rows.
    Resized(u16, u16),
    /// The run told something.
    Run(Event),
    /// Lanes were laid out.
    Laid {
        /// Of which job.
        serial: u64,
        /// The lanes.
        lanes: Arc<Lanes>,
    },
    /// It was found out which bytes of some lines of a source are what.
    Highlighted {
        /// Of which job.
        serial: u64,
        /// The first of the lines.
        first: usize,
        /// What was found.
        lines: Vec<Arc<[Token]>>,
    },
    /// What a step printed and showed was made lines of.
    Composed(StepId, Box<Document>),
    /// A search goes on.
    Hunt,
    /// The editor was closed.
    Edited(StepId),
    /// The editor was closed on a text that belongs to no step: what it holds now, unless it is as before.
    TextEdited(Option<String>),
    /// Something outside the run went well or wrong.
    Told(Level, String),
}

/// What the mouse did, and on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// What it did.
    pub kind: MouseKind,
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
    /// What was drawn there.
    pub target: Option<Target>,
    /// The panel there.
    pub pane: Option<Pane>,
}

/// What the mouse did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Press,
    /// It moved with the left button down.
    Drag,
    /// The left button came up.
    Release,
    /// The wheel turned up.
    WheelUp,
    /// The wheel turned down.
    WheelDown,
}

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask this of the run.
    Ask(Command),
    /// Lay out lanes, answered by [`Message::Laid`].
    Lay(LaneJob),
    /// Find out which bytes of a source are what, answered by [`Message::Highlighted`].
    Highlight(HighlightJob),
    /// Make lines of what a step printed and showed, answered by [`Message::Composed`].
    Compose(StepId, Arc<Execution>),
    /// Go on with the search soon, by [`Message::Hunt`].
    Hunt,
    /// Open a step in the editor, at this line (from 1), answered by [`Message::Edited`].
    Edit(StepId, usize),
    /// Open a text that belongs to no step in the editor, answered by [`Message::TextEdited`].
    EditText {
        /// A name whose ending tells what it is written in.
        name: String,
        /// The text.
        text: String,
    },
    /// Put text into the clipboard, answered by [`Message::Told`].
    Copy(String),
    /// Listen to the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Go to the background until the shell brings us back.
    Suspend,
    /// Draw every cell anew.
    Redraw,
    /// End.
    Quit,
}
