//! CPython's syntax tree as the tree that is walked.
//!
//! What only newer versions have is written as something with the same names, looked up at the same time: a
//! t-string as an f-string, the default of a type parameter beside its bound. A node of a kind that is not known
//! is taken for its parts, and said so.

use rustpython_parser::ast::{self, Constant, Expr, ExprContext, Identifier, Pattern, Stmt, TypeParam, text_size};
use serde_json::Value;

use super::interpreter::{Node, Tree};

/// A tree, made over.
pub(super) struct Converted {
    pub body: Vec<Stmt>,
    /// The first kind of node that is not known, if any.
    pub unknown: Option<String>,
}

/// Makes a tree over. `None`: it is not a module's tree.
pub(super) fn convert(tree: Tree, text_len: usize) -> Option<Converted> {
    let mut converter = Converter { built: Vec::with_capacity(tree.nodes.len()), unknown: None, text_len };
    let mut body = None;
    for node in tree.nodes {
        if node.kind == "Module" {
            let mut part = Part { node: &node, converter: &mut converter };
            body = Some(part.stmts("body"));
            continue;
        }
        let built = converter.build(&node);
        converter.built.push(Some(built));
    }
    body.map(|body| Converted { body, unknown: converter.unknown })
}

enum Built {
    Stmt(Stmt),
    Expr(Expr),
    Arguments(ast::Arguments),
    Arg(ast::Arg),
    Keyword(ast::Keyword),
    Alias(ast::Alias),
    WithItem(ast::WithItem),
    Comprehension(ast::Comprehension),
    Handler(ast::ExceptHandler),
    Case(ast::MatchCase),
    Pattern(Pattern),
    TypeParam(TypeParam),
}

struct Converter {
    built: Vec<Option<Built>>,
    unknown: Option<String>,
    text_len: usize,
}

/// A node whose fields are being taken.
struct Part<'p> {
    node: &'p Node,
    converter: &'p mut Converter,
}

type Range = text_size::TextRange;

