//! Jupyter notebooks, nbformat 2, 3 and 4 (<https://nbformat.readthedocs.io>).
//!
//! Each code cell becomes a step with its text unchanged, magics included. Markdown and raw cells become
//! comments above the code that follows them, after `# %% [markdown]`, as editors write them in scripts; what
//! stands after the last code cell becomes the run's `return.md`.

use base64::Engine;
use serde_json::Value;

use super::notebook_output::recorded;
use crate::interop::detect::Sample;
use crate::interop::json::{Clean, at, each_element, outline, str_at, text};
use crate::interop::naming::{heading, numbered, slug, source_slug};
use crate::interop::{ImportError, ImportedFile, ImportedStep, Place, Recorded, Recording, Sink, Warning};
use crate::step::{Author, Kind, Provenance};

/// Whether the records are a notebook.
pub fn is(sample: &Sample) -> bool {
    let holds_cells = |record: &Value| {
        ["cells", "worksheets"].iter().any(|key| {
            let first = at(record, &[key]).get(0);
            first.is_some_and(|cell| cell.get("cell_type").is_some() || cell.get("cells").is_some())
        })
    };
    sample.has(&["nbformat"]) || sample.records.iter().any(holds_cells)
}

/// How a text that is written as a list of lines is put together again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joining {
    /// The lines have their ends.
    AsIs,
    /// The lines may have lost their ends: nbformat 2 took them off, some writers of nbformat 3 did.
    Old,
}

impl Joining {
    /// The text that `value` stands for.
    pub fn text(self, value: &Value) -> Option<String> {
        if let (Self::Old, Value::Array(lines)) = (self, value)
            && lines.len() > 1
            && lines.first().and_then(Value::as_str).is_some_and(|line| !line.ends_with(['\n', '\r']))
        {
            return Some(lines.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join("\n"));
        }
        text(value)
    }
}

/// The language of the code cells.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Language {
    Python,
    Shell,
    Other(String),
}

impl Language {
    fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "bash" | "sh" | "shell" | "zsh" | "calysto_bash" => Self::Shell,
            _ if name.contains("python") || name.contains("conda") || slug(&name).is_empty() => Self::Python,
            _ => Self::Other(slug(&name)),
        }
    }
}

/// Reads a notebook.
///
/// # Errors
/// As [`crate::interop::import_into`].
pub fn read(recording: &Recording<'_>, sink: &mut dyn Sink) -> Result<(), ImportError> {
    // What all cells depend on stands behind them in the file.
    let (frame, ended) = outline(Clean::new(recording.read()?), 1 << 16, 4);
    if recording.watch().is_stopped() {
        return Err(ImportError::Stopped);
    }
    if let Some(warning) = ended.warning() {
        sink.warn(warning);
    }
    let has_worksheets = frame.get("worksheets").is_some();
    let major = at(&frame, &["nbformat"]).as_u64().unwrap_or(if has_worksheets { 3 } else { 4 });
    if major > 4 {
        sink.warn(Warning::new(format!("nbformat {major} is newer than what is known, 4; read as if it were 4")));
    }
    if frame.get("cells").is_none() && !has_worksheets {
        sink.warn(Warning::new("the notebook has no cells"));
    }
    let mut notebook = Notebook {
        language: language(&frame),
        joining: if major < 4 { Joining::Old } else { Joining::AsIs },
        sink,
        cell: 0,
        steps: 0,
        text: Vec::new(),
        title: None,
        last_count: 0,
        disordered: false,
        odd: Vec::new(),
    };
    notebook.describe_language();
    let path: &[&str] = if has_worksheets { &["worksheets", "*", "cells"] } else { &["cells"] };
    each_element(Clean::new(recording.read()?), path, &mut |cell| notebook.cell(&cell))?;
    if recording.watch().is_stopped() {
        return Err(ImportError::Stopped);
    }
    notebook.finish()
}

fn language(frame: &Value) -> Language {
    let named = [
        ["metadata", "language_info", "name"].as_slice(),
        &["metadata", "kernelspec", "language"],
        &["metadata", "kernelspec", "name"],
    ];
    named.iter().find_map(|path| str_at(frame, path)).map_or(Language::Python, Language::of)
}

