//! The variables as of the chosen step: a tree that opens into values, with tables, and compared with another moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::window::Window;
use crate::step::{StepId, Variable};
use crate::workbench::{Inside, Table};

/// A way into a variable: its name, and the places of parts.
pub type Way = (String, Vec<usize>);

/// A row of the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// The variable at this place of the list.
    Variable(usize),
    /// A variable that the moment compared with had and this one has not: its place in that list.
    Gone(usize),
    /// A part: the way to what it is part of, and its place there.
    Part(Way, usize),
    /// A line of a table: the way to it, and which line.
    Table(Way, TableLine),
    /// What is inside is being asked for.
    Asking(usize),
    /// So many further parts are not shown.
    More(usize, usize),
}

/// A line of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableLine {
    /// The columns' labels.
    Head,
    /// Their types.
    Types,
    /// How their values spread.
    Bars,
    /// Least and greatest.
    Range,
    /// A row, by its place among those that are shown.
    Cells(usize),
}

/// How a variable compares with the other moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is the same.
    Same,
    /// It has another value.
    Changed,
    /// It is new.
    Added,
}

/// The panel's state.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// As of right after which step.
    pub at: Option<StepId>,
    /// The variables; `None` until they are told.
    pub variables: Option<Arc<Vec<Variable>>>,
    /// The variables of another moment, to compare with.
    pub other: Option<(StepId, Arc<Vec<Variable>>)>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is seen.
    pub window: Window,
    /// What is opened.
    open: BTreeSet<Way>,
    /// What is inside, as far as it was told for this moment.
    inside: BTreeMap<Way, Arc<Inside>>,
}

impl State {
    /// Takes the variables right after a step. Gives the ways whose inside must be asked for.
    pub fn take(&mut self, at: StepId, variables: Arc<Vec<Variable>>) -> Vec<Way> {
        let before = self.name_at(self.window.cursor);
        self.at = Some(at);
        // By name, so that a variable stays where it is from step to step.
        let mut sorted = variables.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        self.variables = Some(Arc::new(sorted));
        self.inside.clear();
        self.rebuild();
        if let Some(name) = before
            && let Some(row) = self.rows.iter().position(|row| self.is_variable(row, &name))
        {
            self.window.cursor = row;
        }
        let list = self.list();
        self.open.iter().filter(|(name, _)| list.iter().any(|v| v.name == *name)).cloned().collect()
    }

    /// Takes what is inside a variable.
    pub fn take_inside(&mut self, at: &StepId, way: Way, inside: Arc<Inside>) {
        if self.at.as_ref() == Some(at) {
            self.inside.insert(way, inside);
            self.rebuild();
        }
    }

    /// Nothing is known.
    pub fn clear(&mut self) {
        (self.at, self.variables) = (None, None);
        self.inside.clear();
        self.rows.clear();
    }

    /// The variables are about to be told.
    pub fn wait(&mut self) {
        self.variables = None;
        self.rows.clear();
    }

    /// The variables, empty until they are told.
    pub fn list(&self) -> &[Variable] {
        self.variables.as_deref().map_or(&[], Vec::as_slice)
    }

    /// What is inside, if it was told.
    pub fn inside(&self, way: &Way) -> Option<&Inside> {
        self.inside.get(way).map(Arc::as_ref)
    }

    /// The table at a way.
    pub fn table(&self, way: &Way) -> Option<&Table> {
        self.inside(way)?.table.as_ref()
    }

    /// Whether a row is opened.
    pub fn is_open(&self, row: &Row) -> bool {
        self.way(row).is_some_and(|way| self.open.contains(&way))
    }

    /// Whether a row can be opened.
    pub fn opens(&self, row: &Row) -> bool {
        match row {
            Row::Variable(at) => self.list().get(*at).is_some_and(opens),
            Row::Part(way, at) => {
                self.inside(way).and_then(|inside| inside.parts.get(*at)).is_some_and(|part| part.opens)
            }
            _ => false,
        }
    }

    /// The way that a row stands for.
    pub fn way(&self, row: &Row) -> Option<Way> {
        match row {
            Row::Variable(at) => Some((self.list().get(*at)?.name.clone(), Vec::new())),
            Row::Part((name, path), at) => {
                let mut path = path.clone();
                path.push(*at);
                Some((name.clone(), path))
            }
            _ => None,
        }
    }

