//! Files that are not there or can't be used, and bytes in another encoding.

use super::rename;
use crate::feedback::case::{Case, Finding, cut, or_list};
use crate::feedback::code::look;
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::{advise, replaced, suggest};
use crate::feedback::failure::StepText;
use crate::feedback::near;
use crate::step::StepId;

/// How deep a file of the same name is looked for.
const DEPTH: usize = 4;

/// How many directories are looked into.
const DIRECTORIES: usize = 400;

pub(super) fn unusable(case: &Case<'_>) -> Option<Finding> {
    let file = case.attribute("filename")?;
    let at = case.at();
    if !case.is("FileNotFoundError") {
        let why = match case.error.type_name.as_str() {
            "IsADirectoryError" => "it is a directory",
            "NotADirectoryError" => "a part of its path is a file, not a directory",
            "PermissionError" => "it may not be used so by who runs this",
            "FileExistsError" => "it is there already",
            _ => return Some(case.here(Cause::FileAccess, format!("{}, at {at}.", case.what()))),
        };
        return Some(case.here(Cause::FileAccess, format!("`{file}` can't be used at {at}: {why}.")));
    }
    let bare = file.strip_prefix("./").unwrap_or(file);
    if let Some(finding) = written_elsewhere(case, file, bare) {
        return Some(finding);
    }
    if bare.starts_with('/') || bare.starts_with('~') || bare.contains("..") {
        let hint = if bare.starts_with('~') {
            " `~` is not written out by itself: os.path.expanduser() does that."
        } else {
            ""
        };
        let text = format!("`{file}` is not there (asked for at {at}).{hint} It lies outside of the run.");
        return Some(case.here(Cause::MissingFile, text));
    }
    let near = close_files(case, bare);
    let same = if near.is_empty() { same_name(case, bare) } else { Vec::new() };
    match (near.as_slice(), same.as_slice()) {
        ([one], _) => {
            let text = format!("`{file}` is not there (asked for at {at}); `{one}` is.");
            Some(renamed(case, text, bare, one, true))
        }
        ([], [one]) => {
            let text = format!("`{file}` is not there (asked for at {at}); `{one}` is, in another directory.");
            Some(renamed(case, text, bare, one, true))
        }
        ([], []) => {
            let directory = bare.rsplit_once('/').map(|(directory, _)| directory);
            let no_directory = directory.is_some_and(|directory| case.failure.world.names(directory).is_none());
            let why = match directory {
                Some(directory) if no_directory => format!("There is no directory `{directory}` in the run."),
                _ => "Nothing in its directory has a name like it.".to_owned(),
            };
            let text = format!(
                "`{file}` is not there (asked for at {at}), and no step writes it. {why} It is made or brought by hand."
            );
            Some(case.here(Cause::MissingFile, text))
        }
        (several, others) => {
            let all: Vec<&str> = several.iter().chain(others).map(String::as_str).collect();
            let text =
                format!("`{file}` is not there (asked for at {at}). It may be {}.", or_list(all.iter().copied()));
            let patches: Vec<Suggestion> = all
                .iter()
                .take(4)
                .flat_map(|other| renamed(case, String::new(), bare, other, false).suggestions)
                .collect();
            Some(case.here(Cause::MisspeltFile, text).with(patches))
        }
    }
}