struct Notebook<'s> {
    language: Language,
    joining: Joining,
    sink: &'s mut dyn Sink,
    cell: usize,
    steps: usize,
    /// Comments that wait for the next code cell.
    text: Vec<String>,
    /// The last heading since the last code cell.
    title: Option<String>,
    /// The execution count of the last cell that has one.
    last_count: u64,
    disordered: bool,
    /// What is odd about the present cell.
    odd: Vec<String>,
}

impl Notebook<'_> {
    fn describe_language(&mut self) {
        match &self.language {
            Language::Python => {}
            Language::Shell => self.sink.warn(Warning::new("the kernel is a shell: each cell is a shell step")),
            Language::Other(name) => self.sink.warn(Warning::new(format!(
                "the kernel's language is {name}: the cells are kept as they are, under %%{name}, and can't be replayed"
            ))),
        }
    }

    fn cell(&mut self, cell: &Value) -> Result<(), ImportError> {
        self.cell += 1;
        if !cell.is_object() {
            self.warn("it is not a cell; left out".to_owned());
            return Ok(());
        }
        let source = self
            .joining
            .text(at(cell, &["source"]))
            .or_else(|| self.joining.text(at(cell, &["input"])))
            .unwrap_or_default();
        match str_at(cell, &["cell_type"]) {
            Some("code") => self.code(cell, &source)?,
            Some("heading") => {
                let level = at(cell, &["level"]).as_u64().unwrap_or(1).clamp(1, 6) as usize;
                self.markdown(&format!("{} {source}", "#".repeat(level)));
            }
            Some("markdown") => {
                self.attachments(cell)?;
                self.markdown(&source);
            }
            Some(kind @ ("raw" | "html")) => self.text.push(commented(&format!("[{kind}]"), &source)),
            other => {
                self.warn(format!("a cell of the unknown type {:?}; kept as a comment", other.unwrap_or("")));
                self.text.push(commented("[raw]", &source));
            }
        }
        for odd in std::mem::take(&mut self.odd) {
            self.warn(odd);
        }
        Ok(())
    }

    fn warn(&mut self, what: String) {
        self.sink.warn(Warning::at(Place::Cell(self.cell), what));
    }

    fn markdown(&mut self, source: &str) {
        if let Some(title) = heading(source) {
            self.title = Some(title);
        }
        if !source.trim().is_empty() {
            self.text.push(commented("[markdown]", source));
        }
    }

    /// Pictures in markdown cells are files beside the run.
    fn attachments(&mut self, cell: &Value) -> Result<(), ImportError> {
        let Value::Object(attachments) = at(cell, &["attachments"]) else { return Ok(()) };
        for (name, forms) in attachments {
            let Some((_, data)) = forms.as_object().and_then(|forms| forms.iter().next()) else { continue };
            let encoded: String = text(data).unwrap_or_default().split_whitespace().collect();
            match base64::engine::general_purpose::STANDARD.decode(encoded) {
                Ok(bytes) => {
                    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "bin"));
                    let path = format!("attachments/{:03}_{}.{}", self.cell, slug(stem), slug(ending));
                    self.sink.file(ImportedFile::beside(path, bytes))?;
                }
                Err(_) => self.odd.push(format!("its attachment {name:?} is not base64; left out")),
            }
        }
        Ok(())
    }

    fn code(&mut self, cell: &Value, source: &str) -> Result<(), ImportError> {
        let odd = &mut self.odd;
        let mut recorded = recorded(cell, self.joining, &mut |what| odd.push(what));
        if source.trim().is_empty() && recorded.as_ref().is_none_or(|r| *r == Recorded::default()) {
            // An empty cell holds nothing; what stands above it belongs to the next one.
            return Ok(());
        }
        if let Some(count) = ["execution_count", "prompt_number"].iter().find_map(|key| at(cell, &[key]).as_u64()) {
            self.disordered |= count < self.last_count;
            self.last_count = count;
        }
        let mut file: String = self.text.drain(..).collect();
        let tags: Vec<&str> =
            at(cell, &["metadata", "tags"]).as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !tags.is_empty() {
            file.push_str(&format!("# %% tags={}\n", serde_json::json!(tags)));
        } else if !file.is_empty() && !source.starts_with("# %%") {
            file.push_str("# %%\n");
        }
        let kind = if self.language == Language::Shell { Kind::Shell } else { Kind::Step };
        if let Language::Other(name) = &self.language {
            file.push_str(&format!("%%{name}\n"));
        }
        let above = file.matches('\n').count();
        file.push_str(source);
        if !file.ends_with('\n') {
            file.push('\n');
        }
        self.steps += 1;
        let own = at(cell, &["metadata", "reweave"]);
        let mut kind = kind;
        if str_at(own, &["kind"]) == Some("shell") && kind == Kind::Step {
            kind = Kind::Shell;
            file = file.replacen("%%bash\n", "", 1);
        }
        let header = str_at(own, &["header"]).filter(|header| is_header(header)).unwrap_or_default();
        let above = above + header.matches('\n').count();
        if let Some(line) = recorded.as_mut().and_then(|r| r.error.as_mut()).and_then(|e| e.line.as_mut()) {
            *line = line.saturating_add(u32::try_from(above).unwrap_or(u32::MAX));
        }
        file.insert_str(0, header);
        let own_id = str_at(own, &["id"]).and_then(|id| id.parse().ok());
        let name = match self.title.take().map(|title| slug(&title)) {
            Some(title) if !title.is_empty() => title,
            _ => source_slug(source),
        };
        let at_start = recorded.as_ref().and_then(|r| r.started).unwrap_or_default();
        self.sink.step(ImportedStep {
            id: own_id.unwrap_or_else(|| numbered(self.steps, &name)),
            kind,
            text: file,
            provenance: Provenance {
                call: str_at(cell, &["id"]).map(str::to_owned),
                ..Provenance::new(Author::Import("notebook".to_owned()), at_start)
            },
            recorded,
            notes: Vec::new(),
            earlier: Vec::new(),
        })
    }

    fn finish(mut self) -> Result<(), ImportError> {
        if !self.text.is_empty() {
            let text: Vec<String> = self.text.drain(..).map(|text| uncommented(&text)).collect();
            self.sink.file(ImportedFile::beside("return.md", text.join("\n")))?;
        }
        if self.disordered {
            self.sink.warn(Warning::new(
                "the cells were executed in another order than they stand in; steps are in the order of the file",
            ));
        }
        Ok(())
    }
}

