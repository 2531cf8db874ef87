//! A run is hostile bytes: nothing that a step prints, holds, is called or fails with changes the terminal.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]

mod support;

use std::fs;

use support::pty::{Modes, Setup, Terminal};

/// What a terminal must not be sent, as a Python string: titles, the clipboard, cursor moves, other screens, modes,
/// questions that it would answer into the keyboard, pictures, a bell, C1 controls, and text that turns around.
const EVIL: &str = r"\x1b]0;TITLE\x07\x1b]52;c;aGFja2Vk\x07\x1b[2J\x1b[1;1HMOVED\x1b[?1049l\x1b[?25h\x1b[?1000h\x1b[?2004l\x1b[6n\x1b[c\x1b]11;?\x07\x1bPq#0;2;0;0;0#0~~\x1b\\\x07\x9b31mC1\x1bcRESET\u202eTURNED\u2066\u200b";

/// The same as the bytes themselves.
fn evil() -> String {
    "\x1b]0;TITLE\x07\x1b]52;c;aGFja2Vk\x07\x1b[2J\x1b[1;1HMOVED\x1b[?1049l\x1b[?25h\x1b[?1000h\x1b[?2004l\x1b[6n\x1bcRESET\u{202e}TURNED"
        .to_owned()
}

fn hostile_run() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(dir.path().join(name), text).unwrap();
    write(
        "01_prints.py",
        format!("print('{EVIL}')\nprint('世界 👨\\u200d👩\\u200d👧 e\\u0301 שלום\\ttab')\nprint('10%\\r50%\\r100%')\n"),
    );
    write(
        "02_errs.py",
        format!(
            "import sys\nsys.stderr.write('{EVIL}\\n')\ntry: open('/dev/tty', 'w').write('{EVIL}')\nexcept OSError: pass\n"
        ),
    );
    write("03_repr.py", format!("class Evil:\n    def __repr__(self): return '{EVIL}'\nvalue = Evil()\nvalue\n"));
    write("04_fails.py", format!("raise ValueError('{EVIL}')\n"));
    write("05_source.py", format!("# {}\nx = '''{}'''\nprint(len(x))\n", evil(), evil()));
    write(
        "06_header.py",
        format!(
            "# /// step\n# summary = \"{}\"\n# agent = \"a\\u001b]0;TITLE\\u0007\"\n# ///\ny = 1\n",
            "s\\u001b]0;TITLE\\u0007\\u202e"
        ),
    );
    write("07_wide_世界_名前.py", "z = '名前'\nprint(z * 100)\n".to_owned());
    write(&format!("08_{}name.py", "\u{1b}]0;TITLE\u{7}"), "w = 1\n".to_owned());
    write("09_long.py", format!("line = '{}'\nprint(line * 20)\n", "x".repeat(5000)));
    write(
        "10_shows.py",
        format!(
            "class Table:\n    def _repr_html_(self):\n        return '<table><tr><th>{EVIL}</th></tr><tr><td>{EVIL}</td></tr></table>'\n\
             class Mark:\n    def _repr_markdown_(self): return '# {EVIL}'\ndisplay(Table())\ndisplay(Mark())\nTable()\n"
        ),
    );
    // A patch that applies: its title, its author, its text and the words about it.
    let good = serde_json::json!({
        "title": format!("good {}", evil()),
        "agent": format!("agent {}", evil()),
        "model": evil(),
        "reason": evil(),
        "diff": format!("--- a/06_header.py\n+++ b/06_header.py\n@@ -5 +5,2 @@\n y = 1\n+# {}\n", evil()),
    });
    let patch = "{\"title\": \"t\\u001b]0;TITLE\\u0007\", \"diff\": \"--- a/01_prints.py\\n+++ b/01_prints.py\\n\\u001b]0;TITLE\\u0007\"}";
    fs::create_dir(dir.path().join("patches")).unwrap();
    write("patches/\u{1b}]0;TITLE\u{7}.json", patch.to_owned());
    write("patches/good.json", good.to_string());
    dir
}

