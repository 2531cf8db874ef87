//! Names per file, held against the interpreter's own `symtable` and `ast` on its standard library.
//!
//! `cargo test --test analysis names -- --ignored --nocapture` reads every file of every interpreter that can be found
//! and says how many files there were and which differ.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use reweave::analysis::{AnalyzedBy, OccurrenceKind, Options, StepNames, analyze_all};
use reweave::engine::InterpreterParser;
use serde::Deserialize;
use std::io::{BufRead, BufReader};
use unicode_normalization::UnicodeNormalization;

use crate::python;

const SCRIPT: &str = include_str!("names.py");

#[derive(Debug, Deserialize)]
struct File {
    path: String,
    source: String,
    error: Option<String>,
    #[serde(default)]
    reads: BTreeSet<String>,
    #[serde(default)]
    may_read: BTreeSet<String>,
    #[serde(default)]
    binds: BTreeSet<String>,
    #[serde(default)]
    never: BTreeSet<String>,
    #[serde(default)]
    declared: BTreeSet<String>,
    #[serde(default)]
    augmented: BTreeSet<String>,
    #[serde(default)]
    comprehension: BTreeSet<String>,
    #[serde(default)]
    postponed: bool,
}

/// What came out for one interpreter.
#[derive(Debug, Default)]
struct Tally {
    files: usize,
    equal: usize,
    by_interpreter: usize,
    invalid: usize,
    /// Files that differ in a way that is known, by what it is.
    explained: Vec<(String, String)>,
    unexplained: Vec<String>,
}

/// The names in a file as analysis has them: looked up in, and bound in, the run's namespace.
fn seen(names: &StepNames) -> (BTreeSet<String>, BTreeSet<String>) {
    let of = |kinds: &[OccurrenceKind]| {
        names.occurrences.iter().filter(|o| kinds.contains(&o.kind)).map(|o| o.name.to_string()).collect()
    };
    (
        of(&[OccurrenceKind::Read, OccurrenceKind::Delete]),
        of(&[OccurrenceKind::Bind, OccurrenceKind::Define, OccurrenceKind::Import, OccurrenceKind::Delete]),
    )
}

fn compare(file: &File, names: &StepNames, tally: &mut Tally) {
    if let Some(error) = &file.error {
        tally.invalid += 1;
        if names.syntax_error.is_none() {
            tally
                .unexplained
                .push(format!("{}: it can't be compiled ({error}), and analysis does not say so", file.path));
        }
        return;
    }
    if names.syntax_error.is_some() || names.analyzed_by == AnalyzedBy::Opaque {
        let why = names.syntax_error.as_ref().map(|e| e.message.clone()).or(names.opaque.clone());
        tally.unexplained.push(format!("{}: it could not be read: {why:?}", file.path));
        return;
    }
    if names.analyzed_by == AnalyzedBy::Worker {
        tally.by_interpreter += 1;
    }
    places_hold_their_names(file, names, tally);
    let (reads, binds) = seen(names);
    let mut explanations: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut explain = |why, name| {
        explanations.entry(why).or_default().insert(name);
    };
    // `symtable` tells `x += 1` and `del x` as stores alone: that they need what was there is `ast`'s to say.
    let wanted: BTreeSet<&String> = file.reads.iter().collect();
    let missed: Vec<&&String> = wanted.iter().filter(|name| !reads.contains(**name)).collect();
    let mut unexplained = Vec::new();
    for name in missed {
        if file.never.contains(*name) {
            explain("an annotation in a function is never evaluated", name);
        } else if file.postponed {
            explain("annotations are postponed", name);
        } else if file.comprehension.contains(*name) {
            explain("symtable tells an inlined comprehension's names as the scope's around it", name);
        } else {
            unexplained.push(name);
        }
    }
    if !unexplained.is_empty() {
        tally.unexplained.push(format!("{}: reads missed: {unexplained:?}", file.path));
        return;
    }
    let extra: Vec<&String> = reads.iter().filter(|name| !file.reads.contains(*name)).collect();
    let odd: Vec<&&String> = extra
        .iter()
        .filter(|name| {
            !(file.may_read.contains(**name)
                || file.augmented.contains(**name)
                || binds.contains(**name) && file.binds.contains(**name))
        })
        .collect();
    if !odd.is_empty() {
        tally.unexplained.push(format!("{}: reads that are none: {odd:?}", file.path));
        return;
    }
    let missed: Vec<&String> = file.binds.iter().filter(|name| !binds.contains(*name)).collect();
    for name in missed {
        if file.declared.contains(name) {
            explain("symtable tells a name that is annotated and never assigned as assigned", name);
        } else if !file.comprehension.contains(name) {
            tally.unexplained.push(format!("{}: binding missed: {name}", file.path));
            return;
        }
    }
    let odd: Vec<&String> = binds.iter().filter(|name| !file.binds.contains(*name)).collect();
    if !odd.is_empty() {
        tally.unexplained.push(format!("{}: bindings that are none: {odd:?}", file.path));
        return;
    }
    if explanations.is_empty() {
        tally.equal += 1;
    }
    for (why, which) in explanations {
        tally.explained.push((why.to_owned(), format!("{}: {which:?}", file.path)));
    }
}

