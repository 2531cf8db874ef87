//! An error that the policy made, said so: what the kernel refused, by which rule, and where that is changed.

use std::path::{Component, Path};

use super::guard::OWN;
use super::task::Settings;
use crate::run::{Area, CONFIG_FILE, Decision, normal};
use crate::step::{Effect, StepError};

/// Operation not permitted, permission denied, resource busy, read-only file system.
const REFUSALS: [&str; 4] = ["1", "13", "16", "30"];

/// Adds a note to an error that comes from the policy, and an effect for a file that was refused. `wrote` tells whether the
/// step meant to change what is at a path.
pub(super) fn explain(
    error: &mut StepError,
    effects: &mut Vec<Effect>,
    settings: &Settings,
    wrote: &dyn Fn(&str) -> bool,
) {
    let refused = error.attributes.get("errno").is_some_and(|number| REFUSALS.contains(&number.as_str()));
    if !refused {
        return;
    }
    if let Some(Effect::Refused { area, target, why }) =
        effects.iter().rev().find(|effect| matches!(effect, Effect::Refused { .. }))
    {
        error.notes.push(if *why == OWN {
            format!("{why}: {target}")
        } else {
            format!("{why}: {area} {target}; `[policy]` in your config.toml says what is allowed")
        });
        return;
    }
    let Some(name) = error.attributes.get("filename") else { return };
    let path = normal(&settings.dir.join(name));
    let writes = error.attributes.get("errno").is_some_and(|number| number == "30" || number == "16")
        || wrote(&path.to_string_lossy());
    let (area, why) = if path.starts_with(&settings.dir) {
        if !writes || !is_protected(&path, &settings.dir) {
            return;
        }
        (Area::Write, OWN)
    } else {
        let area = if writes { Area::Write } else { Area::Read };
        if settings.policy.decide(area, &path.to_string_lossy()) == Decision::Allow {
            return;
        }
        (area, "the policy says no")
    };
    let target = path.to_string_lossy().into_owned();
    let word = area.word();
    error.notes.push(match area {
        Area::Write if path.starts_with(&settings.dir) => format!("{why}: {target}"),
        _ => format!(
            "the policy keeps steps from files outside the run: {word}.allow = [{target:?}] under `[policy]` in your \
             config.toml lets them"
        ),
    });
    effects.push(Effect::Refused { area: word.to_owned(), target, why: why.to_owned() });
}

/// Whether a file of the run is one that steps may not write.
fn is_protected(path: &Path, dir: &Path) -> bool {
    let Ok(inner) = path.strip_prefix(dir) else { return false };
    let first = inner.components().next();
    let own = [".reweave", "patches", CONFIG_FILE].iter().any(|name| first == Some(Component::Normal(name.as_ref())));
    own || inner.extension().is_some_and(|ending| ending == "py" || ending == "sh")
}
