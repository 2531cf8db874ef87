//! `reweave analyze`: what steps read and write, without executing them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use super::{CliError, Context, Palette, Role};
use crate::analysis::{self, AnalyzedBy, Options, StepNames, SyntaxError};
use crate::engine::InterpreterParser;
use crate::graph::{self, Edge, Resolved};
use crate::run::{RunDir, decode_python};
use crate::step::{Kind, Name, StepId, plain_line};

/// Say which names each step reads and writes, and which steps need which
///
/// Nothing is executed. What a step really uses is observed when it runs; this is what may be used, found
/// in the text alone.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run directories and Python files; `-` reads JSON lines `{"id","source"}` from standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The interpreter whose parser has the last word on what is Python
    #[arg(long, value_name = "PATH", default_value = "python3")]
    python: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Step {
    id: StepId,
    source: String,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    steps: Vec<Row<'a>>,
    edges: &'a [Edge],
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    id: &'a StepId,
    reads: Vec<&'a Name>,
    writes: Vec<&'a Name>,
    may_writes: Vec<&'a Name>,
    deferred_reads: Vec<&'a Name>,
    late_reads: Vec<&'a Name>,
    imports: Vec<&'a str>,
    declared: Vec<&'a Name>,
    unknown_calls: Vec<&'a str>,
    displays_last: bool,
    syntax_error: Option<&'a SyntaxError>,
    analyzed_by: AnalyzedBy,
    opaque: Option<&'a str>,
    reads_everything: bool,
    writes_anything: bool,
}

/// Tells what the steps in `paths` read and write.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let mut steps = Vec::new();
    for path in &args.paths {
        if path.as_os_str() == "-" {
            read_lines(io::stdin().lock(), &mut steps)?;
        } else {
            read_path(path, &mut steps)?;
        }
    }
    let mut seen = BTreeSet::new();
    if let Some(step) = steps.iter().find(|step| !seen.insert(&step.id)) {
        let what = format!("two steps are called {}", step.id);
        return Err(CliError::new(what).hint("give each file, and each line of standard input, an id of its own"));
    }
    let parser = InterpreterParser::new(&args.python);
    let options = match parser.version() {
        Ok(version) => Options { python: Some(version), parser: Some(&parser) },
        Err(why) => {
            context.message(format!("{}; what is no Python is judged without it", plain_line(&why.to_string())));
            Options::default()
        }
    };
    let sources: Vec<&str> = steps.iter().map(|step| step.source.as_str()).collect();
    let names: Vec<StepNames> = analysis::analyze_all(&sources, &options);
    let pairs: Vec<(StepId, &StepNames)> = steps.iter().map(|step| step.id.clone()).zip(&names).collect();
    let (resolved, edges) = graph::resolve(&pairs);
    let rows = pairs.iter().zip(&resolved).map(|((id, names), resolved)| row(id, names, resolved)).collect();
    context.answer(&Document { steps: rows, edges: &edges }, |palette| human(&pairs, &resolved, &edges, palette))
}

fn read_lines(input: impl BufRead, steps: &mut Vec<Step>) -> Result<(), CliError> {
    for (at, line) in input.lines().enumerate() {
        let line = line.map_err(|error| CliError::new(format!("standard input: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        steps.push(serde_json::from_str(&line).map_err(|error| {
            CliError::new(format!("standard input, line {}: {error}", at + 1))
                .hint("each line is a JSON object with \"id\" and \"source\"")
        })?);
    }
    Ok(())
}

fn read_path(path: &Path, steps: &mut Vec<Step>) -> Result<(), CliError> {
    if !path.is_dir() {
        return read_file(path, steps);
    }
    let dir = RunDir::open(path).map_err(|error| CliError::new(error.to_string()))?;
    for file in dir.scan().steps {
        if file.kind != Kind::Shell {
            steps.push(Step { id: file.id.clone(), source: file.source.to_string() });
        }
    }
    Ok(())
}

