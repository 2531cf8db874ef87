//! How provenance stands in a row.

use rusqlite::Row;
use rusqlite::types::ToSql;

use super::StoreError;
use crate::step::{Author, Digest, PatchId, Provenance, Tokens};

/// The columns, in the order of [`bind`] and [`read`].
pub(crate) const COLUMNS: &str = "at, author, author_name, model, call, patch, reason, context, tokens_in, tokens_out";

/// The author's kind and name as they are kept.
pub(crate) fn author_words(author: &Author) -> (&'static str, Option<&str>) {
    match author {
        Author::Person => ("person", None),
        Author::Agent(name) => ("agent", Some(name)),
        Author::Import(format) => ("import", Some(format)),
        Author::Rule(rule) => ("rule", Some(rule)),
    }
}

/// The author that these words stand for.
pub(crate) fn author(kind: &str, name: Option<String>) -> Result<Author, StoreError> {
    let name = name.unwrap_or_default();
    Ok(match kind {
        "person" => Author::Person,
        "agent" => Author::Agent(name),
        "import" => Author::Import(name),
        "rule" => Author::Rule(name),
        other => return Err(StoreError::damaged(format!("{other:?} is no kind of author"))),
    })
}

/// The values of [`COLUMNS`].
pub(crate) fn bind(provenance: &Provenance) -> Vec<Box<dyn ToSql + '_>> {
    let (kind, name) = author_words(&provenance.author);
    vec![
        Box::new(provenance.at),
        Box::new(kind),
        Box::new(name),
        Box::new(provenance.model.as_deref()),
        Box::new(provenance.call.as_deref()),
        Box::new(provenance.patch.map(|patch| patch.0)),
        Box::new(provenance.reason.as_deref()),
        Box::new(provenance.context.map(|digest| digest.as_bytes().to_vec())),
        Box::new(provenance.tokens.map(|tokens| signed(tokens.input))),
        Box::new(provenance.tokens.map(|tokens| signed(tokens.output))),
    ]
}

/// Provenance from a row in which [`COLUMNS`] begin at `first`.
pub(crate) fn read(row: &Row<'_>, first: usize) -> Result<Provenance, StoreError> {
    let kind: String = row.get(first + 1)?;
    Ok(Provenance {
        at: row.get(first)?,
        author: author(&kind, row.get(first + 2)?)?,
        model: row.get(first + 3)?,
        call: row.get(first + 4)?,
        patch: row.get::<_, Option<u32>>(first + 5)?.map(PatchId),
        reason: row.get(first + 6)?,
        context: row.get::<_, Option<[u8; 32]>>(first + 7)?.map(Digest::from_bytes),
        tokens: match (row.get::<_, Option<i64>>(first + 8)?, row.get::<_, Option<i64>>(first + 9)?) {
            (Some(input), Some(output)) => Some(Tokens { input: input.unsigned_abs(), output: output.unsigned_abs() }),
            _ => None,
        },
    })
}

/// SQLite's numbers have a sign.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
