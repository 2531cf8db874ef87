//! Which file of the run a patch means by a name. Never another than the one it names.

use super::note::{Note, NoteKind, Problem, Reason};
use super::reading::Named;
use super::tree::Tree;

/// Directories whose files are nobody's to patch.
const FORBIDDEN: [&str; 3] = [".git", ".reweave", "patches"];

/// Why a name is no file that may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    /// It leads out of the run or into its own state: the patch is malformed.
    Malformed(Problem),
    /// It names a file that is not in the run.
    Elsewhere(Problem),
}

/// The path in the run that `named` means, with a note where it is not what was written.
pub(super) fn resolve(
    named: &Named,
    tree: &dyn Tree,
    target: Option<&str>,
    at: usize,
) -> Result<(String, Option<Note>), Refused> {
    let Some(written) = named.text() else {
        return match target {
            Some(target) => Ok((target.to_owned(), None)),
            None => Err(Refused::Elsewhere(
                Problem::new(Reason::NoFile, "it names no file").hint("name the file, or say which is meant").at(at),
            )),
        };
    };
    if written.is_empty() || written.contains('\0') || written.contains('\n') {
        return Err(Refused::Malformed(Problem::new(Reason::Path, format!("{written:?} is no path")).at(at)));
    }
    // Windows' separators, where there are no others.
    let unix = if written.contains('/') { written.to_owned() } else { written.replace('\\', "/") };
    let relative = match inside(&unix, tree.root()) {
        Some(relative) => relative,
        None => {
            return Err(Refused::Elsewhere(
                Problem::new(Reason::Path, format!("{written} is outside the run"))
                    .hint("name the file by its path in the run")
                    .at(at),
            ));
        }
    };
    let clean = |path: &str| {
        clean(path).map_err(|why| {
            Refused::Malformed(
                Problem::new(Reason::Path, format!("{written} {why}"))
                    .hint("only files of the run's steps can be patched")
                    .at(at),
            )
        })
    };
    let path = clean(&relative)?;
    let stripped = match named {
        Named::Prefixed(_) => path.split_once('/').map(|(_, below)| below.to_owned()),
        _ => ["a/", "b/"].iter().find_map(|prefix| path.strip_prefix(prefix)).map(str::to_owned),
    };
    let note = |path: &str| Some(Note::new(NoteKind::Path, format!("{written} is read as {path}")));
    // Git's prefixes first: a name that carries them is never meant with them.
    if let (Named::Prefixed(_), Some(path)) = (named, &stripped) {
        let below = clean(path)?;
        if tree.has(&below) || target == Some(below.as_str()) || !tree.has(&relative) {
            return by_base_name(below, tree, target, &note);
        }
    }
    if tree.has(&path) || target == Some(path.as_str()) {
        let noted = (path != written).then(|| note(&path)).flatten();
        return Ok((path, noted));
    }
    if let Some(path) = stripped.filter(|path| tree.has(path)) {
        let noted = note(&path);
        return Ok((path, noted));
    }
    // The name of the run's own directory in front.
    let own = tree.root().and_then(|root| root.rsplit('/').find(|part| !part.is_empty()));
    if let Some(path) = own.and_then(|own| path.strip_prefix(own)?.strip_prefix('/')).filter(|path| tree.has(path)) {
        return Ok((path.to_owned(), note(path)));
    }
    by_base_name(path, tree, target, &note)
}

/// A bare file name means the target, if it is the target's name and no other file's.
fn by_base_name(
    path: String,
    tree: &dyn Tree,
    target: Option<&str>,
    note: &dyn Fn(&str) -> Option<Note>,
) -> Result<(String, Option<Note>), Refused> {
    match target {
        Some(target)
            if !path.contains('/')
                && !tree.has(&path)
                && target.rsplit('/').next() == Some(path.as_str())
                && target != path =>
        {
            Ok((target.to_owned(), note(target)))
        }
        _ => Ok((path, None)),
    }
}

/// The path relative to the root; nothing if it is absolute and outside.
fn inside(path: &str, root: Option<&str>) -> Option<String> {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    if !path.starts_with('/') && !drive && !path.starts_with('~') {
        return Some(path.to_owned());
    }
    let root = root?.trim_end_matches('/');
    let rest = path.strip_prefix(root)?;
    rest.strip_prefix('/').map(|rest| rest.trim_start_matches('/').to_owned())
}

/// The path without `.` and doubled slashes; an error if it climbs or leads into state.
fn clean(path: &str) -> Result<String, &'static str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err("leads out of the run"),
            part => parts.push(part),
        }
    }
    match parts.first() {
        None => Err("is no file"),
        Some(_) if parts.contains(&".git") => Err("is git's own"),
        Some(first) if FORBIDDEN.contains(first) => Err("is not a step's file"),
        Some(_) => Ok(parts.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::tree::MemoryTree;

    fn resolved(named: Named, target: Option<&str>) -> Result<String, Refused> {
        let tree = MemoryTree::new([("steps/a.py", "x"), ("b.py", "y")]).with_root("/proj");
        resolve(&named, &tree, target, 1).map(|(path, _)| path)
    }

    #[test]
    fn names_are_read_as_they_are_meant() {
        let named = |text: &str| Named::As(text.to_owned());
        for (name, path) in [
            (named("steps/a.py"), "steps/a.py"),
            (named("./steps//a.py"), "steps/a.py"),
            (named("/proj/steps/a.py"), "steps/a.py"),
            (named("proj/steps/a.py"), "steps/a.py"),
            (named("a/steps/a.py"), "steps/a.py"),
            (named("steps\\a.py"), "steps/a.py"),
            (Named::Prefixed("a/steps/a.py".into()), "steps/a.py"),
            (named("new.py"), "new.py"),
            (Named::Nothing, "steps/a.py"),
            (named("a.py"), "steps/a.py"),
            (named("b.py"), "b.py"),
        ] {
            assert_eq!(resolved(name.clone(), Some("steps/a.py")), Ok(path.to_owned()), "{name:?}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        let named = |text: &str| Named::As(text.to_owned());
        for name in ["../x", "a/../../x", ".git/hooks/x", "steps/.git/x", ".reweave/db", "patches/x", "", "x\0"] {
            assert!(matches!(resolved(named(name), None), Err(Refused::Malformed(_))), "{name}");
        }
        for name in ["/etc/passwd", "/project/steps/a.py", "C:/x", "~/x"] {
            assert!(matches!(resolved(named(name), None), Err(Refused::Elsewhere(_))), "{name}");
        }
    }
}
