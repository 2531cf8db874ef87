//! A run of 10,000 steps on disk: looked at whole, looked at again, and how soon an edit is told.
//!
//! `cargo bench --bench run` makes the run in a temporary directory, measures (medians of 9) and fails where a limit is
//! passed. `REWEAVE_BENCH_STEPS` makes a smaller one.

#![allow(clippy::unwrap_used, reason = "a bench says what it expects by failing")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use reweave::run::{RunDir, Tree, Watcher};

const REPEATS: usize = 9;
/// Steps in one frame.
const IN_FRAME: usize = 50;

fn main() -> ExitCode {
    let steps: usize = std::env::var("REWEAVE_BENCH_STEPS").map_or(10_000, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    for step in 0..steps {
        let path = dir.path().join(path_of(step));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!(
            "# /// step\n# summary = \"step {step}\"\n# ///\nvalue_{step} = {step}\n{}",
            "# filler\n".repeat(80)
        );
        fs::write(path, text).unwrap();
    }
    let run = RunDir::open(dir.path()).unwrap();
    let mut held = true;
    let mut row = |what: &str, limit: Duration, times: Vec<Duration>| {
        let mut times = times;
        times.sort();
        let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
        let verdict = if median <= limit { "ok" } else { "TOO SLOW" };
        println!("{what:44} median {median:>10.2?}  worst {worst:>10.2?}  limit {limit:>8.0?}  {verdict}");
        held &= median <= limit;
    };
    let ms = Duration::from_millis;

    let scan = || assert_eq!(run.scan().steps.len(), steps);
    row(&format!("look at {steps} steps"), ms(150), measure(scan));
    let mut tree = Tree::read(&run);
    // Files that are older than their look are known by their times.
    std::thread::sleep(ms(2100));
    tree.refresh_all();
    row("look at all of them again", ms(100), measure(|| tree.refresh_all()));
    let one = [PathBuf::from(path_of(steps / 2))];
    row(
        "look at one again, and list them all",
        ms(10),
        measure(|| {
            tree.refresh_paths(&one);
            assert_eq!(tree.scan().steps.len(), steps);
        }),
    );

    let (tell, told) = channel();
    let watcher = Watcher::start(tree, move |change| drop(tell.send(change))).unwrap();
    told.recv().unwrap();
    let edits = (0..REPEATS * 3)
        .map(|edit| {
            edit_step(dir.path(), steps / 2, edit);
            let closed = Instant::now();
            assert_eq!(told.recv().unwrap().changed.len(), 1);
            closed.elapsed()
        })
        .collect();
    row("from the close of an edited file to its report", ms(30), edits);
    drop(watcher);
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn path_of(step: usize) -> String {
    format!("frame_{}/{step:05}.py", step / IN_FRAME)
}

fn edit_step(dir: &Path, step: usize, edit: usize) {
    fs::write(dir.join(path_of(step)), format!("value = {edit}\n")).unwrap();
}

fn measure(mut what: impl FnMut()) -> Vec<Duration> {
    (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            what();
            start.elapsed()
        })
        .collect()
}
