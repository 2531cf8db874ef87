//! The names in the shown source that tie it to other steps: read from some, written for others.

use std::collections::BTreeMap;
use std::ops::Range;

use super::model::{Model, Pane};
use super::run::RunIndex;
use crate::step::{Name, StepId};
use crate::ui::theme::Role;
use crate::ui::view::highlight::Token;

/// What a name is to the step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Use {
    /// Places of the steps that it comes from.
    pub from: Vec<usize>,
    /// Places of the steps that use it.
    pub to: Vec<usize>,
}

/// The names of one step that tie it to others.
#[derive(Debug, Clone, Default)]
pub struct Names {
    of: Option<(StepId, u64)>,
    uses: BTreeMap<Name, Use>,
}

impl Names {
    /// Works them out for a step, unless they are known.
    pub fn take(&mut self, step: Option<&StepId>, run: &RunIndex) {
        let of = step.map(|step| (step.clone(), run.structure));
        if self.of == of {
            return;
        }
        self.uses.clear();
        if let Some(at) = step.and_then(|step| run.place(step)) {
            for edge in run.needs(at) {
                edge.names.iter().for_each(|name| self.uses.entry(name.clone()).or_default().from.push(edge.from));
            }
            for edge in run.users(at) {
                edge.names.iter().for_each(|name| self.uses.entry(name.clone()).or_default().to.push(edge.to));
            }
        }
        self.of = of;
    }

    /// What a name is to the step.
    pub fn find(&self, name: &str) -> Option<&Use> {
        self.uses.get(name)
    }

    /// Where in a line such names stand. Strings, comments and attributes are none.
    pub fn links(&self, line: &str, tokens: &[Token]) -> Vec<Range<usize>> {
        if self.uses.is_empty() {
            return Vec::new();
        }
        let text = |at: usize| {
            let quiet = [Role::String, Role::Comment, Role::DocString, Role::Escape];
            tokens.iter().any(|token| token.bytes.contains(&at) && quiet.contains(&token.role))
        };
        identifiers(line)
            .filter(|range| self.uses.contains_key(line.get(range.clone()).unwrap_or_default()))
            .filter(|range| !line.get(..range.start).is_some_and(|before| before.trim_end().ends_with('.')))
            .filter(|range| !text(range.start))
            .collect()
    }
}

/// The identifiers of a line of Python, as ranges of bytes.
fn identifiers(line: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = line.get(at..)?;
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let start = at + rest.find(part)?;
        let word = line.get(start..)?;
        let end = start + word.find(|c: char| !part(c)).unwrap_or(word.len());
        at = end;
        Some(start..end)
    })
    .filter(|range| !line.get(range.clone()).is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit())))
}

impl Model {
    /// The names in the line of the source under the cursor.
    pub fn links(&self) -> Vec<Range<usize>> {
        let line = self.source.window.cursor;
        self.names.links(self.source.lines.line(line), self.source.tokens(line))
    }

    /// The name that the cursor is on: in the source the chosen one of its line, or the first; among the variables
    /// that of the row.
    pub fn name_under_cursor(&self) -> Option<String> {
        match self.focus {
            Pane::State => self.state.name_at(self.state.window.cursor),
            Pane::Source => {
                let links = self.links();
                let link = links.get(self.source.link.unwrap_or(0).min(links.len().saturating_sub(1)))?.clone();
                self.source.lines.line(self.source.window.cursor).get(link).map(str::to_owned)
            }
            _ => None,
        }
    }

    /// The steps that wrote a name for the shown step, or that use it: their places.
    pub fn tied(&self, name: &str, readers: bool) -> Vec<usize> {
        let mut places = match self.focus {
            Pane::Source => {
                let found = self.names.find(name);
                found.map(|found| if readers { found.to.clone() } else { found.from.clone() }).unwrap_or_default()
            }
            _ => {
                let variable = self.state.list().iter().find(|variable| variable.name == name);
                let writer = variable.and_then(|variable| self.run.place(variable.written_by.as_ref()?));
                match (readers, writer) {
                    (false, writer) => writer.into_iter().collect(),
                    (true, None) => Vec::new(),
                    (true, Some(writer)) => {
                        let carries = |names: &[Name]| names.iter().any(|n| &**n == name);
                        self.run.users(writer).filter(|edge| carries(&edge.names)).map(|edge| edge.to).collect()
                    }
                }
            }
        };
        places.sort_unstable();
        places.dedup();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        names.uses.insert("df".into(), Use { from: vec![0], to: vec![] });
        names.uses.insert("total".into(), Use { from: vec![], to: vec![3] });
        names
    }

    #[test]
    fn names_are_found_where_they_are_names() {
        let found = |line: &'static str| {
            names().links(line, &[]).into_iter().map(|range| (range.start, &line[range])).collect::<Vec<_>>()
        };
        assert_eq!(found("total = df.df + df2 + adf"), [(0, "total"), (8, "df")]);
        assert_eq!(found("x. df"), []);
        assert_eq!(found("1df é世df = df"), [(14, "df")]);
    }

    #[test]
    fn strings_and_comments_hold_no_names() {
        let line = "x = 'df'  # df";
        let tokens = [Token { bytes: 4..8, role: Role::String }, Token { bytes: 10..14, role: Role::Comment }];
        assert!(names().links(line, &tokens).is_empty());
    }
}
