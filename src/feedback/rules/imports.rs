//! ImportError and ModuleNotFoundError.

use rustpython_parser::ast::{Expr, Stmt};

use super::rename;
use crate::feedback::case::{Case, Finding, or_list, quoted};
use crate::feedback::code::{Code, bytes, name_of};
use crate::feedback::diagnosis::{Cause, Rule};
use crate::feedback::edit::{advise, replaced, suggest};
use crate::feedback::known;
use crate::feedback::near;

pub(super) fn failed(case: &Case<'_>) -> Option<Finding> {
    if case.is("ModuleNotFoundError") {
        return Some(no_module(case));
    }
    let quotes = quoted(case.message());
    let name = case
        .attribute("name_from")
        .or_else(|| case.message().starts_with("cannot import name").then(|| quotes.first().copied()).flatten());
    // The package that has the message in its own words, such as scikit-learn for a data set that is gone.
    let asked = imported(case);
    let (module, name) = match (asked.as_slice(), name) {
        ([(module, only)], None) => (module.clone(), only.clone()),
        (asked, Some(name)) => {
            let module = asked.iter().find(|(_, item)| item == name).map(|(module, _)| module.clone());
            (module.or_else(|| case.attribute("name").map(str::to_owned))?, name.to_owned())
        }
        (_, None) => {
            let text = format!("{}, at {}.", case.what(), case.at());
            return Some(case.here(Cause::ImportFailed, text));
        }
    };
    Some(no_name(case, &module, &name))
}

/// The names that the import on the failing line takes: module and name.
fn imported(case: &Case<'_>) -> Vec<(String, String)> {
    case.look(|code| match code.statement_at(case.line) {
        Some(Stmt::ImportFrom(import)) => {
            let module = import.module.as_ref().map(ToString::to_string).unwrap_or_default();
            import.names.iter().map(|alias| (module.clone(), alias.name.to_string())).collect()
        }
        _ => Vec::new(),
    })
    .unwrap_or_default()
}

fn no_name(case: &Case<'_>, module: &str, name: &str) -> Finding {
    let at = case.at();
    if module == "collections" && known::ABSTRACT.contains(&name) {
        return moved(case, module, name, "collections.abc", name);
    }
    if let Some((_, _, home, there)) = known::MOVED.iter().find(|(m, n, ..)| *m == module && *n == name) {
        if !home.is_empty() {
            return moved(case, module, name, home, there);
        }
        let text = format!("`{module}` no longer has `{name}`, which is imported at {at}.");
        let finding = case.here(Cause::RemovedApi, text);
        return match known::gone(module, name) {
            Some(hint) => finding.and(format!("{hint}.")),
            None => finding,
        };
    }
    let has: Vec<&str> = case.attribute("module_has").map(|names| names.split(' ').collect()).unwrap_or_default();
    if case.message().contains("partially initialized module") {
        let text = format!(
            "`{name}` can't be imported from `{module}` at {at}, which is itself still being imported: two modules \
             import each other, or a file of the run has the name of the module that is meant."
        );
        return case.here(Cause::ImportFailed, text);
    }
    let near = near::close(name, has.iter().copied());
    match near.as_slice() {
        [] => {
            let text =
                format!("`{module}` has no name `{name}`, which is imported at {at}, and none that is close to it.");
            case.here(Cause::ImportFailed, text).and("Another version of the package may have had it.")
        }
        [one] => {
            let text = format!("`{module}` has no name `{name}`, which is imported at {at}; it has `{one}`.");
            let patch = renamed(case, module, name, one)
                .and_then(|new| suggest(case.step, Rule::ImportTypo, true, format!("write {name} as {one}"), new));
            case.here(Cause::MisspeltImport, text).with(patch)
        }
        several => {
            let text = format!(
                "`{module}` has no name `{name}`, which is imported at {at}. It may be {} misspelt.",
                or_list(several.iter().copied())
            );
            let patches = several.iter().take(4).filter_map(|other| {
                let new = renamed(case, module, name, other)?;
                suggest(case.step, Rule::ImportTypo, false, format!("write {name} as {other}"), new)
            });
            case.here(Cause::MisspeltImport, text).with(patches)
        }
    }
}

/// The step with another name imported, and used where the old one was.
fn renamed(case: &Case<'_>, module: &str, old: &str, new: &str) -> Option<String> {
    let pieces = case.look(|code| {
        let mut pieces = Vec::new();
        let mut is_bound = false;
        for statement in code.statements() {
            let Stmt::ImportFrom(import) = statement else { continue };
            if import.module.as_deref() != Some(module) {
                continue;
            }
            for alias in import.names.iter().filter(|alias| alias.name.as_str() == old) {
                let start = bytes(alias).start;
                pieces.push((start..start + old.len(), new.to_owned()));
                is_bound |= alias.asname.is_none();
            }
        }
        if is_bound {
            pieces.extend(rename::of_name(code, old, new));
        }
        pieces
    })?;
    replaced(case.step.text, pieces).filter(|text| text != case.step.text)
}

/// A name that another module has now.
fn moved(case: &Case<'_>, module: &str, name: &str, home: &str, there: &str) -> Finding {
    let what = if there.is_empty() { format!("the package `{home}`") } else { format!("`{there}` of `{home}`") };
    let text = format!("`{name}` of `{module}`, imported at {}, is now {what}.", case.at());
    let finding = case.here(Cause::NameMoved, text);
    if case.failure.world.is_there(home.split('.').next().unwrap_or(home)) == Some(false) {
        let package = known::distribution(home.split('.').next().unwrap_or(home));
        return finding.with([advise(Rule::Install, format!("install {package}"))]);
    }
    // A class of another name takes other arguments.
    let safe =
        there.is_empty() || there == name || module == "scipy.integrate" || !is_called_with_arguments(case, name);
    let patch = rewritten(case, module, name, home, there)
        .and_then(|new| suggest(case.step, Rule::MovedName, safe, format!("import {name} from where it is now"), new));
    finding.with(patch)
}

