//! Random programs and random edits of them: after every update, everything is as plain CPython has it.
//!
//! `truth.py` is a few lines that execute the steps in order in one namespace; nothing of reweave is in it. The
//! last step of every program is a probe that prints what no `repr` tells: which names are one object, whether
//! instances are of the present class, how far generators and views went, and what the files hold.
//!
//! A hundred programs here; ten thousand, or others, by hand:
//!
//! ```text
//! PROGRAMS=0:10000 cargo test --release --test programs -- --nocapture
//! ```
//!
//! With `SHOWS=1` every text is printed before it is run.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what it expects by failing")]

#[path = "../engine/harness.rs"]
#[allow(dead_code, reason = "each test uses the part that it needs")]
mod harness;
mod making;
mod truth;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use harness::Run;
use making::{Program, Random};
use reweave::engine::OnError;
use truth::{Seen, Truth};

/// What all programs together came to.
#[derive(Debug, Default)]
struct Tally {
    /// Steps after edits, all of them.
    steps: usize,
    /// Those that were executed for being stale.
    ran: usize,
    /// Those that had to be: edited, or something that they used differs between the two true runs.
    ideal: usize,
    /// Executed only to have their state again.
    rebuilt: usize,
    /// Programs that were left before their last edit, for what they came to need.
    given_up: usize,
}

/// Where an object lies is chance.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split(" at 0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kept, part| kept + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// Edits of a program.
const EDITS: usize = 4;

/// A random program, through its edits; `Err` says where it is not as it should be.
fn check(seed: u64, truth: &mut Truth, tally: &Mutex<Tally>) -> Result<(), String> {
    let mut random = Random::new(seed);
    let program = Program::make(&mut random);
    follow(seed, program, random, truth, tally)
}

/// One program, through its edits.
fn follow(
    seed: u64,
    mut program: Program,
    mut random: Random,
    truth: &mut Truth,
    tally: &Mutex<Tally>,
) -> Result<(), String> {
    let mut run = Run::new(OnError::Continue);
    let mut before: Option<(Program, Seen)> = None;
    let shows = std::env::var_os("SHOWS").is_some();
    for edit in 0..=EDITS {
        let steps = program.steps();
        let borrowed: Vec<(&str, &str)> = steps.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        let Some(expected) = truth.of(&steps) else {
            tally.lock().unwrap().given_up += 1;
            return Ok(());
        };
        if shows {
            let text: String = steps.iter().map(|(id, text)| format!("# {id}\n{text}")).collect();
            println!("=== {edit}\n{text}");
        }
        let told = run.update(&borrowed);
        if shows {
            println!("=== ran {:?}, rebuilt {}", told.ran, told.rebuilt);
        }
        if random.chance(25) {
            if shows {
                println!("=== restarted");
            }
            run.restart();
        }
        let fail = |what: String| {
            let text: String = steps.iter().map(|(id, text)| format!("# {id}\n{text}")).collect();
            Err(format!("seed {seed}, after {edit} edits: {what}\n{text}"))
        };
        for (id, _) in &steps {
            let (Some(wanted), Some(got)) = (expected.results.get(id), told.results.get(id)) else {
                return fail(format!("{id}: no result"));
            };
            if without_addresses(wanted) != without_addresses(got) {
                return fail(format!("{id}: {got}\nbut plainly: {wanted}"));
            }
        }
        for (id, _) in &steps {
            // Every variable after every step costs more than the update itself.
            if !random.chance(if edit == EDITS { 50 } else { 12 }) {
                continue;
            }
            if shows {
                println!("=== state after {id}");
            }
            let state = match run.try_state(&borrowed, id) {
                Ok(state) => state,
                Err(error) => return fail(error.what),
            };
            let wanted = expected.states.get(id).cloned().unwrap_or_default();
            let names = wanted.keys().chain(state.keys().filter(|name| !expected.hidden.contains(*name)));
            for name in names {
                if wanted.get(name) != state.get(name) {
                    let (got, plainly) = (state.get(name), wanted.get(name));
                    return fail(format!("{name} after {id}: {got:?}\nbut plainly: {plainly:?}"));
                }
            }
        }
        if let Some((old, seen)) = &before {
            let ideal = program.ideal(old, seen, &expected);
            // The probe reads everything.
            let remarked = program.remarked(old);
            let own = |id: &&String| **id != making::PROBE && !remarked.contains(id);
            let mut tally = tally.lock().unwrap();
            tally.steps += steps.len() - 1;
            tally.ran += told.ran.iter().filter(own).count();
            tally.ideal += ideal;
            tally.rebuilt += told.rebuilt;
        }
        before = Some((program.clone(), expected));
        program.edit(&mut random);
    }
    Ok(())
}

/// An analysis as people write it in notebooks: data made and read back, functions, a class with a count of its own, rows
/// changed in place, a generator half used, files.
#[test]
fn a_notebook_that_is_edited_is_as_plain_python_has_it() {
    let tally = Mutex::new(Tally::default());
    let failed: Vec<String> = std::thread::scope(|scope| {
        let follow = |seed: u64| {
            let cells = Program::of(include_str!("notebook.py").split("# %%\n"));
            follow(seed, cells, Random::new(seed), &mut Truth::new(), &tally).err()
        };
        let halves = [3, 4].map(|seed| scope.spawn(move || follow(seed)));
        halves.into_iter().filter_map(|half| half.join().unwrap_or_else(|_| Some("it ended".to_owned()))).collect()
    });
    let tally = tally.into_inner().unwrap();
    println!("after edits {} of {} steps ran; the ideal is {}", tally.ran, tally.steps, tally.ideal);
    assert!(failed.is_empty(), "{}", failed.join("\n----\n"));
}

#[test]
fn programs_are_as_plain_python_has_them() {
    let asked = std::env::var("PROGRAMS").unwrap_or_else(|_| "0:100".into());
    let (from, to) = asked.split_once(':').unwrap_or(("0", "100"));
    let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
    let (next, tally) = (AtomicU64::new(from), Mutex::new(Tally::default()));
    let failed: Mutex<BTreeMap<u64, String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut truth = Truth::new();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to {
                        return;
                    }
                    if let Err(what) = check(seed, &mut truth, &tally) {
                        failed.lock().unwrap().insert(seed, what);
                    }
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    println!(
        "{} programs: {} diverged; after edits {} of {} steps ran, the ideal is {} (ratio {:.2}); {} rebuilt; {} given up",
        to - from,
        failed.lock().unwrap().len(),
        tally.ran,
        tally.steps,
        tally.ideal,
        tally.ran as f64 / (tally.ideal.max(1)) as f64,
        tally.rebuilt,
        tally.given_up
    );
    let failed = failed.into_inner().unwrap();
    let shown: Vec<&String> = failed.values().take(3).collect();
    assert!(
        failed.is_empty(),
        "{} diverged: {:?}\n{}",
        failed.len(),
        failed.keys(),
        shown.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n----\n")
    );
}
