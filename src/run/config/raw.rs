//! Tables of a file of settings that another layer reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::run::toml_text;

/// A table that another layer reads, with the lines of what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTable {
    /// The file that it stands in.
    pub file: PathBuf,
    /// What it holds.
    pub table: toml::Table,
    /// The 1-based line of each entry, by its dotted path in the table.
    pub lines: BTreeMap<String, usize>,
}

impl RawTable {
    pub(super) fn of(file: &Path, text: &str, raw: &DeTable<'_>) -> Self {
        let mut lines = BTreeMap::new();
        let table = plain_table(text, raw, "", &mut lines);
        Self { file: file.to_owned(), table, lines }
    }
}

fn plain_table(text: &str, raw: &DeTable<'_>, above: &str, lines: &mut BTreeMap<String, usize>) -> toml::Table {
    let mut table = toml::Table::new();
    for (key, value) in raw {
        let name: &str = key.get_ref();
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        lines.insert(path.clone(), toml_text::line(text, key.span()));
        if let Some(value) = plain_value(text, value.get_ref(), &path, lines) {
            table.insert(name.to_owned(), value);
        }
    }
    table
}

fn plain_value(
    text: &str,
    value: &DeValue<'_>,
    path: &str,
    lines: &mut BTreeMap<String, usize>,
) -> Option<toml::Value> {
    Some(match value {
        DeValue::String(text) => toml::Value::String(text.to_string()),
        DeValue::Integer(_) => toml::Value::Integer(toml_text::integer(value)?),
        DeValue::Float(_) => toml::Value::Float(toml_text::number(value)?),
        DeValue::Boolean(on) => toml::Value::Boolean(*on),
        DeValue::Datetime(at) => toml::Value::Datetime(*at),
        DeValue::Array(items) => {
            toml::Value::Array(items.iter().filter_map(|item| plain_value(text, item.get_ref(), path, lines)).collect())
        }
        DeValue::Table(table) => toml::Value::Table(plain_table(text, table, path, lines)),
    })
}
