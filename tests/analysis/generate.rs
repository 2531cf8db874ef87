//! Random programs of a few steps, made of the constructs that bind, look up and change names.

use reweave::analysis::PythonVersion;

use crate::random::Random;

/// A line, with the lines that are indented under it.
#[derive(Debug, Clone)]
pub struct Node {
    text: String,
    body: Vec<Node>,
}

fn line(text: impl Into<String>) -> Node {
    Node { text: text.into(), body: Vec::new() }
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "f", "g", "K", "L"];
const LOCALS: [&str; 4] = ["a", "p", "q", "f"];

/// A program: steps, each of statements.
pub fn program(random: &mut Random, python: PythonVersion) -> Vec<Vec<Node>> {
    let mut maker = Maker { random, python, depth: 0, in_function: false, in_loop: false, in_class: false };
    let mut first: Vec<Node> = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        if maker.random.below(8) == 0 {
            continue;
        }
        let text = match maker.random.below(9) {
            0 => format!("{name} = {at}"),
            1 => format!("{name} = [{at}, [2]]"),
            2 => format!("{name} = lambda *_: {}", maker.name()),
            3 => format!("{name} = {{'k': [{at}]}}"),
            4 => format!("{name} = ({at}, [3])"),
            5 => format!("def {name}(x=[1], *_): x.append(1); return x"),
            6 => format!("def {name}(*_): return {}", maker.name()),
            7 => format!("def {name}(*_):\n    global {0}\n    {0} = [5]", maker.name()),
            _ => format!("class {name}: v = {at}"),
        };
        first.push(line(text));
    }
    let mut steps = vec![first];
    for _ in 0..2 + maker.random.below(4) {
        let count = 1 + maker.random.below(3);
        steps.push(maker.body(count));
    }
    steps
}

/// The steps as text.
pub fn sources(program: &[Vec<Node>]) -> Vec<String> {
    program.iter().map(|step| text(step, 0)).collect()
}

fn text(body: &[Node], depth: usize) -> String {
    let mut out = String::new();
    if body.is_empty() && depth > 0 {
        out += &format!("{}pass\n", "    ".repeat(depth));
    }
    for node in body {
        out += &format!("{}{}\n", "    ".repeat(depth), node.text);
        if node.text.ends_with(':') {
            out += &text(&node.body, depth + 1);
        }
    }
    out
}

/// Programs with one piece less.
pub fn smaller(program: &[Vec<Node>]) -> Vec<Vec<Vec<Node>>> {
    let mut all = Vec::new();
    for step in 0..program.len() {
        for body in without(&program[step]) {
            let mut program = program.to_vec();
            program[step] = body;
            all.push(program);
        }
    }
    all
}

fn without(body: &[Node]) -> Vec<Vec<Node>> {
    let mut all = Vec::new();
    for at in 0..body.len() {
        let mut less = body.to_vec();
        let gone = less.remove(at);
        all.push(less.clone());
        // What is in a block in the block's place.
        if !gone.body.is_empty() {
            less.splice(at..at, gone.body.clone());
            all.push(less);
        }
        for inner in without(&gone.body) {
            let mut less = body.to_vec();
            less[at].body = inner;
            all.push(less);
        }
    }
    all
}

struct Maker<'r> {
    random: &'r mut Random,
    python: PythonVersion,
    depth: usize,
    in_function: bool,
    in_loop: bool,
    in_class: bool,
}