fn is_called_with_arguments(case: &Case<'_>, name: &str) -> bool {
    case.look(|code| {
        code.expressions().into_iter().any(|e| {
            matches!(e, Expr::Call(call) if name_of(&call.func) == Some(name) && !(call.args.is_empty() && call.keywords.is_empty()))
        })
    })
    .unwrap_or(true)
}

/// The step with the import taken from another module.
fn rewritten(case: &Case<'_>, module: &str, name: &str, home: &str, there: &str) -> Option<String> {
    let pieces = case.look(|code| {
        let statement = code.statements().into_iter().find(|statement| {
            matches!(statement, Stmt::ImportFrom(import) if import.module.as_deref() == Some(module)
                && import.names.iter().any(|alias| alias.name.as_str() == name))
        })?;
        let Stmt::ImportFrom(import) = statement else { return None };
        let item = |item: &str, alias: Option<&str>| match alias {
            Some(alias) => format!("{item} as {alias}"),
            None => item.to_owned(),
        };
        let goes = |item: &str| item == name || (home == "collections.abc" && known::ABSTRACT.contains(&item));
        let mut lines = Vec::new();
        let stay: Vec<String> = import
            .names
            .iter()
            .filter(|alias| !goes(&alias.name))
            .map(|alias| item(&alias.name, alias.asname.as_deref()))
            .collect();
        if !stay.is_empty() {
            lines.push(format!("from {module} import {}", stay.join(", ")));
        }
        let mut rename_to = None;
        let mut leave = Vec::new();
        for alias in import.names.iter().filter(|alias| goes(&alias.name)) {
            if there.is_empty() {
                lines.push(match alias.asname.as_deref() {
                    Some(alias) => format!("import {home} as {alias}"),
                    None => format!("import {home}"),
                });
            } else {
                let new = if alias.name.as_str() == name { there } else { alias.name.as_str() };
                leave.push(item(new, alias.asname.as_deref()));
                if alias.asname.is_none() && new != alias.name.as_str() {
                    rename_to = Some(new);
                }
            }
        }
        if !leave.is_empty() {
            lines.push(format!("from {home} import {}", leave.join(", ")));
        }
        let range = bytes(statement);
        let indent = indent_before(code, range.start);
        let mut pieces = vec![(range, lines.join(&format!("\n{indent}")))];
        if let Some(new) = rename_to {
            pieces.extend(rename::of_name(code, name, new));
        }
        Some(pieces)
    })??;
    replaced(case.step.text, pieces)
}

/// The blanks between the start of a line and a place in it.
fn indent_before(code: &Code<'_>, at: usize) -> String {
    let before = code.text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.trim().is_empty() { line.to_owned() } else { String::new() }
}

fn no_module(case: &Case<'_>) -> Finding {
    let at = case.at();
    let name = case.attribute("name").or_else(|| quoted(case.message()).first().copied()).unwrap_or_default();
    let top = name.split('.').next().unwrap_or(name);
    if let Some((_, home)) = known::MOVED_MODULES.iter().find(|(old, _)| *old == name) {
        let text = format!("The module `{name}`, imported at {at}, is now `{home}`.");
        let finding = case.here(Cause::NameMoved, text);
        let is_there = case.failure.world.is_there(home.split('.').next().unwrap_or(home)) != Some(false);
        let patch = replaced_module(case, name, home)
            .and_then(|new| suggest(case.step, Rule::MovedName, is_there, format!("import from {home}"), new));
        return finding.with(patch);
    }
    if name.contains('.') && case.failure.world.is_there(top) != Some(false) {
        let text = format!(
            "`{top}` is there, but it has no module `{}`, which is imported at {at}: it is misspelt, or another version \
             of `{top}` has it.",
            name.get(top.len() + 1..).unwrap_or_default()
        );
        return case.here(Cause::ModuleMissing, text);
    }
    if let Some(new) = known::renamed_module(name) {
        let text = format!("`{name}`, imported at {at}, is a module of older Pythons; `{new}` took its place.");
        return case.here(Cause::ModuleMissing, text).with([advise(Rule::MovedName, format!("import {new}"))]);
    }
    let package = known::distribution(name);
    let mut finding = case
        .here(Cause::ModuleMissing, format!("`{name}`, imported at {at}, is not installed for the run's interpreter."));
    let step = case.failure.steps.iter().find(|step| step.id.as_str().rsplit('/').next() == Some(name));
    if let Some(step) = step {
        finding = finding.and(format!(
            "There is a step of that name, {}, but steps share one namespace and are not imported: what it binds is \
             there without an import; a file that is to be imported has the kind `module` in its header.",
            step.id
        ));
    }
    finding = finding.and(
        "Nothing is installed or renamed by itself: a package whose name is only close to the one that is meant may \
         hold anything.",
    );
    finding.with([advise(Rule::Install, format!("if that is the name that is meant: pip install {package}"))])
}

/// The step with a module written otherwise in its imports.
fn replaced_module(case: &Case<'_>, old: &str, new: &str) -> Option<String> {
    let pieces = case.look(|code| {
        let mut pieces = Vec::new();
        for statement in code.statements() {
            let Stmt::ImportFrom(import) = statement else { continue };
            if import.module.as_deref() == Some(old)
                && let Some(at) = code.source(statement).find(old)
            {
                let start = bytes(statement).start + at;
                pieces.push((start..start + old.len(), new.to_owned()));
            }
        }
        pieces
    })?;
    replaced(case.step.text, pieces).filter(|text| text != case.step.text)
}
