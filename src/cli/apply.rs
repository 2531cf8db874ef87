//! `reweave apply`: where a patch goes and what it would make. Nothing is written.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::{CliError, Context, Palette, Role};
use crate::patch::{DirectoryTree, HunkPlace, MemoryTree, Placed, Problem, Tree, Verdict, place, place_drifted};
use crate::step::{FileChange, plain, plain_line};

/// Find where a patch goes, and show what it would make
///
/// Reads unified diffs (those too that models damage), SEARCH/REPLACE blocks, `*** Begin Patch` envelopes,
/// edits as JSON, whole files, and reweave's own form, in Markdown or bare. A part that fits in several places
/// is ambiguous and one that fits nowhere a conflict: nothing is guessed, and nothing is written.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory whose files the patch is for
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,

    /// The file meant where the patch names none, by its path under the root
    #[arg(long, value_name = "PATH")]
    target: Option<String>,

    /// The text that the patch was made for, where the file has changed since: a file for --target, or a
    /// directory laid out like the root
    #[arg(long, value_name = "PATH")]
    base: Option<PathBuf>,

    /// The patch; `-` reads standard input
    patch: PathBuf,
}

/// Largest patch that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// Places the patch and tells how it fares.
pub fn run(args: Args, context: &Context) -> Result<ExitCode, CliError> {
    let tree = DirectoryTree::open(&args.root)
        .map_err(|error| CliError::new(format!("{}: {error}", args.root.display())).hint("--root takes a directory"))?;
    let patch = read(&args.patch)?;
    let target = args.target.as_deref();
    let placed = match &args.base {
        None => place(&patch, &tree, target),
        Some(base) => place_drifted(&patch, &*made_for(base, target)?, &tree, target),
    };
    context.answer(&document(&placed), |palette| told(&placed, palette))?;
    Ok(if placed.verdict == Verdict::Applied { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The texts that a patch was made for.
fn made_for(base: &Path, target: Option<&str>) -> Result<Box<dyn Tree>, CliError> {
    let unreadable = |error: io::Error| CliError::new(format!("{}: {error}", base.display()));
    if base.is_dir() {
        return Ok(Box::new(DirectoryTree::open(base).map_err(unreadable)?));
    }
    let target = target.ok_or_else(|| {
        CliError::new("--base names a file, and no --target says which file it was").hint("add --target PATH")
    })?;
    let text = std::fs::read_to_string(base).map_err(unreadable)?;
    Ok(Box::new(MemoryTree::new([(target, text)])))
}

/// The text of a patch file, or of standard input for `-`. Bytes that are not UTF-8 become replacement
/// characters, which are found nowhere.
pub(super) fn read(path: &Path) -> Result<String, CliError> {
    let unreadable = |error: io::Error| {
        CliError::new(format!("{}: {error}", path.display()))
            .hint("give a file that holds a patch, or - for standard input")
    };
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > LARGEST {
        return Err(CliError::new(format!("{} is larger than 256 MB", path.display())).hint("send it in parts"));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

fn files(changes: &[FileChange]) -> Map<String, Value> {
    changes.iter().map(|file| (file.path.clone(), json!(file.result))).collect()
}

fn problem(problem: &Problem) -> Value {
    json!(problem.to_string())
}

fn document(placed: &Placed) -> Value {
    let applied = placed.verdict == Verdict::Applied;
    let hunk = |hunk: &HunkPlace| {
        json!({
            "state": hunk.state,
            "path": hunk.path,
            "line": hunk.line,
            "level": hunk.level,
            "candidates": hunk.candidates,
            "problem": hunk.problem.as_ref().map(problem),
            "patch_line": hunk.patch_line,
        })
    };
    json!({
        "result": placed.verdict,
        "format": placed.format,
        "files": if applied { files(&placed.files) } else { Map::new() },
        "hunks": placed.hunks.iter().map(hunk).collect::<Vec<_>>(),
        "candidates": placed.candidates(),
        "reason": placed.reason,
        "parses": placed.unparsed.is_empty(),
        "notes": placed.notes,
        "problems": placed.problems.iter().map(problem).collect::<Vec<_>>(),
        "unparsed": placed.unparsed.iter()
            .map(|(path, problem)| json!({"path": path, "line": problem.line, "message": problem.message}))
            .collect::<Vec<_>>(),
        "partial": if applied { Map::new() } else { files(&placed.files) },
        "alternatives": placed.alternatives.iter()
            .map(|(format, changes)| json!({"format": format, "files": files(changes)}))
            .collect::<Vec<_>>(),
        "claim": placed.claim,
    })
}

fn told(placed: &Placed, palette: Palette) -> String {
    let mut text = String::new();
    let applied = placed.verdict == Verdict::Applied;
    if applied {
        for file in &placed.files {
            text.push_str(&diff(file, palette));
        }
    }
    let role = if applied { Role::Good } else { Role::Bad };
    let word = match placed.verdict {
        Verdict::Applied => "applies",
        Verdict::Ambiguous => "ambiguous",
        Verdict::Conflict => "conflict",
        Verdict::Malformed => "malformed",
    };
    let format = placed.format.map(|format| format!(" ({})", format.name())).unwrap_or_default();
    let _ = writeln!(text, "{}{format}", palette.paint(role, word));
    for (number, hunk) in placed.hunks.iter().enumerate().filter(|_| !applied && placed.hunks.len() > 1) {
        let at = hunk.line.map(|line| format!(":{line}")).unwrap_or_default();
        let role = if hunk.state == Verdict::Applied { Role::Good } else { Role::Bad };
        let state = match hunk.state {
            Verdict::Applied => "fits",
            Verdict::Ambiguous => "ambiguous",
            Verdict::Conflict => "conflict",
            Verdict::Malformed => "malformed",
        };
        let _ = writeln!(text, "  hunk {} {}{at} {}", number + 1, plain_line(&hunk.path), palette.paint(role, state));
    }
    for problem in &placed.problems {
        let _ = writeln!(text, "  {}", plain_line(&problem.to_string()));
    }
    for (path, problem) in &placed.unparsed {
        let what = format!("{path} would not be Python: line {}: {}", problem.line, problem.message);
        let _ = writeln!(text, "  {}", palette.paint(Role::Bad, plain_line(&what)));
    }
    for note in &placed.notes {
        let _ = writeln!(text, "  {}", palette.paint(Role::Dim, plain_line(&note.to_string())));
    }
    text
}

/// What changes in one file, as a unified diff.
fn diff(file: &FileChange, palette: Palette) -> String {
    let old = file.base.as_deref().unwrap_or_default();
    let new = file.result.as_deref().unwrap_or_default();
    let name =
        |there: bool, prefix: &str| if there { format!("{prefix}/{}", file.path) } else { "/dev/null".to_owned() };
    let diff = TextDiff::from_lines(old, new)
        .unified_diff()
        .header(&name(file.base.is_some(), "a"), &name(file.result.is_some(), "b"))
        .to_string();
    let mut text = String::new();
    for line in diff.lines() {
        let line = plain(line);
        let role = match line.as_bytes().first() {
            Some(b'+') => Some(Role::Good),
            Some(b'-') => Some(Role::Bad),
            Some(b'@') => Some(Role::Dim),
            _ => None,
        };
        match role {
            Some(role) => {
                let _ = writeln!(text, "{}", palette.paint(role, &*line));
            }
            None => {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}
