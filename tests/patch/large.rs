//! Large patches and hostile repetition take time in proportion to their size.
//!
//! In every run a tenth of a megabyte; `REWEAVE_PATCH_KB=10240 cargo test --release --test patch large -- --nocapture` prints
//! what ten take.

use std::time::Instant;

use reweave::patch::{MemoryTree, Verdict, place};

use crate::random::times;

fn size() -> usize {
    times("REWEAVE_PATCH_KB", 100) << 10
}

fn timed(name: &str, patch: &str, base: &str) -> Verdict {
    let start = Instant::now();
    let placed = place(patch, &MemoryTree::new([("a.py", base)]), Some("a.py"));
    println!(
        "{name}: {:.1} MB patch, {:.1} MB file, {} hunks: {:?} in {:?}",
        patch.len() as f64 / 1e6,
        base.len() as f64 / 1e6,
        placed.hunks.len(),
        placed.verdict,
        start.elapsed()
    );
    placed.verdict
}

/// A file of `lines` different lines, and edits of every tenth.
fn many_hunks(size: usize) -> (String, Vec<(usize, String, String)>) {
    let lines: Vec<String> = (0..size / 40).map(|n| format!("value_{n} = {}", n * 7)).collect();
    let edits = (5..lines.len().saturating_sub(5))
        .step_by(10)
        .map(|at| (at, lines[at].clone(), format!("value_{at} = None")))
        .collect();
    (lines.join("\n") + "\n", edits)
}

#[test]
fn many_hunks_of_every_format() {
    let (base, edits) = many_hunks(size());
    let lines: Vec<&str> = base.lines().collect();
    let hunk = |at: usize, old: &str, new: &str, head: &str| {
        format!("{head}\n {}\n-{old}\n+{new}\n {}\n", lines[at - 1], lines[at + 1])
    };
    let body = |head: &dyn Fn(usize) -> String| -> String {
        edits.iter().map(|(at, old, new)| hunk(*at, old, new, &head(*at))).collect()
    };
    let numbered = format!("--- a/a.py\n+++ b/a.py\n{}", body(&|at| format!("@@ -{at},3 +{at},3 @@")));
    assert_eq!(timed("numbered", &numbered, &base), Verdict::Applied);
    let bare = format!("--- a/a.py\n+++ b/a.py\n{}", body(&|_| "@@ ... @@".to_owned()));
    assert_eq!(timed("without numbers", &bare, &base), Verdict::Applied);
    let envelope = format!("*** Begin Patch\n*** Update File: a.py\n{}*** End Patch\n", body(&|_| "@@".to_owned()));
    assert_eq!(timed("envelope", &envelope, &base), Verdict::Applied);
    let blocks: String = edits
        .iter()
        .map(|(_, old, new)| format!("a.py\n```\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n```\n"))
        .collect();
    assert_eq!(timed("blocks", &blocks, &base), Verdict::Applied);
    let anchored = format!(
        "*** Begin Patch\n*** Update File: a.py\n{}*** End Patch\n",
        body(&|at| format!("@@ {}", lines[at - 1]))
    );
    timed("anchors", &anchored, &base);
}

#[test]
fn endless_repetition() {
    let base = "a = 1\n".repeat(size() / 6);
    let hunk = "@@ -5,3 +5,3 @@\n a = 1\n-a = 1\n+b = 1\n a = 1\n";
    let numbered = format!("--- a/a.py\n+++ b/a.py\n{}", hunk.repeat(size() / hunk.len()));
    timed("repeated hunks", &numbered, &base);
    // Every hunk nearly fits everywhere, and nowhere.
    let block = format!("{}-b = 1\n+c = 1\n", " a = 1\n".repeat(50));
    let near = format!("--- a/a.py\n+++ b/a.py\n{}", format!("@@\n{block}").repeat(size() / block.len()));
    let twisted = format!("{base}b = 1\n");
    timed("near misses", &near, &twisted);
    let one = format!("--- a/a.py\n+++ b/a.py\n@@\n{}-b = 1\n", " a = 1\n".repeat(size() / 7));
    assert_ne!(timed("one long hunk", &one, &base), Verdict::Applied);
}

#[test]
fn hostile_shapes() {
    let base = "x = 1\ny = 2\n";
    let size = size();
    for (name, piece) in [
        ("fences", "```\n"),
        ("open fences", "```python\nx\n"),
        ("heads", "<<<<<<< SEARCH\n"),
        ("dividers", "=======\n"),
        ("blocks without end", "<<<<<<< SEARCH\nx\n=======\n"),
        ("headers", "--- a/a.py\n+++ b/a.py\n"),
        ("hunk headers", "@@ -1,1 +1,1 @@\n"),
        ("git headers", "diff --git a/a.py b/a.py\n"),
        ("plus", "+"),
        ("minus lines", "-x = 1\n"),
        ("braces", "{"),
        ("objects", "{\"path\": \"a.py\", \"old_str\": \"x\", \"new_str\": \"y\"}\n"),
        ("unfinished objects", "{\"a\":\n"),
        ("brackets", "[[{\n"),
        ("ellipses", "...\n"),
        ("ed", "1d\n"),
        ("begin", "*** Begin Patch\n"),
        ("updates", "*** Update File: a.py\n@@\n"),
        ("carriage returns", "\r"),
        ("parentheses", "("),
        ("tildes", "~~~~~~~~\nx\n"),
        ("names", "a.py\n\n"),
    ] {
        timed(name, &piece.repeat(size / piece.len()), base);
    }
    let long_lines = format!("--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-{}\n+y\n", "x".repeat(size));
    timed("a long line", &long_lines, base);
    let search = "x = 1\n".repeat(size / 12);
    let replace = (0..size / 12).map(|n| format!("{n}\n")).collect::<String>();
    timed("two long sides", &format!("a.py\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"), base);
    let escaped =
        serde_json::json!({"path": "a.py", "old_str": "x\n".repeat(size / 4), "new_str": "y\n".repeat(size / 4)});
    timed("long pair", &escaped.to_string(), base);
}
