//! Python scripts: split at `# %%` where that is, at top-level statements otherwise.
//!
//! The markers are those of editors (Spyder, VS Code, Jupytext's percent format); text of `# %% [markdown]`
//! stays above the code that follows it. Without markers, top-level statements are put together as a reader
//! would: imports with imports, and what a blank line separates apart.

use std::io::Read;

use rustpython_parser::Parse;
use rustpython_parser::ast::{self, Ranged};

use crate::interop::naming::{heading, numbered, slug, source_slug};
use crate::interop::{ImportError, ImportedStep, Recording, Sink, Warning};
use crate::step::{Author, Kind, Provenance};

/// The largest script that is read, in bytes.
const LARGEST: u64 = 64 << 20;

/// Whether the start of a file is Python.
pub fn is(prefix: &[u8]) -> bool {
    let text = String::from_utf8_lossy(prefix);
    if text.contains('\0') {
        return false;
    }
    if text.starts_with("#!") && text.lines().next().is_some_and(|line| line.contains("python")) {
        return true;
    }
    text.lines().any(is_marker) || parsed(&text).is_some_and(|statements| statements.iter().any(tells))
}

/// Whether a statement is one that prose does not have by chance.
fn tells(statement: &ast::Stmt) -> bool {
    match statement {
        ast::Stmt::Expr(expression) => matches!(*expression.value, ast::Expr::Call(_)),
        _ => true,
    }
}

fn parsed(text: &str) -> Option<Vec<ast::Stmt>> {
    // The parser recurses: deep nesting is refused before it.
    if text.len() > 1 << 20 || nesting(text) > 100 {
        return None;
    }
    ast::Suite::parse(text, "script").ok()
}

/// A bound on the nesting of brackets, blocks and operators.
pub fn nesting(text: &str) -> usize {
    let mut open = 0_usize;
    let mut deepest = 0;
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    let indent = text.lines().map(|line| line.len() - line.trim_start().len()).max().unwrap_or_default();
    deepest.max(indent / 4)
}

/// Whether a line begins a cell.
fn is_marker(line: &str) -> bool {
    line.starts_with("# %%") || line.starts_with("#%%")
}

/// Reads a script.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, sink: &mut dyn Sink) -> Result<(), ImportError> {
    let mut bytes = Vec::new();
    recording.read()?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| recording.unreadable(error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(recording.malformed("a script of more than 64 MiB"));
    }
    let text = String::from_utf8_lossy(&bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        sink.warn(Warning::new("it is not UTF-8; what is not was replaced"));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
    let pieces = match cells(&text) {
        Some(cells) => cells,
        None => statements(&text).unwrap_or_else(|| {
            sink.warn(Warning::new("it does not parse as Python 3 and has no `# %%` lines, so it is one step"));
            vec![text.clone()]
        }),
    };
    for (place, piece) in pieces.into_iter().enumerate() {
        let name = title(&piece)
            .map(|title| slug(&title))
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| source_slug(&piece));
        sink.step(ImportedStep {
            id: numbered(place + 1, &name),
            kind: Kind::Step,
            text: piece,
            provenance: Provenance::new(Author::Import("script".to_owned()), 0),
            recorded: None,
            notes: Vec::new(),
            earlier: Vec::new(),
        })?;
    }
    Ok(())
}

/// The title after `# %%`, or a heading in the markdown above the code.
fn title(piece: &str) -> Option<String> {
    piece.lines().take_while(|line| line.starts_with('#')).find_map(|line| {
        if is_marker(line) {
            let title = line.trim_start_matches(['#', ' ', '%']).trim_end();
            return (!title.is_empty() && !title.starts_with(['[', '{']) && !title.contains('='))
                .then(|| title.to_owned());
        }
        heading(line.strip_prefix("# ")?)
    })
}

/// The cells of a script with markers. Markdown cells go with the code after them.
fn cells(text: &str) -> Option<Vec<String>> {
    if !text.lines().any(is_marker) {
        return None;
    }
    let mut cells = vec![String::new()];
    for line in text.split_inclusive('\n') {
        // A cell of comments alone waits for the code that follows.
        if is_marker(line) && cells.last().is_some_and(|cell| has_code(cell)) {
            cells.push(String::new());
        }
        // A bare marker at the start of a file says nothing.
        if line.trim_end() == "# %%" && cells.last().is_some_and(String::is_empty) {
            continue;
        }
        if let Some(cell) = cells.last_mut() {
            // Blank lines between text and the code under it are the script's layout.
            if is_marker(line) && !cell.is_empty() {
                cell.truncate(cell.trim_end().len());
                cell.push('\n');
            }
            cell.push_str(line);
        }
    }
    Some(cells.iter().map(|cell| trimmed(cell)).filter(|cell| !cell.is_empty()).collect())
}

