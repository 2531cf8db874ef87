//! NameError and UnboundLocalError: a name that nothing has bound.

use rustpython_parser::ast::{Expr, Stmt};

use super::rename;
use crate::analysis::{OccurrenceKind, builtins};
use crate::feedback::case::{Case, Finding, or_list, quoted};
use crate::feedback::code::{Code, bytes, look, targets};
use crate::feedback::diagnosis::{Cause, Rule, Suggestion};
use crate::feedback::edit::{advise, replaced, suggest, with_import};
use crate::feedback::failure::StepText;
use crate::feedback::known::{self, Use};
use crate::feedback::near;
use crate::step::Status;

pub(super) fn undefined(case: &Case<'_>) -> Option<Finding> {
    let name = match case.attribute("name").filter(|name| !name.is_empty()) {
        Some(name) => name,
        None => quoted(case.message()).first().copied()?,
    };
    if case.is("UnboundLocalError") || case.message().contains("free variable") {
        return Some(unbound(case, name));
    }
    Some(literal(case, name).or_else(|| bound_elsewhere(case, name)).unwrap_or_else(|| never_bound(case, name)))
}

/// Whether any step of the run binds the name at its top, or reads it back from nowhere else.
fn is_bound_somewhere(case: &Case<'_>, name: &str) -> bool {
    case.failure.steps.iter().any(|step| binds(step, name))
}

fn binds(step: &StepText<'_>, name: &str) -> bool {
    step.names.occurrences.iter().any(|place| {
        &*place.name == name
            && matches!(place.kind, OccurrenceKind::Bind | OccurrenceKind::Define | OccurrenceKind::Import)
    }) || step.writes(name)
}

fn literal(case: &Case<'_>, name: &str) -> Option<Finding> {
    let python = known::literal(name)?;
    if is_bound_somewhere(case, name) {
        return None;
    }
    let new = renamed(case, name, python)?;
    let text = format!("`{name}` at {} is not a name of Python: it is written `{python}`.", case.at());
    let patch = suggest(case.step, Rule::Literal, true, format!("write {name} as {python}"), new);
    Some(case.here(Cause::ForeignLiteral, text).with(patch))
}

/// The step's text with a name replaced wherever it stands.
fn renamed(case: &Case<'_>, old: &str, new: &str) -> Option<String> {
    let pieces = case.look(|code| rename::of_name(code, old, new))?;
    if pieces.is_empty() {
        return None;
    }
    replaced(case.step.text, pieces)
}

/// The name is bound, but not where or when it is needed.
fn bound_elsewhere(case: &Case<'_>, name: &str) -> Option<Finding> {
    let failure = case.failure;
    let at = case.at();
    // In a function that was called too early, what counts is which step was executed.
    let runs = failure.step_text(failure.step).unwrap_or(case.step);
    if let Some(finding) = deleted(case, name) {
        return Some(finding);
    }
    let own_line = first_binding(runs, name);
    if let Some(line) = own_line.filter(|line| !std::ptr::eq(runs, case.step) || *line >= case.line) {
        let text = format!(
            "`{name}` is used at {at}, but it is bound only at line {line} of {}: the lines are in the wrong order.",
            runs.id
        );
        return Some(case.finding(Cause::DefinedLater, runs.id.clone(), text));
    }
    if let Some(before) = failure.before(runs.id).find(|step| writes_at_top(step, name)) {
        let why = match before.status {
            Status::Failed => format!("it failed, so what it made was undone; mend {} first", before.id),
            Status::Blocked => "it is blocked by a step that failed".to_owned(),
            Status::Stale | Status::Never => "it has not run since it was changed: run it again".to_owned(),
            Status::Fresh | Status::Running => "on the path that it took it did not bind it".to_owned(),
        };
        let text = format!("`{name}`, used at {at}, is written by {}, but {why}.", before.id);
        return Some(case.finding(Cause::UndefinedName, before.id.clone(), text));
    }
    if own_line.is_some() && writes_at_top(runs, name) {
        let text = format!("`{name}`, used at {at}, is bound in {} only on a path that was not taken.", runs.id);
        return Some(case.here(Cause::UndefinedName, text));
    }
    if let Some(later) = failure.after(runs.id).find(|step| writes_at_top(step, name)) {
        let text = format!(
            "`{name}` is used at {at}, but only {} writes it, which comes later. Steps run in order: one of the two \
             has to move.",
            later.id
        );
        let advice = advise(Rule::Reorder, format!("move {} before {}, or {} after it", later.id, runs.id, runs.id));
        return Some(case.finding(Cause::DefinedLater, later.id.clone(), text).with([advice]));
    }
    if let Some(finding) = attribute_of_self(case, name) {
        return Some(finding);
    }
    if let Some((step, function)) = local_elsewhere(case, name) {
        let text = format!(
            "`{name}`, used at {at}, exists only inside `{function}` of {}: what a function binds is gone when it \
             returns. Whether it should return it, or bind it outside, is a choice.",
            step.id
        );
        return Some(case.finding(Cause::LocalElsewhere, step.id.clone(), text));
    }
    let writers = failure.world.writers(name);
    if let Some(gone) = writers.iter().find(|id| failure.step_text(id).is_none()) {
        let text = format!("`{name}`, used at {at}, was written by {gone}, which was removed.");
        let advice = advise(Rule::RestoreStep, format!("bring {gone} back, or make `{name}` elsewhere"));
        return Some(case.here(Cause::DefinedInRemoved, text).with([advice]));
    }
    if let Some(step) = writers.iter().find_map(|id| failure.step_text(id)).filter(|step| step.id != runs.id) {
        let text = format!(
            "`{name}`, used at {at}, was written by an earlier version of {}, and its present text does not bind it \
             any more.",
            step.id
        );
        let advice = advise(Rule::RestoreStep, format!("look at what changed in {}", step.id));
        return Some(case.finding(Cause::DefinedInRemoved, step.id.clone(), text).with([advice]));
    }
    None
}

