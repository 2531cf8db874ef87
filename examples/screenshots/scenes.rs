//! What is pictured: the demo, at moments of a day's work.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::support::picture::Look;
use crate::support::pty::{Setup, Terminal};

/// One picture: the demo in a terminal, and what a person does before it is taken.
pub struct Scene {
    pub name: &'static str,
    pub title: &'static str,
    pub look: Look,
    size: (u16, u16),
    theme: Option<&'static str>,
    act: fn(&mut Terminal, &Path),
}

/// A dark terminal; what differs is given where it does.
const USUAL: Scene =
    Scene { name: "", title: "reweave demo", look: Look::DARK, size: (120, 40), theme: None, act: |_, _| {} };

impl Scene {
    pub fn play(&self) -> vt100::Screen {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("bikes");
        let config = dir.path().join(".home/config/reweave");
        fs::create_dir_all(&config).unwrap();
        if let Some(theme) = self.theme {
            fs::write(config.join("config.toml"), format!("[ui]\ntheme = \"{theme}\"\n")).unwrap();
        }
        let setup = || {
            let setup = Setup::reweave(dir.path()).env("HOME", dir.path()).background(Some(self.look.ground));
            setup.size(self.size.0, self.size.1)
        };
        // Without a terminal the demo is made and run; then it is opened as a person finds it the next day.
        let made =
            setup().arg("demo").arg("bikes").command().stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(made.code().is_some_and(|code| code < 2), "the demo can't be made: {made}");
        let mut terminal = setup().arg("open").arg("bikes").start();
        terminal.wait_for("25 steps");
        (self.act)(&mut terminal, &run);
        // Colours of a source come a little after its text.
        terminal.wait_quiet(Duration::from_millis(700));
        let screen = terminal.screen();
        terminal.keys("q");
        screen
    }
}

/// Goes to a step by its name.
fn go(terminal: &mut Terminal, step: &str) {
    terminal.bytes(b"\x10").keys(step).wait_for(step).keys("\n").wait_gone("Jump to");
}

/// Changes a file as an editor does.
fn edit(run: &Path, step: &str, from: &str, to: &str) {
    let path = run.join(format!("{step}.py"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{step} holds no {from:?}");
    let new = run.join(".new");
    fs::write(&new, text.replace(from, to)).unwrap();
    fs::rename(new, path).unwrap();
}

/// Runs a copy of the run in which a step is another.
fn another(run: &Path, name: &str, step: &str, from: &str, to: &str) {
    let other = run.with_file_name(name);
    copy(run, &other);
    edit(&other, step, from, to);
    let home = run.parent().unwrap();
    let mut reweave = Setup::reweave(home).env("HOME", home).arg("run").arg(&other).command();
    // A step of the demo fails: that is what the demo is about.
    assert!(reweave.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code().is_some_and(|code| code < 2));
}

/// Copies a run without its record.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        match () {
            () if name == ".reweave" => {}
            () if path.is_dir() => copy(&path, &to.join(name)),
            () => drop(fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

pub fn all() -> Vec<Scene> {
    let failed = |terminal: &mut Terminal, _: &Path| {
        go(terminal, "08_report/02_comfort");
        terminal.wait_for("KeyError");
    };
    vec![
        Scene { name: "workbench", act: failed, ..USUAL },
        Scene { name: "workbench-80x24", size: (80, 24), act: failed, ..USUAL },
        Scene {
            name: "stale",
            act: |terminal, run| {
                go(terminal, "06_fit/02_ridge");
                edit(run, "01_plan", "RIDGE = 1.0", "RIDGE = 2.5");
                terminal.wait_for(" stale");
            },
            ..USUAL
        },
        Scene {
            name: "output",
            act: |terminal, _| {
                go(terminal, "08_report/04_figure");
                terminal.keys("3");
            },
            ..USUAL
        },
        Scene {
            name: "state",
            act: |terminal, _| {
                go(terminal, "07_score/01_regression");
                terminal.keys("4").wait_for("shape").keys(" ").wait_quiet(Duration::from_millis(400)).keys("+++");
            },
            ..USUAL
        },
        Scene {
            name: "patch",
            act: |terminal, _| {
                go(terminal, "04_features/02_comfort");
                terminal.keys("5").wait_for("#1 agent").wait_for("parses").keys("y").wait_for("[x]").keys("++");
            },
            ..USUAL
        },
        Scene {
            name: "trial",
            act: |terminal, _| {
                go(terminal, "04_features/02_comfort");
                terminal.keys("5").wait_for("#1 agent").keys("t").wait_for("fine   374 hours");
                terminal.keys("t").wait_for("tests 2 of 3").keys("++");
            },
            ..USUAL
        },
        Scene {
            name: "history",
            act: |terminal, run| {
                go(terminal, "06_fit/02_ridge");
                edit(run, "06_fit/02_ridge", "RIDGE", "(RIDGE * 2)");
                terminal.wait_for(" stale").keys("6").wait_for("a person").keys(" ").wait_for("RIDGE * 2");
            },
            ..USUAL
        },
        Scene {
            name: "beside",
            act: |terminal, run| {
                another(run, "tuesday", "01_plan", "RIDGE = 1.0", "RIDGE = 40.0");
                go(terminal, "07_score/01_regression");
                terminal.keys("3B").wait_for("eside").bytes(b"\x15").keys("../tuesday\n").wait_for("beside ../tuesday");
                terminal.keys("++");
            },
            ..USUAL
        },
        Scene {
            name: "boxes",
            act: |terminal, _| {
                go(terminal, "06_fit/02_ridge");
                terminal.keys("v").wait_quiet(Duration::from_millis(300));
            },
            ..USUAL
        },
        Scene {
            name: "help",
            act: |terminal, _| {
                terminal.keys("?").wait_for("Run the next step");
            },
            ..USUAL
        },
        Scene {
            name: "palette",
            act: |terminal, _| {
                go(terminal, "07_score/02_busy");
                terminal.keys(":rep").wait_for("Replay from this step on");
            },
            ..USUAL
        },
        Scene { name: "light", look: Look::LIGHT, act: failed, ..USUAL },
        Scene { name: "high-contrast", look: Look::BLACK, theme: Some("high-contrast"), act: failed, ..USUAL },
        Scene { name: "mono", theme: Some("mono"), act: failed, ..USUAL },
    ]
}
