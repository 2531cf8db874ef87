//! The run's directory: its steps, its settings, and how much it keeps.

use std::fs;
use std::path::Path;

use super::{Fact, Standing};
use crate::run::{Config, Gravity, RunDir, STORE_DIR, Severity, bytes_text};
use crate::store::{Reader, StoreError};

/// How many problems are listed before they are only counted.
const LISTED: usize = 5;

/// What there is to say of the run.
pub(super) fn facts(run: &RunDir, config: &Config) -> Vec<Fact> {
    let scan = run.scan();
    let mut facts = vec![match scan.require_steps(run) {
        Ok(()) => Fact::ok(
            "steps",
            format!("{}, frames: {}, modules: {}", scan.steps.len(), scan.frames.len(), scan.modules.len()),
        ),
        Err(error) => Fact::new("steps", Standing::Missing, error.to_string()).remedy(error.hint()),
    }];
    facts.push(match run.check_writable() {
        Ok(()) => Fact::ok("directory", "can be written to"),
        Err(error) => Fact::new("directory", Standing::Missing, error.to_string()).remedy(error.hint()),
    });
    let grave = scan.problems.iter().filter(|problem| problem.kind.gravity() > Gravity::Note);
    let grave: Vec<String> = grave.map(ToString::to_string).collect();
    facts.extend(grave.iter().take(LISTED).map(|problem| Fact::new("problem", Standing::Wrong, problem)));
    if grave.len() > LISTED {
        facts.push(Fact::new("problem", Standing::Wrong, format!("and {} more", grave.len() - LISTED)));
    }
    for problem in &config.problems {
        let standing = if problem.severity == Severity::Error { Standing::Wrong } else { Standing::Missing };
        facts.push(Fact::new("settings", standing, problem.to_string()));
    }
    if !config.waiting.is_empty() {
        let asks: Vec<&str> = config.waiting.iter().map(|waiting| waiting.asks.as_str()).collect();
        let says = format!("the run's own file asks for what it does not get alone: {}", asks.join("; "));
        facts.push(Fact::new("settings", Standing::NotUsed, says).remedy("read it, then: reweave config --approve"));
    }
    facts.extend(store(run));
    facts
}

/// The record: how large it is, and whether it is whole.
fn store(run: &RunDir) -> Vec<Fact> {
    let home = run.path().join(STORE_DIR);
    if !home.is_dir() {
        return vec![Fact::ok("store", "none yet")];
    }
    let size = bytes_text(size_of(&home, 0));
    let read = || {
        let reader = Reader::open(run.path())?;
        Ok::<_, StoreError>((reader.sizes_in(run.path())?, reader.check()?))
    };
    let told = |error: StoreError, standing| {
        let fact = Fact::new("store", standing, format!("{size} in {STORE_DIR}: {error}"));
        match error.hint() {
            Some(hint) => fact.remedy(hint),
            None => fact,
        }
    };
    match read() {
        Err(StoreError::Missing { .. }) => vec![Fact::ok("store", format!("{size} in {STORE_DIR}, nothing recorded"))],
        Err(error @ StoreError::Newer { .. }) => vec![told(error, Standing::Missing)],
        Err(error) => vec![told(error, Standing::Wrong)],
        Ok((sizes, wrong)) => {
            let says = format!(
                "{size} in {STORE_DIR}: {} versions, {} executions, {} patches, {} of saved values",
                sizes.versions,
                sizes.executions,
                sizes.patches,
                bytes_text(sizes.saved.1)
            );
            let mut facts = vec![Fact::ok("store", says)];
            if wrong.is_empty() {
                facts.push(Fact::ok("record", "every page and content is as it was written"));
            }
            facts.extend(wrong.iter().take(LISTED).map(|what| {
                Fact::new("record", Standing::Wrong, what.clone())
                    .remedy("open the run: what can't be read is set aside and a new store begun")
            }));
            if !sizes.aside.is_empty() {
                let bytes = sizes.aside.iter().map(|(_, bytes)| bytes).sum();
                let says = format!("{} that could not be used, {} in all", sizes.aside.len(), bytes_text(bytes));
                let remedy = format!("remove {STORE_DIR}/store.db.* once nothing in them is missed");
                facts.push(Fact::new("set aside", Standing::NotUsed, says).remedy(remedy));
            }
            facts
        }
    }
}

/// The bytes of all files below a directory, links not followed.
fn size_of(dir: &Path, depth: usize) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() && depth < 16 => size_of(&entry.path(), depth + 1),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}
