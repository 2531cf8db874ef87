//! File edits in a Claude Code log, as changes with the whole text before and after.

use serde_json::Value;

use crate::interop::json::{at, str_at};
use crate::interop::workspace::Change;

/// Whether a tool of this name changes a file.
pub fn is_edit(name: &str) -> bool {
    matches!(name, "Edit" | "MultiEdit" | "Write" | "NotebookEdit")
}

/// The change that a call of an editing tool made, from its input and the parts of its result.
pub fn edit<'a>(name: &str, input: &'a Value, parts: &Value) -> Option<Change<'a>> {
    let path = str_at(input, &["file_path"]).or(str_at(input, &["notebook_path"]))?;
    let before =
        ["originalFile", "originalFileContents"].iter().find_map(|key| str_at(parts, &[key])).map(str::to_owned);
    let mut change = Change { path, before, ..Change::default() };
    match name {
        "Write" => {
            change.after = str_at(input, &["content"]).map(str::to_owned);
            change.created = str_at(parts, &["type"]) == Some("create");
        }
        "MultiEdit" => {
            change.replaced = at(input, &["edits"]).as_array().into_iter().flatten().map(replacement).collect();
        }
        "NotebookEdit" => {
            let cell = str_at(input, &["cell_id"]).unwrap_or("a cell");
            let new = str_at(input, &["new_source"]).unwrap_or_default();
            let old = str_at(parts, &["old_source"]).unwrap_or_default().to_owned();
            change.replaced = vec![(old, new.to_owned(), false)];
            change.text = Some(format!("notebook cell {cell}:\n{new}\n"));
            return Some(change);
        }
        _ => change.replaced = vec![replacement(input)],
    }
    // A file that was empty is made by replacing nothing.
    if let [(old, new, _)] = change.replaced.as_slice()
        && old.is_empty()
    {
        change.after = Some(new.clone());
        change.created = change.before.is_none();
    }
    let hunks = at(parts, &["structuredPatch"]).as_array().map(Vec::as_slice).unwrap_or_default();
    if change.after.is_none() && !hunks.is_empty() {
        change.after = change.before.as_deref().and_then(|before| patched(before, hunks));
    }
    if !hunks.is_empty() {
        change.text = Some(unified(path, hunks));
    }
    Some(change)
}

fn replacement(edit: &Value) -> (String, String, bool) {
    let text = |key: &str| str_at(edit, &[key]).unwrap_or_default().to_owned();
    (text("old_string"), text("new_string"), at(edit, &["replace_all"]).as_bool().unwrap_or_default())
}

/// The lines of a hunk: each begins with ` `, `-`, `+` or `\`.
fn lines(hunk: &Value) -> impl Iterator<Item = &str> {
    at(hunk, &["lines"]).as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The text with the hunks done; `None` where a line is not what a hunk says.
fn patched(before: &str, hunks: &[Value]) -> Option<String> {
    let old: Vec<&str> = before.split('\n').collect();
    let mut new: Vec<&str> = Vec::with_capacity(old.len());
    let mut next = 0;
    for hunk in hunks {
        let start = usize::try_from(at(hunk, &["oldStart"]).as_u64()?).ok()?;
        // A hunk that takes nothing away names the line before it.
        let from = if at(hunk, &["oldLines"]).as_u64() == Some(0) { start } else { start.checked_sub(1)? };
        new.extend(old.get(next..from)?);
        next = from;
        for line in lines(hunk) {
            let (mark, text) = line.split_at_checked(1).unwrap_or((" ", ""));
            match mark {
                "+" => new.push(text),
                "\\" => {}
                _ => {
                    if *old.get(next)? != text {
                        return None;
                    }
                    next += 1;
                    if mark == " " {
                        new.push(text);
                    }
                }
            }
        }
    }
    new.extend(old.get(next..)?);
    Some(new.join("\n"))
}

/// The hunks as a unified diff.
fn unified(path: &str, hunks: &[Value]) -> String {
    let mut diff = format!("--- a/{}\n+++ b/{}\n", path.trim_start_matches('/'), path.trim_start_matches('/'));
    for hunk in hunks {
        let number = |key: &str| at(hunk, &[key]).as_u64().unwrap_or_default();
        diff.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            number("oldStart"),
            number("oldLines"),
            number("newStart"),
            number("newLines")
        ));
        for line in lines(hunk) {
            diff.push_str(line);
            diff.push('\n');
        }
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hunks_are_done_where_they_say() {
        let hunks = json!([
            {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" a", "-b", "+B"]},
            {"oldStart": 4, "oldLines": 1, "newStart": 4, "newLines": 2, "lines": [" d", "+e", "\\ No newline at end of file"]},
        ]);
        let hunks = hunks.as_array().unwrap();
        assert_eq!(patched("a\nb\nc\nd", hunks).as_deref(), Some("a\nB\nc\nd\ne"));
        assert_eq!(patched("a\nx\nc\nd", hunks), None);
        assert_eq!(patched("", hunks), None);
        assert!(unified("/w/a.py", hunks).starts_with("--- a/w/a.py\n+++ b/w/a.py\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"));
    }

    #[test]
    fn each_tool_s_edit_gives_the_whole_text_where_the_log_has_it() {
        let input = json!({"file_path": "/w/a", "old_string": "1", "new_string": "2"});
        let parts = json!({"originalFile": "x = 1\n", "structuredPatch": [
            {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-x = 1", "+x = 2"]}]});
        assert_eq!(edit("Edit", &input, &parts).unwrap().after.as_deref(), Some("x = 2\n"));
        let input = json!({"file_path": "/w/a", "content": "new"});
        let change = edit("Write", &input, &json!({"type": "create", "structuredPatch": []})).unwrap();
        assert_eq!((change.after.as_deref(), change.created), (Some("new"), true));
        // On an error the parts are a string.
        assert_eq!(edit("Write", &input, &json!("Error: …")).unwrap().after.as_deref(), Some("new"));
        assert!(edit("Edit", &json!({}), &json!({})).is_none());
    }
}