fn read_file(path: &Path, steps: &mut Vec<Step>) -> Result<(), CliError> {
    let wrong = |what: String| CliError::new(format!("{}: {what}", path.display()));
    let name = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let id = name.parse().map_err(|error: crate::step::InvalidStepId| wrong(error.to_string()))?;
    let bytes = fs::read(path).map_err(|error| {
        wrong(error.to_string()).hint("name a run's directory, a Python file, or `-` for standard input")
    })?;
    let (source, _) = decode_python(&bytes).map_err(|error| wrong(error.to_string()))?;
    steps.push(Step { id, source });
    Ok(())
}

fn row<'a>(id: &'a StepId, names: &'a StepNames, resolved: &'a Resolved) -> Row<'a> {
    let mut writes: Vec<&Name> = resolved.writes.keys().collect();
    let star = names.imports.iter().any(|import| import.item.as_deref() == Some("*"));
    let any: &'static Name = any_name();
    if star {
        writes.insert(0, any);
    }
    Row {
        id,
        reads: resolved.reads.iter().collect(),
        writes,
        may_writes: resolved.writes.iter().filter(|(_, how)| !how.is_certain()).map(|(name, _)| name).collect(),
        deferred_reads: names.deferred_reads().filter(|name| resolved.reads.contains(*name)).collect(),
        late_reads: resolved.late_reads.difference(&resolved.reads).collect(),
        imports: names.imports.iter().map(|import| import.module.as_str()).collect(),
        declared: names.declared.iter().collect(),
        unknown_calls: names.unknown_calls.iter().map(String::as_str).collect(),
        displays_last: names.displays_last,
        syntax_error: names.syntax_error.as_ref(),
        analyzed_by: names.analyzed_by,
        opaque: names.opaque.as_deref(),
        reads_everything: resolved.reads_everything,
        writes_anything: resolved.writes_anything,
    }
}

/// What stands for any name: `from m import *` writes it.
fn any_name() -> &'static Name {
    static ANY: std::sync::LazyLock<Name> = std::sync::LazyLock::new(|| Name::from("*"));
    &ANY
}

/// A few lines a step, for people.
fn human(steps: &[(StepId, &StepNames)], resolved: &[Resolved], edges: &[Edge], palette: Palette) -> String {
    let mut text = String::new();
    let mut edges = edges.iter().peekable();
    for ((id, names), resolved) in steps.iter().zip(resolved) {
        let _ = writeln!(text, "{}", palette.paint(Role::Name, plain_line(id.as_str())));
        if let Some(error) = &names.syntax_error {
            let what = format!("line {}: {}", error.line, plain_line(&error.message));
            let _ = writeln!(text, "  {:<14}{}", "not Python", palette.paint(Role::Bad, what));
        }
        if let Some(why) = &names.opaque {
            let _ = writeln!(text, "  {:<14}{}", "opaque", plain_line(why));
        }
        list_names(&mut text, "reads", resolved.reads.iter());
        list_names(&mut text, "through calls", resolved.late_reads.difference(&resolved.reads));
        let certain = resolved.writes.iter().filter(|(_, how)| how.is_certain()).map(|(name, _)| name);
        list_names(&mut text, "writes", certain);
        let possible = resolved.writes.iter().filter(|(_, how)| !how.is_certain()).map(|(name, _)| name);
        list_names(&mut text, "may write", possible);
        // The edges are in the order of the steps that they lead to.
        while let Some(edge) = edges.next_if(|edge| edge.to == *id) {
            let names: Vec<&str> = edge.names.iter().map(|name| &**name).collect();
            let _ = writeln!(text, "  {:<14}{} ({})", "needs", plain_line(edge.from.as_str()), names.join(", "));
        }
    }
    text
}

fn list_names<'a>(text: &mut String, what: &str, names: impl Iterator<Item = &'a Name>) {
    let names: Vec<&str> = names.map(|name| &**name).collect();
    if !names.is_empty() {
        let _ = writeln!(text, "  {what:<14}{}", names.join(", "));
    }
}
