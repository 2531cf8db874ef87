//! JSON as it is found in the wild.
//!
//! # Architecture
//!
//! - [`Clean`]: a reader that makes parsable what writers got wrong: bytes that are not UTF-8, half surrogate
//!   pairs, `NaN`, raw control characters in strings, a byte order mark.
//! - [`each_line`]: JSON Lines, a record at a time; broken, glued and overlong lines are told, and nothing after
//!   them is lost.
//! - [`each_element`]: the elements of an array anywhere in one large document, one at a time.
//! - [`outline`]: a document with long texts and lists cut short: enough to tell what it is.
//! - [`at`], [`text`], [`embedded`]: reading values whose shape differs from writer to writer.

mod clean;
mod document;
mod lines;
mod value;

pub use clean::Clean;
pub use document::{Ended, each_document, each_element, outline};
pub use lines::{MAX_RECORD, each_line};
pub use value::{at, embedded, kind_of, str_at, text, text_at};
