//! A run that was imported: its texts and what was recorded of them go to the store.

use std::path::Path;
use std::sync::Arc;

use super::Failure;
use super::book::Book;
use super::moment::now;
use super::open::run_failure;
use crate::engine::OnError;
use crate::run::RunDir;
use crate::step::{Author, Execution, Provenance};

/// Records a run that was just imported into `dir`: every text as a version that came by `format`, and
/// `executions` as recorded elsewhere.
///
/// # Errors
/// When the store can't be written. The steps' files are there all the same.
pub fn record_import(dir: &Path, format: &str, executions: Vec<Execution>) -> Result<(), Failure> {
    let dir = RunDir::open(dir).map_err(run_failure)?;
    let by = Provenance::new(Author::Import(format.to_owned()), now());
    let mut book = Book::open_by(dir, OnError::default(), Some(by))?;
    for execution in executions {
        let Some(text) = book.step(&execution.step).map(|entry| entry.file.digest) else { continue };
        book.executed(&Arc::new(execution), text);
    }
    book.settle()
}