    /// The variable that a row belongs to.
    pub fn name_at(&self, row: usize) -> Option<String> {
        match self.rows.get(row)? {
            Row::Variable(at) => Some(self.list().get(*at)?.name.clone()),
            Row::Gone(at) => Some(self.other.as_ref()?.1.get(*at)?.name.clone()),
            Row::Part(way, _) | Row::Table(way, _) => Some(way.0.clone()),
            Row::Asking(_) | Row::More(..) => None,
        }
    }

    fn is_variable(&self, row: &Row, name: &str) -> bool {
        matches!(row, Row::Variable(at) if self.list().get(*at).is_some_and(|v| v.name == name))
    }

    /// Opens or closes the row under the cursor; gives the way whose inside must be asked for.
    pub fn toggle(&mut self) -> Option<Way> {
        let row = self.rows.get(self.window.cursor)?;
        let way = self.way(row)?;
        let opens = self.opens(row);
        let ask = if self.open.remove(&way) {
            None
        } else if opens {
            self.open.insert(way.clone());
            (!self.inside.contains_key(&way)).then_some(way)
        } else {
            None
        };
        self.rebuild();
        ask
    }

    /// Closes what the cursor is in and goes to its row; says whether there was anything.
    pub fn close(&mut self) -> bool {
        let way = match self.rows.get(self.window.cursor) {
            Some(row @ Row::Variable(_)) if self.is_open(row) => self.way(row),
            Some(row @ Row::Part(way, _)) => {
                if self.is_open(row) {
                    self.way(row)
                } else {
                    Some(way.clone())
                }
            }
            Some(Row::Table(way, _)) => Some(way.clone()),
            _ => None,
        };
        let Some(way) = way.filter(|way| self.open.remove(way)) else { return false };
        self.rebuild();
        if let Some(row) = self.rows.iter().position(|row| self.way(row).as_ref() == Some(&way)) {
            self.window.cursor = row;
        }
        true
    }

    /// Keeps this moment to compare others with, or compares no more.
    pub fn compare(&mut self) -> bool {
        self.other = match (self.other.take(), &self.at, &self.variables) {
            (None, Some(at), Some(variables)) => Some((at.clone(), variables.clone())),
            _ => None,
        };
        self.rebuild();
        self.other.is_some()
    }

    /// How a variable compares with the other moment; `None` while nothing is compared.
    pub fn change(&self, variable: &Variable) -> Option<Change> {
        let (_, other) = self.other.as_ref()?;
        Some(match other.iter().find(|v| v.name == variable.name) {
            None => Change::Added,
            Some(v) if same(v, variable) => Change::Same,
            Some(_) => Change::Changed,
        })
    }

    fn rebuild(&mut self) {
        let list = self.list();
        // Data first, what the step itself made before all: what was imported or defined is rarely what one looks for.
        let mut order: Vec<usize> = (0..list.len()).collect();
        let made = |v: &Variable| v.written_by.is_some() && v.written_by == self.at;
        order.sort_by_key(|&at| list.get(at).map(|v| (is_definition(v), !made(v))));
        if self.other.is_some() {
            // What differs first.
            order.sort_by_key(|&at| list.get(at).and_then(|v| self.change(v)) == Some(Change::Same));
        }
        let mut rows = Vec::new();
        for at in order {
            rows.push(Row::Variable(at));
            if let Some(variable) = list.get(at) {
                self.unfold((variable.name.clone(), Vec::new()), &mut rows);
            }
        }
        if let Some((_, other)) = &self.other {
            let gone = |v: &Variable| !list.iter().any(|here| here.name == v.name);
            rows.extend(other.iter().enumerate().filter(|(_, v)| gone(v)).map(|(at, _)| Row::Gone(at)));
        }
        self.rows = rows;
    }