/// The file is made by a step: a later one, one that failed, one that was removed.
fn written_elsewhere(case: &Case<'_>, file: &str, bare: &str) -> Option<Finding> {
    let at = case.at();
    let failure = case.failure;
    let writers = failure.world.file_writers(bare);
    let recorded = |step: &StepText<'_>| {
        step.observed.is_some_and(|seen| seen.files_written.contains_key(bare)) || writers.contains(step.id)
    };
    let mentions = |step: &StepText<'_>| look(step.text, |code| writes_file(code, file)).unwrap_or(false);
    if let Some(later) = failure.after(failure.step).find(|step| recorded(step) || mentions(step)) {
        let text = format!("`{file}` is asked for at {at}, but only {} writes it, which comes later.", later.id);
        let advice = advise(Rule::Reorder, format!("move {} before {}", later.id, failure.step));
        return Some(case.finding(Cause::FileNotWritten, later.id.clone(), text).with([advice]));
    }
    if let Some(before) = failure.before(failure.step).find(|step| recorded(step) || mentions(step)) {
        let text = format!("`{file}` is asked for at {at}. {} is to write it, and did not, or not there.", before.id);
        return Some(case.finding(Cause::FileNotWritten, before.id.clone(), text));
    }
    let gone: &StepId = writers.iter().find(|id| failure.step_text(id).is_none())?;
    let text = format!("`{file}`, asked for at {at}, was written by {gone}, which was removed.");
    Some(case.here(Cause::FileNotWritten, text).with([advise(Rule::RestoreStep, format!("bring {gone} back"))]))
}

/// Whether a text writes this file: by a call that is for writing.
fn writes_file(code: &crate::feedback::code::Code<'_>, file: &str) -> bool {
    use rustpython_parser::ast::Expr;
    let is_it = |e: &Expr| crate::feedback::code::text_of(e) == Some(file);
    code.expressions().into_iter().any(|e| {
        let Expr::Call(call) = e else { return false };
        let named = call.args.iter().any(is_it) || call.keywords.iter().any(|k| is_it(&k.value));
        let writes = match &*call.func {
            Expr::Name(name) if name.id.as_str() == "open" => {
                let mode = call.args.get(1).or(call
                    .keywords
                    .iter()
                    .find(|k| k.arg.as_deref() == Some("mode"))
                    .map(|k| &k.value));
                mode.and_then(crate::feedback::code::text_of).is_some_and(|mode| mode.contains(['w', 'a', 'x', '+']))
            }
            Expr::Attribute(a) => {
                let method = a.attr.as_str();
                if matches!(method, "write_text" | "write_bytes" | "touch") {
                    return code.source(&*a.value).contains(file);
                }
                method.starts_with("to_")
                    || matches!(
                        method,
                        "save" | "savez" | "savetxt" | "savefig" | "dump" | "copy" | "copyfile" | "move"
                    )
            }
            _ => false,
        };
        named && writes
    })
}

/// Paths of the run that differ from this one in one part that is close.
fn close_files(case: &Case<'_>, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let world = case.failure.world;
    let mut found = Vec::new();
    let mut directory = String::new();
    for (at, part) in parts.iter().enumerate() {
        let Some(names) = world.names(&directory) else { break };
        let last = at + 1 == parts.len();
        let is_there = names.iter().any(|name| name.trim_end_matches('/') == *part && (last || name.ends_with('/')));
        if !is_there || last {
            let fits = names.iter().filter(|name| name.ends_with('/') != last).map(|name| name.trim_end_matches('/'));
            for name in close_name(part, fits) {
                let mut whole: Vec<&str> = parts.clone();
                if let Some(slot) = whole.get_mut(at) {
                    *slot = name;
                }
                let whole = whole.join("/");
                if exists(case, &whole) {
                    found.push(whole);
                }
            }
            break;
        }
        if !directory.is_empty() {
            directory.push('/');
        }
        directory.push_str(part);
    }
    found
}

/// Names close to one, its ending being part of it only where that is what differs.
fn close_name<'n>(part: &str, names: impl Iterator<Item = &'n str> + Clone) -> Vec<&'n str> {
    let (stem, ending) = part.rsplit_once('.').unwrap_or((part, ""));
    let alike = names.clone().filter(|name| {
        let (other, theirs) = name.rsplit_once('.').unwrap_or((name, ""));
        theirs.eq_ignore_ascii_case(ending)
            && (other.eq_ignore_ascii_case(stem) || !near::close(stem, [other]).is_empty())
    });
    let found: Vec<&str> = alike.filter(|name| *name != part).collect();
    if found.is_empty() { near::close(part, names) } else { found }
}

fn exists(case: &Case<'_>, path: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    case.failure.world.names(directory).is_some_and(|names| names.iter().any(|other| other == name))
}

