//! Which Python runs the steps.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::config::{Config, Origin};
use super::dir::RunDir;
use super::home::UserDirs;
use super::problem::show;
use super::trust::{Approval, Claim, Subject, Trust};
use crate::step::Digest;

/// A Python interpreter, not started yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interpreter {
    /// The program. Links are not followed: an environment's Python is known by where its link lies.
    pub path: PathBuf,
    /// Why this one.
    pub origin: InterpreterOrigin,
    /// An environment beside the run that would have been taken if it were approved.
    pub passed_over: Option<PassedOver>,
}

/// Why an interpreter was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum InterpreterOrigin {
    /// The setting `python`.
    Setting(Origin),
    /// The active virtual environment (`VIRTUAL_ENV`).
    ActiveEnvironment,
    /// An approved `.venv` beside the run.
    BesideRun,
    /// The first of this name on `PATH`.
    Path {
        /// `python3` or `python`.
        name: String,
    },
}

/// An environment that is not used without an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// Its directory.
    pub environment: PathBuf,
    /// Whether it was approved before, when it was another.
    pub changed: bool,
    /// What approving it is.
    #[serde(skip)]
    pub claim: Claim,
}

/// Why there is no interpreter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterpreterError {
    /// What the setting names is not there.
    #[error("there is no Python at {}, which {} names", show(.path), .by)]
    NotThere {
        /// What was named.
        path: PathBuf,
        /// Who named it.
        by: String,
    },
    /// What the setting names is not a program.
    #[error("{}, which {} names, can't be executed", show(.path), .by)]
    NotExecutable {
        /// What was named.
        path: PathBuf,
        /// Who named it.
        by: String,
    },
    /// There is none.
    #[error("no Python was found: neither an active virtual environment nor `python3` on PATH")]
    None,
}

impl InterpreterError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotThere { .. } => "correct it, or leave it out to use `python3`",
            Self::NotExecutable { .. } => "name the interpreter itself, such as .venv/bin/python",
            Self::None => "install Python 3.9 or later, or name one: --python PATH",
        }
    }
}

impl fmt::Display for InterpreterOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(origin) => write!(f, "{origin}"),
            Self::ActiveEnvironment => f.write_str("the active virtual environment"),
            Self::BesideRun => f.write_str(".venv beside the run"),
            Self::Path { name } => write!(f, "{name} on PATH"),
        }
    }
}

/// The parts of the process's environment that decide.
#[derive(Debug, Clone, Default)]
struct Surroundings {
    virtual_env: Option<OsString>,
    path: Option<OsString>,
    home: Option<PathBuf>,
}

/// Chooses the interpreter of a run: the setting `python`, else the active virtual environment, else an approved
/// `.venv` in the run or beside it, else `python3` on `PATH`.
///
/// # Errors
/// When the setting names none, or there is none at all.
pub fn choose_interpreter(
    run: &RunDir,
    config: &Config,
    user: Option<&UserDirs>,
) -> Result<Interpreter, InterpreterError> {
    let home = env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let around = Surroundings { virtual_env: env::var_os("VIRTUAL_ENV"), path: env::var_os("PATH"), home };
    choose(run, config, user.map(Trust::new).as_ref(), &around)
}

