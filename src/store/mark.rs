//! Marks by which a row is known to be as it was written.
//!
//! SQLite sees a page that makes no sense, and an index that does not agree with its table. It does not see a bit that
//! flipped in a column without an index. So each row carries a mark over all its columns. Whoever writes sets it
//! without doing anything for it: triggers do, that only the writing connection has. They are no part of the file,
//! which any program that knows SQLite can therefore read and check.

use std::collections::HashMap;

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::StoreError;
use super::names::{digest_of, subject, unpack};
use crate::step::Digest;

/// A table whose rows have marks.
struct Marked {
    name: &'static str,
    /// The columns of its primary key.
    key: &'static [&'static str],
    /// All columns but the mark, in their order.
    columns: &'static str,
}

const fn marked(name: &'static str, key: &'static [&'static str], columns: &'static str) -> Marked {
    Marked { name, key, columns }
}

const MARKED: [Marked; 16] = [
    marked("event", &["seq"], "seq, at, kind, line, item, text"),
    marked("line", &["id"], "id, path, named, head, head_seq, source, latest"),
    marked("path", &["line", "since"], "line, since, path"),
    marked(
        "version",
        &["id"],
        "id, line, number, seq, source, at, author, author_name, model, call, patch, reason, context, tokens_in, tokens_out",
    ),
    marked(
        "execution",
        &["id"],
        "id, line, version, seq, started, duration_us, outcome, why, error, caused_by, nondeterministic, reads, writes, \
         written, output, body",
    ),
    marked("holds", &["execution", "blob"], "execution, blob"),
    marked("invalidated", &["line"], "line, at, reason"),
    marked(
        "patch",
        &["id"],
        "id, content, state, title, files, problems, proposal, at, author, author_name, model, call, patch, reason, \
         context, tokens_in, tokens_out",
    ),
    marked("patch_step", &["step", "patch"], "step, patch"),
    marked("patch_change", &["patch", "seq"], "patch, seq, at, state, comment"),
    marked("trial", &["id"], "id, patch, seq, at, fixed, broken, result, context"),
    marked("deed", &["id"], "id, at, kind, title, state, of, provenance, patch, patch_from, patch_to, pin"),
    marked("deed_file", &["deed", "place"], "deed, place, path, step, before, after"),
    marked("kept_file", &["path", "seq"], "path, seq, at, blob"),
    marked("hold", &["line"], "line, latest, execution, source, blocked"),
    marked(
        "call",
        &["id"],
        "id, key, kind, step, name, question, answer, digest, at, took_ms, model, call, tokens_in, tokens_out, mac, dropped",
    ),
];

impl Marked {
    /// The mark that a row should have, in SQL.
    fn right(&self) -> String {
        let columns: Vec<String> = self.columns.split(", ").map(|column| format!("{}.{column}", self.name)).collect();
        format!("reweave_mark('{}', {})", self.name, columns.join(", "))
    }

    /// What holds for a row that is as it was written, in SQL.
    fn sound(&self) -> String {
        format!("({0}.mark IS NULL OR {0}.mark = {1})", self.name, self.right())
    }

    fn triggers(&self) -> String {
        let Self { name, columns, .. } = self;
        let row: Vec<String> = self.key.iter().map(|column| format!("{column} = NEW.{column}")).collect();
        let set = format!("BEGIN UPDATE {name} SET mark = {} WHERE {}; END", self.right(), row.join(" AND "));
        format!(
            "CREATE TEMP TRIGGER mark_new_{name} AFTER INSERT ON main.{name} {set};
             CREATE TEMP TRIGGER mark_changed_{name} AFTER UPDATE OF {columns} ON main.{name} {set};"
        )
    }
}

/// What holds, in SQL, for a row of `table` that is as it was written; for every row of a table without marks.
pub(crate) fn sound(table: &str) -> String {
    MARKED.iter().find(|marked| marked.name == table).map_or_else(|| "true".to_owned(), Marked::sound)
}

/// Makes `reweave_mark` known to a connection.
pub(crate) fn make_known(sql: &Connection) -> Result<(), StoreError> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    Ok(sql.create_scalar_function("reweave_mark", -1, flags, |row| Ok(mark(row)))?)
}

/// Sees to it that all rows that this connection writes are marked.
pub(crate) fn set_by(sql: &Connection) -> Result<(), StoreError> {
    Ok(sql.execute_batch(&MARKED.iter().map(Marked::triggers).collect::<String>())?)
}

/// Marks all rows that have no mark yet.
pub(crate) fn set_all(sql: &Connection) -> Result<(), StoreError> {
    for table in &MARKED {
        sql.execute(&format!("UPDATE {} SET mark = {} WHERE mark IS NULL", table.name, table.right()), [])?;
    }
    Ok(())
}

/// Looks at every row that has a mark, and at all sets of names.
pub(crate) fn check(sql: &Connection) -> Result<(), StoreError> {
    for table in &MARKED {
        let wrong = format!("SELECT 1 FROM {} WHERE NOT {} LIMIT 1", table.name, table.sound());
        if sql.prepare(&wrong)?.exists([])? {
            return Err(StoreError::damaged(format!("a row of `{}` is not as it was written", table.name)));
        }
    }
    check_names(sql)
}

