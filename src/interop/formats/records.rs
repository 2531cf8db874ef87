//! The records of a file one at a time, whether they stand on lines or in a list.

use serde_json::Value;

use crate::interop::json::{Clean, each_element, each_line};
use crate::interop::{ImportError, Layout, Place, Recording, Warning};

/// Hands each record to `visit` with its place: each line, each element of the list that the document is, or
/// each element of the list at `path` in it. Gives the warnings about what could not be read.
///
/// # Errors
/// What `visit` gives, a failure of the file itself, or that someone asked to stop.
pub fn each_record(
    recording: &Recording<'_>,
    layout: Layout,
    path: &[&str],
    visit: &mut dyn FnMut(Place, Value) -> Result<(), ImportError>,
) -> Result<Vec<Warning>, ImportError> {
    if layout == Layout::Lines {
        return each_line(recording, &mut |line, record| visit(Place::Line(line), record));
    }
    let path = if layout == Layout::Object { path } else { &[] };
    let mut number = 0;
    let ended = each_element(Clean::new(recording.read()?), path, &mut |record| {
        number += 1;
        visit(Place::Record(number), record)
    })?;
    if recording.watch().is_stopped() {
        return Err(ImportError::Stopped);
    }
    Ok(ended.warning().into_iter().collect())
}
