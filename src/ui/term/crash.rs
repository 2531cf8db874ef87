//! A panic: the terminal given back, a report written, and a line that says where it is.

use std::backtrace::Backtrace;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, ThreadId};

use super::session;

/// What is told of a panic outside the interface's thread, which the workbench outlives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crashed {
    /// The thread's name.
    pub thread: String,
    /// What the panic said.
    pub message: String,
    /// Where the report is, if it could be written.
    pub report: Option<PathBuf>,
}

/// Installs the hook. Call it from the interface's thread.
///
/// A panic there gives the terminal back and tells the person on standard error; the program then ends with the
/// panic's own status. A panic elsewhere only writes its report and is told to `told`: the screen stays.
pub fn install(reports: PathBuf, told: impl Fn(Crashed) + Send + Sync + 'static) {
    let interface = thread::current().id();
    let told = Arc::new(told);
    std::panic::set_hook(Box::new(move |info| on_panic(info, interface, &reports, &*told)));
}

fn on_panic(info: &PanicHookInfo<'_>, interface: ThreadId, reports: &Path, told: &dyn Fn(Crashed)) {
    let current = thread::current();
    let message = message(info);
    let here = current.id() == interface;
    if here {
        session::restore();
    }
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = current.name().unwrap_or("unnamed").to_owned();
    let text = report(&message, &place, &thread, &Backtrace::force_capture().to_string());
    let written = write(reports, &text);
    if !here {
        told(Crashed { thread, message, report: written.ok() });
        return;
    }
    let line = match written {
        Ok(path) => format!("reweave crashed: {message}\nA report is in {}\n", path.display()),
        Err(error) => {
            format!("reweave crashed: {message}\nNo report could be written to {}: {error}\n{text}", reports.display())
        }
    };
    // There is nobody to tell if this fails.
    drop(io::stderr().write_all(line.as_bytes()));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    // A panic may quote what a run holds.
    crate::ui::view::text::safe_line(text.unwrap_or("a panic without words")).into_owned()
}

/// The text of a report. It holds no environment and no part of the run beyond what the panic says.
fn report(message: &str, place: &str, thread: &str, backtrace: &str) -> String {
    let (version, system, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    format!(
        "reweave {version} on {system} {machine}\nthread: {thread}\nplace: {place}\nmessage: {message}\n\n{backtrace}\n"
    )
}

/// Writes a report under a name of its own, readable by its owner alone.
fn write(dir: &Path, text: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(dir)?;
    for number in 0..100 {
        let path = dir.join(format!("crash-{}-{number}.txt", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many reports"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_written_under_a_name_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let reports = dir.path().join("crashes");
        let first = write(&reports, "one").unwrap();
        let second = write(&reports, "two").unwrap();
        assert_ne!(first, second);
        assert_eq!(fs::read_to_string(first).unwrap(), "one");
    }

    #[test]
    fn a_report_says_what_and_where() {
        let text = report("no such row", "src/x.rs:1:2", "main", "0: main");
        assert!(text.starts_with(concat!("reweave ", env!("CARGO_PKG_VERSION"))));
        assert!(text.contains("thread: main\nplace: src/x.rs:1:2\nmessage: no such row\n\n0: main"));
    }

    #[test]
    fn a_place_that_can_not_be_written_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(write(&file, "text").is_err());
    }
}
