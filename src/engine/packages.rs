//! Whether the interpreter and the packages are those that a step ran with.
//!
//! A process that was started tells for certain. Without one the same is told by what lies on the disk, so that a run of
//! which everything holds is opened without starting any.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::pass::Walk;
use super::protocol::{Ask, PackageReply, PackagesReply};
use super::root::name_of;
use super::task::Settings;
use super::walk::Engine;
use crate::step::{Digest, Execution, Package};

/// Under which the vault keeps what the interpreter was when it was last started.
const NOTE: &str = "interpreter";
/// Most files of a package that are looked at.
const MOST: usize = 5_000;
/// Most of a file that is read for the version that it says.
const HEAD: usize = 64 << 10;

/// What is known of packages during one update.
#[derive(Debug, Default)]
pub(super) struct Installed {
    /// What imports would load now.
    found: BTreeMap<String, Option<Found>>,
    /// Whether the vault does not have all of it.
    news: bool,
    /// What there is in place of a package, if it is another.
    known: HashMap<Package, Option<String>>,
}

/// What an import would load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Found {
    version: Option<String>,
    place: String,
}

/// An interpreter as it was when it was started, and what its imports loaded.
#[derive(Debug, Serialize, Deserialize)]
struct Started {
    mark: Digest,
    name: String,
    found: BTreeMap<String, Option<Found>>,
}

impl Engine {
    /// The interpreter or package that is another than what `execution` ran with, in words.
    pub(super) fn other_installation(&mut self, walk: &Walk<'_>, execution: &Execution) -> Option<String> {
        let name = execution.observation.interpreter.as_deref()?;
        let now = self.present_interpreter()?;
        if name != now {
            return Some(format!("{name}, not {now}"));
        }
        execution.observation.packages.iter().find_map(|package| self.other_package(walk, package))
    }

    /// The interpreter's name; `None` where none can be had, and so nothing can be run.
    fn present_interpreter(&mut self) -> Option<String> {
        if self.root.is_none() {
            let note = self.vault.note(NOTE).and_then(|note| serde_json::from_slice::<Started>(&note).ok());
            if let Some(started) = note
                && mark_of_interpreter(&self.settings) == Some(started.mark)
            {
                self.installed.found = started.found;
                return Some(started.name);
            }
        }
        self.installed.news |= self.root.is_none();
        self.root_with_info().ok().map(|(_, info)| name_of(&info))
    }

    /// Keeps what the interpreter is and what its imports load, for when the run is opened again.
    pub(super) fn note_interpreter(&mut self) {
        if std::mem::take(&mut self.installed.news)
            && let (Some(mark), Some(name)) = (mark_of_interpreter(&self.settings), self.interpreter())
            && let Ok(note) = serde_json::to_vec(&Started { mark, name, found: self.installed.found.clone() })
            && self.vault.note(NOTE).as_ref() != Some(&note)
        {
            self.vault.put_note(NOTE, &note);
        }
    }

    /// Takes over what an execution just loaded.
    pub(super) fn loaded(&mut self, execution: &Execution) {
        self.installed.news |= self.installed.found.is_empty();
        for package in execution.observation.packages.iter().filter(|package| !package.added) {
            let found = Some(Found { version: package.version.clone(), place: package.place.clone() });
            let known = self.installed.found.insert(package.name.clone(), found.clone());
            self.installed.news |= known != Some(found);
        }
    }

    fn other_package(&mut self, walk: &Walk<'_>, package: &Package) -> Option<String> {
        if let Some(known) = self.installed.known.get(package) {
            return known.clone();
        }
        let what = self.found_elsewhere(walk, package).or_else(|| replaced_package(package));
        self.installed.known.insert(package.clone(), what.clone());
        what
    }