/// Whether a text is one `# /// step` block: reweave's own export puts a step's there.
fn is_header(text: &str) -> bool {
    text.starts_with("# /// step\n") && text.ends_with("# ///\n") && text.lines().all(|line| line.starts_with('#'))
}

/// Text as comments after a marker that scripts use for it.
pub fn commented(marker: &str, text: &str) -> String {
    let mut out = format!("# %% {marker}\n");
    for line in text.lines() {
        out.push_str(if line.is_empty() { "#" } else { "# " });
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The text of [`commented`].
pub fn uncommented(comment: &str) -> String {
    let line = |line: &str| format!("{}\n", line.strip_prefix("# ").or(line.strip_prefix('#')).unwrap_or(line));
    comment.lines().skip(1).map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::interop::{Imported, import};
    use crate::step::{Kind, Stream};

    fn imported(notebook: &Value) -> Imported {
        imported_bytes(notebook.to_string().as_bytes())
    }

    fn imported_bytes(bytes: &[u8]) -> Imported {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ipynb");
        std::fs::write(&path, bytes).unwrap();
        import(&path).unwrap()
    }

    fn code(source: &str, outputs: Value) -> Value {
        json!({"cell_type": "code", "source": source, "execution_count": 1, "metadata": {}, "outputs": outputs})
    }

    fn warnings(imported: &Imported) -> Vec<String> {
        imported.warnings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_cell_is_a_step_with_its_text_unchanged_and_the_markdown_above_it() {
        let run = imported(&json!({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "\n", "## Load the data\n", "text"]},
            {"cell_type": "raw", "source": "raw"},
            {"cell_type": "code", "id": "ab", "source": ["%matplotlib inline\n", "x = !ls\n", "await f()"], "outputs": [],
             "execution_count": null, "metadata": {"tags": ["parameters"]}},
            code("%%timeit -n1\nf()", json!([])),
            {"cell_type": "code", "source": "", "outputs": [], "execution_count": null},
            {"cell_type": "markdown", "source": "The end."},
        ]}));
        assert_eq!(run.steps.len(), 2);
        assert_eq!(run.steps[0].path(), "001_title.py");
        assert_eq!(
            run.steps[0].text,
            "# %% [markdown]\n# # Title\n#\n# ## Load the data\n# text\n# %% [raw]\n# raw\n\
             # %% tags=[\"parameters\"]\n%matplotlib inline\nx = !ls\nawait f()\n"
        );
        assert_eq!(run.steps[0].provenance.call.as_deref(), Some("ab"));
        assert_eq!(run.steps[0].recorded, None);
        assert_eq!((run.steps[1].path().as_str(), run.steps[1].text.as_str()), ("002_f.py", "%%timeit -n1\nf()\n"));
        assert!(run.steps[1].recorded.is_some());
        assert_eq!(run.files[0].path, "return.md");
        assert_eq!(run.files[0].bytes, b"The end.\n");
        assert_eq!(warnings(&run), [""; 0]);
    }

    #[test]
    fn outputs_are_kept_whether_they_are_strings_or_lists() {
        let run = imported(&json!({"nbformat": 4, "cells": [code("f()", json!([
            {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
            {"output_type": "stream", "name": "stdout", "text": "c\n"},
            {"output_type": "stream", "name": "stderr", "text": "\u{1b}[31mw\u{1b}[0m\r"},
            {"output_type": "display_data", "data": {"text/plain": "<Figure>", "image/png": "iVBO\n", "application/json": {"a": 1}}},
            {"output_type": "execute_result", "data": {"text/plain": ["1\n", "2"], "text/html": ["<b>"]}},
        ]))]}));
        let recorded = run.steps[0].recorded.as_ref().unwrap();
        assert_eq!(recorded.output.text(Stream::Stdout), "a\nb\nc\n");
        assert_eq!(recorded.output.text(Stream::Stderr), "\u{1b}[31mw\u{1b}[0m\r");
        assert_eq!(recorded.displays[0].repr, "<Figure>");
        assert_eq!(recorded.displays[0].mime["image/png"], "iVBO\n");
        assert_eq!(recorded.displays[0].mime["application/json"], "{\"a\":1}");
        assert_eq!((recorded.displays[1].repr.as_str(), recorded.displays[1].last), ("1\n2", true));
        assert_eq!(recorded.displays[1].mime["text/html"], "<b>");
    }

    #[test]
    fn an_error_is_recorded_with_its_line_in_the_step() {
        let run = imported(&json!({"nbformat": 4, "cells": [
            {"cell_type": "markdown", "source": "text"},
            code("a\nb", json!([{"output_type": "error", "ename": "NameError", "evalue": "b",
                "traceback": ["\u{1b}[0;31m---\u{1b}[0m", "<ipython-input-1-x> in <module>()\n----> 2 b", "NameError: b"]}])),
        ]}));
        let error = run.steps[0].recorded.as_ref().unwrap().error.as_ref().unwrap();
        assert_eq!((error.type_name.as_str(), error.message.as_str(), error.line), ("NameError", "b", Some(5)));
        assert!(error.attributes["traceback"].contains("\u{1b}[0;31m"));
    }

    #[test]
    fn nbformat_2_and_3_are_read_with_their_own_keys() {
        let run =
            imported(&json!({"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [
                {"cell_type": "heading", "level": 2, "source": ["Fit"]},
                {"cell_type": "code", "language": "python", "input": ["x = 1\n", "x"], "prompt_number": 4, "outputs": [
                    {"output_type": "pyout", "prompt_number": 4, "text": ["1"]},
                    {"output_type": "display_data", "png": "iVBO", "text": ["<fig>"]},
                    {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["t"]},
                ]},
            ]}]}));
        let recorded = run.steps[0].recorded.as_ref().unwrap();
        assert_eq!(
            (run.steps[0].path().as_str(), run.steps[0].text.as_str()),
            ("001_fit.py", "# %% [markdown]\n# ## Fit\n# %%\nx = 1\nx\n")
        );
        assert_eq!((recorded.displays[0].repr.as_str(), recorded.displays[0].last), ("1", true));
        assert_eq!(recorded.displays[1].mime["image/png"], "iVBO");
        assert_eq!(recorded.error.as_ref().unwrap().type_name, "E");

        // nbformat 2 took the line ends off, and often has no minor version.
        let run = imported(&json!({"nbformat": 2, "worksheets": [{"cells": [
            {"cell_type": "code", "input": ["def f():", "    return 1", ""], "outputs": [
                {"output_type": "stream", "stream": "stdout", "text": ["a", "b"]}]},
        ]}]}));
        assert_eq!(run.steps[0].text, "def f():\n    return 1\n");
        assert_eq!(run.steps[0].recorded.as_ref().unwrap().output.text(Stream::Stdout), "a\nb");
    }

    #[test]
    fn what_is_missing_doubled_or_odd_is_no_reason_to_fail() {
        assert_eq!(warnings(&imported(&json!({"nbformat": 3, "metadata": {}}))), ["the notebook has no cells"]);
        let run = imported(&json!({"nbformat": 4, "cells": [
            {"cell_type": "code", "id": "a", "source": "x"}, {"cell_type": "code", "id": "a", "source": "x"},
            {"cell_type": "code", "id": null, "source": "../../etc"}, {"cell_type": "code", "id": "../../x", "source": "def"},
            {"cell_type": "alien", "source": "hm"}, 3,
            {"cell_type": "code", "source": "y", "outputs": [{"output_type": "alien"}, {}, 4]},
            {"cell_type": "code", "source": "z", "outputs": {"a": 1}},
        ]}));
        let paths: Vec<String> = run.steps.iter().map(super::ImportedStep::path).collect();
        assert_eq!(paths, ["001_x.py", "002_x.py", "003_etc.py", "004_def.py", "005_y.py", "006_z.py"]);
        assert_eq!(
            warnings(&run),
            [
                "cell 5: a cell of the unknown type \"alien\"; kept as a comment",
                "cell 6: it is not a cell; left out",
                "cell 7: an output of the unknown type \"alien\"; left out",
                "cell 7: an output without a type; left out",
                "cell 7: an output without a type; left out",
                "cell 8: its outputs are an object and not a list; left out",
            ]
        );
    }

    #[test]
    fn execution_counts_out_of_order_are_told_and_the_order_of_the_file_is_kept() {
        let run = imported(&json!({"nbformat": 4, "cells": [
            {"cell_type": "code", "source": "b", "execution_count": 7}, {"cell_type": "code", "source": "a", "execution_count": 2},
        ]}));
        assert_eq!(run.steps[0].text, "b\n");
        assert!(warnings(&run)[0].starts_with("the cells were executed in another order"));
    }

    #[test]
    fn other_kernels_are_kept_as_what_they_are() {
        let cells = json!([{"cell_type": "code", "source": "ls -la\n"}]);
        let run = imported(&json!({"nbformat": 4, "metadata": {"kernelspec": {"language": "bash"}}, "cells": cells}));
        assert_eq!((run.steps[0].kind, run.steps[0].path().as_str()), (Kind::Shell, "001_ls_la.sh"));
        let run = imported(&json!({"nbformat": 4, "metadata": {"language_info": {"name": "R"}}, "cells": cells}));
        assert_eq!(run.steps[0].text, "%%r\nls -la\n");
        assert_eq!(run.warnings.len(), 1);
        let run =
            imported(&json!({"nbformat": 4, "metadata": {"kernelspec": {"name": "conda-base-py"}}, "cells": cells}));
        assert_eq!((run.steps[0].text.as_str(), run.warnings.len()), ("ls -la\n", 0));
    }

    #[test]
    fn a_notebook_cut_off_is_read_as_far_as_it_goes() {
        let whole =
            json!({"cells": [{"cell_type": "code", "source": "a"}, {"cell_type": "code", "source": "b"}]}).to_string();
        let run = imported_bytes(&whole.as_bytes()[..whole.len() - 10]);
        assert_eq!(run.steps.len(), 1);
        assert_eq!(warnings(&run), ["it breaks off at line 1, column 69; what stands before is taken"]);
    }

    #[test]
    fn pictures_in_markdown_are_files() {
        let run = imported(&json!({"nbformat": 4, "cells": [
            {"cell_type": "markdown", "source": "![x](attachment:../im age.png)",
             "attachments": {"../im age.png": {"image/png": "aGk=\n"}, "b": {"image/png": "?"}}},
            {"cell_type": "code", "source": "a"}]}));
        assert_eq!(
            (run.files[0].path.as_str(), run.files[0].bytes.as_slice()),
            ("attachments/001_im_age.png", &b"hi"[..])
        );
        assert_eq!(warnings(&run), ["cell 1: its attachment \"b\" is not base64; left out"]);
    }
}
