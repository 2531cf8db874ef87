//! What a rule asks of a step's syntax tree.

use std::ops::Range;

use rustpython_parser::ast::{self, Constant, Expr, Ranged, Stmt};

use crate::analysis::{Lines, with_tree};

/// A tree with the text that it was made from.
pub(super) struct Code<'t> {
    /// The text.
    pub text: &'t str,
    /// The statements.
    pub body: &'t [Stmt],
    lines: Lines,
}

/// Hands the tree of a text to `work`; nothing where the parser built in can't read it.
pub(super) fn look<T: Send>(text: &str, work: impl FnOnce(&Code<'_>) -> T + Send) -> Option<T> {
    with_tree(text, |body| work(&Code { text, body, lines: Lines::new(text) }))
}

/// The bytes of a node.
pub(super) fn bytes(node: &impl Ranged) -> Range<usize> {
    node.start().to_usize()..node.end().to_usize()
}

impl<'t> Code<'t> {
    /// The text of a node.
    pub fn source(&self, node: &impl Ranged) -> &'t str {
        self.text.get(bytes(node)).unwrap_or_default()
    }

    /// The 1-based lines of a node: first and last.
    pub fn lines_of(&self, node: &impl Ranged) -> (u32, u32) {
        let range = bytes(node);
        (self.lines.line(range.start), self.lines.line(range.end.saturating_sub(1).max(range.start)))
    }

    /// Whether a node touches a 1-based line.
    pub fn is_at(&self, node: &impl Ranged, line: u32) -> bool {
        let (first, last) = self.lines_of(node);
        (first..=last).contains(&line)
    }

    /// Every expression, outer ones first.
    pub fn expressions(&self) -> Vec<&'t Expr> {
        let mut found = Vec::new();
        each_statement(self.body, &mut |statement| {
            each_own_expression(statement, &mut |expression| each_expression(expression, &mut |e| found.push(e)));
        });
        found
    }

    /// Every statement, outer ones first.
    pub fn statements(&self) -> Vec<&'t Stmt> {
        let mut found = Vec::new();
        each_statement(self.body, &mut |statement| found.push(statement));
        found
    }

    /// The expressions that begin on a line, or within columns of it if these are known: those with the smallest
    /// range that holds the columns first.
    pub fn expressions_at(&self, line: u32, columns: Option<(u32, u32)>) -> Vec<&'t Expr> {
        let mut found: Vec<&Expr> = self.expressions().into_iter().filter(|e| self.is_at(*e, line)).collect();
        if let Some((start, end)) = columns {
            let span = self.columns(line, start, end);
            let holds = |e: &&Expr| {
                span.as_ref().is_some_and(|span| bytes(*e).start <= span.start && bytes(*e).end >= span.end)
            };
            found.sort_by_key(|e| (!holds(e), bytes(*e).len()));
        }
        found
    }

    /// Bytes of 1-based columns of a line.
    fn columns(&self, line: u32, start: u32, end: u32) -> Option<Range<usize>> {
        let begin = self.lines.start(line)?;
        let rest = self.text.get(begin..)?;
        let at = |column: u32| {
            let skip = usize::try_from(column.saturating_sub(1)).ok()?;
            rest.char_indices().map(|(i, _)| i).chain([rest.len()]).nth(skip).map(|i| begin + i)
        };
        Some(at(start)?..at(end)?)
    }

    /// The last statement of the step itself (not of a function) that binds `name`, before a line if one is
    /// given.
    pub fn binding(&self, name: &str, before: Option<u32>) -> Option<&'t Stmt> {
        let mut found = None;
        each_top_statement(self.body, &mut |statement| {
            let early = before.is_none_or(|line| self.lines_of(statement).0 < line);
            if early && targets(statement).contains(&name) {
                found = Some(statement);
            }
        });
        found
    }

    /// The function of this name that a line is in, or the last one of the name.
    pub fn function(&self, name: &str, line: Option<u32>) -> Option<Function<'t>> {
        let mut found = None;
        let mut exact = false;
        for statement in self.statements() {
            let function = match statement {
                Stmt::FunctionDef(f) => {
                    Function { name: &f.name, args: &f.args, body: &f.body, decorators: &f.decorator_list, statement }
                }
                Stmt::AsyncFunctionDef(f) => {
                    Function { name: &f.name, args: &f.args, body: &f.body, decorators: &f.decorator_list, statement }
                }
                _ => continue,
            };
            let here = line.is_some_and(|line| self.is_at(statement, line));
            if function.name == name && (here || !exact) {
                exact = here;
                found = Some(function);
            }
        }
        found
    }

    /// The innermost statement that a line belongs to.
    pub fn statement_at(&self, line: u32) -> Option<&'t Stmt> {
        self.statements().into_iter().rfind(|statement| self.is_at(*statement, line))
    }

    /// The class that holds a function directly.
    pub fn class_of(&self, function: &Function<'_>) -> Option<&'t str> {
        self.statements().into_iter().find_map(|statement| match statement {
            Stmt::ClassDef(class) if class.body.iter().any(|inner| std::ptr::eq(inner, function.statement)) => {
                Some(class.name.as_str())
            }
            _ => None,
        })
    }
}

