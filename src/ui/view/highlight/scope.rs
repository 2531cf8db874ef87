//! From the scopes of a grammar to the roles of a theme.

use std::collections::HashMap;
use std::sync::OnceLock;

use syntect::parsing::{Scope, ScopeStack};

use crate::ui::theme::Role;

/// Scopes by their front, as Sublime Text's grammars name them
/// (<https://www.sublimetext.com/docs/scope_naming.html>). The longest front that fits decides.
const ROLES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("comment.block.documentation", Role::DocString),
    ("constant", Role::Constant),
    ("constant.character.escape", Role::Escape),
    ("constant.numeric", Role::Number),
    ("constant.other.format-spec", Role::Escape),
    ("constant.other.placeholder", Role::Escape),
    ("entity.name.class", Role::Type),
    ("entity.name.function", Role::Function),
    ("entity.name.section", Role::Heading),
    ("entity.name.type", Role::Type),
    ("entity.name.tag", Role::Keyword),
    ("entity.other.inherited-class", Role::Type),
    ("invalid", Role::Invalid),
    ("keyword", Role::Keyword),
    ("keyword.operator", Role::Operator),
    ("keyword.operator.logical.python", Role::Keyword),
    ("markup.bold", Role::Strong),
    ("markup.changed", Role::Changed),
    ("markup.deleted", Role::Removed),
    ("markup.heading", Role::Heading),
    ("markup.inserted", Role::Added),
    ("markup.italic", Role::Emphasis),
    ("markup.raw.inline", Role::String),
    ("markup.underline.link", Role::Link),
    ("meta.annotation.arguments", Role::Variable),
    ("meta.diff.header", Role::Heading),
    ("meta.diff.range", Role::Hunk),
    ("meta.interpolation", Role::Variable),
    ("punctuation", Role::Punctuation),
    ("punctuation.definition.annotation", Role::Decorator),
    ("punctuation.definition.raw", Role::Punctuation),
    ("punctuation.definition.variable", Role::SelfName),
    ("punctuation.definition.parameter", Role::Parameter),
    ("punctuation.section.interpolation", Role::Escape),
    ("storage", Role::Keyword),
    ("storage.type.string", Role::String),
    ("storage.modifier.conversion", Role::Escape),
    ("string", Role::String),
    ("string.unquoted.shell", Role::Variable),
    ("support.constant", Role::Constant),
    ("support.function", Role::Builtin),
    ("support.type", Role::Type),
    ("support.class", Role::Type),
    ("variable.annotation", Role::Decorator),
    ("variable.function", Role::Function),
    ("variable.language", Role::SelfName),
    ("variable.other.constant", Role::Constant),
    ("variable.other.readwrite.shell", Role::Parameter),
    ("variable.parameter", Role::Parameter),
];

/// What belongs to the thing that it opens, closes or parts.
const TRANSPARENT: [&str; 5] = [
    "punctuation.definition.comment",
    "punctuation.definition.heading",
    "punctuation.definition.numeric",
    "punctuation.definition.string",
    "punctuation.separator.decimal",
];

struct Table {
    /// The longest first.
    fronts: Vec<(Scope, Option<Role>)>,
    key: Option<Scope>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let named = ROLES.iter().map(|(name, role)| (*name, Some(*role)));
        let all = named.chain(TRANSPARENT.map(|name| (name, None)));
        let mut fronts: Vec<_> = all.filter_map(|(name, role)| Some((Scope::new(name).ok()?, role))).collect();
        fronts.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
        Table { fronts, key: Scope::new("meta.mapping.key.json").ok() }
    })
}

/// Remembers what scopes came to: a grammar uses a few hundred, again and again.
#[derive(Debug, Clone, Default)]
pub(super) struct Roles {
    known: HashMap<Scope, Option<Role>>,
}

impl Roles {
    /// The role of text under these scopes: that of the innermost that has one.
    pub fn of(&mut self, stack: &ScopeStack) -> Option<Role> {
        let scopes = stack.as_slice();
        let role = scopes.iter().rev().find_map(|scope| self.scope(*scope))?;
        let is_key = role == Role::String && table().key.is_some_and(|key| scopes.iter().any(|s| key.is_prefix_of(*s)));
        Some(if is_key { Role::Function } else { role }).filter(|role| *role != Role::Variable)
    }

    fn scope(&mut self, scope: Scope) -> Option<Role> {
        *self.known.entry(scope).or_insert_with(|| {
            table().fronts.iter().find(|(front, _)| front.is_prefix_of(scope)).and_then(|(_, role)| *role)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn role(scopes: &str) -> Option<Role> {
        Roles::default().of(&ScopeStack::from_str(scopes).unwrap())
    }

    #[test]
    fn the_innermost_scope_with_a_role_decides() {
        assert_eq!(
            role("source.python meta.function.python entity.name.function.python meta.generic-name.python"),
            Some(Role::Function)
        );
        assert_eq!(
            role("source.python string.quoted.double.python constant.character.escape.python"),
            Some(Role::Escape)
        );
        assert_eq!(role("source.python meta.qualified-name.python"), None);
    }

    #[test]
    fn code_within_a_string_is_not_a_string() {
        let inside =
            "source.python meta.string.interpolated.python string.quoted.double.python meta.interpolation.python";
        assert_eq!(role(&format!("{inside} source.python.embedded meta.generic-name.python")), None);
        assert_eq!(role(&format!("{inside} punctuation.section.interpolation.begin.python")), Some(Role::Escape));
    }

    #[test]
    fn the_keys_of_an_object_are_not_like_its_values() {
        assert_eq!(role("source.json meta.mapping.key.json string.quoted.double.json"), Some(Role::Function));
        assert_eq!(role("source.json meta.mapping.value.json string.quoted.double.json"), Some(Role::String));
    }

    #[test]
    fn every_front_is_a_scope() {
        assert_eq!(table().fronts.len(), ROLES.len() + TRANSPARENT.len());
    }
}