/// The frame's right edge stands in the last column of every row between the bars, whatever the rows hold.
#[track_caller]
fn assert_frame(terminal: &Terminal) {
    let screen = terminal.screen();
    let (rows, columns) = screen.size();
    for row in 1..rows - 2 {
        let edge = screen.cell(row, columns - 1).unwrap().contents().to_owned();
        assert!("│┃┐┘┓┛".contains(&edge) && !edge.is_empty(), "row {row} ends with {edge:?}:\n{}", screen.contents());
    }
}

#[track_caller]
fn assert_untouched(terminal: &Terminal) {
    let asked = terminal.asked();
    assert_eq!(asked.titles, [""; 0]);
    assert_eq!(asked.clipboard, [""; 0]);
    assert_eq!(asked.unknown, [""; 0]);
    assert_eq!(asked.bells, 0);
    let modes = terminal.modes();
    assert!(modes.alternate_screen && modes.cursor_hidden && modes.bracketed_paste && modes.mouse, "{modes:?}");
}

#[test]
fn nothing_that_a_run_holds_changes_the_terminal() {
    let dir = hostile_run();
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
    terminal.wait_for("10_shows").keys("a").wait_for("9 fresh").wait_gone("ctrl-c stop");
    let steps = ["01_prints", "02_errs", "03_repr", "04_fails", "05_source", "06_header", "07_wide"];
    terminal.keys("gg");
    for (at, step) in steps.into_iter().enumerate() {
        if at > 0 {
            terminal.keys("j");
        }
        terminal.wait_for(&format!("2 Source  {step}"));
        for tab in ["3", "4", "2", "w", "w", "5", "|", "6", " ", "7", " ", "1"] {
            terminal.keys(tab).wait_quiet(std::time::Duration::from_millis(30));
            assert_frame(&terminal);
            assert_untouched(&terminal);
        }
    }
    // What is shown in forms of its own, and a patch as it is tried.
    terminal.keys("G").wait_for("2 Source  10_shows").keys("3").wait_for("TITLE");
    assert_frame(&terminal);
    for keys in ["5", "t", "|", "|", "1", "v", "V", "v"] {
        terminal.keys(keys).wait_quiet(std::time::Duration::from_millis(60));
        assert_frame(&terminal);
        assert_untouched(&terminal);
    }
    // Help, palette, messages, search and the narrow layouts draw the same texts in other places.
    for keys in ["?", "\x1b", ":", "\x1b", "M", "\x1b", "/TITLE\n", "\x1b"] {
        terminal.keys(keys).wait_quiet(std::time::Duration::from_millis(60));
        assert_untouched(&terminal);
    }
    for (columns, rows) in [(80, 24), (60, 20), (40, 10), (20, 5), (3, 2), (120, 40)] {
        terminal.resize(columns, rows).wait_quiet(std::time::Duration::from_millis(60));
        assert_untouched(&terminal);
    }
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
    assert_eq!(terminal.modes(), Modes::PLAIN);
    assert!(!terminal.is_raw());
}

#[test]
fn what_is_dropped_or_replaced_can_still_be_read() {
    let dir = hostile_run();
    let mut terminal = Setup::reweave(dir.path()).arg("open").arg(dir.path()).size(120, 40).start();
    terminal.wait_for("10_shows").keys("a").wait_for("9 fresh").wait_gone("ctrl-c stop");
    terminal.keys("gg").wait_for("2 Source  01_prints");
    // What the step printed, without its sequences, and a progress bar as it was at its end.
    terminal.wait_for("世界").wait_for("100%").wait_for("<RLO>TURNED");
    terminal.keys("jjjj").wait_for("2 Source  05_source").wait_for("␛]0;TITLE␇");
    terminal.keys("q");
    assert_eq!(terminal.wait_exit(), 0);
}