/// Files of the same name elsewhere in the run.
fn same_name(case: &Case<'_>, path: &str) -> Vec<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut found = Vec::new();
    let mut todo = vec![(String::new(), 0)];
    let mut looked = 0;
    while let Some((directory, depth)) = todo.pop() {
        looked += 1;
        if looked > DIRECTORIES {
            break;
        }
        for entry in case.failure.world.names(&directory).unwrap_or_default() {
            let whole = if directory.is_empty() { entry.clone() } else { format!("{directory}/{entry}") };
            if let Some(inner) = whole.strip_suffix('/') {
                if depth < DEPTH && !entry.starts_with('.') && entry != "patches/" && entry != "__pycache__/" {
                    todo.push((inner.to_owned(), depth + 1));
                }
            } else if entry == name && whole != path {
                found.push(whole);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The path written otherwise, where it stands as one literal of one step.
fn renamed(case: &Case<'_>, text: String, old: &str, new: &str, safe: bool) -> Finding {
    let steps = case.failure.before(case.failure.step).chain(case.failure.step_text(case.failure.step));
    // The whole path, or the part that differs where the path is put together from pieces.
    let part = |path: &str, other: &str| {
        let pairs =
            path.split('/').zip(other.split('/')).filter(|(a, b)| a != b).map(|(a, b)| (a.to_owned(), b.to_owned()));
        let pairs: Vec<_> = pairs.collect();
        match pairs.as_slice() {
            [one] if path.split('/').count() == other.split('/').count() => Some(one.clone()),
            _ => None,
        }
    };
    let mut wanted = vec![(old.to_owned(), new.to_owned()), (format!("./{old}"), format!("./{new}"))];
    wanted.extend(part(old, new).filter(|(a, _)| a != old));
    let steps: Vec<&StepText<'_>> = steps.collect();
    for (old, new) in wanted {
        let mut found = steps.iter().filter_map(|step| {
            let pieces = look(step.text, |code| rename::of_text(code, &old, &new))?;
            (!pieces.is_empty()).then_some((*step, pieces))
        });
        let (Some((step, pieces)), others) = (found.next(), found.next().is_some()) else { continue };
        let patch = replaced(step.text, pieces)
            .and_then(|text| suggest(step, Rule::FileTypo, safe && !others, format!("read '{new}'"), text));
        return case.finding(Cause::MisspeltFile, step.id.clone(), text).with(patch);
    }
    case.here(Cause::MisspeltFile, text)
}

pub(super) fn encoding(case: &Case<'_>) -> Option<Finding> {
    let at = case.at();
    let encoding = case.attribute("encoding").unwrap_or("the encoding");
    let place = case.attribute("start").unwrap_or("?");
    let reason = case.attribute("reason").unwrap_or_default();
    if case.is("UnicodeEncodeError") {
        let text = format!(
            "At {at} a text is written in {encoding}, which has no sign for the character at {place}: {reason}."
        );
        return Some(case.here(Cause::Encoding, text));
    }
    let bytes = case.attribute("object").unwrap_or_default();
    let shown = if bytes.is_empty() { String::new() } else { format!(" The bytes: {}.", cut(bytes, 80)) };
    let looks = if bytes.contains("\\xef\\xbb\\xbf") {
        " They begin with the mark of utf-8-sig."
    } else if bytes.starts_with("b'\\xff\\xfe") || bytes.starts_with("b'\\xfe\\xff") {
        " They begin with the mark of utf-16."
    } else if bytes.starts_with("b'\\x1f\\x8b") || bytes.starts_with("b'PK\\x03\\x04") {
        " They are compressed, and no text at all."
    } else {
        " Western texts of older programs are often in cp1252."
    };
    let text = format!(
        "What is read at {at} is not {encoding}: byte {place} does not fit ({reason}).{shown}{looks} Which encoding it is \
         only who made it knows; one that takes any byte would never fail and could still be wrong."
    );
    let advice = advise(
        Rule::OtherEncoding,
        "say the encoding where it is read: encoding='cp1252', or whatever it was written in",
    );
    Some(case.here(Cause::Encoding, text).with([advice]))
}