fn choose(
    run: &RunDir,
    config: &Config,
    trust: Option<&Trust>,
    around: &Surroundings,
) -> Result<Interpreter, InterpreterError> {
    if let Some(named) = &config.python {
        let origin = config.origin("python").cloned().unwrap_or(Origin::Default);
        let path = resolve(named, &origin, run, around)
            .ok_or_else(|| InterpreterError::NotThere { path: named.into(), by: origin.to_string() })?;
        if !is_program(&path) {
            return Err(if path.exists() {
                InterpreterError::NotExecutable { path, by: origin.to_string() }
            } else {
                InterpreterError::NotThere { path, by: origin.to_string() }
            });
        }
        return Ok(Interpreter { path, origin: InterpreterOrigin::Setting(origin), passed_over: None });
    }
    let active = around.virtual_env.as_deref().filter(|dir| !dir.is_empty());
    if let Some(path) = active.and_then(|dir| python_of(Path::new(dir))) {
        return Ok(Interpreter { path, origin: InterpreterOrigin::ActiveEnvironment, passed_over: None });
    }
    let mut passed_over = None;
    for place in [Some(run.path()), run.path().parent()].into_iter().flatten() {
        let environment = place.join(".venv");
        let Some((path, claim)) = python_of(&environment).and_then(|path| {
            let content = content_of(&environment, &path)?;
            Some((path, Claim { run: run.path().to_owned(), subject: Subject::Environment, content }))
        }) else {
            continue;
        };
        match trust.map_or(Approval::Missing, |trust| trust.approval(&claim)) {
            Approval::Granted { .. } => {
                return Ok(Interpreter { path, origin: InterpreterOrigin::BesideRun, passed_over: None });
            }
            other => {
                let changed = matches!(other, Approval::Outdated { .. });
                passed_over.get_or_insert(PassedOver { environment, changed, claim });
            }
        }
    }
    for name in ["python3", "python"] {
        if let Some(path) = on_path(OsStr::new(name), around) {
            let origin = InterpreterOrigin::Path { name: name.to_owned() };
            return Ok(Interpreter { path, origin, passed_over });
        }
    }
    Err(InterpreterError::None)
}

/// What a setting names: a name on `PATH`, or a path, relative to where the setting stands.
fn resolve(named: &str, origin: &Origin, run: &RunDir, around: &Surroundings) -> Option<PathBuf> {
    if let Some(rest) = named.strip_prefix("~/") {
        return Some(around.home.as_ref()?.join(rest));
    }
    let path = Path::new(named);
    if path.components().count() == 1 && !named.starts_with('.') {
        return on_path(path.as_os_str(), around);
    }
    let base = match origin {
        Origin::User { file, .. } => file.parent().map(Path::to_owned),
        Origin::Run { .. } => Some(run.path().to_owned()),
        Origin::Default | Origin::Environment { .. } | Origin::Flag => env::current_dir().ok(),
    };
    Some(base?.join(path))
}

/// The interpreter of a virtual environment.
fn python_of(environment: &Path) -> Option<PathBuf> {
    if !environment.join("pyvenv.cfg").is_file() {
        return None;
    }
    let names = if cfg!(windows) { ["Scripts/python.exe", "bin/python"] } else { ["bin/python", "bin/python3"] };
    names.into_iter().map(|name| environment.join(name)).find(|path| is_program(path))
}

/// What an approval of an environment is pinned to: its `pyvenv.cfg`, where its interpreter really is, and that
/// program's bytes if it lies within the environment. Packages may be added without a new approval.
fn content_of(environment: &Path, python: &Path) -> Option<Digest> {
    let settings = fs::read(environment.join("pyvenv.cfg")).ok()?;
    let real = fs::canonicalize(python).ok()?;
    let own = fs::canonicalize(environment).ok().is_some_and(|environment| real.starts_with(environment));
    let program = if own { fs::read(&real).ok()? } else { Vec::new() };
    let place = environment.as_os_str().as_encoded_bytes();
    Some(Digest::of_parts([place, &settings, real.as_os_str().as_encoded_bytes(), &program]))
}