    /// What an import loads from another place now.
    fn found_elsewhere(&mut self, walk: &Walk<'_>, package: &Package) -> Option<String> {
        // What a step put on the path itself is not found there before the first step.
        if package.added {
            return None;
        }
        if !self.installed.found.contains_key(&package.name) {
            let held = walk.tasks.iter().flat_map(|task| &task.held);
            let mut names: Vec<String> =
                held.flat_map(|held| held.observation.packages.iter().map(|package| package.name.clone())).collect();
            names.sort();
            names.dedup();
            let root = self.root().ok()?;
            root.ask(&Ask::Packages { names: &names }, &[], &[]).ok()?;
            let reply: PackagesReply = root.answer().ok()?;
            let found = reply
                .found
                .into_iter()
                .map(|(name, found)| (name, found.map(|found| Found { version: found.version, place: found.place })));
            self.installed.found.extend(found);
            self.installed.news = true;
        }
        match self.installed.found.get(&package.name)? {
            Some(now) if now.place == package.place => None,
            Some(now) => Some(instead(package, Some(now.version.as_ref().unwrap_or(&now.place)))),
            None => Some(instead(package, None)),
        }
    }
}

/// A package with what tells it from others.
pub(super) fn package(reply: PackageReply) -> Package {
    let mark = if reply.installed { None } else { mark_of_files(Path::new(&reply.place)) };
    Package { name: reply.name, version: reply.version, place: reply.place, added: reply.added, mark }
}

/// What there is in place of a package, in words, as far as a look at where it lay tells; `None` where it is as it was.
pub fn replaced_package(package: &Package) -> Option<String> {
    let place = Path::new(&package.place);
    if package.mark.is_some() {
        let now = mark_of_files(place);
        return (now != package.mark).then(|| {
            let version = now.and_then(|_| said_version(place));
            if now.is_some() && version == package.version {
                return format!("other files of {}", said(package));
            }
            instead(package, version.as_deref())
        });
    }
    if place.exists() {
        return None;
    }
    // An installer that puts another version there writes another directory.
    let stem = |path: &Path| Some(path.file_name()?.to_str()?.split_once('-')?.0.to_owned());
    let name = stem(place)?;
    let beside = fs::read_dir(place.parent()?).ok().into_iter().flatten().flatten().map(|entry| entry.path());
    let now = beside.filter(|path| stem(path).as_ref() == Some(&name)).find_map(|path| {
        let stem = path.file_stem()?.to_str()?.to_owned();
        path.extension().is_some_and(|ending| ending == "dist-info" || ending == "egg-info").then_some(stem)
    });
    Some(instead(package, now.as_deref().and_then(|stem| stem.split('-').nth(1))))
}

fn said(package: &Package) -> String {
    match &package.version {
        Some(version) => format!("{} {version}", package.name),
        None => package.name.clone(),
    }
}

fn instead(package: &Package, version: Option<&str>) -> String {
    match version {
        Some(version) => format!("{}, not {} {version}", said(package), package.name),
        None => format!("{}, which is not there now", said(package)),
    }
}

/// What tells a file as it is from what it may become: size and time.
fn stamp(found: &Metadata) -> String {
    let since = found.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    format!("{} {}", found.len(), since.as_nanos())
}

/// A digest of the names, sizes and times of a package's own files; `None` where there are none.
fn mark_of_files(place: &Path) -> Option<Digest> {
    let mut seen: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut todo = vec![place.to_owned()];
    while let Some(path) = todo.pop() {
        let Ok(found) = fs::metadata(&path) else { continue };
        if found.is_file() {
            seen.insert(path, stamp(&found));
        } else if path.file_name().is_some_and(|name| name != "__pycache__") {
            todo.extend(fs::read_dir(&path).ok()?.flatten().map(|entry| entry.path()));
        }
        if seen.len() + todo.len() > MOST {
            break;
        }
    }
    let parts = seen.iter().flat_map(|(path, stamp)| [path.as_os_str().as_encoded_bytes(), stamp.as_bytes()]);
    (!seen.is_empty()).then(|| Digest::of_parts(parts))
}

/// The version that a package's own text gives as `__version__`.
fn said_version(place: &Path) -> Option<String> {
    let file = if place.is_dir() { place.join("__init__.py") } else { place.to_owned() };
    let text = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(text.get(..HEAD).unwrap_or(&text)).into_owned();
    let value = text.lines().find_map(|line| line.strip_prefix("__version__")?.trim_start().strip_prefix('='))?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty() && value.len() < 80).then(|| value.to_owned())
}