/// An error unless the row of `what` is `sound`, as [`sound`] says.
pub(crate) fn expect(sound: bool, what: impl Fn() -> String) -> Result<(), StoreError> {
    match sound {
        true => Ok(()),
        false => Err(StoreError::damaged(format!("the row of {} is not as it was written", what()))),
    }
}

fn mark(row: &Context<'_>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for at in 0..row.len() {
        let (kind, bytes): (u8, &[u8]) = match row.get_raw(at) {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(number) => (1, &number.to_le_bytes()),
            ValueRef::Real(number) => (2, &number.to_le_bytes()),
            ValueRef::Text(bytes) => (3, bytes),
            ValueRef::Blob(bytes) => (4, bytes),
        };
        hasher.update(&[kind]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    }
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    // Always as large as SQLite keeps in eight bytes, so that no flip makes it a smaller number or null.
    i64::from_le_bytes([a, b, c, d, e, f, g, h]) & (i64::MAX >> 1) | (1 << 62)
}

/// Compares each set of names with its digest, and the way back from names with the sets.
fn check_names(sql: &Connection) -> Result<(), StoreError> {
    let damaged = |error: rusqlite::types::FromSqlError| StoreError::damaged(error.to_string());
    let mut names = HashMap::new();
    let mut query = sql.prepare("SELECT id, file, text FROM name")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(2)?.as_str().map_err(damaged)?;
        names.insert(row.get::<_, u32>(0)?, subject(row.get(1)?, text));
    }
    let mut members: HashMap<(u32, i64), i64> = HashMap::new();
    let mut query = sql.prepare("SELECT id, digest, names FROM nameset")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let set: i64 = row.get(0)?;
        let mut subjects = Vec::new();
        for (place, id) in (0..).zip(unpack(row.get_ref(2)?.as_blob().map_err(damaged)?)) {
            members.entry((id, set)).or_insert(place);
            subjects.extend(names.get(&id).cloned());
        }
        if digest_of(&subjects) != Digest::from_bytes(row.get(1)?) {
            return Err(StoreError::damaged(format!("set of names {set} is not as it was written")));
        }
    }
    let mut query = sql.prepare("SELECT name, nameset, place FROM member")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (name, set) = (row.get(0)?, row.get(1)?);
        if members.remove(&(name, set)) != Some(row.get(2)?) {
            return Err(StoreError::damaged(format!("name {name} is not where set {set} has it")));
        }
    }
    match members.keys().next() {
        None => Ok(()),
        Some((name, set)) => Err(StoreError::damaged(format!("name {name} of set {set} can't be found by it"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::{self, SCHEMA};

    fn store(schema: i64) -> Connection {
        let sql = Connection::open_in_memory().unwrap();
        make_known(&sql).unwrap();
        schema::migrate(&sql, schema).unwrap();
        sql
    }

    const INVALIDATED: &str = "INSERT INTO invalidated (line, at, reason) VALUES (1, 2, 'x')";

    #[test]
    fn every_table_is_marked_or_has_another_check() {
        let sql = store(SCHEMA);
        let mut query = sql.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
        let tables = query.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
        let without: Vec<String> = tables.filter(|table| MARKED.iter().all(|one| one.name != table)).collect();
        assert_eq!(without, ["blob", "member", "name", "nameset", "note", "saved", "sqlite_sequence"]);
        for table in &MARKED {
            let mut query = sql.prepare("SELECT name, pk FROM pragma_table_info(?)").unwrap();
            let rows = query.query_map([table.name], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            let columns: Vec<(String, i64)> = rows.map(Result::unwrap).collect();
            let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names.join(", "), format!("{}, mark", table.columns), "{}", table.name);
            let mut key: Vec<&(String, i64)> = columns.iter().filter(|(_, place)| *place > 0).collect();
            key.sort_by_key(|(_, place)| *place);
            assert!(key.iter().map(|(name, _)| name).eq(table.key), "{}", table.name);
        }
    }

    #[test]
    fn a_row_that_was_changed_behind_our_back_is_found() {
        let sql = store(SCHEMA);
        set_by(&sql).unwrap();
        sql.execute(INVALIDATED, []).unwrap();
        check(&sql).unwrap();
        sql.execute("UPDATE invalidated SET reason = 'y'", []).unwrap();
        check(&sql).unwrap();
        sql.execute_batch("DROP TRIGGER mark_changed_invalidated; UPDATE invalidated SET at = 3").unwrap();
        assert!(matches!(check(&sql), Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn what_an_earlier_reweave_wrote_is_marked_as_it_is() {
        let sql = store(4);
        sql.execute(INVALIDATED, []).unwrap();
        schema::migrate(&sql, SCHEMA).unwrap();
        let marks: i64 = sql.query_row("SELECT count(mark) FROM invalidated", [], |row| row.get(0)).unwrap();
        assert_eq!(marks, 1);
        check(&sql).unwrap();
        // An earlier one that is still running while this one takes the store forward.
        sql.execute("INSERT INTO invalidated (line, at, reason) VALUES (2, 2, 'x')", []).unwrap();
        check(&sql).unwrap();
    }
}
