//! Tables of a SQLite database as JSON.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value};
use std::path::Path;

/// Rows of a table, at most: domains of one's own are a few hundred.
const ROWS_MAX: usize = 100_000;
/// Bytes of a table's text, at most.
const TABLE_BYTES_MAX: usize = 32 << 20;
/// Tables of settings that are read; the names of lists, millions of them, are in others.
const TABLES: [&str; 7] = [
    "adlist",
    "adlist_by_group",
    "domainlist",
    "domainlist_by_group",
    "group",
    "client",
    "client_by_group",
];

/// The tables of a database at a path, which is not written to.
pub(crate) fn tables_at(path: &Path) -> rusqlite::Result<Vec<(String, String)>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    tables(&Connection::open_with_flags(path, flags)?)
}

/// The tables of a database in memory.
pub(crate) fn tables_of(bytes: &[u8]) -> rusqlite::Result<Vec<(String, String)>> {
    let mut connection = Connection::open_in_memory()?;
    connection.deserialize_read_exact("main", bytes, bytes.len(), true)?;
    tables(&connection)
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    // Somebody else's schema: its functions are not called, and damage is noticed.
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    let mut found = Vec::new();
    for table in TABLES {
        let is_table: bool = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1 \
             AND sql NOT LIKE 'CREATE VIRTUAL%')",
            [table],
            |row| row.get(0),
        )?;
        if is_table {
            found.push((format!("{table}.json"), rows(connection, table)?));
        }
    }
    Ok(found)
}

fn rows(connection: &Connection, table: &str) -> rusqlite::Result<String> {
    let mut statement =
        connection.prepare(&format!("SELECT * FROM \"{table}\" LIMIT {ROWS_MAX}"))?;
    let names = column_names(connection, table)?;
    let count = statement.column_count();
    let mut rows = statement.query([])?;
    let mut out = String::from("[");
    while let Some(row) = rows.next()? {
        let mut made = Map::new();
        for (index, name) in names.iter().take(count).enumerate() {
            let value = match row.get_ref(index)? {
                ValueRef::Integer(number) => Value::from(number),
                ValueRef::Real(number) => Value::from(number),
                ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            };
            made.insert(name.clone(), value);
        }
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&Value::Object(made).to_string());
        if out.len() > TABLE_BYTES_MAX {
            break;
        }
    }
    out.push(']');
    Ok(out)
}

/// Names of a table's columns, in their order. Asked for as data: what a statement says of its
/// columns is taken for UTF-8, and a hostile schema has what is none.
fn column_names(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection
        .prepare("SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1 ORDER BY cid")?;
    let name = |row: &rusqlite::Row<'_>| {
        let name = row.get_ref(0)?;
        Ok(String::from_utf8_lossy(name.as_bytes().unwrap_or_default()).into_owned())
    };
    statement.query_map([table], name)?.collect()
}
