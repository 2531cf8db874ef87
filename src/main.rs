//! The `reweave` command.

use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::Receiver;

use reweave::cli::{CliError, Faces, KeyRow, KeyTable};
use reweave::ui;
use reweave::workbench::{Event, Handle};

fn main() -> ExitCode {
    give_memory_back();
    reweave::cli::main(Faces { terminal: Some(terminal), keys: Some(keys), agents: Some(agents) })
}

/// Lets all threads share two heaps, and gives large blocks back where they are freed. The C library would make a heap for
/// each thread that opens a run, and keep in it what only the opening took: a third of what a run of 10,000 steps holds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn give_memory_back() {
    let settings = [(libc::M_ARENA_MAX, 2), (libc::M_MMAP_THRESHOLD, 1 << 20), (libc::M_TRIM_THRESHOLD, 16 << 20)];
    for (name, value) in settings {
        // SAFETY: it sets a number in the allocator, before another thread runs; a number that it refuses changes nothing.
        unsafe { libc::mallopt(name, value) };
    }
}

/// Other C libraries have one heap.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_memory_back() {}

/// The terminal interface, as the command line opens it.
fn terminal(dir: &Path, handle: Handle, events: Receiver<Event>) -> Result<ExitCode, CliError> {
    ui::run(handle, events, ui::Options::of_run(dir))
        .map(ExitCode::from)
        .map_err(|error| CliError::new(format!("the terminal can't be used: {error}")))
}

/// The server for agents, as the command line starts it.
fn agents(dir: &Path) -> Result<ExitCode, CliError> {
    reweave::mcp::serve(dir)?;
    Ok(ExitCode::SUCCESS)
}

/// The keys of the terminal interface, as the command line tells them.
fn keys(dir: &Path) -> KeyTable {
    let options = ui::Options::of_run(dir);
    let (map, mut problems) = options.keymap();
    problems.splice(0..0, options.problems.iter().cloned());
    let mut rows = Vec::new();
    for group in ui::app::action::Group::ALL {
        for entry in ui::app::action::TABLE.iter().filter(|entry| entry.group == group) {
            rows.push(KeyRow {
                action: entry.name,
                keys: map.keys(entry.action),
                panel: match entry.scope {
                    ui::app::action::Scope::In(pane) => Some(pane.title()),
                    ui::app::action::Scope::Anywhere => None,
                },
                group: group.title(),
                does: entry.doc,
                configured: options.keys.iter().any(|(name, _)| name == entry.name),
            });
        }
    }
    KeyTable { rows, problems }
}