/// What tells which interpreter `settings` name, without starting it; `None` where only starting it can.
fn mark_of_interpreter(settings: &Settings) -> Option<Digest> {
    let named = &settings.python;
    let path = if named.components().count() > 1 {
        named.clone()
    } else {
        let directories = std::env::var_os("PATH")?;
        std::env::split_paths(&directories).map(|directory| directory.join(named)).find(|path| path.is_file())?
    };
    let real = fs::canonicalize(&path).ok()?;
    let mut parts: Vec<Vec<u8>> = vec![bytes(path.clone().into()), bytes(real.clone().into())];
    parts.push(stamp(&fs::metadata(&real).ok()?).into_bytes());
    parts.extend(beside(&path, "pyvenv.cfg").and_then(|file| fs::read(file).ok()));
    if !is_program(&real) {
        parts.extend(chosen_by_pyenv(&real, &settings.dir)?);
    }
    let mut variables: Vec<_> = std::env::vars_os().collect();
    variables.retain(|(name, _)| name.to_string_lossy().starts_with("PY"));
    variables.sort();
    let places = std::env::var_os("PYTHONPATH").unwrap_or_default();
    let places = std::env::split_paths(&places).filter_map(|place| fs::metadata(place).ok());
    parts.extend(places.map(|found| stamp(&found).into_bytes()));
    parts.extend(variables.into_iter().flat_map(|(name, value)| [bytes(name), bytes(value)]));
    Some(Digest::of_parts(parts.iter().map(Vec::as_slice)))
}

fn bytes(text: OsString) -> Vec<u8> {
    text.into_encoded_bytes()
}

/// A file in the directory above that of `path`.
fn beside(path: &Path, name: &str) -> Option<PathBuf> {
    Some(path.parent()?.parent()?.join(name))
}

/// Whether the file is native code, and not a script that chooses what to start.
fn is_program(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 2];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head != *b"#!"
}

/// By what pyenv's scripts choose: the files in which versions stand. Its variables are among Python's.
fn chosen_by_pyenv(script: &Path, dir: &Path) -> Option<Vec<Vec<u8>>> {
    let text = fs::read(script).ok().filter(|text| text.len() < HEAD)?;
    if !String::from_utf8_lossy(&text).contains("pyenv\" exec") {
        return None;
    }
    let mut parts = vec![text];
    parts.extend(dir.ancestors().map(|above| fs::read(above.join(".python-version")).unwrap_or_default()));
    parts.push(fs::read(beside(script, "version")?).unwrap_or_default());
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_place_of_a_package_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("__init__.py"), "__version__ = '1.0'\n").unwrap();
        let reply = |name: &str, place: &Path, installed| PackageReply {
            name: name.into(),
            version: Some("1.0".into()),
            place: place.to_string_lossy().into_owned(),
            installed,
            added: false,
        };
        let found = package(reply("own", &own, false));
        assert_eq!(replaced_package(&found), None);
        fs::write(own.join("more.py"), "x = 1\n").unwrap();
        assert_eq!(replaced_package(&found).unwrap(), "other files of own 1.0");
        fs::write(own.join("__init__.py"), "__version__ = \"2.0\"\n").unwrap();
        assert_eq!(replaced_package(&found).unwrap(), "own 1.0, not own 2.0");
        fs::remove_dir_all(&own).unwrap();
        assert_eq!(replaced_package(&found).unwrap(), "own 1.0, which is not there now");

        let place = dir.path().join("a_b-1.0.dist-info");
        fs::create_dir(&place).unwrap();
        let found = package(reply("ab", &place, true));
        assert_eq!(replaced_package(&found), None);
        fs::rename(&place, dir.path().join("a_b-1.1.dist-info")).unwrap();
        assert_eq!(replaced_package(&found).unwrap(), "ab 1.0, not ab 1.1");
    }
}