/// A step unbound the name.
fn deleted(case: &Case<'_>, name: &str) -> Option<Finding> {
    let failure = case.failure;
    let runs = failure.step_text(failure.step)?;
    let deletes = |step: &StepText<'_>, until: u32| {
        let own = step.names.occurrences.iter().filter(|place| &*place.name == name && !place.deferred);
        let mut own = own.filter(|place| place.line < until && place.kind != OccurrenceKind::Read);
        let last = own.next_back();
        last.filter(|place| place.kind == OccurrenceKind::Delete).map(|place| place.line)
    };
    let nearest = std::iter::once((runs, case.line)).chain(failure.before(runs.id).map(|step| (step, u32::MAX)));
    for (step, until) in nearest {
        if let Some(line) = deletes(step, until) {
            let text = format!("`{name}`, used at {}, was deleted at line {line} of {}.", case.at(), step.id);
            return Some(case.finding(Cause::UndefinedName, step.id.clone(), text));
        }
        if step.id != runs.id && binds(step, name) {
            return None;
        }
    }
    None
}

fn writes_at_top(step: &StepText<'_>, name: &str) -> bool {
    step.names.writes.contains_key(name) || step.writes(name)
}

/// The first line at which a step itself binds a name.
fn first_binding(step: &StepText<'_>, name: &str) -> Option<u32> {
    let places = step.names.occurrences.iter();
    let bound = places.filter(|place| {
        &*place.name == name
            && !place.deferred
            && matches!(place.kind, OccurrenceKind::Bind | OccurrenceKind::Define | OccurrenceKind::Import)
    });
    bound.map(|place| place.line).min()
}

/// A bare name in a method of a class whose instances have an attribute of that name.
fn attribute_of_self(case: &Case<'_>, name: &str) -> Option<Finding> {
    let frame = case.frame()?;
    let own = format!("self.{name}");
    let found = case.look(|code| {
        let function = code.function(&frame.function, Some(frame.line))?;
        let class = code.class_of(&function)?.to_owned();
        let has_self = function.parameters().first() == Some(&"self");
        let is_set = code.text.contains(&own) || code.function(name, None).is_some_and(|f| code.class_of(&f).is_some());
        (has_self && is_set).then_some(class)
    })??;
    let text = format!(
        "`{name}` at {} is no name of its own, but objects of `{found}` have an attribute of that name: `{own}`.",
        case.at()
    );
    let new = case.look(|code| {
        let here = rename::of_name(code, name, &own).into_iter();
        here.filter(|(range, _)| code.expressions_at(case.line, None).iter().any(|e| bytes(*e) == *range)).collect()
    })?;
    let patch = replaced(case.step.text, new)
        .and_then(|new| suggest(case.step, Rule::NameTypo, false, format!("write {own}"), new));
    Some(case.here(Cause::UndefinedName, text).with(patch))
}

/// A step with a function that has a local of this name, nearest before the failing line first.
fn local_elsewhere<'a>(case: &Case<'a>, name: &str) -> Option<(&'a StepText<'a>, String)> {
    let runs = case.failure.step_text(case.failure.step).unwrap_or(case.step);
    let steps = [runs, case.step].into_iter().chain(case.failure.before(runs.id));
    steps.chain(case.failure.after(runs.id)).find_map(|step| {
        let function = look(step.text, |code| {
            let mut found = None;
            for statement in code.statements() {
                let (Stmt::FunctionDef(_) | Stmt::AsyncFunctionDef(_)) = statement else { continue };
                let Some(own) =
                    targets(statement).first().and_then(|f| code.function(f, Some(code.lines_of(statement).0)))
                else {
                    continue;
                };
                if own.locals().contains(&name) && !own.declares_global(name) {
                    found = Some(own.name.to_owned());
                }
            }
            found
        });
        Some((step, function.flatten()?))
    })
}

