//! Reading values whose shape differs from writer to writer.

use serde_json::Value;

static NULL: Value = Value::Null;

/// What is at `path`; null where a part of the way is missing or of another sort.
pub fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().try_fold(value, |value, key| value.get(*key)).unwrap_or(&NULL)
}

/// The string at `path`, if one is there.
pub fn str_at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v str> {
    at(value, path).as_str()
}

/// A text that is written as a string or as a list of strings; `None` for anything else.
pub fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(pieces) => pieces.iter().map(Value::as_str).collect::<Option<Vec<&str>>>().map(|p| p.concat()),
        _ => None,
    }
}

/// The text at `path`: see [`text`].
pub fn text_at(value: &Value, path: &[&str]) -> Option<String> {
    text(at(value, path))
}

/// A value that some writers put into a string: what is in the string where it is JSON of an object or a list.
pub fn embedded(value: &Value) -> Value {
    if let Value::String(text) = value
        && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text.trim())
    {
        return inner;
    }
    value.clone()
}

/// The word for what sort of value it is.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_may_be_a_string_or_a_list() {
        assert_eq!(text(&json!("a\nb")), Some("a\nb".to_owned()));
        assert_eq!(text(&json!(["a\n", "b"])), Some("a\nb".to_owned()));
        assert_eq!(text(&json!([])), Some(String::new()));
        assert_eq!(text(&json!(["a", 1])), None);
        assert_eq!(text(&json!({})), None);
    }

    #[test]
    fn json_in_a_string_is_opened_and_other_strings_are_left() {
        assert_eq!(embedded(&json!("{\"a\": 1}\n")), json!({"a": 1}));
        assert_eq!(embedded(&json!("3")), json!("3"));
        assert_eq!(embedded(&json!({"a": 1})), json!({"a": 1}));
    }

    #[test]
    fn a_path_that_breaks_off_gives_null() {
        assert_eq!(at(&json!({"a": {"b": 1}}), &["a", "b"]), &json!(1));
        assert_eq!(at(&json!({"a": 3}), &["a", "b"]), &Value::Null);
    }
}