impl Maker<'_> {
    fn chance(&mut self, one_in: usize) -> bool {
        self.random.below(one_in) == 0
    }

    fn name(&mut self) -> &'static str {
        let from: &[&'static str] = if self.in_function && self.chance(3) { &LOCALS } else { &NAMES };
        from[self.random.below(from.len())]
    }

    fn at_least(&self, minor: u8) -> bool {
        self.python >= PythonVersion { major: 3, minor }
    }

    fn expr(&mut self) -> String {
        if self.depth > 2 {
            return self.name().to_owned();
        }
        self.depth += 1;
        let text = match self.random.below(34) {
            0..=5 => self.name().to_owned(),
            6 => self.random.below(4).to_string(),
            7 => format!("[{}, {}]", self.expr(), self.expr()),
            8 => format!("({}, *[{}])", self.expr(), self.expr()),
            9 => format!("{{'k': {}}}", self.expr()),
            10 => format!("({} if {} else {})", self.expr(), self.expr(), self.expr()),
            11 => format!("({} and {} or {})", self.expr(), self.expr(), self.expr()),
            12 => format!("({} is {})", self.expr(), self.expr()),
            13 => format!("(0 < {} < {})", self.name(), self.expr()),
            14 => format!("f'{{{}}} {{{}!r:>{{2}}}}'", self.name(), self.name()),
            15 => {
                let x = self.name();
                format!("[{} for {x} in ({}, 1) if {}]", self.expr(), self.expr(), self.expr())
            }
            16 => {
                let (x, y) = (self.name(), self.name());
                format!("{{{y}: {} for {x} in (1, 2) for {y} in (3, {x})}}", self.name())
            }
            17 => format!("({} for {} in (1, 2))", self.expr(), self.name()),
            18 => format!("list({} for _ in (1, 2))", self.expr()),
            19 if !self.in_class => format!("({} := {})", self.name(), self.expr()),
            20 if !self.in_class => format!("any(({} := _) for _ in (1, 2))", self.name()),
            21 => format!("(lambda {}={}: {})", self.name(), self.expr(), self.expr()),
            22 => format!("(lambda: {})()", self.expr()),
            23 => format!("{}()", self.name()),
            24 => format!("{}({})", self.name(), self.expr()),
            25 => format!("list(map({}, [{}]))", self.name(), self.expr()),
            26 => format!("{}.m()", self.name()),
            27 => format!("{}.v", self.name()),
            28 => format!("{}[0]", self.name()),
            29 => format!("getattr({}, 'v', {})", self.name(), self.expr()),
            30 => format!("eval('{}')", self.name()),
            31 => format!("globals()['{}']", self.name()),
            32 => format!("globals().get('{}', {})", self.name(), self.name()),
            _ => format!("sorted([1, 2], key=lambda _: repr({}))", self.name()),
        };
        self.depth -= 1;
        text
    }

    fn target(&mut self) -> String {
        match self.random.below(9) {
            0 => format!("{}[0]", self.name()),
            1 => format!("{}.v", self.name()),
            2 => format!("{}, {}", self.name(), self.name()),
            3 => format!("[*{}, {}]", self.name(), self.name()),
            4 => format!("{}['k']", self.name()),
            _ => self.name().to_owned(),
        }
    }

    fn body(&mut self, count: usize) -> Vec<Node> {
        let mut all = Vec::new();
        for _ in 0..count {
            self.statement(&mut all);
        }
        all
    }

    fn block(&mut self, text: impl Into<String>) -> Node {
        self.depth += 1;
        let count = 1 + self.random.below(2);
        let body = if self.depth > 3 { vec![self.simple()] } else { self.body(count) };
        self.depth -= 1;
        Node { text: text.into(), body }
    }

    fn looped(&mut self, text: String) -> Node {
        let outer = std::mem::replace(&mut self.in_loop, true);
        let node = self.block(text);
        self.in_loop = outer;
        node
    }

    fn simple(&mut self) -> Node {
        let name = self.name();
        line(match self.random.below(32) {
            0..=4 => format!("{} = {}", self.target(), self.expr()),
            5 => format!("{name} = {} = {}", self.target(), self.expr()),
            6 => format!("{name} += {}", self.random.pick(&["1", "[1]", "(1,)", "f()"])),
            7 => format!("{name}[0] += 1"),
            8 => format!("del {name}"),
            9 => format!("{name}.append({})", self.expr()),
            10 => format!("{name}: {} = {}", self.name(), self.expr()),
            11 => format!("{name}: {}", self.name()),
            12 => format!("import math as {name}"),
            13 => format!("import os.path, {} as {name}", self.random.pick(&["sys", "os.path"])),
            14 => format!("from math import pi as {name}"),
            15 if !self.in_function && !self.in_class => "from math import *".to_owned(),
            16 => format!("exec('{name} = {}')", self.name()),
            17 => format!("globals()['{name}'] = [{}]", self.expr()),
            18 => format!("{name}.v = {}", self.expr()),
            19 => format!("{name}['k'].append(1)"),
            20 => format!("for {name} in {name}: pass"),
            21 if self.in_function => format!("return {}", self.expr()),
            22 if self.in_function => format!("yield {}", self.expr()),
            23 if self.in_loop => self.random.pick(&["break", "continue"]).to_string(),
            24 => format!("raise {}", self.random.pick(&["ValueError", "KeyError(1)"])),
            25 => format!("assert {}, {}", self.expr(), self.name()),
            26 => format!("setattr({name}, 'v', {})", self.expr()),
            27 => format!("del {name}[0]"),
            28 => format!("{name}, {} = {}, {}", self.name(), self.name(), self.name()),
            _ => self.expr(),
        })
    }

    fn statement(&mut self, all: &mut Vec<Node>) {
        if self.depth > 3 {
            all.push(self.simple());
            return;
        }
        match self.random.below(24) {
            0 => {
                let test = self.expr();
                all.push(self.block(format!("if {test}:")));
                if self.chance(3) {
                    let test = self.expr();
                    all.push(self.block(format!("elif {test}:")));
                }
                if self.chance(2) {
                    all.push(self.block("else:"));
                }
            }
            1 => {
                let (target, iterable) = (self.target(), self.expr());
                let iterable = if self.chance(2) { "(1, 2)".to_owned() } else { format!("[{iterable}]") };
                all.push(self.looped(format!("for {target} in {iterable}:")));
                if self.chance(3) {
                    all.push(self.block("else:"));
                }
            }
            2 => {
                let name = self.name();
                let other = self.name();
                all.push(self.looped(format!("while [{name}, {other}] == 1:")));
                if self.chance(3) {
                    all.push(self.block("else:"));
                }
            }
            3 => {
                let mut node = self.looped("while True:".to_owned());
                node.body.push(line("break"));
                all.push(node);
            }
            4 | 5 => {
                all.push(self.block("try:"));
                let text = match self.random.below(3) {
                    0 => "except Exception:".to_owned(),
                    1 => format!("except Exception as {}:", self.name()),
                    _ => format!("except (ValueError, {}) as {}:", self.name(), self.name()),
                };
                let finally = self.chance(3);
                if !finally || self.chance(2) {
                    all.push(self.block(text));
                    if self.chance(3) {
                        all.push(self.block("else:"));
                    }
                }
                if finally {
                    all.push(self.block("finally:"));
                }
            }
            6 => {
                let (value, name) = (self.expr(), self.name());
                let manager = self.random.pick(&["nullcontext", "suppress"]);
                all.push(line(format!("from contextlib import {manager}")));
                let text = match *manager {
                    "suppress" => format!("with suppress(Exception) as {name}:"),
                    _ => format!("with nullcontext({value}) as {name}:"),
                };
                all.push(self.block(text));
            }
            7 if self.at_least(10) => {
                let subject = self.expr();
                let patterns = [
                    format!("case [{}, *{}]:", self.name(), self.name()),
                    format!("case {{'k': {}, **{}}}:", self.name(), "r"),
                    format!("case int() as {}:", self.name()),
                    format!("case {}.v:", self.name()),
                    format!("case {} if {}:", self.name(), self.name()),
                ];
                let pattern = self.random.pick(&patterns).clone();
                let mut cases = vec![self.block(pattern)];
                if self.chance(2) {
                    cases.push(self.block("case _:"));
                }
                all.push(Node { text: format!("match {subject}:"), body: cases });
            }
            8..=11 => self.function(all),
            12 | 13 => self.class(all),
            14 if all.is_empty() && self.depth == 0 && !self.in_function && !self.in_class => {
                let name = self.name();
                all.push(line(format!("global {name}")));
                all.push(line(format!("{name} = {}", self.expr())));
            }
            15 if self.at_least(12) => {
                let value = self.expr();
                let value = if value.contains(":=") || value.contains("yield") { "a".to_owned() } else { value };
                all.push(line(format!("type {} = {value}", self.name())));
            }
            _ => all.push(self.simple()),
        }
    }

    fn function(&mut self, all: &mut Vec<Node>) {
        if self.chance(4) {
            all.push(line(format!("@{}", self.random.pick(&["f", "g", "staticmethod", "(lambda _: _)"]))));
        }
        let name = self.random.pick(&["f", "g", "a", "m"]);
        let (p, q) = (self.name(), self.name());
        let default = self.expr();
        let mut parameters = match self.random.below(6) {
            0 => String::new(),
            1 => format!("{p}={default}"),
            2 => format!("*{p}, k={default}"),
            3 => format!("{p}: {q} = {default}"),
            4 => "p=1, *q, **r".to_owned(),
            _ => "*_".to_owned(),
        };
        if self.in_class && self.chance(2) {
            parameters = "self=None".to_owned();
        }
        let kind = if self.chance(10) { "async def" } else { "def" };
        let generic = if self.at_least(12) && self.chance(6) { format!("[{}]", self.name()) } else { String::new() };
        let (function, looped, class) = (self.in_function, self.in_loop, self.in_class);
        (self.in_function, self.in_loop, self.in_class) = (true, false, false);
        let mut node = self.block(format!("{kind} {name}{generic}({parameters}):"));
        if self.chance(4) {
            let name = self.random.pick(&["b", "c", "d", "L"]);
            let is_parameter = parameters.contains(name);
            if !is_parameter {
                node.body.insert(0, line(format!("global {name}")));
            }
        }
        if !parameters.contains('p') {
            let inner = function && self.chance(3);
            node.body.insert(0, line(if inner { "nonlocal p" } else { "p = []" }));
        }
        if self.chance(2) {
            node.body.push(line(format!("return {}", self.expr())));
        }
        (self.in_function, self.in_loop, self.in_class) = (function, looped, class);
        all.push(node);
    }

    fn class(&mut self, all: &mut Vec<Node>) {
        let name = self.random.pick(&["K", "L", "c"]);
        let base = match self.random.below(4) {
            0 => format!("({})", self.name()),
            1 => format!("({}, metaclass=type)", self.name()),
            _ => String::new(),
        };
        let (function, looped, class) = (self.in_function, self.in_loop, self.in_class);
        (self.in_function, self.in_loop, self.in_class) = (false, false, true);
        let mut node = self.block(format!("class {name}{base}:"));
        if self.chance(3) {
            node.body.insert(0, line(format!("global {}", self.random.pick(&["b", "d"]))));
        }
        if self.chance(2) {
            node.body.push(line("def m(self=None): return v"));
        }
        (self.in_function, self.in_loop, self.in_class) = (function, looped, class);
        all.push(node);
    }
}