/// No step binds it: an import that is missing, another name misspelt, or nothing that can be told.
fn never_bound(case: &Case<'_>, name: &str) -> Finding {
    let at = case.at();
    let uses: Vec<OwnedUse> =
        case.look(|code| rename::uses(code, name).into_iter().map(OwnedUse::from).collect()).unwrap_or_default();
    let uses: Vec<Use<'_>> = uses.iter().map(OwnedUse::lent).collect();
    let near = near_names(case, name, &uses);
    let givers = if uses.is_empty() { Vec::new() } else { known::givers(name, &uses) };
    let there: Vec<Option<bool>> = givers.iter().map(|giver| installed(case, &giver.module)).collect();
    match givers.as_slice() {
        [] => {}
        [giver] => {
            let is_there = there.first().copied().flatten();
            let package = giver.module.split('.').next().unwrap_or_default();
            let mut finding = case.here(
                Cause::MissingImport,
                format!("`{name}` is used at {at}, and no step imports or binds it. `{}` gives it.", giver.import),
            );
            if is_there == Some(false) {
                let advice = format!("install {} and import it", known::distribution(package));
                return finding
                    .and(format!("But {package} is not installed for the run's interpreter."))
                    .with([advise(Rule::Install, advice)]);
            }
            if let Some(other) = near.first() {
                finding = finding.and(format!("It may also be `{other}` misspelt."));
            }
            let new = with_import(case.step.text, &giver.import);
            let safe = near.is_empty() && is_there.unwrap_or_else(|| known::is_stdlib(package));
            let patch = suggest(case.step, Rule::AddImport, safe, format!("add `{}`", giver.import), new);
            return finding.with(patch).with(typos(case, name, &near, false));
        }
        several => {
            let modules = or_list(several.iter().map(|giver| giver.module.as_str()));
            let text = format!("`{name}` is used at {at}, and nothing binds it. It may come from {modules}.");
            let patches = several.iter().filter_map(|giver| {
                let new = with_import(case.step.text, &giver.import);
                suggest(case.step, Rule::AddImport, false, format!("add `{}`", giver.import), new)
            });
            return case.here(Cause::MissingImport, text).with(patches);
        }
    }
    match near.as_slice() {
        [] => {
            let text = format!("Nothing in the run binds `{name}`, which is used at {at}, and no name is close to it.");
            case.here(Cause::UndefinedName, text)
        }
        [one] if builtins::is_builtin(one) => {
            let text = format!(
                "Nothing binds `{name}`, which is used at {at}. The builtin `{one}` is close to it, but that may be chance."
            );
            case.here(Cause::MisspeltName, text).with(typos(case, name, &near, false))
        }
        [one] => {
            let from = case.failure.before(case.failure.step).find(|step| step.writes(one));
            let whence = from.map(|step| format!(", which {} writes", step.id)).unwrap_or_default();
            let text =
                format!("Nothing binds `{name}`, which is used at {at}; one name is close to it: `{one}`{whence}.");
            let fits = !is_bound_somewhere(case, name);
            case.here(Cause::MisspeltName, text).with(typos(case, name, &near, fits))
        }
        several => {
            let names = or_list(several.iter().map(|name| name.as_str()));
            let text = format!("Nothing binds `{name}`, which is used at {at}. It may be {names} misspelt.");
            case.here(Cause::MisspeltName, text).with(typos(case, name, &near, false))
        }
    }
}

fn typos(case: &Case<'_>, name: &str, near: &[String], safe: bool) -> Vec<Suggestion> {
    let one = |other: &String| {
        let new = renamed(case, name, other)?;
        suggest(case.step, Rule::NameTypo, safe, format!("write {name} as {other}"), new)
    };
    near.iter().take(4).filter_map(one).collect()
}

/// Whether a module is there, by the interpreter's word.
fn installed(case: &Case<'_>, module: &str) -> Option<bool> {
    case.failure.world.is_there(module.split('.').next().unwrap_or(module))
}

