//! A folder of `src/` imports only from folders above it, as `src/lib.rs` draws them.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

use std::fs;
use std::path::Path;

/// From the top down. The last three import from none of each other.
const LAYERS: [&str; 14] = [
    "step",
    "run",
    "analysis",
    "graph",
    "store",
    "engine",
    "feedback",
    "patch",
    "agent",
    "interop",
    "workbench",
    "ui",
    "cli",
    "mcp",
];

/// Every `crate::folder` named in the text, outside comments.
fn imports(text: &str) -> Vec<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            let group = group.split("};").next().unwrap_or(group);
            let mut depth = 0;
            let mut word = String::new();
            for c in group.chars().chain([',']) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth <= 0 => {
                        let folder = word.trim().split("::").next().unwrap_or_default();
                        found.push(folder.split_whitespace().next().unwrap_or_default().to_owned());
                        word.clear();
                    }
                    c if depth <= 0 => word.push(c),
                    _ => {}
                }
            }
        } else {
            found.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    found
}

fn rust_files(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn violations(layer: usize, text: &str) -> Vec<String> {
    imports(text)
        .into_iter()
        .filter(|import| match LAYERS.iter().position(|name| name == import) {
            Some(other) => other > layer || (layer >= 11 && other >= 11 && other != layer),
            None => false,
        })
        .collect()
}

#[test]
fn a_folder_imports_only_from_folders_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (layer, name) in LAYERS.iter().enumerate() {
        let mut files = Vec::new();
        rust_files(&src.join(name), &mut files);
        assert!(!files.is_empty(), "layer {name} is empty");
        for file in files {
            for import in violations(layer, &fs::read_to_string(&file).unwrap()) {
                wrong.push(format!("{} imports {import}", file.strip_prefix(&src).unwrap().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_pure_rooms_of_the_interface_know_no_terminal() {
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui");
    let mut wrong = Vec::new();
    for room in ["app", "layout"] {
        let dir = ui.join(room);
        if !dir.is_dir() {
            continue;
        }
        let mut files = Vec::new();
        rust_files(&dir, &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for name in ["ratatui::", "crossterm::", "std::fs", "std::thread", "Instant::now", "SystemTime::now"] {
                if text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(name)) {
                    wrong.push(format!("{} uses {name}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_import_from_below_is_found() {
    let step = 0;
    assert_eq!(violations(step, "use crate::{step::A, graph::{B, C}};\n"), ["graph"]);
    assert_eq!(violations(step, "let x = crate::engine::start();"), ["engine"]);
    assert!(violations(3, "use crate::step::{A, B};\n// use crate::ui::X").is_empty());
    assert_eq!(violations(12, "use crate::ui::runtime;"), ["ui"]);
}
