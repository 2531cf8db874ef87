//! Code and names that are made while a step runs: `exec`, `eval`, `globals()` and their like.
//!
//! What is constant is read as if it stood in the text. Where a name or a source is computed, the step may
//! read or write any name.

use rustpython_parser::ast::{self, Constant, Expr};
use rustpython_parser::{Mode, parse};

use super::super::{OccurrenceKind, depth, lexical, rewrite};
use super::Walker;
use super::scope::{Binder, Place, Scope, ScopeKind};
use super::state::{Held, Slot};

/// Attributes through which a namespace can be reached.
const NAMESPACE_ATTRIBUTES: &[&str] =
    &["__globals__", "f_globals", "f_locals", "f_builtins", "_getframe", "currentframe", "run_path", "run_module"];

impl Walker<'_> {
    pub(super) fn make_opaque(&mut self, why: &str) {
        if self.is_dead() {
            return;
        }
        let frame = self.frame();
        frame.opaque.get_or_insert_with(|| why.to_owned());
        frame.reads_everything = true;
        frame.writes_anything = true;
    }

    fn read_everything(&mut self, why: &str) {
        if self.is_dead() {
            return;
        }
        let frame = self.frame();
        frame.opaque.get_or_insert_with(|| why.to_owned());
        frame.reads_everything = true;
    }

    /// Whether a name means the builtin, as far as the step itself says.
    fn means_builtin(&mut self, name: &str) -> bool {
        let slot = self.intern_mangled(name);
        self.resolve(slot) == Place::Global && !self.frames.iter().any(|frame| frame.writes.contains(slot))
    }

    /// Whether names here are the run's: at the top of a step, or in a class's body for reading.
    fn at_top(&self) -> bool {
        !self.in_function() && self.scopes.len() == 1
    }

    /// `globals()`, or what is the same at the top: `locals()`, `vars()`.
    fn is_namespace(&mut self, e: &Expr) -> bool {
        let Expr::Call(call) = e else { return false };
        let Expr::Name(name) = &*call.func else { return false };
        if !call.args.is_empty() || !call.keywords.is_empty() {
            return false;
        }
        let is_namespace = match name.id.as_str() {
            "globals" => self.means_builtin("globals"),
            local @ ("locals" | "vars") => self.at_top() && self.means_builtin(local),
            _ => false,
        };
        if is_namespace {
            // A step before may have put something else in its place.
            let range = self.range(name);
            self.load(&name.id, range);
        }
        is_namespace
    }

    /// Calls that need to be understood before their parts are read. `None`: nothing special.
    pub(super) fn dynamic_call(&mut self, e: &ast::ExprCall) -> Option<Held> {
        match &*e.func {
            Expr::Name(name) => match name.id.as_str() {
                "exec" | "eval" if self.means_builtin(&name.id) => self.exec_or_eval(e, name),
                "globals" | "locals" | "vars" | "dir" if e.args.is_empty() && e.keywords.is_empty() => {
                    let is_dir = name.id.as_str() == "dir" && self.at_top() && self.means_builtin("dir");
                    if is_dir {
                        self.read_everything("dir() lists the run's names");
                    } else if self.is_namespace(&Expr::Call(e.clone())) {
                        self.make_opaque("globals() hands out the run's namespace");
                    }
                    None
                }
                "get_ipython" => {
                    self.make_opaque("get_ipython() can run anything");
                    None
                }
                _ => {
                    let only_looks =
                        matches!(name.id.as_str(), "len" | "dict" | "list" | "sorted" | "print" | "set" | "str")
                            && self.means_builtin(&name.id);
                    if !only_looks || !e.args.iter().any(|argument| self.is_namespace(argument)) {
                        return None;
                    }
                    let range = self.range(name);
                    self.load(&name.id, range);
                    self.arguments_but_namespaces(e.args.iter().chain(e.keywords.iter().map(|keyword| &keyword.value)));
                    self.read_everything("globals() is looked at as a whole");
                    Some(Held::default())
                }
            },
            Expr::Attribute(attribute) => self.namespace_method(e, attribute),
            _ => None,
        }
    }

    /// Reads arguments; one that hands out the run's namespace is looked up, and no more.
    fn arguments_but_namespaces<'e>(&mut self, arguments: impl Iterator<Item = &'e Expr>) {
        for argument in arguments {
            if !self.is_namespace(argument) {
                self.expr_used(Some(argument));
            }
        }
    }

    fn exec_or_eval(&mut self, e: &ast::ExprCall, name: &ast::ExprName) -> Option<Held> {
        let is_exec = name.id.as_str() == "exec";
        let source = e.args.first()?;
        // With a namespace of its own the code can't reach the run's.
        let mut spaces = e.args.iter().skip(1).chain(e.keywords.iter().map(|keyword| &keyword.value));
        let space = spaces.next();
        let own_space = match space {
            None => false,
            Some(space) => !self.is_namespace(space) && !matches!(space, Expr::Constant(_)),
        };
        let range = self.range(name);
        self.load(&name.id, range);
        if own_space {
            self.expr_used(Some(source));
            if let Some(space) = space {
                let held = self.expr(space);
                self.consume(&held);
                self.change(space, &held, &Held::default());
            }
            spaces.for_each(|space| self.expr_used(Some(space)));
            return Some(Held::default());
        }
        self.expr_used(Some(source));
        // What it binds is the run's where the namespace that it binds in is: the second that is given, or the first,
        // or else the one around it.
        let bound_in = spaces.next();
        let binds_here = match (space, bound_in) {
            (_, Some(space)) => self.is_namespace(space) || matches!(space, Expr::Constant(_)) && self.at_top(),
            (Some(space), None) => !matches!(space, Expr::Constant(_)) || self.at_top(),
            (None, None) => self.at_top(),
        };
        self.arguments_but_namespaces(bound_in.into_iter().chain(spaces));
        match constant_text(source) {
            Some(text) => self.run_constant(&text, is_exec, binds_here),
            None => self.make_opaque(if is_exec { "exec of a computed source" } else { "eval of a computed source" }),
        }
        Some(Held::default())
    }

    /// Reads constant source as if it stood here, or, where what it binds is not the run's, in a class here.
    fn run_constant(&mut self, text: &str, is_exec: bool, binds_here: bool) {
        let text = if is_exec { text } else { text.trim_start_matches([' ', '\t']) };
        let tokens = lexical::tokens(text);
        let shallow = depth::measure(text, &tokens).is_ok_and(|depth| depth <= depth::SHALLOW);
        if !shallow || self.placeless >= 3 {
            self.make_opaque("exec of a source that is nested too deep");
            return;
        }
        let text = rewrite::rewrite(text, &tokens);
        let mode = if is_exec { Mode::Module } else { Mode::Expression };
        let Ok(tree) = parse(&text, mode, "<constant>") else {
            self.make_opaque("exec of a constant that can't be parsed");
            return;
        };
        self.placeless += 1;
        match &tree {
            ast::Mod::Module(module) if binds_here => self.body(&module.body),
            ast::Mod::Module(module) => self.body_of_its_own(&module.body),
            ast::Mod::Expression(e) => self.expr_used(Some(&e.body)),
            _ => {}
        }
        self.placeless -= 1;
        // The places of functions made there mean nothing in the step's text.
        self.made_at.retain(|(_, _, placeless), _| !placeless);
    }

    /// Reads statements whose names are bound in a namespace of their own, and looked up in the run's besides.
    fn body_of_its_own(&mut self, body: &[ast::Stmt]) {
        self.classes += 1;
        // Names are not private to a class around it.
        let class = Some((self.classes, String::new()));
        let mut binder = Binder::new(self, ScopeKind::Class);
        binder.body(body);
        let scope = binder.finish();
        self.scopes.push(Scope { class, ..scope });
        self.class_held.push(Held::default());
        self.body(body);
        let held = self.class_held.pop().unwrap_or_default();
        self.scopes.pop();
        match self.class_held.last_mut() {
            Some(around) => around.join(&held),
            None => self.consume(&held),
        }
    }

    /// `globals().get("x")` and its like.
    fn namespace_method(&mut self, e: &ast::ExprCall, attribute: &ast::ExprAttribute) -> Option<Held> {
        if !self.is_namespace(&attribute.value) {
            if attribute.attr.as_str() == "format" && self.spreads_namespace(e) {
                return self.format_namespace(e, attribute);
            }
            return None;
        }
        let key = e.args.first().and_then(constant_text);
        let rest: Vec<Held> = e.args.iter().skip(1).map(|argument| self.expr(argument)).collect();
        let stored = rest.into_iter().next().unwrap_or_default();
        match (attribute.attr.as_str(), key) {
            ("get" | "__getitem__" | "__contains__", Some(key)) => Some(self.load_key(&key)),
            ("setdefault", Some(key)) => {
                let held = self.load_key(&key);
                self.conditionally(|walker| walker.store_key(&key, stored));
                Some(held)
            }
            ("pop", Some(key)) => {
                let held = self.load_key(&key);
                self.store_key(&key, Held::default());
                Some(held)
            }
            ("__setitem__", Some(key)) => {
                self.store_key(&key, stored);
                Some(Held::default())
            }
            ("update", _) if e.args.is_empty() => {
                for keyword in &e.keywords {
                    let held = self.expr(&keyword.value);
                    match &keyword.arg {
                        Some(name) => self.store_key(name, held),
                        None => self.make_opaque("globals().update(**…) binds computed names"),
                    }
                }
                Some(Held::default())
            }
            ("update", _) if self.update_by_display(e) => Some(Held::default()),
            ("keys" | "values" | "items" | "copy" | "__len__" | "__iter__", _) => {
                self.read_everything("globals() is looked at as a whole");
                Some(Held::default())
            }
            _ => {
                e.args.iter().for_each(|argument| self.expr_used(Some(argument)));
                self.make_opaque("globals() is used in a way that is not understood");
                Some(Held::default())
            }
        }
    }

    /// `globals().update({"x": 1})`
    fn update_by_display(&mut self, e: &ast::ExprCall) -> bool {
        let [Expr::Dict(dict)] = e.args.as_slice() else { return false };
        let keys: Option<Vec<String>> = dict.keys.iter().map(|key| key.as_ref().and_then(constant_text)).collect();
        let Some(keys) = keys else { return false };
        for (key, value) in keys.iter().zip(&dict.values) {
            let held = self.expr(value);
            self.store_key(key, held);
        }
        true
    }

    fn load_key(&mut self, key: &str) -> Held {
        let name = self.intern(key);
        self.load_global(name, None)
    }

    fn store_key(&mut self, key: &str, held: Held) {
        let name = self.intern(key);
        self.write_global(name, held);
    }

    /// The name that `globals()["x"]` means.
    pub(super) fn namespace_key(&mut self, e: &ast::ExprSubscript) -> Option<Slot> {
        let key = constant_text(&e.slice)?;
        self.is_namespace(&e.value).then(|| self.intern(&key))
    }

    /// `"x" in globals()`
    pub(super) fn asked_of_namespace(&mut self, e: &ast::ExprCompare) -> Option<Slot> {
        let ([op], [right]) = (e.ops.as_slice(), e.comparators.as_slice()) else { return None };
        let key = constant_text(&e.left)?;
        let asks = matches!(op, ast::CmpOp::In | ast::CmpOp::NotIn) && self.is_namespace(right);
        asks.then(|| self.intern(&key))
    }

    /// The value of an attribute.
    pub(super) fn attribute(&mut self, e: &ast::ExprAttribute) -> Held {
        let object = self.expr(&e.value);
        self.consume(&object);
        self.watch_attribute(&e.attr);
        object.element()
    }

    pub(super) fn watch_attribute(&mut self, attribute: &str) {
        if NAMESPACE_ATTRIBUTES.contains(&attribute) {
            let why = format!("{attribute} can reach the run's namespace");
            self.make_opaque(&why);
        }
    }

    /// `builtins.x = …` gives every step a name.
    pub(super) fn store_attribute(&mut self, target: &ast::ExprAttribute, held: &Held) {
        if let Expr::Name(module) = &*target.value
            && matches!(module.id.as_str(), "builtins" | "__builtins__")
        {
            let name = self.intern(&target.attr);
            self.note(name, OccurrenceKind::Bind, None, false);
            self.conditionally(|walker| walker.write_global(name, held.clone()));
        }
    }

    /// `"%(x)s" % globals()` reads what the text names.
    pub(super) fn format_with_namespace(&mut self, e: &ast::ExprBinOp) -> Option<Held> {
        if !matches!(e.op, ast::Operator::Mod) || !self.is_namespace(&e.right) {
            return None;
        }
        for field in percent_fields(&constant_text(&e.left)?)? {
            self.load_key(&field);
        }
        Some(Held::default())
    }

    fn spreads_namespace(&mut self, e: &ast::ExprCall) -> bool {
        e.keywords.iter().any(|keyword| keyword.arg.is_none() && self.is_namespace(&keyword.value))
    }

    /// `"{x}".format(**globals())`
    fn format_namespace(&mut self, e: &ast::ExprCall, attribute: &ast::ExprAttribute) -> Option<Held> {
        let text = constant_text(&attribute.value)?;
        let fields = braced_fields(&text)?;
        e.args.iter().for_each(|argument| self.expr_used(Some(argument)));
        for keyword in &e.keywords {
            if keyword.arg.is_some() {
                self.expr_used(Some(&keyword.value));
            }
        }
        for field in fields {
            self.load_key(&field);
        }
        Some(Held::default())
    }
}

/// The text of a constant string.
fn constant_text(e: &Expr) -> Option<String> {
    match e {
        Expr::Constant(constant) => match &constant.value {
            Constant::Str(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The names in `%(x)s %(y)5.2f`; `None` where there is a plain `%s`, which takes the whole.
fn percent_fields(text: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut parts = text.split('%').skip(1);
    while let Some(part) = parts.next() {
        if part.is_empty() {
            // `%%`: the next part is text.
            parts.next();
            continue;
        }
        let (name, _) = part.strip_prefix('(')?.split_once(')')?;
        fields.push(name.to_owned());
    }
    Some(fields)
}

/// The names in `{x} {y.z!r:>{w}}`; `None` where they can't be told.
fn braced_fields(text: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let after = rest.get(at + 1..)?;
        if let Some(escaped) = after.strip_prefix('{') {
            rest = escaped;
            continue;
        }
        let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len());
        let name = after.get(..end)?;
        if name.is_empty() {
            return None;
        }
        if !name.starts_with(|c: char| c.is_ascii_digit()) {
            fields.push(name.to_owned());
        }
        rest = after.get(end..)?;
    }
    Some(fields)
}
