//! One example for each form that a patch comes in, and for each reason to refuse one.

use reweave::patch::{MemoryTree, NoteKind, Reason, Verdict, place};

/// A patch for `steps/a.py` and what it comes to.
#[derive(Clone, Copy)]
pub struct Case {
    name: &'static str,
    pub base: &'static str,
    pub patch: &'static str,
    wanted: Wanted,
}

#[derive(Clone, Copy)]
enum Wanted {
    /// The new text, and what is noted.
    Text(&'static str, &'static [NoteKind]),
    /// Lines to choose among.
    Ambiguous(&'static [usize]),
    Conflict(Option<Reason>),
    Malformed(Option<Reason>),
}

use NoteKind as N;
use Wanted::{Ambiguous, Conflict, Malformed, Text};

const ROOMS: &str = "import json\n\nrooms = json.load(open('rooms.json'))\nwarm = [r for r in rooms if r['temp'] > 20]\ncold = [r for r in rooms if r['temp'] < 5]\nprint(len(warm), len(cold))\n";
const ROOMS_FIXED: &str = "import json\n\nrooms = json.load(open('rooms.json'))\nwarm = [r for r in rooms if r['temp'] >= 20]\ncold = [r for r in rooms if r['temp'] < 5]\nprint(len(warm), len(cold))\n";
const TWINS: &str = "def north(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    return out\n\n\ndef south(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    return out\n";
const TWINS_SOUTH: &str = "def north(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    return out\n\n\ndef south(xs):\n    out = []\n    for x in xs:\n        out.append(-x)\n    return out\n";
const CLASS: &str = "class Log:\n    def write(self, text):\n        self.file.write(text)\n        self.count += 1\n";

const fn case(name: &'static str, base: &'static str, patch: &'static str, wanted: Wanted) -> Case {
    Case { name, base, patch, wanted }
}

/// The change of one line, with the header given and the context that goes with it.
macro_rules! rooms {
    ($head:literal) => {
        concat!($head, " rooms = json.load(open('rooms.json'))\n-warm = [r for r in rooms if r['temp'] > 20]\n+warm = [r for r in rooms if r['temp'] >= 20]\n cold = [r for r in rooms if r['temp'] < 5]\n")
    };
}

pub const CASES: [Case; 71] = [
    // Unified diffs.
    case(
        "git",
        ROOMS,
        rooms!(
            "diff --git a/steps/a.py b/steps/a.py\nindex 111..222 100644\n--- a/steps/a.py\n+++ b/steps/a.py\n@@ -3,3 +3,3 @@\n"
        ),
        Text(ROOMS_FIXED, &[]),
    ),
    case(
        "difflib",
        ROOMS,
        rooms!("--- steps/a.py\t2026-01-01\n+++ steps/a.py\t2026-01-02\n@@ -3,3 +3,3 @@\n"),
        Text(ROOMS_FIXED, &[]),
    ),
    case("no numbers", ROOMS, rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n@@ ... @@\n"), Text(ROOMS_FIXED, &[])),
    case("no header at all", ROOMS, rooms!("@@\n"), Text(ROOMS_FIXED, &[])),
    case("no hunk header", ROOMS, rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n"), Text(ROOMS_FIXED, &[])),
    case(
        "wrong counts",
        ROOMS,
        rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n@@ -3,8 +3,9 @@\n"),
        Text(ROOMS_FIXED, &[N::Recounted]),
    ),
    case(
        "wrong line",
        ROOMS,
        rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n@@ -93,3 +93,3 @@\n"),
        Text(ROOMS_FIXED, &[N::Offset]),
    ),
    case(
        "fenced in prose",
        ROOMS,
        concat!(
            "The bound is inclusive:\n\n```diff\n",
            rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n@@ -3,3 +3,3 @@\n"),
            "```\nThat is all.\n"
        ),
        Text(ROOMS_FIXED, &[]),
    ),
    case(
        "bare marks in a fence",
        ROOMS,
        "```diff\n-warm = [r for r in rooms if r['temp'] > 20]\n+warm = [r for r in rooms if r['temp'] >= 20]\n```\n",
        Text(ROOMS_FIXED, &[N::NoContext]),
    ),
    case(
        "prose behind a hunk without numbers",
        ROOMS,
        concat!(rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n@@ @@\n"), "\nNow the bound is inclusive.\nGood luck.\n"),
        Text(ROOMS_FIXED, &[N::Prose]),
    ),
    case(
        "blank context without its blank",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,3 +1,3 @@\n import json\n\n-rooms = json.load(open('rooms.json'))\n+rooms = json.load(open('more.json'))\n",
        Text(
            "import json\n\nrooms = json.load(open('more.json'))\nwarm = [r for r in rooms if r['temp'] > 20]\ncold = [r for r in rooms if r['temp'] < 5]\nprint(len(warm), len(cold))\n",
            &[N::AsymmetricContext],
        ),
    ),
    case(
        "context without its blank",
        CLASS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -2,3 +2,3 @@\n    def write(self, text):\n        self.file.write(text)\n-        self.count += 1\n+        self.count += len(text)\n",
        Text(
            "class Log:\n    def write(self, text):\n        self.file.write(text)\n        self.count += len(text)\n",
            &[N::UnprefixedContext],
        ),
    ),
    case(
        "blanks at line ends",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -3,2 +3,2 @@\n rooms = json.load(open('rooms.json'))  \n-warm = [r for r in rooms if r['temp'] > 20]\n+warm = [r for r in rooms if r['temp'] >= 20]\n",
        Text(ROOMS_FIXED, &[N::TrailingBlanks, N::AsymmetricContext]),
    ),
    case(
        "dedented",
        CLASS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ @@\n def write(self, text):\n-    self.file.write(text)\n+    self.file.write(text)\n+    self.file.flush()\n",
        Text(
            "class Log:\n    def write(self, text):\n        self.file.write(text)\n        self.file.flush()\n        self.count += 1\n",
            &[N::IndentShift, N::AsymmetricContext],
        ),
    ),
    case(
        "dedented unevenly",
        CLASS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ @@\n def write(self, text):\n-      self.file.write(text)\n+      self.file.flush()\n",
        Conflict(None),
    ),
    case(
        "typographic context",
        "# rooms – all\nx = 1\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,2 +1,2 @@\n # rooms - all\n-x = 1\n+x = 2\n",
        Text("# rooms – all\nx = 2\n", &[N::Typography]),
    ),
    case(
        "typographic removal",
        "x = '–'\ny = 1\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,2 +1,2 @@\n-x = '-'\n+x = '+'\n y = 1\n",
        Conflict(None),
    ),
    case(
        "gap in context",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,9 +1,9 @@\n import json\n ...\n-warm = [r for r in rooms if r['temp'] > 20]\n+warm = [r for r in rooms if r['temp'] >= 20]\n cold = [r for r in rooms if r['temp'] < 5]\n",
        Text(ROOMS_FIXED, &[N::Recounted, N::Elision]),
    ),
    case(
        "placeholder added",
        ROOMS,
        "@@\n-print(len(warm), len(cold))\n+print(len(warm))\n+# ... the rest stays the same ...\n",
        Malformed(Some(Reason::Placeholder)),
    ),
    case(
        "cut off",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -3,3 +3,3 @@\n rooms = json.load(open('rooms.json'))\n-warm = [r for r in rooms if r['temp'] > 20]\n",
        Malformed(Some(Reason::CutOff)),
    ),
    case(
        "context differs",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -4,2 +4,2 @@\n-warm = [r for r in rooms if r['temp'] > 20]\n+warm = []\n cold = [r for r in rooms if r['temp'] < 6]\n",
        Conflict(None),
    ),
    case(
        "applied before",
        ROOMS_FIXED,
        rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n@@ -3,3 +3,3 @@\n"),
        Conflict(Some(Reason::AlreadyApplied)),
    ),
    case(
        "insertion made before",
        "a = 1\nb = 2\nc = 3\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,1 +1,2 @@\n a = 1\n+b = 2\n",
        Conflict(Some(Reason::AlreadyApplied)),
    ),
    case(
        "two places",
        TWINS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -50,3 +50,3 @@\n     for x in xs:\n-        out.append(x)\n+        out.append(-x)\n     return out\n",
        Ambiguous(&[3, 10]),
    ),
    case(
        "two places, the number names one",
        TWINS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -10,3 +10,3 @@\n     for x in xs:\n-        out.append(x)\n+        out.append(-x)\n     return out\n",
        Text(TWINS_SOUTH, &[N::ByLineNumber]),
    ),
    case(
        "two places, the number is not to be believed",
        TWINS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -10,7 +10,7 @@\n     for x in xs:\n-        out.append(x)\n+        out.append(-x)\n     return out\n",
        Ambiguous(&[3, 10]),
    ),
    case(
        "two places, the heading names one",
        TWINS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -50,3 +50,3 @@ def south(xs):\n     for x in xs:\n-        out.append(x)\n+        out.append(-x)\n     return out\n",
        Text(TWINS_SOUTH, &[N::Anchor]),
    ),
    case(
        "lines to add and nothing around",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -2,0 +3,1 @@\n+import csv\n",
        Ambiguous(&[3]),
    ),
    case(
        "hunks out of order",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -6 +6 @@\n-print(len(warm), len(cold))\n+print(warm)\n@@ -1 +1 @@\n-import json\n+import json as j\n",
        Text(
            "import json as j\n\nrooms = json.load(open('rooms.json'))\nwarm = [r for r in rooms if r['temp'] > 20]\ncold = [r for r in rooms if r['temp'] < 5]\nprint(warm)\n",
            &[N::Reordered, N::NoContext],
        ),
    ),
    case(
        "the same hunk twice",
        ROOMS,
        concat!(rooms!("--- a/steps/a.py\n+++ b/steps/a.py\n@@ -3,3 +3,3 @@\n"), rooms!("@@ -3,3 +3,3 @@\n")),
        Text(ROOMS_FIXED, &[N::DuplicateHunk]),
    ),
    case(
        "hunks that claim one line",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1 +1 @@\n-import json\n+import a\n@@ -1 +1 @@\n-import json\n+import b\n",
        Conflict(Some(Reason::Overlap)),
    ),
    case(
        "no change",
        ROOMS,
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1 +1 @@\n-import json\n+import json\n",
        Malformed(Some(Reason::NoOp)),
    ),
    case("out of the run", ROOMS, "--- a/../x.py\n+++ b/../x.py\n@@ -0,0 +1 @@\n+x\n", Malformed(Some(Reason::Path))),
    case(
        "into git's state",
        ROOMS,
        "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n",
        Malformed(Some(Reason::Path)),
    ),
    case(
        "absolute elsewhere",
        ROOMS,
        rooms!("--- /home/x/steps/a.py\n+++ /home/x/steps/a.py\n@@ -3,3 +3,3 @@\n"),
        Conflict(Some(Reason::Path)),
    ),
    case(
        "absolute in the run",
        ROOMS,
        rooms!("--- /proj/steps/a.py\n+++ /proj/steps/a.py\n@@ -3,3 +3,3 @@\n"),
        Text(ROOMS_FIXED, &[N::Path]),
    ),
    case("by its bare name", ROOMS, rooms!("--- a.py\n+++ a.py\n@@ -3,3 +3,3 @@\n"), Text(ROOMS_FIXED, &[N::Path])),
    case(
        "a file that is not there",
        ROOMS,
        rooms!("--- a/steps/z.py\n+++ b/steps/z.py\n@@ -3,3 +3,3 @@\n"),
        Conflict(Some(Reason::NoFile)),
    ),
    case(
        "made over a file",
        ROOMS,
        "--- /dev/null\n+++ b/steps/a.py\n@@ -0,0 +1 @@\n+x = 1\n",
        Conflict(Some(Reason::Exists)),
    ),
    case(
        "deleted, and it holds more",
        ROOMS,
        "--- a/steps/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-import json\n",
        Conflict(Some(Reason::Stale)),
    ),
    case(
        "carriage returns in the file",
        "a = 1\r\nb = 2\r\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,2 +1,3 @@\n a = 1\n+a2 = 1\n b = 2\n",
        Text("a = 1\r\na2 = 1\r\nb = 2\r\n", &[N::LineEndings]),
    ),
    case(
        "carriage returns in the patch",
        "a = 1\nb = 2\n",
        "--- a/steps/a.py\r\n+++ b/steps/a.py\r\n@@ -1,2 +1,3 @@\r\n a = 1\r\n+a2 = 1\r\n b = 2\r\n",
        Text("a = 1\na2 = 1\nb = 2\n", &[N::LineEndings]),
    ),
    case(
        "no final newline, and not said",
        "a = 1\nb = 2",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,2 +1,2 @@\n a = 1\n-b = 2\n+b = 3\n",
        Text("a = 1\nb = 3", &[N::FinalNewline]),
    ),
    case(
        "final newline taken away",
        "a = 1\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 1\n\\ No newline at end of file\n",
        Text("a = 1", &[]),
    ),
    case(
        "final newline taken away where none is",
        "a = 1\nb = 2\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n\\ No newline at end of file\n",
        Conflict(None),
    ),
    case(
        "byte order mark",
        "\u{feff}a = 1\nb = 2\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 2\n",
        Text("\u{feff}a = 2\nb = 2\n", &[N::Bom]),
    ),
    case(
        "tabs against spaces",
        "def f():\n\treturn 1\n",
        "--- a/steps/a.py\n+++ b/steps/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 2\n",
        Conflict(None),
    ),
    case(
        "combined",
        ROOMS,
        "diff --cc steps/a.py\n@@@ -1,1 -1,1 +1,1 @@@\n- x\n -y\n++z\n",
        Malformed(Some(Reason::Unsupported)),
    ),
    case(
        "binary",
        ROOMS,
        "diff --git a/steps/a.py b/steps/a.py\nGIT binary patch\nliteral 3\nKcmZ\n",
        Malformed(Some(Reason::Unsupported)),
    ),
    // SEARCH/REPLACE.
    case(
        "block",
        ROOMS,
        "steps/a.py\n```python\n<<<<<<< SEARCH\nwarm = [r for r in rooms if r['temp'] > 20]\n=======\nwarm = [r for r in rooms if r['temp'] >= 20]\n>>>>>>> REPLACE\n```\n",
        Text(ROOMS_FIXED, &[]),
    ),
    case(
        "block in two places",
        TWINS,
        "<<<<<<< SEARCH\n        out.append(x)\n=======\n        out.append(-x)\n>>>>>>> REPLACE\n",
        Ambiguous(&[4, 11]),
    ),
    case(
        "block with gaps",
        TWINS,
        "<<<<<<< SEARCH\ndef south(xs):\n...\n=======\ndef south(ys):\n...\n>>>>>>> REPLACE\n",
        Text(
            "def north(xs):\n    out = []\n    for x in xs:\n        out.append(x)\n    return out\n\n\ndef south(ys):\n    out = []\n    for x in xs:\n        out.append(x)\n    return out\n",
            &[N::Elision],
        ),
    ),
    case(
        "block with an unpaired gap",
        TWINS,
        "<<<<<<< SEARCH\ndef south(xs):\n...\n    return out\n=======\ndef south(xs):\n    return xs\n>>>>>>> REPLACE\n",
        Malformed(Some(Reason::Placeholder)),
    ),
    case(
        "block that lost its indentation",
        CLASS,
        "<<<<<<< SEARCH\nself.count += 1\n=======\nself.count += 2\n>>>>>>> REPLACE\n",
        Text(
            "class Log:\n    def write(self, text):\n        self.file.write(text)\n        self.count += 2\n",
            &[N::IndentShift],
        ),
    ),
    case(
        "block that lost it on one side",
        CLASS,
        "<<<<<<< SEARCH\nself.count += 1\n=======\n        self.count += 2\n>>>>>>> REPLACE\n",
        Conflict(None),
    ),
    case(
        "block with line numbers",
        ROOMS,
        "<<<<<<< SEARCH\n     1\timport json\n     2\t\n=======\n     1\timport json as j\n     2\t\n>>>>>>> REPLACE\n",
        Text(
            "import json as j\n\nrooms = json.load(open('rooms.json'))\nwarm = [r for r in rooms if r['temp'] > 20]\ncold = [r for r in rooms if r['temp'] < 5]\nprint(len(warm), len(cold))\n",
            &[N::Gutter],
        ),
    ),
    case(
        "block without end",
        ROOMS,
        "<<<<<<< SEARCH\nimport json\n=======\nimport csv\n",
        Malformed(Some(Reason::CutOff)),
    ),
    case(
        "block in another file",
        ROOMS,
        "rooms.py\n<<<<<<< SEARCH\nimport json\n=======\nimport csv\n>>>>>>> REPLACE\n",
        Conflict(Some(Reason::NoFile)),
    ),
    case("empty search", ROOMS, "<<<<<<< SEARCH\n=======\nimport csv\n>>>>>>> REPLACE\n", Ambiguous(&[])),
    // Envelopes.
    case(
        "envelope",
        TWINS,
        "*** Begin Patch\n*** Update File: steps/a.py\n@@ def south(xs):\n-        out.append(x)\n+        out.append(-x)\n     return out\n*** End Patch\n",
        Text(TWINS_SOUTH, &[N::Anchor, N::AsymmetricContext]),
    ),
    case(
        "envelope at the end of the file",
        "a = 1\n",
        "*** Begin Patch\n*** Update File: steps/a.py\n@@\n a = 1\n+b = 2\n*** End of File\n*** End Patch\n",
        Text("a = 1\nb = 2\n", &[]),
    ),
    case(
        "envelope without end",
        ROOMS,
        "*** Begin Patch\n*** Update File: steps/a.py\n@@\n-import json\n+import csv\n",
        Malformed(Some(Reason::CutOff)),
    ),
    case(
        "envelope in a here-document",
        ROOMS,
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: steps/a.py\n@@\n-warm = [r for r in rooms if r['temp'] > 20]\n+warm = [r for r in rooms if r['temp'] >= 20]\n*** End Patch\nEOF\n",
        Text(ROOMS_FIXED, &[N::Heredoc, N::NoContext]),
    ),
    case(
        "envelope that only adds",
        TWINS,
        "*** Begin Patch\n*** Update File: steps/a.py\n@@ def south(xs):\n+    assert xs\n*** End Patch\n",
        Ambiguous(&[9]),
    ),
    // JSON.
    case("pair", ROOMS, r#"{"path": "steps/a.py", "old_str": "> 20", "new_str": ">= 20"}"#, Text(ROOMS_FIXED, &[])),
    case(
        "pair in two places",
        TWINS,
        r#"{"file_path": "steps/a.py", "old_string": "append(x)", "new_string": "append(-x)"}"#,
        Ambiguous(&[4, 11]),
    ),
    case(
        "line by number",
        ROOMS,
        r#"{"command": "insert", "path": "steps/a.py", "insert_line": 1, "new_str": "import csv\n"}"#,
        Ambiguous(&[2]),
    ),
    case(
        "own form",
        ROOMS,
        r#"{"reweave": 1, "title": "Inclusive", "agent": "fixer", "changes": [{"path": "steps/a.py", "old": "> 20", "new": ">= 20"}]}"#,
        Text(ROOMS_FIXED, &[]),
    ),
    // Whole files, ed, and what is none.
    case(
        "whole file",
        ROOMS,
        "steps/a.py\n```python\nimport json\n\nrooms = json.load(open('rooms.json'))\nwarm = [r for r in rooms if r['temp'] >= 20]\ncold = [r for r in rooms if r['temp'] < 5]\nprint(len(warm), len(cold))\n```\n",
        Text(ROOMS_FIXED, &[]),
    ),
    case("a part of a file", TWINS, "```python\ndef south(xs):\n    return list(xs)\n```\n", Ambiguous(&[])),
    case("prose", ROOMS, "I would change the bound.\n", Malformed(Some(Reason::NoPatch))),
];

#[test]
fn every_case_comes_to_what_it_should() {
    let mut wrong = Vec::new();
    for case in CASES {
        let tree = MemoryTree::new([("steps/a.py", case.base)]).with_root("/proj");
        let placed = place(case.patch, &tree, Some("steps/a.py"));
        let text = placed.files.first().and_then(|file| file.result.as_deref());
        let mut notes: Vec<NoteKind> = placed.notes.iter().map(|note| note.kind).collect();
        notes.sort();
        notes.dedup();
        let fits = match case.wanted {
            Text(wanted, kinds) => {
                let mut kinds = kinds.to_vec();
                kinds.sort();
                placed.verdict == Verdict::Applied && text == Some(wanted) && notes == kinds
            }
            Ambiguous(lines) => placed.verdict == Verdict::Ambiguous && placed.candidates() == lines,
            Conflict(reason) => placed.verdict == Verdict::Conflict && placed.reason == reason,
            Malformed(reason) => placed.verdict == Verdict::Malformed && placed.reason == reason,
        };
        if !fits {
            wrong.push(format!(
                "{}: {:?} {:?} {notes:?} {text:?} {:?} {:?}",
                case.name,
                placed.verdict,
                placed.reason,
                placed.candidates(),
                placed.problems
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_new_file_comes_from_every_format() {
    for patch in [
        "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+x = 1\n+print(x)\n",
        "*** Begin Patch\n*** Add File: new.py\n+x = 1\n+print(x)\n*** End Patch\n",
        "new.py\n```python\n<<<<<<< SEARCH\n=======\nx = 1\nprint(x)\n>>>>>>> REPLACE\n```\n",
        "new.py\n```python\nx = 1\nprint(x)\n```\n",
        r#"{"command": "create", "path": "new.py", "file_text": "x = 1\nprint(x)\n"}"#,
        r#"{"reweave": 1, "files": {"new.py": "x = 1\nprint(x)\n"}}"#,
    ] {
        let placed = place(patch, &MemoryTree::default(), None);
        assert_eq!(placed.verdict, Verdict::Applied, "{patch}");
        assert_eq!(placed.files[0].path, "new.py");
        assert_eq!(placed.files[0].result.as_deref(), Some("x = 1\nprint(x)\n"), "{patch}");
    }
}

#[test]
fn one_answer_with_two_forms_is_one_change_if_they_agree_and_a_choice_if_not() {
    let tree = MemoryTree::new([("a.py", "x = 1\ny = 2\n")]);
    let diff = "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 3\n y = 2\n```\n";
    let block = |new: &str| format!("a.py\n```\n<<<<<<< SEARCH\nx = 1\n=======\n{new}\n>>>>>>> REPLACE\n```\n");
    let same = place(&format!("{}{diff}", block("x = 3")), &tree, None);
    assert_eq!(same.verdict, Verdict::Applied);
    assert!(same.notes.iter().any(|note| note.kind == NoteKind::SeveralFormats));
    let differs = place(&format!("{}{diff}", block("x = 4")), &tree, None);
    assert_eq!((differs.verdict, differs.reason), (Verdict::Ambiguous, Some(Reason::Differs)));
    assert_eq!(differs.alternatives.len(), 2);
}

#[test]
fn an_example_beside_a_patch_is_left_out() {
    let tree = MemoryTree::new([("a.py", "x = 1\ny = 2\nz = 3\nw = 4\n")]);
    let patch = "Run it:\n```bash\npython a.py\n```\nlike\n```python\nprint('hello')\n```\nand\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 3\n y = 2\n```\n";
    let placed = place(patch, &tree, Some("a.py"));
    assert_eq!(placed.verdict, Verdict::Applied, "{:?}", placed.problems);
    assert_eq!(placed.files[0].result.as_deref(), Some("x = 3\ny = 2\nz = 3\nw = 4\n"));
}

#[test]
fn all_or_nothing_but_the_good_parts_are_told() {
    let tree = MemoryTree::new([("a.py", "x = 1\n"), ("b.py", "y = 1\n")]);
    let patch =
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-z = 1\n+z = 2\n";
    let placed = place(patch, &tree, None);
    assert_eq!(placed.verdict, Verdict::Conflict);
    assert_eq!(placed.hunks.iter().map(|hunk| hunk.state).collect::<Vec<_>>(), [Verdict::Applied, Verdict::Conflict]);
    assert_eq!(placed.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a.py"]);
}

#[test]
fn what_is_expected_is_said_where_it_differs() {
    let tree = MemoryTree::new([("a.py", "first = 1\nsecond = 2\nthird = 3\n")]);
    let placed = place(
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n first = 1\n-second = 22\n+second = 3\n third = 3\n",
        &tree,
        None,
    );
    assert_eq!(placed.hunks[0].line, Some(1));
    assert_eq!(
        placed.problems[0].to_string(),
        "line 3 of the patch: line 2 is `second = 2`, the patch expects `second = 22`"
    );
}
