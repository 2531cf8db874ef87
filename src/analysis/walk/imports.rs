//! Imports: `import a.b` binds `a`, and adds to it if it is there.

use rustpython_parser::ast::{self, Alias, Ranged};

use super::super::{Import, OccurrenceKind};
use super::state::Held;
use super::{Walker, start_of};

impl Walker<'_> {
    pub(super) fn import(&mut self, s: &ast::StmtImport) {
        for alias in &s.names {
            let module = alias.name.as_str();
            let bound = match &alias.asname {
                Some(name) => name.as_str(),
                None => module.split('.').next().unwrap_or(module),
            };
            self.bind_import(module.to_owned(), None, bound, alias);
            if module == "__main__" {
                self.make_opaque("imports __main__, the run's own namespace");
            }
        }
    }

    pub(super) fn import_from(&mut self, s: &ast::StmtImportFrom) {
        let dots = s.level.as_ref().map_or(0, |level| level.to_usize()).min(64);
        let module = ".".repeat(dots) + s.module.as_deref().unwrap_or_default();
        for alias in &s.names {
            if alias.name.as_str() == "*" {
                let line = self.line_of(start_of(alias));
                let deferred = self.in_function();
                if self.again == 0 {
                    self.imports.push(Import {
                        module: module.clone(),
                        item: Some("*".into()),
                        binds: None,
                        line,
                        deferred,
                    });
                }
                self.frame().writes_anything = true;
                continue;
            }
            if module == "__future__" && alias.name.as_str() == "annotations" {
                self.postponed = true;
            }
            let bound = alias.asname.as_ref().unwrap_or(&alias.name);
            self.bind_import(module.clone(), Some(alias.name.as_str().to_owned()), bound, alias);
        }
    }

    fn bind_import(&mut self, module: String, item: Option<String>, bound: &str, alias: &Alias) {
        let within = alias.range().start().to_usize()..alias.range().end().to_usize();
        let range = if alias.asname.is_some() { self.find_last(bound, within) } else { self.find(bound, within) };
        self.store(bound, Held::default(), OccurrenceKind::Import, range);
        if self.again == 0 {
            let slot = self.intern_mangled(bound);
            let binds = (self.resolve(slot) == super::Place::Global).then(|| self.name_of(slot).cloned()).flatten();
            let line = self.line_of(start_of(alias));
            let deferred = self.in_function();
            self.imports.push(Import { module, item, binds, line, deferred });
        }
    }
}
