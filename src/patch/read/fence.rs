//! Markdown around a patch: fences, and the file names that stand above them.

/// A fenced block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fence {
    /// The line of the opening fence.
    pub open: usize,
    /// The line of the closing fence; the number of lines if there is none.
    pub close: usize,
    /// Whether it is closed.
    pub closed: bool,
}

/// The character, length and indentation of an opening fence, and its info string.
fn opener(line: &str) -> Option<(char, usize, usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let text = line.get(indent..)?.trim_end();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    let info = text.get(length..)?.trim();
    (indent <= 3 && length >= 3 && !(mark == '`' && info.contains('`'))).then_some((mark, length, indent, info))
}

/// Whether a fence opens at this line, and its info string.
pub(super) fn info(line: &str) -> Option<&str> {
    opener(line).map(|(_, _, _, info)| info)
}

/// Whether the line closes the fence that `open` opened. A fence that is indented deeper does not: it is
/// a line of context in a diff.
fn closes(open: &str, line: &str) -> bool {
    let Some((mark, length, indent, _)) = opener(open) else { return false };
    opener(line).is_some_and(|(m, l, i, info)| m == mark && l >= length && i <= indent && info.is_empty())
}

/// The block that opens at `lines[at]`.
pub(super) fn block(lines: &[&str], at: usize) -> Option<Fence> {
    let open = lines.get(at)?;
    opener(open)?;
    let inner = lines.get(at + 1..)?;
    let close = inner.iter().position(|line| closes(open, line)).map(|offset| at + 1 + offset);
    Some(Fence { open: at, close: close.unwrap_or(lines.len()), closed: close.is_some() })
}

/// Later lines that could close the block too, because its text holds fences of its own.
pub(super) fn later_closings(lines: &[&str], fence: Fence, most: usize) -> Vec<usize> {
    let Some(open) = lines.get(fence.open) else { return Vec::new() };
    (fence.close + 1..lines.len())
        .filter(|&at| lines.get(at).is_some_and(|line| closes(open, line)))
        .take(most)
        .collect()
}

/// Language tags that stand behind a fence and are no file names.
const LANGUAGES: [&str; 27] = [
    "python",
    "py",
    "python3",
    "diff",
    "patch",
    "udiff",
    "json",
    "jsonl",
    "text",
    "txt",
    "bash",
    "sh",
    "shell",
    "zsh",
    "console",
    "toml",
    "yaml",
    "yml",
    "markdown",
    "md",
    "plaintext",
    "output",
    "log",
    "csv",
    "html",
    "sql",
    "ed",
];

/// The language of an info string and the file that it names, as in `python steps/a.py`, `python:steps/a.py`,
/// `python title="steps/a.py"` or `steps/a.py`.
pub(super) fn language_and_name(info: &str) -> (String, Option<String>) {
    let mut language = String::new();
    let mut name = None;
    for (index, word) in info.split_whitespace().enumerate() {
        let word = word.trim_matches(|c| matches!(c, '{' | '}'));
        let (key, value) = match word.split_once('=') {
            Some((_, value)) => ("", value.trim_matches(|c| matches!(c, '"' | '\''))),
            None => match word.split_once(':') {
                Some((key, value)) if LANGUAGES.contains(&key.to_lowercase().as_str()) => (key, value),
                _ => ("", word),
            },
        };
        if !key.is_empty() {
            language = key.to_lowercase();
        }
        let lower = value.to_lowercase();
        if index == 0 && key.is_empty() && (LANGUAGES.contains(&lower.as_str()) || !looks_like_path(value)) {
            language = lower;
        } else if looks_like_path(value) {
            name = Some(value.to_owned());
        }
    }
    (language, name)
}

/// Whether a word may be a file's path: it has a slash or an ending, and nothing that a path has not.
fn looks_like_path(word: &str) -> bool {
    let last = word.rsplit(['/', '\\']).next().unwrap_or_default();
    let ending = last.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=8).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.chars().any(|c| c.is_ascii_alphabetic())
    });
    let clean = !word.chars().any(|c| c.is_whitespace() || c.is_control() || "()<>|\"'`*?;,{}[]=".contains(c));
    clean
        && !word.ends_with('/')
        && (ending || (word.contains('/') && !word.contains("://") && !last.is_empty()))
        && !word.contains("://")
}

/// The file that a line of prose names and nothing else: `steps/a.py`, `### steps/a.py`, `**steps/a.py**:`.
pub(super) fn name_line(line: &str) -> Option<String> {
    let mut text = line.trim().trim_start_matches(['#', '-', '>']).trim();
    for label in ["File:", "file:", "Path:", "path:", "File", "filename:", "Filename:"] {
        if let Some(rest) = text.strip_prefix(label) {
            text = rest.trim();
            break;
        }
    }
    let name = text.trim_matches(|c| matches!(c, '`' | '*' | '_' | ' ')).trim_end_matches(':');
    let name = name.trim_matches(|c| matches!(c, '`' | '*' | ' '));
    // Underscores at the edges belong to names such as `__init__.py`.
    let name = if text.trim_matches(|c| matches!(c, '`' | '*' | ' ' | ':')).starts_with('_') {
        text.trim_matches(|c| matches!(c, '`' | '*' | ' ' | ':'))
    } else {
        name
    };
    looks_like_path(name).then(|| name.to_owned())
}

/// The name that stands above line `at`, up to `reach` lines away with only blank lines between.
pub(super) fn name_before(lines: &[&str], at: usize, reach: usize) -> Option<String> {
    let above = lines.get(at.saturating_sub(reach)..at)?;
    above.iter().rev().find(|line| !line.trim().is_empty()).and_then(|line| name_line(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_lines_that_people_and_models_write() {
        for line in
            ["steps/a.py", "### steps/a.py", "**steps/a.py**:", "`steps/a.py`", "File: `steps/a.py`", "# steps/a.py"]
        {
            assert_eq!(name_line(line).as_deref(), Some("steps/a.py"), "{line}");
        }
        assert_eq!(name_line("__init__.py").as_deref(), Some("__init__.py"));
        for line in ["Here is the fix:", "python", "See https://a.b/c.py", "e.g.", "1.5", "Done."] {
            assert_eq!(name_line(line), None, "{line}");
        }
    }

    #[test]
    fn info_strings_give_language_and_name() {
        let read = |info| language_and_name(info);
        assert_eq!(read("python"), ("python".into(), None));
        assert_eq!(read("python steps/a.py"), ("python".into(), Some("steps/a.py".into())));
        assert_eq!(read("python:steps/a.py"), ("python".into(), Some("steps/a.py".into())));
        assert_eq!(read("python title=\"steps/a.py\""), ("python".into(), Some("steps/a.py".into())));
        assert_eq!(read("steps/a.py"), (String::new(), Some("steps/a.py".into())));
    }

    #[test]
    fn a_fence_is_closed_by_its_like_and_not_by_context_that_looks_like_it() {
        let lines = ["```diff", " ```", "````", "```"];
        assert_eq!(block(&lines, 0).map(|f| (f.close, f.closed)), Some((2, true)));
        let lines = ["````", "```", "x"];
        assert_eq!(block(&lines, 0).map(|f| (f.close, f.closed)), Some((3, false)));
    }
}
