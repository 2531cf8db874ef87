//! Small edits of a step's text, as whole new texts and as diffs.

use std::collections::BTreeMap;
use std::ops::Range;

use similar::TextDiff;

use super::diagnosis::{Rule, Suggestion};
use super::failure::StepText;

/// `text` with `pieces` put in place of ranges of bytes. Nothing if a range is not of the text or two overlap.
pub(super) fn replaced(text: &str, mut pieces: Vec<(Range<usize>, String)>) -> Option<String> {
    pieces.sort_by_key(|(range, _)| (range.start, range.end));
    let mut made = String::with_capacity(text.len() + 32);
    let mut at = 0;
    for (range, new) in pieces {
        if range.start < at {
            return None;
        }
        made.push_str(text.get(at..range.start)?);
        text.get(range.clone())?;
        made.push_str(&new);
        at = range.end;
    }
    made.push_str(text.get(at..)?);
    Some(made)
}

/// A suggestion to give a step another text; nothing if it is the same.
pub(super) fn suggest(
    step: &StepText<'_>,
    rule: Rule,
    safe: bool,
    title: impl Into<String>,
    new: String,
) -> Option<Suggestion> {
    (new != step.text).then(|| Suggestion {
        title: title.into(),
        rule,
        safe,
        patch: unified(step.path, step.text, &new),
        files: BTreeMap::from([(step.path.to_owned(), new)]),
    })
}

/// A suggestion in words alone.
pub(super) fn advise(rule: Rule, title: impl Into<String>) -> Suggestion {
    Suggestion { title: title.into(), rule, safe: false, files: BTreeMap::new(), patch: String::new() }
}

pub(super) fn unified(path: &str, old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string()
}

/// `text` with an import line added where imports stand: behind a header, a docstring, `__future__` and the
/// imports at the top.
pub(super) fn with_import(text: &str, import: &str) -> String {
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut at = 0;
    let mut quote: Option<&str> = None;
    let mut header = false;
    let mut depth = 0_usize;
    let mut last = 0;
    for (index, line) in lines.iter().enumerate() {
        let bare = line.trim();
        if let Some(open) = quote {
            if bare.contains(open) {
                quote = None;
                last = index + 1;
            }
            continue;
        }
        if depth > 0 {
            depth = (depth + bare.matches('(').count()).saturating_sub(bare.matches(')').count());
            last = index + 1;
            continue;
        }
        header = (header || bare == "# /// step")
            && !(header && bare == "# ///" && {
                last = index + 1;
                true
            });
        let docstring =
            ["\"\"\"", "'''"].into_iter().find(|q| bare.trim_start_matches(['r', 'R', 'u', 'b']).starts_with(q));
        if bare.starts_with("import ") || bare.starts_with("from ") {
            depth = bare.matches('(').count().saturating_sub(bare.matches(')').count());
            last = index + 1;
        } else if let (Some(open), 0) = (docstring, at) {
            at = 1;
            last = index + 1;
            if bare.matches(open).count() < 2 {
                quote = Some(open);
            }
        } else if index == 0 && bare.starts_with("#!") {
            last = 1;
        } else if !(bare.is_empty() || bare.starts_with('#')) {
            break;
        }
    }
    let new = format!("{import}{ending}");
    lines.insert(last.min(lines.len()), &new);
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_put_in_and_overlaps_refused() {
        let piece = |range: Range<usize>, new: &str| (range, new.to_owned());
        assert_eq!(replaced("abcd", vec![piece(3..4, "D"), piece(0..1, "A")]).as_deref(), Some("AbcD"));
        assert_eq!(replaced("abcd", vec![piece(0..2, ""), piece(1..3, "")]), None);
        assert_eq!(replaced("é", vec![piece(0..1, "")]), None);
    }

    #[test]
    fn an_import_goes_where_imports_stand() {
        for (text, wanted) in [
            ("x = 1\n", "import m\nx = 1\n"),
            ("", "import m\n"),
            ("# note\nx = 1\n", "import m\n# note\nx = 1\n"),
            (
                "# /// step\n# kind = \"test\"\n# ///\nx = 1\n",
                "# /// step\n# kind = \"test\"\n# ///\nimport m\nx = 1\n",
            ),
            ("\"\"\"Doc.\"\"\"\nx = 1\n", "\"\"\"Doc.\"\"\"\nimport m\nx = 1\n"),
            ("\"\"\"Doc\n\nmore.\n\"\"\"\nx = 1\n", "\"\"\"Doc\n\nmore.\n\"\"\"\nimport m\nx = 1\n"),
            (
                "from __future__ import annotations\nimport os\n\nx = 1\n",
                "from __future__ import annotations\nimport os\nimport m\n\nx = 1\n",
            ),
            ("from a import (\n    b,\n)\nx = 1\n", "from a import (\n    b,\n)\nimport m\nx = 1\n"),
            ("import a\r\nx = 1\r\n", "import a\r\nimport m\r\nx = 1\r\n"),
        ] {
            assert_eq!(with_import(text, "import m"), wanted);
        }
    }
}