/// Each place in the text is a place of that name: as written, in normal form, or before it was mangled.
fn places_hold_their_names(file: &File, names: &StepNames, tally: &mut Tally) {
    for occurrence in &names.occurrences {
        let text = file.source.get(occurrence.range.clone());
        let holds = text.is_some_and(|text| {
            *text == *occurrence.name
                || text.nfkc().eq(occurrence.name.chars())
                || (text.starts_with("__") && occurrence.name.starts_with('_') && occurrence.name.ends_with(text))
        });
        if !holds {
            let at = (occurrence.line, occurrence.column);
            tally.unexplained.push(format!("{}:{at:?}: {text:?} stands where {} should", file.path, occurrence.name));
        }
    }
}

fn check(interpreter: &Path, limit: usize) -> Tally {
    let parser = InterpreterParser::new(interpreter);
    let version = parser.version().unwrap();
    let options = Options { python: Some(version), parser: Some(&parser) };
    let mut child = Command::new(interpreter)
        .args(["-I", "-c", SCRIPT, &limit.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut tally = Tally::default();
    let mut batch: Vec<File> = Vec::new();
    let flush = |batch: &mut Vec<File>, tally: &mut Tally| {
        let sources: Vec<&str> = batch.iter().map(|file| file.source.as_str()).collect();
        for (file, names) in batch.iter().zip(analyze_all(&sources, &options)) {
            tally.files += 1;
            compare(file, &names, tally);
        }
        batch.clear();
    };
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        batch.push(serde_json::from_str(&line.unwrap()).unwrap());
        if batch.len() == 100 {
            flush(&mut batch, &mut tally);
        }
    }
    flush(&mut batch, &mut tally);
    assert!(child.wait().unwrap().success());
    let Tally { files, equal, by_interpreter, invalid, explained, unexplained } = &tally;
    println!(
        "{} {}.{}: {files} files, {equal} equal, {} differ as explained, {invalid} are no Python for it, \
         {by_interpreter} read by it, {} unexplained",
        interpreter.display(),
        version.major,
        version.minor,
        explained.len(),
        unexplained.len()
    );
    let reasons: BTreeSet<&String> = explained.iter().map(|(why, _)| why).collect();
    for reason in reasons {
        let files: Vec<&str> =
            explained.iter().filter(|(why, _)| why == reason).map(|(_, which)| which.as_str()).collect();
        println!("  {reason}: {}", files.len());
        for file in files {
            println!("    {file}");
        }
    }
    for what in unexplained {
        println!("  UNEXPLAINED {what}");
    }
    tally
}

#[test]
fn names_of_a_part_of_the_standard_library_are_cpythons() {
    let tally = check(Path::new(python::PYTHON), 200);
    assert!(tally.files > 150, "{tally:?}");
    assert_eq!(tally.unexplained, Vec::<String>::new());
}

#[test]
#[ignore = "reads every file of every interpreter: minutes"]
fn names_of_every_standard_library_are_cpythons() {
    let mut unexplained = Vec::new();
    for interpreter in python::all() {
        unexplained.extend(check(&interpreter, 0).unexplained);
    }
    assert_eq!(unexplained, Vec::<String>::new());
}
