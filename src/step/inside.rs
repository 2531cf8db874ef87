//! What is inside a value, told to people: never the live objects.

use serde::{Deserialize, Serialize};

/// What is inside a value: its parts, and for what has rows and columns a view of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    /// The first parts, in the value's own order: entries of a dict, items of a list, attributes of an object.
    pub parts: Vec<Part>,
    /// How many parts there are in all.
    pub total: usize,
    /// Rows and columns, for a frame or an array.
    pub table: Option<Table>,
}

/// A part of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its key as Python writes it: `'seed'`, `3`, `.name`.
    pub key: String,
    /// Bare name of its class.
    pub type_name: String,
    /// Its `repr`, cut; hostile.
    pub repr: String,
    /// Shape, length or the like, in words.
    pub shape: Option<String>,
    /// Whether it has parts itself.
    pub opens: bool,
}

/// Rows and columns of a frame or an array: the first rows, and each column in short.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// How many rows there are in all.
    pub rows: usize,
    /// Labels of the rows that are shown.
    pub index: Vec<String>,
    /// The columns, at most a few hundred of them.
    pub columns: Vec<Column>,
    /// How many columns there are in all.
    pub width: usize,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its label; hostile.
    pub name: String,
    /// Its type, as the library calls it.
    pub type_name: String,
    /// Its cells in the rows that are shown, each in short; hostile.
    pub cells: Vec<String>,
    /// How many cells are missing, in all rows.
    pub missing: usize,
    /// Its least value, in short.
    pub least: Option<String>,
    /// Its greatest value, in short.
    pub most: Option<String>,
    /// How many values fall into each of equal parts between the least and the greatest; empty for what is no
    /// number.
    pub bars: Vec<u32>,
}