/// A function of a step.
#[derive(Clone, Copy)]
pub(super) struct Function<'t> {
    /// Its name.
    pub name: &'t str,
    /// What it takes.
    pub args: &'t ast::Arguments,
    /// What it does.
    pub body: &'t [Stmt],
    /// What it is wrapped in.
    pub decorators: &'t [Expr],
    /// The whole of it.
    pub statement: &'t Stmt,
}

impl<'t> Function<'t> {
    /// The names of its parameters, those by position first, `*args` and `**kwargs` left out.
    pub fn parameters(&self) -> Vec<&'t str> {
        let args = self.args;
        args.posonlyargs.iter().chain(&args.args).chain(&args.kwonlyargs).map(|arg| arg.def.arg.as_str()).collect()
    }

    /// Whether any `return` of it gives a value.
    pub fn returns_value(&self) -> bool {
        let mut found = false;
        each_statement_within(self.body, &mut |statement| {
            found |= matches!(statement, Stmt::Return(ast::StmtReturn { value: Some(value), .. })
                if !matches!(&**value, Expr::Constant(ast::ExprConstant { value: Constant::None, .. })));
        });
        found
    }

    /// Whether it declares a name to be the run's.
    pub fn declares_global(&self, name: &str) -> bool {
        let mut found = false;
        each_statement_within(self.body, &mut |statement| {
            found |= matches!(statement, Stmt::Global(s) if s.names.iter().any(|global| global.as_str() == name));
        });
        found
    }

    /// Whether it yields.
    pub fn is_generator(&self) -> bool {
        let mut found = false;
        each_statement_within(self.body, &mut |statement| {
            each_own_expression(statement, &mut |e| {
                each_expression(e, &mut |e| found |= matches!(e, Expr::Yield(_) | Expr::YieldFrom(_)));
            });
        });
        found
    }

    /// The names that it binds itself.
    pub fn locals(&self) -> Vec<&'t str> {
        let mut found = Vec::new();
        each_statement_within(self.body, &mut |statement| {
            for name in targets(statement) {
                if !found.contains(&name) {
                    found.push(name);
                }
            }
        });
        found
    }
}

/// The names that a statement binds where it stands, not in its body.
pub(super) fn targets(statement: &Stmt) -> Vec<&str> {
    let mut found = Vec::new();
    match statement {
        Stmt::Assign(s) => s.targets.iter().for_each(|target| names_in(target, &mut found)),
        Stmt::AugAssign(s) => names_in(&s.target, &mut found),
        Stmt::AnnAssign(s) if s.value.is_some() => names_in(&s.target, &mut found),
        Stmt::For(s) => names_in(&s.target, &mut found),
        Stmt::AsyncFor(s) => names_in(&s.target, &mut found),
        Stmt::With(s) => {
            s.items.iter().filter_map(|i| i.optional_vars.as_deref()).for_each(|t| names_in(t, &mut found))
        }
        Stmt::FunctionDef(s) => found.push(&s.name),
        Stmt::AsyncFunctionDef(s) => found.push(&s.name),
        Stmt::ClassDef(s) => found.push(&s.name),
        Stmt::Import(s) => {
            found.extend(
                s.names.iter().map(|a| a.asname.as_deref().unwrap_or(a.name.split('.').next().unwrap_or_default())),
            );
        }
        Stmt::ImportFrom(s) => found.extend(s.names.iter().map(|a| a.asname.as_deref().unwrap_or(&a.name))),
        _ => {}
    }
    each_own_expression(statement, &mut |e| {
        each_expression(e, &mut |e| {
            if let Expr::NamedExpr(named) = e {
                names_in(&named.target, &mut found);
            }
        });
    });
    found
}

fn names_in<'t>(target: &'t Expr, found: &mut Vec<&'t str>) {
    match target {
        Expr::Name(name) => found.push(&name.id),
        Expr::Tuple(t) => t.elts.iter().for_each(|e| names_in(e, found)),
        Expr::List(t) => t.elts.iter().for_each(|e| names_in(e, found)),
        Expr::Starred(s) => names_in(&s.value, found),
        _ => {}
    }
}

/// The value of a text constant.
pub(super) fn text_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Constant(ast::ExprConstant { value: Constant::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// The name that an expression is.
pub(super) fn name_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(name) => Some(&name.id),
        _ => None,
    }
}

