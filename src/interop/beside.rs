//! What stands beside a recording and its steps use: modules they import, files they name.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};

use super::{ImportError, ImportedFile, ImportedPatch, ImportedStep, Sink, Warning};

/// The largest file that is taken along, in bytes.
const LARGEST: u64 = 64 << 20;

/// Most files that are taken along.
const MOST: usize = 200;

/// Most different modules and paths that are remembered while steps pass by.
const MOST_NAMES: usize = 10_000;

/// Passes steps on and notes what they use; at the end, brings along what of it stands beside the recording.
///
/// Only regular files inside the recording's own directory are taken, never through a symbolic link. Modules
/// get a header that says that they are no steps.
pub struct Beside<'s> {
    recording: PathBuf,
    sink: &'s mut dyn Sink,
    modules: BTreeSet<String>,
    paths: BTreeSet<String>,
    taken: BTreeSet<String>,
}

impl<'s> Beside<'s> {
    /// For steps of the recording at `recording`, on their way to `sink`.
    pub fn new(recording: &Path, sink: &'s mut dyn Sink) -> Self {
        Self {
            recording: recording.to_owned(),
            sink,
            modules: BTreeSet::new(),
            paths: BTreeSet::new(),
            taken: BTreeSet::new(),
        }
    }

    /// Brings the files along.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self) -> Result<(), ImportError> {
        let Some(dir) =
            self.recording.parent().map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
        else {
            return Ok(());
        };
        let dir = dir.to_owned();
        let mut waiting: VecDeque<String> = std::mem::take(&mut self.modules).into_iter().collect();
        let mut seen: BTreeSet<String> = waiting.iter().cloned().collect();
        while let Some(module) = waiting.pop_front() {
            let path = format!("{module}.py");
            let Some(bytes) = self.take(&dir, &path) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            for further in imported_modules(&text) {
                if seen.insert(further.clone()) {
                    waiting.push_back(further);
                }
            }
            let text = as_module(&text);
            self.sink.file(ImportedFile::beside(path, text))?;
        }
        for path in std::mem::take(&mut self.paths) {
            if let Some(bytes) = self.take(&dir, &path) {
                self.sink.file(ImportedFile::beside(path, bytes))?;
            }
        }
        Ok(())
    }

    fn take(&mut self, dir: &Path, relative: &str) -> Option<Vec<u8>> {
        if self.taken.len() >= MOST || self.taken.contains(relative) {
            return None;
        }
        let mut path = dir.to_owned();
        for part in Path::new(relative).components() {
            let Component::Normal(part) = part else { return None };
            path.push(part);
            if std::fs::symlink_metadata(&path).ok()?.file_type().is_symlink() {
                return None;
            }
        }
        let metadata = std::fs::metadata(&path).ok()?;
        if !metadata.is_file() || path == self.recording {
            return None;
        }
        if metadata.len() > LARGEST {
            self.sink.warn(Warning::new(format!("{relative:?} beside it is used but over 64 MiB; not taken along")));
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        self.taken.insert(relative.to_owned());
        Some(bytes)
    }
}

impl Sink for Beside<'_> {
    fn step(&mut self, step: ImportedStep) -> Result<(), ImportError> {
        if self.modules.len() < MOST_NAMES {
            self.modules.extend(imported_modules(&step.text));
        }
        if self.paths.len() < MOST_NAMES {
            self.paths.extend(named_paths(&step.text));
        }
        self.sink.step(step)
    }

    fn file(&mut self, file: ImportedFile) -> Result<(), ImportError> {
        self.taken.insert(file.path.clone());
        self.sink.file(file)
    }

    fn patch(&mut self, patch: ImportedPatch) -> Result<(), ImportError> {
        self.sink.patch(patch)
    }

    fn config(&mut self, text: String) {
        self.sink.config(text);
    }

    fn warn(&mut self, warning: Warning) {
        self.sink.warn(warning);
    }
}

/// The text of a module with a header that says so, unless it has one.
fn as_module(text: &str) -> String {
    if text.contains("# /// step") {
        return text.to_owned();
    }
    let header = "# /// step\n# kind = \"module\"\n# ///\n";
    // A first line that says how the file is encoded or run must stay first.
    match text.split_inclusive('\n').next() {
        Some(first) if first.starts_with("#!") => {
            format!("{first}{header}{}", text.get(first.len()..).unwrap_or_default())
        }
        _ => format!("{header}{text}"),
    }
}

/// Top-level names of the modules that a text imports, read line by line: good enough to look for a file.
fn imported_modules(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let line = line.trim_start();
        let names = if let Some(rest) = line.strip_prefix("import ") {
            rest.split('#').next().unwrap_or_default().split(',').collect()
        } else if let Some(rest) = line.strip_prefix("from ") {
            vec![rest.split(" import").next().unwrap_or_default()]
        } else {
            continue;
        };
        for name in names {
            let first = name.split_whitespace().next().unwrap_or_default();
            let top = first.split('.').next().unwrap_or_default();
            if !top.is_empty() && top.chars().all(|c| c.is_alphanumeric() || c == '_') {
                found.insert(top.to_owned());
            }
        }
    }
    found
}

/// Relative paths with an ending that stand in quotes.
fn named_paths(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|line| line.len() < 4096) {
        for quote in ['"', '\''] {
            for (place, piece) in line.split(quote).enumerate() {
                let path = piece.strip_prefix("./").unwrap_or(piece);
                let plausible = place % 2 == 1
                    && path.len() < 256
                    && path.rsplit('/').next().is_some_and(|name| name.contains('.') && !name.starts_with('.'))
                    && !path.starts_with(['/', '~', '.'])
                    && !path.contains(['\\', ':', '*', '\0', ' '])
                    && !path.ends_with(".py");
                if plausible {
                    found.insert(path.to_owned());
                }
            }
        }
        // `%run other.ipynb` and `%load file` name files without quotes.
        if let Some(rest) = line.trim_start().strip_prefix("%run ") {
            found.extend(rest.split_whitespace().filter(|word| !word.starts_with('-')).take(1).map(str::to_owned));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::interop::import;

    #[test]
    fn modules_and_files_that_steps_use_come_along() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("a.py", "# %%\nimport helper, os\nopen('data/x.csv')\nopen('../secret.txt')\nopen('/etc/passwd.x')\n");
        put("helper.py", "#!/usr/bin/python\nfrom further import y\n");
        put("further.py", "y = 1\n");
        put("unused.py", "");
        put("data/x.csv", "1,2\n");
        let imported = import(&dir.path().join("a.py")).unwrap();
        let files: Vec<(&str, &str)> =
            imported.files.iter().map(|f| (f.path.as_str(), std::str::from_utf8(&f.bytes).unwrap())).collect();
        let header = "# /// step\n# kind = \"module\"\n# ///\n";
        assert_eq!(
            files,
            [
                ("helper.py", format!("#!/usr/bin/python\n{header}from further import y\n").as_str()),
                ("further.py", format!("{header}y = 1\n").as_str()),
                ("data/x.csv", "1,2\n"),
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_directory_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("secret.csv"), "s").unwrap();
        std::os::unix::fs::symlink(other.path(), dir.path().join("data")).unwrap();
        std::fs::write(dir.path().join("a.py"), "open('data/secret.csv')\n").unwrap();
        assert_eq!(import(&dir.path().join("a.py")).unwrap().files, []);
    }
}
