//! The store's tables, how they move forward, and whether a file holds exactly them.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{StoreError, mark};

/// Each entry takes the schema one number forward; the first makes it from nothing. An entry that was
/// released is never changed again.
const MIGRATIONS: [&str; 5] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
];

/// The newest schema that this reweave knows: `PRAGMA user_version`.
pub const SCHEMA: i64 = MIGRATIONS.len() as i64;

/// The schema since which rows have marks.
pub(crate) const MARKS: i64 = 5;

/// `PRAGMA application_id` of a store: "rwve".
const APPLICATION: i64 = 0x7277_7665;

/// What a database file turned out to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing yet.
    Empty,
    /// A store of this schema, exactly as reweave makes it.
    Store(i64),
}

/// Looks at what `sql` holds without changing it.
///
/// A database comes with the run's directory, which may come from anywhere: one with a table, index, trigger
/// or view that reweave did not make is not a store.
pub(crate) fn look(sql: &Connection) -> Result<Found, StoreError> {
    let version: i64 = sql.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 = sql.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found = objects(sql)?;
    if version == 0 && application == 0 && found.is_empty() {
        return Ok(Found::Empty);
    }
    if application != APPLICATION {
        return Err(StoreError::damaged("it is a database, but no store of reweave's"));
    }
    if version > SCHEMA {
        return Err(StoreError::Newer { found: version, known: SCHEMA });
    }
    let made = Connection::open_in_memory()?;
    mark::make_known(&made)?;
    migrate(&made, version)?;
    if version < 1 || objects(&made)? != found {
        return Err(StoreError::damaged("its tables are not those that reweave makes"));
    }
    Ok(Found::Store(version))
}

/// Takes `sql` forward to schema `to` in one transaction. Nothing happens when it is there already.
pub(crate) fn migrate(sql: &Connection, to: i64) -> Result<(), StoreError> {
    // Looked at once nobody else can make it: two processes may open a new store at the same moment.
    let transaction = Transaction::new_unchecked(sql, TransactionBehavior::Immediate)?;
    let from: i64 = sql.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if from >= to {
        return Ok(());
    }
    for (step, number) in MIGRATIONS.iter().zip(1..) {
        if number > from && number <= to {
            sql.execute_batch(step)?;
        }
    }
    if (from + 1..=to).contains(&MARKS) {
        mark::set_all(sql)?;
    }
    sql.pragma_update(None, "application_id", APPLICATION)?;
    sql.pragma_update(None, "user_version", to)?;
    transaction.commit()?;
    Ok(())
}

/// Everything that the schema names, with its text.
fn objects(sql: &Connection) -> Result<Vec<(String, String, String)>, StoreError> {
    let mut query = sql.prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY 2, 1",
    )?;
    let rows = query
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<String>>(2)?.unwrap_or_default())))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Connection {
        let sql = Connection::open_in_memory().unwrap();
        mark::make_known(&sql).unwrap();
        sql
    }

    #[test]
    fn an_empty_database_moves_forward_and_is_known_again() {
        let sql = empty();
        assert_eq!(look(&sql).unwrap(), Found::Empty);
        migrate(&sql, SCHEMA).unwrap();
        assert_eq!(look(&sql).unwrap(), Found::Store(SCHEMA));
        migrate(&sql, SCHEMA).unwrap();
        assert_eq!(look(&sql).unwrap(), Found::Store(SCHEMA));
    }

    #[test]
    fn a_later_schema_is_told_from_a_damaged_one() {
        let sql = empty();
        migrate(&sql, SCHEMA).unwrap();
        sql.pragma_update(None, "user_version", SCHEMA + 1).unwrap();
        assert_eq!(look(&sql).unwrap_err(), StoreError::Newer { found: SCHEMA + 1, known: SCHEMA });
    }

    #[test]
    fn a_planted_trigger_is_found() {
        let sql = empty();
        migrate(&sql, SCHEMA).unwrap();
        sql.execute_batch("CREATE TRIGGER t AFTER INSERT ON version BEGIN DELETE FROM version; END").unwrap();
        assert!(matches!(look(&sql).unwrap_err(), StoreError::Damaged { .. }));
    }

    #[test]
    fn another_programs_database_is_no_store() {
        let sql = Connection::open_in_memory().unwrap();
        sql.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
        assert!(matches!(look(&sql).unwrap_err(), StoreError::Damaged { .. }));
    }
}