fn has_code(cell: &str) -> bool {
    cell.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

/// Without blank lines at either end.
fn trimmed(cell: &str) -> String {
    let body = cell.trim_start_matches('\n').trim_end();
    if body.is_empty() { String::new() } else { format!("{body}\n") }
}

/// Groups of top-level statements, with the comments above each; `None` for what does not parse.
fn statements(text: &str) -> Option<Vec<String>> {
    let statements = parsed(text)?;
    let mut starts: Vec<usize> = Vec::new();
    let mut before: Option<(usize, bool)> = None;
    for statement in &statements {
        let range = statement.range();
        let start = decorated(statement).unwrap_or(usize::from(range.start()));
        let is_import = matches!(statement, ast::Stmt::Import(_) | ast::Stmt::ImportFrom(_));
        let line = start_of_line(text, start);
        let apart = before.is_none_or(|(end, was_import)| {
            let between = text.get(end..start).unwrap_or_default();
            let blank = between.split('\n').skip(1).any(|line| line.trim().is_empty()) && between.contains("\n\n");
            // A semicolon puts two statements on one line: they can't be parted.
            line >= end && blank && !(is_import && was_import)
        });
        if apart {
            starts.push(with_comments(text, line));
        }
        before = Some((usize::from(range.end()), is_import));
    }
    // The comments at the top of the file go with the first.
    if let Some(first) = starts.first_mut() {
        *first = 0;
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let pieces = starts.iter().zip(ends).filter_map(|(&start, end)| text.get(start..end));
    Some(pieces.map(trimmed).filter(|piece| !piece.is_empty()).collect())
}

/// Where the first decorator of a function or class begins.
fn decorated(statement: &ast::Stmt) -> Option<usize> {
    let decorators = match statement {
        ast::Stmt::FunctionDef(def) => &def.decorator_list,
        ast::Stmt::AsyncFunctionDef(def) => &def.decorator_list,
        ast::Stmt::ClassDef(def) => &def.decorator_list,
        _ => return None,
    };
    decorators.first().map(|first| usize::from(first.range().start()).saturating_sub(1))
}

fn start_of_line(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// The start of the comment lines right above the line at `start`.
fn with_comments(text: &str, start: usize) -> usize {
    let mut start = start;
    while start > 0 {
        let above = start_of_line(text, start - 1);
        if !text.get(above..start).is_some_and(|line| line.starts_with('#')) {
            break;
        }
        start = above;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_part_a_script_and_markdown_goes_with_the_code_after_it() {
        let script = "import os\n\n# %% [markdown]\n# # Load\n# text\n\n# %%\nx = 1\n\n# %% Fit it\ny = 2\n";
        assert_eq!(
            cells(script).unwrap(),
            ["import os\n", "# %% [markdown]\n# # Load\n# text\n# %%\nx = 1\n", "# %% Fit it\ny = 2\n"]
        );
        assert_eq!(title("# %% [markdown]\n# # Load\n# %%\nx"), Some("Load".to_owned()));
        assert_eq!(title("# %% Fit it\ny = 2\n"), Some("Fit it".to_owned()));
        assert_eq!(title("# %% tags=[\"a\"]\ny = 2\n"), None);
    }

    #[test]
    fn without_markers_statements_are_put_together_as_a_reader_would() {
        let script = "#!/usr/bin/env python\n\"\"\"Doc.\"\"\"\n\nimport a\n\nimport b\n\n# about f\n@deco\ndef f():\n    x = 1\n\n    return x\n\n\
                      y = f()\nz = y; w = z\nif __name__ == '__main__':\n    print(w)\n";
        assert_eq!(
            statements(script).unwrap(),
            [
                "#!/usr/bin/env python\n\"\"\"Doc.\"\"\"\n",
                "import a\n\nimport b\n",
                "# about f\n@deco\ndef f():\n    x = 1\n\n    return x\n",
                "y = f()\nz = y; w = z\nif __name__ == '__main__':\n    print(w)\n"
            ]
        );
    }

    #[test]
    fn nothing_of_a_script_is_lost() {
        let script = "# top\n\nx = 1\n\n\n# tail\n";
        assert_eq!(statements(script).unwrap().concat(), script);
    }

    #[test]
    fn prose_is_not_python() {
        assert!(!is(b"hello"));
        assert!(!is(b"Dear all, this is a letter."));
        assert!(!is(b""));
        assert!(is(b"x = 1"));
        assert!(is(b"print(3)"));
        assert!(is(b"#!/usr/bin/env python2\nprint 3"));
        assert!(!is("(".repeat(100_000).as_bytes()));
    }
}
