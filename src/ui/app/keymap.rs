//! Which keys mean which action, where.

use std::collections::BTreeMap;

use super::action::{Action, Scope, TABLE};
use super::key::{Chord, Sequence};
use super::model::Pane;

/// The keys in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    scope: Scope,
    sequence: Sequence,
    action: Action,
}

/// What typed chords come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// An action.
    Action(Action),
    /// The beginning of one or more.
    Prefix,
    /// Nothing.
    Nothing,
}

impl Default for Keymap {
    fn default() -> Self {
        let mut bindings = Vec::new();
        for entry in TABLE {
            for keys in entry.keys {
                if let Ok(sequence) = keys.parse() {
                    bindings.push(Binding { scope: entry.scope, sequence, action: entry.action });
                }
            }
        }
        Self { bindings }
    }
}

impl Keymap {
    /// The keys with those of a configuration file put over them: each named action loses its default keys and
    /// has the given ones. What can't be used is left out and told, one line each; a start never fails on it.
    pub fn configured<'a>(keys: impl IntoIterator<Item = (&'a str, Vec<&'a str>)>) -> (Self, Vec<String>) {
        let mut map = Self::default();
        let mut problems = Vec::new();
        let mut given: BTreeMap<(Scope, Sequence), &str> = BTreeMap::new();
        for (name, wanted) in keys {
            let Some(entry) = TABLE.iter().find(|entry| entry.name == name) else {
                problems.push(format!("keys.{name}: there is no such action; `reweave keys` lists them"));
                continue;
            };
            map.bindings.retain(|binding| binding.action != entry.action);
            for text in wanted {
                match text.parse::<Sequence>() {
                    Ok(sequence) => {
                        if let Some(other) = given.insert((entry.scope, sequence.clone()), name) {
                            problems.push(format!("keys.{name}: {sequence} is given to {other} too; {name} has it"));
                        }
                        map.bindings.retain(|b| b.scope != entry.scope || !clash(&b.sequence, &sequence));
                        map.bindings.push(Binding { scope: entry.scope, sequence, action: entry.action });
                    }
                    Err(error) => problems.push(format!("keys.{name}: {error}")),
                }
            }
        }
        (map, problems)
    }

    /// What `typed` means with the focus on `pane`: the panel's own keys go before those of everywhere.
    pub fn find(&self, pane: Pane, typed: &[Chord]) -> Found {
        for scope in [Scope::In(pane), Scope::Anywhere] {
            let mut prefix = false;
            for binding in self.bindings.iter().filter(|binding| binding.scope == scope) {
                if binding.sequence.0 == typed {
                    return Found::Action(binding.action);
                }
                prefix |= binding.sequence.0.starts_with(typed);
            }
            if prefix {
                return Found::Prefix;
            }
        }
        Found::Nothing
    }

    /// The panel in which `typed` means something, and what, where it means nothing with the focus on others.
    pub fn elsewhere(&self, typed: &[Chord]) -> Option<(Pane, Action)> {
        self.bindings.iter().find_map(|binding| match binding.scope {
            Scope::In(pane) if binding.sequence.0 == typed => Some((pane, binding.action)),
            _ => None,
        })
    }

    /// What may follow `typed`: the rest of each sequence that begins so, with its action.
    pub fn continuations(&self, pane: Pane, typed: &[Chord]) -> Vec<(Sequence, Action)> {
        self.bindings
            .iter()
            .filter(|b| b.scope == Scope::Anywhere || b.scope == Scope::In(pane))
            .filter_map(|b| Some((Sequence(b.sequence.0.strip_prefix(typed)?.to_vec()), b.action)))
            .filter(|(rest, _)| !rest.0.is_empty())
            .collect()
    }

    /// The keys of an action, as they are written; empty when it has none.
    pub fn keys(&self, action: Action) -> Vec<String> {
        self.bindings.iter().filter(|b| b.action == action).map(|b| b.sequence.to_string()).collect()
    }

    /// The first key of an action.
    pub fn key(&self, action: Action) -> Option<String> {
        self.bindings.iter().find(|b| b.action == action).map(|b| b.sequence.to_string())
    }
}

/// Whether one of two sequences could not be typed for the other.
fn clash(a: &Sequence, b: &Sequence) -> bool {
    a.0.starts_with(&b.0) || b.0.starts_with(&a.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Vec<Chord> {
        text.parse::<Sequence>().unwrap().0
    }

    #[test]
    fn no_default_key_hides_another() {
        let map = Keymap::default();
        for a in &map.bindings {
            for b in &map.bindings {
                let same_place = a.scope == b.scope;
                assert!(a == b || !same_place || !clash(&a.sequence, &b.sequence), "{a:?} {b:?}");
            }
        }
        for entry in TABLE {
            assert_eq!(map.keys(entry.action).len(), entry.keys.len(), "{}", entry.name);
        }
    }

    #[test]
    fn a_sequence_waits_for_its_second_key() {
        let map = Keymap::default();
        assert_eq!(map.find(Pane::Steps, &typed("g")), Found::Prefix);
        assert_eq!(map.find(Pane::Steps, &typed("g g")), Found::Action(Action::Top));
        assert_eq!(map.find(Pane::Steps, &typed("g x")), Found::Nothing);
        assert!(map.continuations(Pane::Steps, &typed("g")).contains(&(Sequence(typed("g")), Action::Top)));
    }

    #[test]
    fn a_panel_goes_before_everywhere() {
        let map = Keymap::default();
        assert_eq!(map.find(Pane::Steps, &typed("space")), Found::Action(Action::Fold));
        assert_eq!(map.find(Pane::Output, &typed("space")), Found::Nothing);
    }

    #[test]
    fn configured_keys_replace_and_problems_are_told() {
        let (map, problems) = Keymap::configured([
            ("run", vec!["f9", "j"]),
            ("quit", vec!["Q", "hyper-q"]),
            ("fly", vec!["f"]),
            ("stop", vec!["f9"]),
        ]);
        assert_eq!(map.keys(Action::RunStep), ["j"]);
        assert_eq!(map.keys(Action::Down), ["down"]);
        assert_eq!(map.find(Pane::Steps, &typed("x")), Found::Nothing);
        assert_eq!(map.keys(Action::Quit), ["Q"]);
        insta::assert_snapshot!(problems.join("\n"), @r#"
        keys.quit: "hyper-q" is not a key: write one character, or a name like enter, space, ctrl-d, f1
        keys.fly: there is no such action; `reweave keys` lists them
        keys.stop: f9 is given to run too; stop has it
        "#);
    }
}