impl Part<'_> {
    fn range(&self) -> Range {
        let limit = u32::try_from(self.converter.text_len).unwrap_or(u32::MAX);
        let end = self.node.end.min(limit);
        Range::new(self.node.start.min(end).into(), end.into())
    }

    fn take(&mut self, value: &Value) -> Option<Built> {
        let at = usize::try_from(value.as_u64()?).ok()?;
        self.converter.built.get_mut(at)?.take()
    }

    fn one(&mut self, field: &str) -> Option<Built> {
        let value = self.node.fields.get(field)?.clone();
        self.take(&value)
    }

    /// The nodes of a list; `None` for one that is absent, as in a dict's keys.
    fn list(&mut self, field: &str) -> Vec<Option<Built>> {
        let Some(Value::Array(values)) = self.node.fields.get(field) else { return Vec::new() };
        values.iter().map(|value| self.take(value)).collect()
    }

    fn stmts(&mut self, field: &str) -> Vec<Stmt> {
        let list = self.list(field);
        list.into_iter().flatten().filter_map(|built| if let Built::Stmt(s) = built { Some(s) } else { None }).collect()
    }

    fn maybe_exprs(&mut self, field: &str) -> Vec<Option<Expr>> {
        let to_expr = |built| if let Some(Built::Expr(e)) = built { Some(e) } else { None };
        self.list(field).into_iter().map(to_expr).collect()
    }

    fn exprs(&mut self, field: &str) -> Vec<Expr> {
        self.maybe_exprs(field).into_iter().flatten().collect()
    }

    fn maybe_expr(&mut self, field: &str) -> Option<Expr> {
        match self.one(field) {
            Some(Built::Expr(e)) => Some(e),
            _ => None,
        }
    }

    fn maybe_boxed(&mut self, field: &str) -> Option<Box<Expr>> {
        self.maybe_expr(field).map(Box::new)
    }

    /// An expression that is always there in a tree that CPython made.
    fn expr(&mut self, field: &str) -> Expr {
        let range = self.range();
        self.maybe_expr(field).unwrap_or(Expr::Constant(ast::ExprConstant { range, value: Constant::None, kind: None }))
    }

    fn boxed(&mut self, field: &str) -> Box<Expr> {
        Box::new(self.expr(field))
    }

    fn maybe_name(&self, field: &str) -> Option<Identifier> {
        self.node.fields.get(field).and_then(Value::as_str).map(Identifier::new)
    }

    fn name(&self, field: &str) -> Identifier {
        self.maybe_name(field).unwrap_or_else(|| Identifier::new(""))
    }

    fn names(&self, field: &str) -> Vec<Identifier> {
        let Some(Value::Array(values)) = self.node.fields.get(field) else { return Vec::new() };
        values.iter().filter_map(Value::as_str).map(Identifier::new).collect()
    }

    fn arguments(&mut self) -> ast::Arguments {
        match self.one("args") {
            Some(Built::Arguments(arguments)) => arguments,
            _ => no_arguments(self.range()),
        }
    }

    fn type_params(&mut self) -> Vec<TypeParam> {
        let list = self.list("type_params");
        let one = |built| if let Built::TypeParam(p) = built { Some(p) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn keywords(&mut self) -> Vec<ast::Keyword> {
        let list = self.list("keywords");
        let one = |built| if let Built::Keyword(k) = built { Some(k) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    /// The names of an import that stands at `whole`: before CPython 3.10 they have no place of their own.
    fn aliases(&mut self, whole: Range) -> Vec<ast::Alias> {
        let list = self.list("names");
        let one = |built| {
            let Built::Alias(alias) = built else { return None };
            Some(ast::Alias { range: if alias.range.is_empty() { whole } else { alias.range }, ..alias })
        };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn with_items(&mut self) -> Vec<ast::WithItem> {
        let list = self.list("items");
        let one = |built| if let Built::WithItem(item) = built { Some(item) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn generators(&mut self) -> Vec<ast::Comprehension> {
        let list = self.list("generators");
        let one = |built| if let Built::Comprehension(c) = built { Some(c) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn handlers(&mut self) -> Vec<ast::ExceptHandler> {
        let list = self.list("handlers");
        let one = |built| if let Built::Handler(h) = built { Some(h) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn cases(&mut self) -> Vec<ast::MatchCase> {
        let list = self.list("cases");
        let one = |built| if let Built::Case(c) = built { Some(c) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn patterns(&mut self, field: &str) -> Vec<Pattern> {
        let list = self.list(field);
        let one = |built| if let Built::Pattern(p) = built { Some(p) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn pattern(&mut self, field: &str) -> Option<Pattern> {
        match self.one(field) {
            Some(Built::Pattern(p)) => Some(p),
            _ => None,
        }
    }

    fn args(&mut self, field: &str) -> Vec<ast::Arg> {
        let list = self.list(field);
        let one = |built| if let Built::Arg(a) = built { Some(a) } else { None };
        list.into_iter().flatten().filter_map(one).collect()
    }

    fn arg(&mut self, field: &str) -> Option<Box<ast::Arg>> {
        match self.one(field) {
            Some(Built::Arg(arg)) => Some(Box::new(arg)),
            _ => None,
        }
    }
}

fn no_arguments(range: Range) -> ast::Arguments {
    ast::Arguments {
        range: range.into(),
        posonlyargs: Vec::new(),
        args: Vec::new(),
        vararg: None,
        kwonlyargs: Vec::new(),
        kwarg: None,
    }
}

impl Converter {
    fn build(&mut self, node: &Node) -> Built {
        let mut p = Part { node, converter: self };
        let range = p.range();
        let ctx = ExprContext::Load;
        match node.kind.as_str() {
            // Expressions.
            "BoolOp" => Expr::BoolOp(ast::ExprBoolOp { range, op: ast::BoolOp::And, values: p.exprs("values") }).into(),
            "NamedExpr" => {
                let (target, value) = (p.boxed("target"), p.boxed("value"));
                Expr::NamedExpr(ast::ExprNamedExpr { range, target, value }).into()
            }
            "BinOp" => {
                let op =
                    if p.maybe_name("op").as_deref() == Some("Mod") { ast::Operator::Mod } else { ast::Operator::Add };
                let (left, right) = (p.boxed("left"), p.boxed("right"));
                Expr::BinOp(ast::ExprBinOp { range, left, op, right }).into()
            }
            "UnaryOp" => {
                let not = p.maybe_name("op").as_deref() == Some("Not");
                let op = if not { ast::UnaryOp::Not } else { ast::UnaryOp::UAdd };
                Expr::UnaryOp(ast::ExprUnaryOp { range, op, operand: p.boxed("operand") }).into()
            }
            "Lambda" => {
                let (args, body) = (Box::new(p.arguments()), p.boxed("body"));
                Expr::Lambda(ast::ExprLambda { range, args, body }).into()
            }
            "IfExp" => {
                let (test, body, orelse) = (p.boxed("test"), p.boxed("body"), p.boxed("orelse"));
                Expr::IfExp(ast::ExprIfExp { range, test, body, orelse }).into()
            }
            "Dict" => {
                let (keys, values) = (p.maybe_exprs("keys"), p.exprs("values"));
                Expr::Dict(ast::ExprDict { range, keys, values }).into()
            }
            "Set" => Expr::Set(ast::ExprSet { range, elts: p.exprs("elts") }).into(),
            "ListComp" => {
                let (elt, generators) = (p.boxed("elt"), p.generators());
                Expr::ListComp(ast::ExprListComp { range, elt, generators }).into()
            }
            "SetComp" => {
                let (elt, generators) = (p.boxed("elt"), p.generators());
                Expr::SetComp(ast::ExprSetComp { range, elt, generators }).into()
            }
            "DictComp" => {
                let (key, value, generators) = (p.boxed("key"), p.boxed("value"), p.generators());
                Expr::DictComp(ast::ExprDictComp { range, key, value, generators }).into()
            }
            "GeneratorExp" => {
                let (elt, generators) = (p.boxed("elt"), p.generators());
                Expr::GeneratorExp(ast::ExprGeneratorExp { range, elt, generators }).into()
            }
            "Await" => Expr::Await(ast::ExprAwait { range, value: p.boxed("value") }).into(),
            "Yield" => Expr::Yield(ast::ExprYield { range, value: p.maybe_boxed("value") }).into(),
            "YieldFrom" => Expr::YieldFrom(ast::ExprYieldFrom { range, value: p.boxed("value") }).into(),
            "Compare" => {
                let (left, comparators) = (p.boxed("left"), p.exprs("comparators"));
                Expr::Compare(ast::ExprCompare { range, left, ops: Vec::new(), comparators }).into()
            }
            "Call" => {
                let (func, args, keywords) = (p.boxed("func"), p.exprs("args"), p.keywords());
                Expr::Call(ast::ExprCall { range, func, args, keywords }).into()
            }
            "FormattedValue" | "Interpolation" => {
                let (value, format_spec) = (p.boxed("value"), p.maybe_boxed("format_spec"));
                let conversion = ast::ConversionFlag::None;
                Expr::FormattedValue(ast::ExprFormattedValue { range, value, conversion, format_spec }).into()
            }
            "JoinedStr" | "TemplateStr" => {
                Expr::JoinedStr(ast::ExprJoinedStr { range, values: p.exprs("values") }).into()
            }
            "Constant" => {
                let value = constant(node);
                Expr::Constant(ast::ExprConstant { range, value, kind: None }).into()
            }
            "Attribute" => {
                let (value, attr) = (p.boxed("value"), p.name("attr"));
                Expr::Attribute(ast::ExprAttribute { range, value, attr, ctx }).into()
            }
            "Subscript" => {
                let (value, slice) = (p.boxed("value"), p.boxed("slice"));
                Expr::Subscript(ast::ExprSubscript { range, value, slice, ctx }).into()
            }
            "Starred" => Expr::Starred(ast::ExprStarred { range, value: p.boxed("value"), ctx }).into(),
            "Name" => Expr::Name(ast::ExprName { range, id: p.name("id"), ctx }).into(),
            "List" => Expr::List(ast::ExprList { range, elts: p.exprs("elts"), ctx }).into(),
            "Tuple" => Expr::Tuple(ast::ExprTuple { range, elts: p.exprs("elts"), ctx }).into(),
            "Slice" => {
                let (lower, upper, step) = (p.maybe_boxed("lower"), p.maybe_boxed("upper"), p.maybe_boxed("step"));
                Expr::Slice(ast::ExprSlice { range, lower, upper, step }).into()
            }
            // Parts of expressions and statements.
            "comprehension" => {
                let (target, iter, ifs) = (p.expr("target"), p.expr("iter"), p.exprs("ifs"));
                Built::Comprehension(ast::Comprehension { range: range.into(), target, iter, ifs, is_async: false })
            }
            "keyword" => {
                let (arg, value) = (p.maybe_name("arg"), p.expr("value"));
                Built::Keyword(ast::Keyword { range, arg, value })
            }
            "alias" => Built::Alias(ast::Alias { range, name: p.name("name"), asname: p.maybe_name("asname") }),
            "withitem" => {
                let (context_expr, optional_vars) = (p.expr("context_expr"), p.maybe_boxed("optional_vars"));
                Built::WithItem(ast::WithItem { range: range.into(), context_expr, optional_vars })
            }
            "arg" => {
                let (arg, annotation) = (p.name("arg"), p.maybe_boxed("annotation"));
                Built::Arg(ast::Arg { range, arg, annotation, type_comment: None })
            }
            "arguments" => Built::Arguments(arguments(&mut p, range)),
            "ExceptHandler" => {
                let (type_, name, body) = (p.maybe_boxed("type"), p.maybe_name("name"), p.stmts("body"));
                let handler = ast::ExceptHandlerExceptHandler { range, type_, name, body };
                Built::Handler(ast::ExceptHandler::ExceptHandler(handler))
            }
            "match_case" => {
                let pattern = p.pattern("pattern").unwrap_or_else(|| anything(range));
                let (guard, body) = (p.maybe_boxed("guard"), p.stmts("body"));
                Built::Case(ast::MatchCase { range: range.into(), pattern, guard, body })
            }
            "TypeVar" | "ParamSpec" | "TypeVarTuple" => {
                let (name, bound, default) = (p.name("name"), p.maybe_expr("bound"), p.maybe_expr("default_value"));
                let both: Vec<Expr> = bound.into_iter().chain(default).collect();
                let bound = (!both.is_empty())
                    .then(|| Box::new(Expr::Tuple(ast::ExprTuple { range, elts: both, ctx: ExprContext::Load })));
                Built::TypeParam(TypeParam::TypeVar(ast::TypeParamTypeVar { range, name, bound }))
            }
            kind if kind.starts_with("Match") && kind != "Match" => Built::Pattern(pattern(&mut p, range)),
            _ => match statement(&mut p, range) {
                Some(statement) => Built::Stmt(statement),
                None => self.unknown(node),
            },
        }
    }

    /// A node of a kind that is not known: its parts, as something that may be done.
    fn unknown(&mut self, node: &Node) -> Built {
        self.unknown.get_or_insert_with(|| node.kind.clone());
        let mut p = Part { node, converter: self };
        let range = p.range();
        let mut parts = Vec::new();
        let mut body = Vec::new();
        let fields: Vec<String> = node.fields.keys().cloned().collect();
        for field in fields {
            let mut found: Vec<Option<Built>> = p.list(&field);
            found.push(p.one(&field));
            for built in found.into_iter().flatten() {
                match built {
                    Built::Expr(e) => parts.push(e),
                    Built::Stmt(s) => body.push(s),
                    _ => {}
                }
            }
        }
        let parts = Expr::Tuple(ast::ExprTuple { range, elts: parts, ctx: ExprContext::Load });
        if body.is_empty() {
            return Built::Expr(parts);
        }
        Built::Stmt(Stmt::If(ast::StmtIf { range, test: Box::new(parts), body, orelse: Vec::new() }))
    }
}

impl From<Expr> for Built {
    fn from(e: Expr) -> Self {
        Self::Expr(e)
    }
}

fn constant(node: &Node) -> Constant {
    let field = |name| node.fields.get(name);
    if let Some(text) = field("text").and_then(Value::as_str) {
        return Constant::Str(text.to_owned());
    }
    match field("constant").and_then(Value::as_str) {
        Some("True") => Constant::Bool(true),
        Some("False") => Constant::Bool(false),
        Some("Ellipsis") => Constant::Ellipsis,
        Some("zero") => Constant::Int(0.into()),
        Some("one") => Constant::Int(1.into()),
        Some("bytes") => Constant::Bytes(vec![1]),
        Some("number") => Constant::Float(1.5),
        _ => Constant::None,
    }
}

fn arguments(p: &mut Part<'_>, range: Range) -> ast::Arguments {
    let positional_only = p.args("posonlyargs");
    let positional = p.args("args");
    let keyword_only = p.args("kwonlyargs");
    let (vararg, kwarg) = (p.arg("vararg"), p.arg("kwarg"));
    let mut defaults = p.exprs("defaults");
    let keyword_defaults = p.maybe_exprs("kw_defaults");
    let with = |def: ast::Arg, default: Option<Expr>| ast::ArgWithDefault {
        range: range.into(),
        def,
        default: default.map(Box::new),
    };
    // Defaults belong to the last of the positional parameters.
    let without = (positional_only.len() + positional.len()).saturating_sub(defaults.len());
    let mut defaults = defaults.drain(..);
    let mut place = 0;
    let mut take = |def| {
        place += 1;
        with(def, if place > without { defaults.next() } else { None })
    };
    let posonlyargs = positional_only.into_iter().map(&mut take).collect();
    let args = positional.into_iter().map(&mut take).collect();
    let kwonlyargs = keyword_only
        .into_iter()
        .zip(keyword_defaults.into_iter().chain(std::iter::repeat_with(|| None)))
        .map(|(def, default)| with(def, default))
        .collect();
    ast::Arguments { range: range.into(), posonlyargs, args, vararg, kwonlyargs, kwarg }
}

fn anything(range: Range) -> Pattern {
    Pattern::MatchAs(ast::PatternMatchAs { range, pattern: None, name: None })
}

fn pattern(p: &mut Part<'_>, range: Range) -> Pattern {
    match p.node.kind.as_str() {
        "MatchValue" => Pattern::MatchValue(ast::PatternMatchValue { range, value: p.boxed("value") }),
        "MatchSequence" => {
            Pattern::MatchSequence(ast::PatternMatchSequence { range, patterns: p.patterns("patterns") })
        }
        "MatchMapping" => {
            let (keys, patterns, rest) = (p.exprs("keys"), p.patterns("patterns"), p.maybe_name("rest"));
            Pattern::MatchMapping(ast::PatternMatchMapping { range, keys, patterns, rest })
        }
        "MatchClass" => Pattern::MatchClass(ast::PatternMatchClass {
            range,
            cls: p.boxed("cls"),
            patterns: p.patterns("patterns"),
            kwd_attrs: p.names("kwd_attrs"),
            kwd_patterns: p.patterns("kwd_patterns"),
        }),
        "MatchStar" => Pattern::MatchStar(ast::PatternMatchStar { range, name: p.maybe_name("name") }),
        "MatchAs" => {
            let (pattern, name) = (p.pattern("pattern").map(Box::new), p.maybe_name("name"));
            Pattern::MatchAs(ast::PatternMatchAs { range, pattern, name })
        }
        "MatchOr" => Pattern::MatchOr(ast::PatternMatchOr { range, patterns: p.patterns("patterns") }),
        _ => Pattern::MatchSingleton(ast::PatternMatchSingleton { range, value: Constant::None }),
    }
}

fn statement(p: &mut Part<'_>, range: Range) -> Option<Stmt> {
    Some(match p.node.kind.as_str() {
        "FunctionDef" => Stmt::FunctionDef(ast::StmtFunctionDef {
            range,
            name: p.name("name"),
            args: Box::new(p.arguments()),
            body: p.stmts("body"),
            decorator_list: p.exprs("decorator_list"),
            returns: p.maybe_boxed("returns"),
            type_comment: None,
            type_params: p.type_params(),
        }),
        "AsyncFunctionDef" => Stmt::AsyncFunctionDef(ast::StmtAsyncFunctionDef {
            range,
            name: p.name("name"),
            args: Box::new(p.arguments()),
            body: p.stmts("body"),
            decorator_list: p.exprs("decorator_list"),
            returns: p.maybe_boxed("returns"),
            type_comment: None,
            type_params: p.type_params(),
        }),
        "ClassDef" => Stmt::ClassDef(ast::StmtClassDef {
            range,
            name: p.name("name"),
            bases: p.exprs("bases"),
            keywords: p.keywords(),
            body: p.stmts("body"),
            decorator_list: p.exprs("decorator_list"),
            type_params: p.type_params(),
        }),
        "Return" => Stmt::Return(ast::StmtReturn { range, value: p.maybe_boxed("value") }),
        "Delete" => Stmt::Delete(ast::StmtDelete { range, targets: p.exprs("targets") }),
        "Assign" => {
            let (targets, value) = (p.exprs("targets"), p.boxed("value"));
            Stmt::Assign(ast::StmtAssign { range, targets, value, type_comment: None })
        }
        "TypeAlias" => {
            let (name, type_params, value) = (p.boxed("name"), p.type_params(), p.boxed("value"));
            Stmt::TypeAlias(ast::StmtTypeAlias { range, name, type_params, value })
        }
        "AugAssign" => {
            let (target, value) = (p.boxed("target"), p.boxed("value"));
            Stmt::AugAssign(ast::StmtAugAssign { range, target, op: ast::Operator::Add, value })
        }
        "AnnAssign" => {
            let (target, annotation, value) = (p.boxed("target"), p.boxed("annotation"), p.maybe_boxed("value"));
            Stmt::AnnAssign(ast::StmtAnnAssign { range, target, annotation, value, simple: true })
        }
        "For" | "AsyncFor" => Stmt::For(ast::StmtFor {
            range,
            target: p.boxed("target"),
            iter: p.boxed("iter"),
            body: p.stmts("body"),
            orelse: p.stmts("orelse"),
            type_comment: None,
        }),
        "While" => {
            let (test, body, orelse) = (p.boxed("test"), p.stmts("body"), p.stmts("orelse"));
            Stmt::While(ast::StmtWhile { range, test, body, orelse })
        }
        "If" => {
            let (test, body, orelse) = (p.boxed("test"), p.stmts("body"), p.stmts("orelse"));
            Stmt::If(ast::StmtIf { range, test, body, orelse })
        }
        "With" | "AsyncWith" => {
            let (items, body) = (p.with_items(), p.stmts("body"));
            Stmt::With(ast::StmtWith { range, items, body, type_comment: None })
        }
        "Match" => {
            let (subject, cases) = (p.boxed("subject"), p.cases());
            Stmt::Match(ast::StmtMatch { range, subject, cases })
        }
        "Raise" => {
            let (exc, cause) = (p.maybe_boxed("exc"), p.maybe_boxed("cause"));
            Stmt::Raise(ast::StmtRaise { range, exc, cause })
        }
        "Try" | "TryStar" => Stmt::Try(ast::StmtTry {
            range,
            body: p.stmts("body"),
            handlers: p.handlers(),
            orelse: p.stmts("orelse"),
            finalbody: p.stmts("finalbody"),
        }),
        "Assert" => {
            let (test, msg) = (p.boxed("test"), p.maybe_boxed("msg"));
            Stmt::Assert(ast::StmtAssert { range, test, msg })
        }
        "Import" => Stmt::Import(ast::StmtImport { range, names: p.aliases(range) }),
        "ImportFrom" => {
            let level = p.node.fields.get("level").and_then(Value::as_u64).and_then(|level| u32::try_from(level).ok());
            let (module, names) = (p.maybe_name("module"), p.aliases(range));
            Stmt::ImportFrom(ast::StmtImportFrom { range, module, names, level: level.map(ast::Int::new) })
        }
        "Global" => Stmt::Global(ast::StmtGlobal { range, names: p.names("names") }),
        "Nonlocal" => Stmt::Nonlocal(ast::StmtNonlocal { range, names: p.names("names") }),
        "Expr" => Stmt::Expr(ast::StmtExpr { range, value: p.boxed("value") }),
        "Pass" => Stmt::Pass(ast::StmtPass { range }),
        "Break" => Stmt::Break(ast::StmtBreak { range }),
        "Continue" => Stmt::Continue(ast::StmtContinue { range }),
        _ => return None,
    })
}
