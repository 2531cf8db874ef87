//! A run as a Jupyter notebook, nbformat 4.5, with outputs.
//!
//! Markdown above a step's code becomes cells of its own. A step's id and header stand in the metadata of its
//! cell, so that reading the notebook back gives the same steps.

use serde_json::{Map, Value, json};

use super::whole::{Whole, WholeStep};
use crate::step::{Display, Execution, Kind, StepError, Stream};

/// The run as a notebook.
pub fn notebook(run: &Whole) -> Value {
    let mut cells = Vec::new();
    for (number, step) in run.steps.iter().enumerate() {
        let (text, header) = step.split();
        let (markdown, code) = parted(&text);
        for (part, (kind, text)) in markdown.iter().enumerate() {
            let id = format!("{}-{part}", cell_id(step, number));
            cells.push(json!({"cell_type": kind, "id": id, "metadata": {}, "source": lines(text)}));
        }
        cells.push(code_cell(step, number, header, &code));
    }
    if let Some(end) = run.files.iter().find(|file| file.path == "return.md") {
        let text = String::from_utf8_lossy(&end.bytes);
        cells.push(json!({"cell_type": "markdown", "id": "return", "metadata": {}, "source": lines(&text)}));
    }
    json!({
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    })
}

/// Ids of cells are 1 to 64 letters, digits, `-` and `_`, and differ.
fn cell_id(step: &WholeStep, number: usize) -> String {
    let name: String = step
        .id
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
        .take(40)
        .collect();
    format!("{number}-{name}")
}

fn code_cell(step: &WholeStep, number: usize, header: &str, code: &str) -> Value {
    let mut reweave = Map::new();
    reweave.insert("id".to_owned(), step.id.as_str().into());
    if !header.is_empty() {
        reweave.insert("header".to_owned(), header.into());
    }
    let (tags, code) = tagged(code);
    let mut source = code.to_owned();
    if step.kind == Kind::Shell {
        reweave.insert("kind".to_owned(), "shell".into());
        source = format!("%%bash\n{code}");
    }
    let execution = step.execution.as_ref();
    json!({
        "cell_type": "code",
        "id": cell_id(step, number),
        "execution_count": execution.map(|_| number + 1),
        "metadata": if tags.is_empty() { json!({"reweave": reweave}) } else { json!({"tags": tags, "reweave": reweave}) },
        "outputs": execution.map(|execution| outputs(execution, number + 1)).unwrap_or_default(),
        "source": lines(source.strip_suffix('\n').unwrap_or(&source)),
    })
}

/// The markdown and raw parts above a step's code, with the sort of cell that each is, and the code.
fn parted(text: &str) -> (Vec<(&'static str, String)>, String) {
    let mut parts: Vec<(&'static str, String)> = Vec::new();
    let mut rest = text;
    loop {
        let (kind, body) = if let Some(body) = rest.strip_prefix("# %% [markdown]\n") {
            ("markdown", body)
        } else if let Some(body) = rest.strip_prefix("# %% [raw]\n") {
            ("raw", body)
        } else {
            break;
        };
        let length: usize = body
            .split_inclusive('\n')
            .take_while(|line| line.starts_with('#') && !line.starts_with("# %%"))
            .map(str::len)
            .sum();
        let (comment, after) = body.split_at_checked(length).unwrap_or((body, ""));
        let text: String = comment
            .split_inclusive('\n')
            .map(|line| line.strip_prefix("# ").or_else(|| line.strip_prefix('#')).unwrap_or(line))
            .collect();
        parts.push((kind, text.strip_suffix('\n').unwrap_or(&text).to_owned()));
        rest = after;
    }
    if parts.is_empty() {
        return (parts, text.to_owned());
    }
    (parts, rest.strip_prefix("# %%\n").unwrap_or(rest).to_owned())
}

/// The tags of a cell, which stand in its first line as `# %% tags=["a"]`, and the code without them.
fn tagged(code: &str) -> (Vec<String>, &str) {
    let parsed = code.strip_prefix("# %% tags=").and_then(|rest| {
        let (line, code) = rest.split_once('\n')?;
        Some((serde_json::from_str(line).ok()?, code))
    });
    parsed.unwrap_or((Vec::new(), code))
}

/// A text as nbformat writes it: lines with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn outputs(execution: &Execution, count: usize) -> Vec<Value> {
    let mut outputs: Vec<Value> = execution
        .output
        .chunks
        .iter()
        .map(|chunk| {
            let name = if chunk.stream == Stream::Stderr { "stderr" } else { "stdout" };
            json!({"output_type": "stream", "name": name, "text": lines(&chunk.text)})
        })
        .collect();
    outputs.extend(execution.displays.iter().map(|display| shown(display, count)));
    outputs.extend(execution.error.as_ref().map(failed));
    outputs
}

fn shown(display: &Display, count: usize) -> Value {
    let mut data = Map::new();
    if !display.repr.is_empty() {
        data.insert("text/plain".to_owned(), json!(lines(&display.repr)));
    }
    for (mime, text) in &display.mime {
        let value = match mime.strip_prefix("application/").filter(|rest| *rest == "json" || rest.ends_with("+json")) {
            Some(_) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
            None if mime.starts_with("image/") && mime != "image/svg+xml" => json!(text),
            None => json!(lines(text)),
        };
        data.insert(mime.clone(), value);
    }
    if display.last {
        json!({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    } else {
        json!({"output_type": "display_data", "metadata": {}, "data": data})
    }
}

fn failed(error: &StepError) -> Value {
    let traceback = match error.attributes.get("traceback") {
        Some(text) => text.split('\n').map(str::to_owned).collect(),
        None => {
            let mut lines = Vec::new();
            for frame in &error.stack {
                lines.push(format!("  File \"{}\", line {}, in {}", frame.file, frame.line, frame.function));
                lines.push(format!("    {}", frame.text));
            }
            lines.push(format!("{}: {}", error.type_name, error.message));
            lines
        }
    };
    json!({"output_type": "error", "ename": error.type_name, "evalue": error.message, "traceback": traceback})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_above_the_code_is_cells_of_its_own() {
        let (parts, code) = parted("# %% [markdown]\n# # Load\n#\n# text\n# %% [raw]\n# r\n# %%\n# a comment\nx = 1\n");
        assert_eq!(parts, [("markdown", "# Load\n\ntext".to_owned()), ("raw", "r".to_owned())]);
        assert_eq!(code, "# a comment\nx = 1\n");
        assert_eq!(parted("# %% tags=[1]\nx\n"), (vec![], "# %% tags=[1]\nx\n".to_owned()));
        assert_eq!(parted("x\n# %% [markdown]\n"), (vec![], "x\n# %% [markdown]\n".to_owned()));
    }
}