/// The statement lists within a statement.
fn bodies(statement: &Stmt) -> Vec<&[Stmt]> {
    match statement {
        Stmt::FunctionDef(s) => vec![&s.body],
        Stmt::AsyncFunctionDef(s) => vec![&s.body],
        Stmt::ClassDef(s) => vec![&s.body],
        Stmt::For(s) => vec![&s.body, &s.orelse],
        Stmt::AsyncFor(s) => vec![&s.body, &s.orelse],
        Stmt::While(s) => vec![&s.body, &s.orelse],
        Stmt::If(s) => vec![&s.body, &s.orelse],
        Stmt::With(s) => vec![&s.body],
        Stmt::AsyncWith(s) => vec![&s.body],
        Stmt::Match(s) => s.cases.iter().map(|case| case.body.as_slice()).collect(),
        Stmt::Try(s) => {
            let mut all: Vec<&[Stmt]> = vec![&s.body];
            all.extend(s.handlers.iter().map(|ast::ExceptHandler::ExceptHandler(h)| h.body.as_slice()));
            all.extend([s.orelse.as_slice(), s.finalbody.as_slice()]);
            all
        }
        Stmt::TryStar(s) => {
            let mut all: Vec<&[Stmt]> = vec![&s.body];
            all.extend(s.handlers.iter().map(|ast::ExceptHandler::ExceptHandler(h)| h.body.as_slice()));
            all.extend([s.orelse.as_slice(), s.finalbody.as_slice()]);
            all
        }
        _ => Vec::new(),
    }
}

fn each_statement<'t>(body: &'t [Stmt], see: &mut dyn FnMut(&'t Stmt)) {
    for statement in body {
        see(statement);
        for inner in bodies(statement) {
            each_statement(inner, see);
        }
    }
}

/// Statements that run where `body` runs: not those of functions and classes defined in it.
fn each_statement_within<'t>(body: &'t [Stmt], see: &mut dyn FnMut(&'t Stmt)) {
    for statement in body {
        see(statement);
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::AsyncFunctionDef(_) | Stmt::ClassDef(_)) {
            for inner in bodies(statement) {
                each_statement_within(inner, see);
            }
        }
    }
}

fn each_top_statement<'t>(body: &'t [Stmt], see: &mut dyn FnMut(&'t Stmt)) {
    each_statement_within(body, see);
}

/// The expressions that belong to a statement itself.
pub(super) fn each_own_expression<'t>(statement: &'t Stmt, see: &mut dyn FnMut(&'t Expr)) {
    match statement {
        Stmt::FunctionDef(s) => s.decorator_list.iter().chain(defaults(&s.args)).for_each(see),
        Stmt::AsyncFunctionDef(s) => s.decorator_list.iter().chain(defaults(&s.args)).for_each(see),
        Stmt::ClassDef(s) => {
            s.decorator_list.iter().chain(&s.bases).chain(s.keywords.iter().map(|k| &k.value)).for_each(see)
        }
        Stmt::Return(s) => s.value.iter().for_each(|e| see(e)),
        Stmt::Delete(s) => s.targets.iter().for_each(see),
        Stmt::Assign(s) => {
            see(&s.value);
            s.targets.iter().for_each(see);
        }
        Stmt::AugAssign(s) => {
            see(&s.value);
            see(&s.target);
        }
        Stmt::AnnAssign(s) => {
            s.value.iter().for_each(|e| see(e));
            see(&s.target);
            see(&s.annotation);
        }
        Stmt::For(s) => {
            see(&s.iter);
            see(&s.target);
        }
        Stmt::AsyncFor(s) => {
            see(&s.iter);
            see(&s.target);
        }
        Stmt::While(s) => see(&s.test),
        Stmt::If(s) => see(&s.test),
        Stmt::With(s) => with_items(&s.items, see),
        Stmt::AsyncWith(s) => with_items(&s.items, see),
        Stmt::Match(s) => {
            see(&s.subject);
            s.cases.iter().filter_map(|case| case.guard.as_deref()).for_each(see);
        }
        Stmt::Raise(s) => s.exc.iter().chain(&s.cause).for_each(|e| see(e)),
        Stmt::Try(s) => handlers(&s.handlers, see),
        Stmt::TryStar(s) => handlers(&s.handlers, see),
        Stmt::Assert(s) => {
            see(&s.test);
            s.msg.iter().for_each(|e| see(e));
        }
        Stmt::Expr(s) => see(&s.value),
        Stmt::TypeAlias(_)
        | Stmt::Import(_)
        | Stmt::ImportFrom(_)
        | Stmt::Global(_)
        | Stmt::Nonlocal(_)
        | Stmt::Pass(_)
        | Stmt::Break(_)
        | Stmt::Continue(_) => {}
    }
}