/// The names that can be seen where it failed and are close to `name`, nearest first.
fn near_names(case: &Case<'_>, name: &str, uses: &[Use<'_>]) -> Vec<String> {
    let runs = case.failure.step_text(case.failure.step).unwrap_or(case.step);
    let own: Vec<String> = case
        .look(|code| {
            let mut names: Vec<String> = Vec::new();
            for frame in case.frames.iter().take(1) {
                if let Some(function) = code.function(&frame.function, Some(frame.line)) {
                    names.extend(function.parameters().into_iter().chain(function.locals()).map(str::to_owned));
                }
            }
            names.extend(comprehended(code, case.line));
            names
        })
        .unwrap_or_default();
    let before = runs.names.occurrences.iter().filter(|place| {
        let bound = matches!(place.kind, OccurrenceKind::Bind | OccurrenceKind::Define | OccurrenceKind::Import);
        bound && !place.deferred && (place.line <= case.line || !std::ptr::eq(runs, case.step))
    });
    let mut known: Vec<String> = own;
    known.extend(before.map(|place| place.name.to_string()));
    for step in case.failure.before(runs.id).filter(|step| step.status != Status::Failed) {
        known.extend(step.names.writes.keys().filter(|name| step.writes(name)).map(ToString::to_string));
    }
    known.extend(builtins::names().map(str::to_owned));
    // What is called is no plain value.
    let called = uses.contains(&Use::Call);
    let fits = |other: &&String| !called || !holds_plain(case, other);
    let found = near::close(name, known.iter().filter(fits).map(String::as_str));
    found.into_iter().map(str::to_owned).collect()
}

/// The names that comprehensions and lambdas on a line bind.
fn comprehended(code: &Code<'_>, line: u32) -> Vec<String> {
    let mut found = Vec::new();
    for expression in code.expressions_at(line, None) {
        let generators = match expression {
            Expr::ListComp(e) => &e.generators,
            Expr::SetComp(e) => &e.generators,
            Expr::DictComp(e) => &e.generators,
            Expr::GeneratorExp(e) => &e.generators,
            Expr::Lambda(e) => {
                found.extend(e.args.args.iter().map(|arg| arg.def.arg.to_string()));
                continue;
            }
            _ => continue,
        };
        for one in generators {
            if let Expr::Name(name) = &one.target {
                found.push(name.id.to_string());
            }
        }
    }
    found
}

/// Whether the last step that binds a name gives it a number, a text or a collection.
fn holds_plain(case: &Case<'_>, name: &str) -> bool {
    let runs = case.failure.step_text(case.failure.step).unwrap_or(case.step);
    let writer = std::iter::once(runs).chain(case.failure.before(runs.id)).find(|step| binds(step, name));
    let plain = |code: &Code<'_>| {
        matches!(code.binding(name, None), Some(Stmt::Assign(s)) if matches!(&*s.value,
            Expr::Constant(_) | Expr::List(_) | Expr::Dict(_) | Expr::Set(_) | Expr::Tuple(_) | Expr::ListComp(_) | Expr::DictComp(_)))
    };
    writer.and_then(|step| look(step.text, plain)).unwrap_or(false)
}

/// A local of a function that is read before it is bound.
fn unbound(case: &Case<'_>, name: &str) -> Finding {
    let function = case.frame().map(|frame| frame.function.as_str()).unwrap_or_default();
    let line = case.look(|code| {
        let function = code.function(function, Some(case.line))?;
        let mut found = None;
        for statement in code.statements() {
            let inside = code.is_at(function.statement, code.lines_of(statement).0);
            if inside
                && !std::ptr::eq(statement, function.statement)
                && targets(statement).contains(&name)
                && found.is_none()
            {
                found = Some(code.lines_of(statement).0);
            }
        }
        found
    });
    let bound = match line.flatten() {
        Some(line) => format!("since line {line} assigns it, it is a local of `{function}` everywhere in it"),
        None => format!("it is a local of `{function}`"),
    };
    let outside = case.failure.steps.iter().any(|step| step.names.writes.contains_key(name));
    let choice = if outside {
        format!(
            "The run has a name `{name}` too: whether that is meant (`global {name}`), or a parameter, or another \
             name, is a choice."
        )
    } else {
        "On the path that was taken nothing has bound it before.".to_owned()
    };
    let text = format!("`{name}` is read at {} before it is bound: {bound}. {choice}", case.at());
    case.here(Cause::UnboundLocal, text)
}

/// A [`Use`] that outlives the tree.
enum OwnedUse {
    Attribute(String),
    Call,
    Plain,
}

impl From<Use<'_>> for OwnedUse {
    fn from(how: Use<'_>) -> Self {
        match how {
            Use::Attribute(name) => Self::Attribute(name.to_owned()),
            Use::Call => Self::Call,
            Use::Plain => Self::Plain,
        }
    }
}

impl OwnedUse {
    fn lent(&self) -> Use<'_> {
        match self {
            Self::Attribute(name) => Use::Attribute(name),
            Self::Call => Use::Call,
            Self::Plain => Use::Plain,
        }
    }
}
