//! Sources with random edits, and what must hold of any of them. The bench uses it too, where it is optimised.

use std::process::Command;

use reweave::analysis::{Options, PythonVersion, StepNames, analyze, builtins};

use crate::random::Random;

/// Pieces that mean something to a parser.
const PIECES: [&str; 68] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "    ",
    "\\\n",
    "\u{c}",
    "\0",
    "\u{feff}",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ";",
    ",",
    ".",
    "=",
    ":=",
    "==",
    "->",
    "@",
    "*",
    "**",
    "'",
    "\"",
    "'''",
    "\"\"\"",
    "f'",
    "f\"\"\"",
    "rb'",
    "t'{x!r:>{y}}'",
    "{{",
    "}}",
    "!r",
    "#",
    "# -*- coding: latin-1 -*-",
    "lambda ",
    "async ",
    "await ",
    "yield ",
    "global x\n",
    "nonlocal x\n",
    "def f[T = int](a, /, b, *, c=1):\n",
    "class K[*Ts, **P]:\n",
    "type X = ",
    "match x:\n case ",
    "except* A, B:\n",
    "from . import *\n",
    "import a.b as c\n",
    "%%time\n",
    "%matplotlib inline\n",
    "!ls {x}\n",
    "x?\n",
    "exec('",
    "eval(\"",
    "globals()",
    "ﬁ",
    "𝓍",
    "é",
    "\u{301}",
    "中",
    "🙂",
    "0x",
    "1_0e",
];

/// Real sources that are small enough to be mutated many times.
pub fn seeds() -> Vec<String> {
    let mut seeds: Vec<String> = SOURCES.iter().map(|text| (*text).to_owned()).collect();
    let list = "import sysconfig, os, tokenize\nroot = sysconfig.get_path('stdlib')\nfor d, ds, fs in os.walk(root):\n \
                ds.sort()\n for f in sorted(fs):\n  p = os.path.join(d, f)\n  if f.endswith('.py') and 0 < \
                os.path.getsize(p) < 4000: print(p)";
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    if let Ok(output) = Command::new(python).args(["-I", "-c", list]).output() {
        let paths = String::from_utf8_lossy(&output.stdout).into_owned();
        seeds.extend(paths.lines().take(600).filter_map(|path| std::fs::read_to_string(path).ok()));
    }
    seeds
}

/// A mutated source for a seed.
pub fn mutated(seed: u64, seeds: &[String]) -> String {
    let mut random = Random::new(seed);
    let mut text = random.pick(seeds).clone();
    for _ in 0..1 + random.below(6) {
        let at = border(&text, random.below(text.len() + 1));
        let end = border(&text, (at + random.below(60)).min(text.len()));
        match random.below(7) {
            0 => text.truncate(at),
            1 => drop(text.drain(at..end)),
            2 | 3 => text.insert_str(at, random.pick::<&str>(&PIECES)),
            4 => {
                let copy = text[at..end].to_owned();
                let to = border(&text, random.below(text.len() + 1));
                text.insert_str(to, &copy);
            }
            5 => {
                let other = random.pick(seeds);
                let from = border(other, random.below(other.len() + 1));
                let to = border(other, (from + random.below(300)).min(other.len()));
                text.replace_range(at..end, &other[from..to]);
            }
            _ => {
                let piece = *random.pick(&PIECES);
                text.insert_str(at, &piece.repeat(1 + random.below(250)));
            }
        }
    }
    text
}

fn border(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Reads the source of a seed and looks at what came of it.
pub fn check(seed: u64, seeds: &[String]) {
    let text = mutated(seed, seeds);
    let python = PythonVersion { major: 3, minor: 9 + (seed % 6) as u8 };
    let names = analyze(&text, &Options { python: Some(python), parser: None });
    harmless(&text, &names, &format!("seed {seed}"));
}

/// What holds of every source.
pub fn harmless(text: &str, names: &StepNames, what: &str) {
    for occurrence in &names.occurrences {
        let place = text.get(occurrence.range.clone());
        assert!(place.is_some_and(|place| !place.is_empty()), "{what}: {occurrence:?} is no place in the text");
        assert!(occurrence.line >= 1 && occurrence.column >= 1, "{what}: {occurrence:?}");
    }
    if let Some(error) = &names.syntax_error {
        let lines = text.bytes().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u32 + 1;
        assert!((1..=lines).contains(&error.line) && error.column >= 1, "{what}: {error:?} of {lines} lines");
    }
    assert!(names.opaque.is_some() || names.analyzed_by != reweave::analysis::AnalyzedBy::Opaque, "{what}");
    // Every name read or bound somewhere has been noted somewhere.
    if !text.contains("exec") && !text.contains("eval") && !text.contains("globals") {
        for name in names.reads.keys().filter(|name| !builtins::is_builtin(name)) {
            let there = names.occurrences.iter().any(|occurrence| occurrence.name == *name);
            let magic = text.contains(['%', '!', '?', '$']);
            assert!(
                there || magic || text.contains("vars") || text.contains("locals"),
                "{what}: {name} is read nowhere"
            );
        }
    }
}

/// Sources that hold what the standard library has little of.
const SOURCES: [&str; 4] = [
    "def f[T: int = str, *Ts, **P](a: T, /, b=x, *c: *Ts, d=y, **e) -> 'T':\n    global g\n    g = [h for h in a if \
     (i := h)]\n    return lambda: f'{a!r:>{b}} {c[\"k\"]}'\n\nclass K[T](B, metaclass=M):\n    __p = 1\n    def m(self): \
     return __class__, self.__p\n",
    "match x:\n    case [a, *b] | {'k': a, **b} if c: pass\n    case K(d, e=f) as g: pass\n    case _: pass\ntry:\n    \
     import a.b, c.d as e\nexcept* (A, B) as f:\n    del f\nelse:\n    x += 1\nfinally:\n    with open(p) as f, g() as \
     (h, i): pass\n",
    "%matplotlib inline\nfiles = !ls {path}\n%time y = sum(x)\nx?\nprint(f'''{a\n + b:{c}}''')\r\n!pip install x\n\
     %%bash\necho $HOME\n",
    "exec('a = b'); eval('c'); globals()['d'] = e\ntype X[T] = list[T]\nasync def f():\n    async for i in j: yield \
     await k\nawait f()\nﬁ = 𝓍; é = '中🙂'\nx: T = 1\nprint(t'{x}')\n",
];