fn defaults(args: &ast::Arguments) -> impl Iterator<Item = &Expr> {
    args.posonlyargs.iter().chain(&args.args).chain(&args.kwonlyargs).filter_map(|arg| arg.default.as_deref())
}

fn with_items<'t>(items: &'t [ast::WithItem], see: &mut dyn FnMut(&'t Expr)) {
    for item in items {
        see(&item.context_expr);
        item.optional_vars.iter().for_each(|e| see(e));
    }
}

fn handlers<'t>(handlers: &'t [ast::ExceptHandler], see: &mut dyn FnMut(&'t Expr)) {
    for ast::ExceptHandler::ExceptHandler(handler) in handlers {
        handler.type_.iter().for_each(|e| see(e));
    }
}

/// An expression and all within it, outer ones first.
pub(super) fn each_expression<'t>(expression: &'t Expr, see: &mut dyn FnMut(&'t Expr)) {
    see(expression);
    let mut todo: Vec<&'t Expr> = Vec::new();
    let generators = |todo: &mut Vec<&'t Expr>, all: &'t [ast::Comprehension]| {
        for one in all {
            todo.extend([&one.iter, &one.target]);
            todo.extend(&one.ifs);
        }
    };
    match expression {
        Expr::BoolOp(e) => todo.extend(&e.values),
        Expr::NamedExpr(e) => todo.extend([&*e.target, &*e.value]),
        Expr::BinOp(e) => todo.extend([&*e.left, &*e.right]),
        Expr::UnaryOp(e) => todo.push(&e.operand),
        Expr::Lambda(e) => todo.push(&e.body),
        Expr::IfExp(e) => todo.extend([&*e.test, &*e.body, &*e.orelse]),
        Expr::Dict(e) => todo.extend(e.keys.iter().flatten().chain(&e.values)),
        Expr::Set(e) => todo.extend(&e.elts),
        Expr::ListComp(e) => {
            todo.push(&e.elt);
            generators(&mut todo, &e.generators);
        }
        Expr::SetComp(e) => {
            todo.push(&e.elt);
            generators(&mut todo, &e.generators);
        }
        Expr::DictComp(e) => {
            todo.extend([&*e.key, &*e.value]);
            generators(&mut todo, &e.generators);
        }
        Expr::GeneratorExp(e) => {
            todo.push(&e.elt);
            generators(&mut todo, &e.generators);
        }
        Expr::Await(e) => todo.push(&e.value),
        Expr::Yield(e) => todo.extend(e.value.as_deref()),
        Expr::YieldFrom(e) => todo.push(&e.value),
        Expr::Compare(e) => {
            todo.push(&e.left);
            todo.extend(&e.comparators);
        }
        Expr::Call(e) => {
            todo.push(&e.func);
            todo.extend(e.args.iter().chain(e.keywords.iter().map(|k| &k.value)));
        }
        Expr::FormattedValue(e) => todo.push(&e.value),
        Expr::JoinedStr(e) => todo.extend(&e.values),
        Expr::Attribute(e) => todo.push(&e.value),
        Expr::Subscript(e) => todo.extend([&*e.value, &*e.slice]),
        Expr::Starred(e) => todo.push(&e.value),
        Expr::List(e) => todo.extend(&e.elts),
        Expr::Tuple(e) => todo.extend(&e.elts),
        Expr::Slice(e) => todo.extend([&e.lower, &e.upper, &e.step].into_iter().flatten().map(|e| &**e)),
        Expr::Constant(_) | Expr::Name(_) => {}
    }
    for inner in todo {
        each_expression(inner, see);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_functions_and_places_are_found() {
        let text = "a = 1\ndef f(x, *, y=2):\n    z = x\n    return z\nif a:\n    a = b = f(a)\nclass C:\n    def m():\n        pass\n";
        look(text, |code| {
            let last = code.binding("a", None).unwrap();
            assert_eq!(code.lines_of(last), (6, 6));
            assert_eq!(code.binding("a", Some(6)).map(|s| code.lines_of(s)), Some((1, 1)));
            assert!(code.binding("z", None).is_none());
            let f = code.function("f", Some(3)).unwrap();
            assert_eq!(f.parameters(), ["x", "y"]);
            assert!(f.returns_value() && !f.is_generator());
            assert_eq!(f.locals(), ["z"]);
            let m = code.function("m", None).unwrap();
            assert_eq!(code.class_of(&m), Some("C"));
            assert_eq!(code.class_of(&f), None);
            let at = code.expressions_at(6, Some((13, 17)));
            assert_eq!(code.source(at[0]), "f(a)");
        })
        .unwrap();
    }
}