/// The first program of this name on `PATH`. Relative entries are passed over: `.` would be the run's own directory.
fn on_path(name: &OsStr, around: &Surroundings) -> Option<PathBuf> {
    let path = around.path.as_ref()?;
    let file = if cfg!(windows) && Path::new(name).extension().is_none() {
        let mut file = name.to_owned();
        file.push(".exe");
        file
    } else {
        name.to_owned()
    };
    env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(&file)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = true;
    found.is_file() && executable
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::run::{Approval, Sources};

    struct Place {
        dir: tempfile::TempDir,
        run: RunDir,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("run")).unwrap();
            let run = RunDir::open(dir.path().join("run")).unwrap();
            Self { dir, run }
        }

        fn program(&self, path: &str) -> PathBuf {
            use std::os::unix::fs::PermissionsExt;
            let path = self.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn environment(&self, path: &str) -> PathBuf {
            let python = self.program(&format!("{path}/bin/python"));
            fs::write(self.root().join(path).join("pyvenv.cfg"), "home = /usr\n").unwrap();
            python
        }

        fn root(&self) -> PathBuf {
            fs::canonicalize(self.dir.path()).unwrap()
        }

        fn trust(&self) -> Trust {
            Trust::new(&UserDirs::at(&self.root().join("home")))
        }

        fn choose(&self, config: &Config, virtual_env: Option<&str>) -> Result<Interpreter, InterpreterError> {
            let around = Surroundings {
                virtual_env: virtual_env.map(|dir| self.root().join(dir).into_os_string()),
                path: Some(env::join_paths([PathBuf::from("."), self.root().join("bin")]).unwrap()),
                home: Some(self.root().join("home")),
            };
            choose(&self.run, config, Some(&self.trust()), &around)
        }
    }

    fn flag(value: &str) -> Config {
        Config::resolve(&Sources { flags: vec![("python".into(), value.into())], ..Sources::default() })
    }

    #[test]
    fn the_order_is_setting_active_beside_path() {
        let place = Place::new();
        let none = Config::default();
        assert_eq!(place.choose(&none, None), Err(InterpreterError::None));
        let on_path = place.program("bin/python3");
        assert_eq!(place.choose(&none, None).unwrap().path, on_path);
        let beside = place.environment("run/.venv");
        let chosen = place.choose(&none, None).unwrap();
        assert_eq!(chosen.path, on_path, "an environment that came with the run is not used unasked");
        let claim = chosen.passed_over.unwrap().claim;
        place.trust().approve(&claim, 1).unwrap();
        assert_eq!(place.choose(&none, None).unwrap().path, beside);
        fs::write(place.root().join("run/.venv/bin/python"), "#!/bin/sh\nother\n").unwrap();
        let changed = place.choose(&none, None).unwrap();
        assert!(changed.passed_over.unwrap().changed, "with another interpreter the approval is gone");
        let active = place.environment("active");
        assert_eq!(place.choose(&none, Some("active")).unwrap().path, active);
        let named = place.program("other/python");
        let chosen = place.choose(&flag(named.to_str().unwrap()), Some("active")).unwrap();
        assert_eq!((chosen.path, chosen.origin), (named, InterpreterOrigin::Setting(Origin::Flag)));
        assert_eq!(place.trust().approval(&claim), Approval::Granted { at: 1 });
    }

    #[test]
    fn an_environment_next_to_the_runs_directory_counts_too() {
        let place = Place::new();
        place.program("bin/python3");
        place.environment(".venv");
        let claim = place.choose(&Config::default(), None).unwrap().passed_over.unwrap().claim;
        place.trust().approve(&claim, 1).unwrap();
        assert_eq!(place.choose(&Config::default(), None).unwrap().origin, InterpreterOrigin::BesideRun);
    }

    #[test]
    fn what_a_setting_names_must_be_there() {
        let place = Place::new();
        let says = |error: InterpreterError| {
            format!("{error}; {}", error.hint()).replace(&*place.root().to_string_lossy(), "DIR")
        };
        place.program("bin/python3");
        place.program("home/mine");
        assert!(place.choose(&flag("python3"), None).is_ok());
        assert!(place.choose(&flag("~/mine"), None).is_ok());
        insta::assert_snapshot!(says(place.choose(&flag("python9"), None).unwrap_err()), @"there is no Python at python9, which a flag names; correct it, or leave it out to use `python3`");
        let dir = place.root().join("bin");
        insta::assert_snapshot!(says(place.choose(&flag(dir.to_str().unwrap()), None).unwrap_err()), @"DIR/bin, which a flag names, can't be executed; name the interpreter itself, such as .venv/bin/python");
        insta::assert_snapshot!(says(InterpreterError::None), @"no Python was found: neither an active virtual environment nor `python3` on PATH; install Python 3.9 or later, or name one: --python PATH");
    }
}
