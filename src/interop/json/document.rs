//! One large JSON document, read a piece at a time.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::interop::{ImportError, Warning};

/// How the reading of a document ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// At its end.
    Whole,
    /// Before it, with what is wrong and where: line and column.
    Broken(String),
}

impl Ended {
    /// What to tell of a document that was not whole.
    pub fn warning(&self) -> Option<Warning> {
        match self {
            Self::Whole => None,
            Self::Broken(why) => Some(Warning::new(format!("{why}; what stands before is taken"))),
        }
    }
}

/// Hands each element of the array at `path` to `visit` as it is read. `*` in the path stands for every element
/// of an array. What is elsewhere in the document is passed over.
///
/// # Errors
/// What `visit` gives. A document that breaks off is no error: [`Ended::Broken`], after what came before.
pub fn each_element(
    reader: impl Read,
    path: &[&str],
    visit: &mut dyn FnMut(Value) -> Result<(), ImportError>,
) -> Result<Ended, ImportError> {
    let mut failure = None;
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let read = Elements { path, visit, failure: &mut failure }.deserialize(&mut deserializer);
    match failure {
        Some(error) => Err(error),
        None => Ok(ended(read)),
    }
}

/// Hands each of the documents that follow one another to `visit`.
///
/// # Errors
/// As [`each_element`].
pub fn each_document(
    reader: impl Read,
    visit: &mut dyn FnMut(Value) -> Result<(), ImportError>,
) -> Result<Ended, ImportError> {
    for document in serde_json::Deserializer::from_reader(reader).into_iter::<Value>() {
        match document {
            Ok(document) => visit(document)?,
            Err(error) => return Ok(ended(Err(error))),
        }
    }
    Ok(Ended::Whole)
}

/// Reads the document with all texts cut to `longest` bytes and all lists to their first `most` elements.
/// What was read before the document broke off is there too.
pub fn outline(reader: impl Read, longest: usize, most: usize) -> (Value, Ended) {
    let mut value = Value::Null;
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let read = Outline { into: &mut value, longest, most }.deserialize(&mut deserializer);
    (value, ended(read))
}

fn ended(read: Result<(), serde_json::Error>) -> Ended {
    match read {
        Ok(()) => Ended::Whole,
        Err(error) if error.is_eof() => {
            Ended::Broken(format!("it breaks off at line {}, column {}", error.line(), error.column()))
        }
        Err(error) => Ended::Broken(error.to_string()),
    }
}

struct Elements<'a> {
    path: &'a [&'a str],
    visit: &'a mut dyn FnMut(Value) -> Result<(), ImportError>,
    failure: &'a mut Option<ImportError>,
}

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        match self.path.split_first() {
            None => {
                while let Some(value) = seq.next_element::<Value>()? {
                    if let Err(error) = (self.visit)(value) {
                        *self.failure = Some(error);
                        return Err(serde::de::Error::custom("stopped"));
                    }
                }
            }
            Some((&"*", path)) => {
                while seq
                    .next_element_seed(Elements { path, visit: &mut *self.visit, failure: &mut *self.failure })?
                    .is_some()
                {}
            }
            Some(_) => while seq.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match self.path.split_first() {
                Some((first, path)) if *first == key => {
                    map.next_value_seed(Elements { path, visit: &mut *self.visit, failure: &mut *self.failure })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Fills a value in place, so that what was read is there when the document breaks off.
struct Outline<'a> {
    into: &'a mut Value,
    longest: usize,
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Outline<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Outline<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        *self.into = Value::Array(Vec::new());
        let Value::Array(items) = self.into else { return Ok(()) };
        while items.len() < self.most {
            items.push(Value::Null);
            let Some(into) = items.last_mut() else { break };
            if seq.next_element_seed(Outline { into, longest: self.longest, most: self.most })?.is_none() {
                items.pop();
                return Ok(());
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        *self.into = Value::Object(Map::new());
        let Value::Object(entries) = self.into else { return Ok(()) };
        while let Some(key) = map.next_key::<String>()? {
            if entries.len() >= 1000 {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let into = entries.entry(cut(&key, self.longest)).or_insert(Value::Null);
            map.next_value_seed(Outline { into, longest: self.longest, most: self.most })?;
        }
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        *self.into = value.into();
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        *self.into = value.into();
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        *self.into = value.into();
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        *self.into = value.into();
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        *self.into = cut(value, self.longest).into();
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

fn cut(text: &str, longest: usize) -> String {
    let end = (0..=longest.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn elements(text: &str, path: &[&str]) -> (Vec<Value>, Ended) {
        let mut found = Vec::new();
        let ended = each_element(text.as_bytes(), path, &mut |value| {
            found.push(value);
            Ok(())
        });
        (found, ended.unwrap())
    }

    #[test]
    fn elements_are_found_wherever_the_array_is() {
        assert_eq!(elements("[1, {\"a\": 2}]", &[]).0, [json!(1), json!({"a": 2})]);
        assert_eq!(elements(r#"{"x": [9], "cells": [1, 2], "y": 3}"#, &["cells"]).0, [json!(1), json!(2)]);
        let nested = r#"{"worksheets": [{"cells": [1]}, {"name": "empty"}, {"cells": [2]}]}"#;
        assert_eq!(elements(nested, &["worksheets", "*", "cells"]).0, [json!(1), json!(2)]);
        assert_eq!(elements(r#"{"cells": "none"}"#, &["cells"]), (vec![], Ended::Whole));
    }

    #[test]
    fn what_stands_before_the_break_is_given() {
        let (found, ended) = elements("{\"cells\": [{\"a\": 1},\n {\"a\": ", &["cells"]);
        assert_eq!(found, [json!({"a": 1})]);
        assert_eq!(ended, Ended::Broken("it breaks off at line 2, column 7".to_owned()));
    }

    #[test]
    fn an_outline_is_short_and_survives_a_break() {
        let text = r#"{"a": ["0123456789", 2, 3, 4], "b": {"c": null, "d": tru"#;
        let (value, ended) = outline(text.as_bytes(), 4, 2);
        assert_eq!(value, json!({"a": ["0123", 2], "b": {"c": null, "d": null}}));
        assert!(matches!(ended, Ended::Broken(_)));
    }

    #[test]
    fn nesting_without_end_is_refused() {
        let deep = "[".repeat(100_000);
        assert!(matches!(elements(&deep, &[]).1, Ended::Broken(_)));
        assert!(matches!(outline(deep.as_bytes(), 9, 9).1, Ended::Broken(_)));
    }
}
