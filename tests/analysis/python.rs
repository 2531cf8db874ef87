//! Interpreters at hand.

use std::path::PathBuf;

use reweave::analysis::PythonVersion;
use reweave::engine::InterpreterParser;

/// The interpreter that is there in any case.
pub const PYTHON: &str = "python3";

/// Each interpreter that can be found: `python3`, those of `REWEAVE_PYTHONS` (paths, separated by `:`), and those that
/// pyenv keeps.
pub fn all() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from(PYTHON)];
    if let Ok(list) = std::env::var("REWEAVE_PYTHONS") {
        found.extend(list.split(':').filter(|path| !path.is_empty()).map(PathBuf::from));
    }
    let pyenv =
        std::env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| Some(std::env::home_dir()?.join(".pyenv")));
    if let Some(versions) = pyenv.and_then(|root| std::fs::read_dir(root.join("versions")).ok()) {
        let mut versions: Vec<_> = versions.flatten().map(|entry| entry.path().join("bin/python")).collect();
        versions.retain(|path| path.exists());
        versions.sort();
        found.extend(versions);
    }
    let oldest = PythonVersion { major: 3, minor: 9 };
    found.retain(|python| InterpreterParser::new(python).version().is_ok_and(|version| version >= oldest));
    found
}