    fn unfold(&self, way: Way, rows: &mut Vec<Row>) {
        if !self.open.contains(&way) {
            return;
        }
        let depth = way.1.len() + 1;
        let Some(inside) = self.inside(&way) else {
            rows.push(Row::Asking(depth));
            return;
        };
        if let Some(table) = &inside.table {
            let mut line = |line| rows.push(Row::Table(way.clone(), line));
            line(TableLine::Head);
            line(TableLine::Types);
            if table.columns.iter().any(|column| !column.bars.is_empty()) {
                line(TableLine::Bars);
            }
            if table.columns.iter().any(|column| column.least.is_some()) {
                line(TableLine::Range);
            }
            (0..table.index.len()).for_each(|at| line(TableLine::Cells(at)));
            if table.rows > table.index.len() {
                rows.push(Row::More(depth, table.rows - table.index.len()));
            }
        }
        for at in 0..inside.parts.len() {
            rows.push(Row::Part(way.clone(), at));
            let mut path = way.1.clone();
            path.push(at);
            self.unfold((way.0.clone(), path), rows);
        }
        if inside.total > inside.parts.len() {
            rows.push(Row::More(depth, inside.total - inside.parts.len()));
        }
    }
}

/// Whether a variable is likely to have an inside.
fn opens(variable: &Variable) -> bool {
    let flat =
        ["int", "float", "bool", "NoneType", "complex", "module", "function", "type", "builtin_function_or_method"];
    let one_line = variable.type_name == "str" && !variable.repr.contains("\\n");
    !one_line && !flat.contains(&variable.type_name.as_str()) && variable.shape.as_deref() != Some("len 0")
}

/// Whether a variable was imported or defined rather than computed.
pub fn is_definition(variable: &Variable) -> bool {
    matches!(variable.type_name.as_str(), "module" | "function" | "type" | "builtin_function_or_method" | "ABCMeta")
}

fn same(a: &Variable, b: &Variable) -> bool {
    match (&a.digest, &b.digest) {
        (Some(x), Some(y)) => x == y,
        _ => a.repr == b.repr && a.type_name == b.type_name && a.shape == b.shape,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workbench::Part;

    fn variable(name: &str, type_name: &str, repr: &str) -> Variable {
        Variable {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            repr: repr.to_owned(),
            truncated: false,
            digest: None,
            written_by: None,
            shape: None,
        }
    }

    fn state(variables: Vec<Variable>) -> State {
        let mut state = State::default();
        state.take("a".parse().unwrap(), variables.into());
        state
    }

    fn names(state: &State) -> Vec<String> {
        (0..state.rows.len()).filter_map(|row| state.name_at(row)).collect()
    }

    #[test]
    fn data_comes_before_what_was_defined() {
        let state =
            state(vec![variable("json", "module", ""), variable("x", "int", "1"), variable("f", "function", "")]);
        assert_eq!(names(&state), ["x", "f", "json"]);
    }

    #[test]
    fn a_value_opens_and_stays_open_in_the_next_moment() {
        let mut state = state(vec![variable("d", "dict", "{}")]);
        let way: Way = ("d".to_owned(), Vec::new());
        assert_eq!(state.toggle(), Some(way.clone()));
        assert_eq!(state.rows, [Row::Variable(0), Row::Asking(1)]);
        let part = Part { key: "'a'".into(), type_name: "int".into(), repr: "1".into(), shape: None, opens: false };
        let inside = Inside { parts: vec![part], total: 3, table: None };
        state.take_inside(&"a".parse().unwrap(), way.clone(), inside.into());
        assert_eq!(state.rows, [Row::Variable(0), Row::Part(way.clone(), 0), Row::More(1, 2)]);
        assert_eq!(state.take("b".parse().unwrap(), vec![variable("d", "dict", "{}")].into()), [way]);
        state.window.cursor = 1;
        assert_eq!(state.toggle(), None);
        state.window.cursor = 0;
        assert!(state.close());
        assert_eq!(state.rows.len(), 1);
    }

    #[test]
    fn moments_are_compared_by_value() {
        let mut state =
            state(vec![variable("same", "int", "1"), variable("other", "int", "1"), variable("gone", "int", "1")]);
        assert!(state.compare());
        state.take(
            "b".parse().unwrap(),
            vec![variable("same", "int", "1"), variable("other", "int", "2"), variable("new", "int", "1")].into(),
        );
        assert_eq!(names(&state), ["new", "other", "same", "gone"]);
        let change = |name: &str| state.change(state.list().iter().find(|v| v.name == name).unwrap());
        assert_eq!(change("same"), Some(Change::Same));
        assert_eq!(change("other"), Some(Change::Changed));
        assert_eq!(change("new"), Some(Change::Added));
    }
}
