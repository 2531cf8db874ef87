//! The story of a patch, driven as a person does it: two candidates tried side by side, one accepted by hunk, only what
//! it made stale run, then taken back, and the earlier state is there without running anything.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod support;

use reweave::cli::demo::lay;
use reweave::store::Reader;
use support::pty::Setup;

#[test]
fn two_candidates_are_tried_one_is_accepted_replayed_and_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    lay(dir.path()).unwrap();
    let before = std::fs::read_to_string(dir.path().join("04_features/02_comfort.py")).unwrap();
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(200, 60).start();
    terminal.wait_for("25 steps").keys("a").wait_for("22 fresh").wait_for("1 failed");
    // What lay in patches/ waits: the one at the root is shown with what it would come to.
    terminal.keys("gg5").wait_for("#1 agent fixer").wait_for("Accepting the whole").wait_for("parses");
    terminal.keys("t").wait_for("[trial]").wait_for("fine   374 hours");
    // The same key again sets the other beside it.
    terminal.keys("t").wait_for("failing 3 to 0  tests 3 of 3").wait_for("tests 2 of 3");
    // Back to the lines: the hunk is taken, and what is taken is accepted.
    terminal.keys("|").wait_gone("[trial]").keys("y").wait_for("[x]").keys("A").wait_for("It is accepted.");
    let after = std::fs::read_to_string(dir.path().join("04_features/02_comfort.py")).unwrap();
    assert_ne!(after, before);
    terminal.keys("1a").wait_for("25 fresh");
    terminal.keys("5U").wait_for("Take #1 back?").keys("y").wait_for("It is reverted.");
    assert_eq!(std::fs::read_to_string(dir.path().join("04_features/02_comfort.py")).unwrap(), before);
    terminal.keys("1a").wait_for("22 fresh");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    // Once at first, once with the patch, and not again when it was taken back.
    let store = Reader::open(dir.path()).unwrap();
    let count = |step: &str| store.executions(&step.parse().unwrap(), 10).unwrap().len();
    let counts = ["01_plan", "03_clean/04_fill", "04_features/02_comfort", "08_report/02_comfort"].map(count);
    assert_eq!(counts, [1, 1, 2, 2]);
}

#[test]
fn a_run_is_followed_searched_inspected_mended_and_walked_back() {
    let dir = tempfile::tempdir().unwrap();
    lay(dir.path()).unwrap();
    let failing = dir.path().join("08_report/02_comfort.py");
    let before = std::fs::read_to_string(&failing).unwrap();
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
    // Open, and follow what runs to its end.
    terminal.wait_for("25 steps").keys("F").wait_for("[following]").keys("a").wait_for("22 fresh").wait_for("1 failed");
    terminal.keys("F").wait_gone("[following]");
    // Search the list; jump to a step by letters of its name.
    terminal.keys("gg/ridge\r").wait_for("2 Source  06_fit/02_ridge");
    terminal.keys("f").wait_for("Jump").keys("08com\r").wait_for("2 Source  08_report/02_comfort");
    // Run it again though nothing changed: it fails as before, and why is told. Inspect what it saw.
    terminal.keys("t").wait_for("08_report/02_comfort failed").wait_for("── why ─");
    terminal.keys("4").wait_for("4 State").wait_for("outdoors");
    // Try the patch for it on the side, accept and replay.
    terminal.keys("5").wait_for("#2 agent").keys("t").wait_for("failed → fresh");
    // A test that covers it fails with it: that is asked about.
    terminal
        .keys("X")
        .wait_for("08_report/test_comfort fails")
        .keys("y")
        .wait_for("It is accepted.")
        .wait_for("24 fresh");
    assert_ne!(std::fs::read_to_string(&failing).unwrap(), before);
    // One step back in time; nothing runs.
    terminal
        .keys("1ggjj")
        .wait_for("2 Source  02_data/01_weather")
        .keys("S")
        .wait_for("▸ after 01_plan")
        .wait_for("HELD_BACK");
    // Undo what was done to the file: what hangs on it is stale.
    terminal.keys("u").wait_for("3 stale");
    assert_eq!(std::fs::read_to_string(&failing).unwrap(), before);
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn what_was_decided_about_a_patch_stays_while_another_is_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    lay(dir.path()).unwrap();
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
    terminal.wait_for("25 steps").keys("gg5").wait_for("#1 agent fixer").wait_for("Accepting the whole");
    terminal.keys("r").wait_for("Nothing of it is taken");
    terminal.keys("J").wait_for("#2 agent").keys("K").wait_for("#1 agent fixer").wait_for("Nothing of it is taken");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}
