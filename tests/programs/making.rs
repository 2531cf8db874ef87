//! Random programs: steps that share objects, change them in place, define what others call, and use files.

use super::truth::Seen;

/// The last step, which prints what no `repr` tells.
pub const PROBE: &str = "z_probe";

const START: &str = "\
i1, i2, i3 = 1, 2, 3
l1, l2 = [1, 2], [3]
l3 = l1
d1, d2 = {'a': 1, 'l': l2}, {}
t1 = (l1, l2, 3)
s1, s2 = {1, 2}, {3, 9, 8 + 9, 8 * 4, 5 * 8}
t2 = t3 = (i1, i2)
x1 = y1 = [0]
def f1(a=2):
    return a + i1
def f2(a=[]):
    a.append(i2)
    return len(a)
f3 = f1
class C1:
    shared = []
    def __init__(self, v=1):
        self.v = v
        self.items = []
    def up(self):
        self.v += 1
        return self.v
class C2(C1):
    pass
class Oops(Exception):
    code = 1
o1, o2 = C1(), C2(2)
g1 = (x for x in range(9))
b1 = bytearray(b'view')
m1 = memoryview(b1)
";

const PROBE_TEXT: &str = r#"
def _probe():
    import types
    found = {k: v for k, v in sorted(globals().items()) if not k.startswith('_')}
    plain = (int, str, float, bool, bytes, type(None), types.ModuleType)
    objects = [(k, v) for k, v in found.items() if not isinstance(v, plain)]
    for i, (a, v) in enumerate(objects):
        for b, w in objects[i + 1:]:
            if v is w:
                print('one object:', a, b)
            elif isinstance(w, (list, tuple)) and any(part is v for part in w):
                print('holds:', b, a)
            elif isinstance(v, (list, tuple)) and any(part is w for part in v):
                print('holds:', a, b)
    classes = [(k, v) for k, v in found.items() if isinstance(v, type)]
    for k, v in objects:
        for name, cls in classes:
            if not isinstance(v, type) and isinstance(v, cls):
                print(k, 'is a', name)
    for k, v in objects:
        if isinstance(v, types.GeneratorType):
            try:
                print(k, 'gives', [next(v, None) for _ in range(2)])
            except Exception as error:
                print(k, 'fails', type(error).__name__)
        elif isinstance(v, memoryview):
            print(k, 'shows', bytes(v))
        elif isinstance(v, types.FunctionType):
            try:
                print(k, v.__defaults__, [c.cell_contents for c in v.__closure__ or ()])
            except ValueError:
                print(k, 'has an empty cell')
_probe()
del _probe
import os as _os, random as _random
for _name in sorted(_os.listdir('.')):
    if _name.endswith('.txt'):
        with open(_name) as _file:
            print(_name, repr(_file.read()))
print('random', _random.random())
"#;

/// A small generator of random numbers (splitmix64), the same on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Step {
    place: u32,
    text: String,
}

/// The steps of a run, without the probe.
#[derive(Debug, Clone)]
pub struct Program {
    steps: Vec<Step>,
    gone: Vec<Step>,
    kinds: Kinds,
}

impl Program {
    pub fn make(random: &mut Random) -> Self {
        let kinds = Kinds::some(random);
        let count = 5 + random.below(9);
        let mut steps: Vec<Step> =
            (0..count).map(|n| Step { place: (n as u32 + 1) * 100, text: text(random, &kinds) }).collect();
        if random.chance(80) {
            // Most names are there, so that most steps get far.
            steps.insert(0, Step { place: 10, text: START.into() });
        }
        Self { steps, gone: Vec::new(), kinds }
    }

    /// One of these steps.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let steps = (1..).map(|n| n * 100).zip(texts).map(|(place, text)| Step { place, text: text.into() });
        Self { steps: steps.collect(), gone: Vec::new(), kinds: Kinds { templates: TEMPLATES.to_vec(), numbers: 10 } }
    }

    /// Id and text of each, in order, the probe last.
    pub fn steps(&self) -> Vec<(String, String)> {
        let mut steps: Vec<(String, String)> =
            self.steps.iter().map(|step| (format!("s{:05}", step.place), step.text.clone())).collect();
        steps.push((PROBE.into(), PROBE_TEXT.into()));
        steps
    }

    /// Changes, removes, inserts, moves, or takes an earlier change back.
    pub fn edit(&mut self, random: &mut Random) {
        let at = random.below(self.steps.len());
        match random.below(10) {
            0 if self.steps.len() > 3 => {
                let step = self.steps.remove(at);
                self.gone.push(step);
            }
            1 => {
                let place = self.steps[at].place + 1 + random.below(40) as u32;
                if self.steps.iter().all(|step| step.place != place) {
                    self.steps.push(Step { place, text: text(random, &self.kinds) });
                }
            }
            2 => {
                let other = random.below(self.steps.len());
                let text = std::mem::take(&mut self.steps[at].text);
                let text = std::mem::replace(&mut self.steps[other].text, text);
                if other != at {
                    self.steps[at].text = text;
                } else {
                    self.steps[at].text = self::text(random, &self.kinds);
                }
            }
            3 => {
                if let Some(old) = self.gone.pop() {
                    match self.steps.iter_mut().find(|step| step.place == old.place) {
                        Some(step) => *step = old,
                        None => self.steps.push(old),
                    }
                }
            }
            4 => self.steps[at].text.insert_str(0, "# a remark\n"),
            5 => {
                self.gone.push(self.steps[at].clone());
                self.steps[at].text = text(random, &self.kinds);
            }
            _ => {
                self.gone.push(self.steps[at].clone());
                let number = random.below(self.kinds.numbers).to_string();
                let changed = change_number(&self.steps[at].text, &number, random, &self.kinds);
                self.steps[at].text = changed;
            }
        }
        self.steps.sort_by_key(|step| step.place);
    }

    /// Steps in which only a remark is another: they are edited, and may run for it.
    pub fn remarked(&self, old: &Self) -> Vec<String> {
        let then = old.steps();
        let only_remarks = |(id, text): &(String, String)| {
            let old = then.iter().find(|(other, _)| other == id)?;
            (old.1 != *text && without_remarks(&old.1) == without_remarks(text)).then(|| id.clone())
        };
        self.steps().iter().filter_map(only_remarks).collect()
    }

    /// How many steps had to run: new or other code, or something that they used differs between the two true runs.
    pub fn ideal(&self, old: &Self, seen: &Seen, now: &Seen) -> usize {
        let (then, present) = (old.steps(), self.steps());
        let mut count = 0;
        for (id, source) in present.iter().filter(|(id, _)| id != PROBE) {
            let Some(old_at) = then.iter().position(|(other, _)| other == id) else {
                count += 1;
                continue;
            };
            if without_remarks(&then[old_at].1) != without_remarks(source) {
                count += 1;
                continue;
            }
            if seen.used.get(id) != now.used.get(id) {
                count += 1;
            }
        }
        count
    }
}

fn without_remarks(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

/// The text with one of its numbers changed.
fn change_number(text: &str, number: &str, random: &mut Random, kinds: &Kinds) -> String {
    let places: Vec<usize> = text
        .char_indices()
        .filter(|&(at, c)| {
            let before = text[..at].chars().next_back().unwrap_or(' ');
            c.is_ascii_digit() && !before.is_alphanumeric() && before != '_' && before != '.'
        })
        .map(|(at, _)| at)
        .collect();
    if places.is_empty() {
        return self::text(random, kinds);
    }
    let at = places[random.below(places.len())];
    format!("{}{number}{}", &text[..at], &text[at + 1..])
}

/// One to four statements.
fn text(random: &mut Random, kinds: &Kinds) -> String {
    let count = 1 + random.below(4);
    (0..count).map(|_| statement(random, kinds) + "\n").collect()
}

/// What the statements of a program are made of.
#[derive(Debug, Clone)]
struct Kinds {
    templates: Vec<&'static str>,
    /// Numbers in them are below this.
    numbers: usize,
}

impl Kinds {
    /// All, or a few: these meet one another far more often, and set things to what they were.
    fn some(random: &mut Random) -> Self {
        if random.chance(70) {
            return Self { templates: TEMPLATES.to_vec(), numbers: 10 };
        }
        let count = 6 + random.below(14);
        Self { templates: (0..count).map(|_| random.pick(TEMPLATES)).collect(), numbers: 3 }
    }
}

fn statement(r: &mut Random, kinds: &Kinds) -> String {
    let n = r.below(kinds.numbers);
    let int = r.pick(&["i1", "i2", "i3"]);
    let list = r.pick(&["l1", "l2", "l3"]);
    let other = r.pick(&["l1", "l2", "l3"]);
    let dict = r.pick(&["d1", "d2"]);
    let function = r.pick(&["f1", "f2", "f3"]);
    let class = r.pick(&["C1", "C2"]);
    let object = r.pick(&["o1", "o2"]);
    let generator = r.pick(&["g1", "g2"]);
    let file = r.pick(&["a.txt", "b.txt"]);
    let set = r.pick(&["s1", "s2"]);
    let any = r.pick(&["i1", "i2", "l1", "l2", "d1", "o1", "t1", "g1"]);
    let template = r.pick(&kinds.templates);
    let mut text = String::new();
    // Upper-case letters that stand alone are places to fill.
    let mut chars = template.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        let alone = [before, after].iter().all(|c| !(c.is_alphanumeric() || *c == '_'));
        let fill = match c {
            'N' if alone || (before == 'c' && after == '\'') => n.to_string(),
            'I' if alone => int.into(),
            'L' if alone => list.into(),
            'K' if alone => other.into(),
            'D' if alone => dict.into(),
            'F' if alone => function.into(),
            'C' if alone => class.into(),
            'O' if alone => object.into(),
            'G' if alone => generator.into(),
            'S' if alone => set.into(),
            'Q' if alone => file.into(),
            'Y' if alone => any.into(),
            other => other.to_string(),
        };
        before = c;
        text.push_str(&fill);
    }
    text
}

#[rustfmt::skip]
const TEMPLATES: &[&str] = &[
    // plain values, aliases, changes in place
    "I = N", "I = N", "I = I + N", "I += len(L)", "L = [N, 2, 3]", "L = list(range(N))", "L = K", "L.append(N)", "L += [N]",
    "L = L + [I]", "L.extend(K)", "L.sort(reverse=N % 2 == 0)", "L[:] = [N]", "D = {'a': N, 'l': L}", "D['a'] = N", "D.setdefault('l', []).append(N)",
    "D = dict(D, b=N)", "t1 = (L, K, N)", "t1[0].append(N)", "L.append(L)", "L = [[N] * 2] * 2", "L[0] = I", "K[0].append(N)", "del L", "del I",
    "print(I, len(L))", "print({k: v for k, v in D.items() if isinstance(v, int)})", "print(len(L) + N)", "I = sum(x for x in L if isinstance(x, int))", "I, L = N, [N]", "x1 = y1 = [N]", "x1.append(N)",
    "import copy\nK = copy.deepcopy(L)", "import copy\nK = copy.copy(D)", "from collections import deque, OrderedDict, Counter\nL = deque([N, 1], maxlen=3)", "d2 = Counter([N, 1, N])",
    // functions, closures, defaults, late binding
    "def F(a=N):\n    return a + I", "def F(a=[]):\n    a.append(N)\n    return len(a)", "print(F())", "I = F()", "def F():\n    global I\n    I = N\n    return I",
    "def F():\n    L.append(N)\n    return L", "def make(k):\n    held = [k]\n    def inner():\n        held.append(N)\n        return sum(held)\n    return inner\nF = make(N)", "F = lambda: L[-1] if L else N",
    "def F(n=N):\n    return n if n < 2 else f1(n - 1)", "D = {'f': f1, 'n': N}", "print(D['f']())", "F.tag = N", "print(F.tag)", "l3 = [f1, f2]", "print([h() for h in l3 if callable(h)])",
    "import functools\nF = functools.partial(f1, N)", "import functools\n@functools.lru_cache(None)\ndef F(a=N):\n    return a + N", "for I in range(N):\n    L.append(I)", "def F():\n    return I2 if 'I2' in globals() else N",
    // classes and instances
    "class C:\n    shared = [N]\n    def __init__(self, v=N):\n        self.v = v\n    def __repr__(self):\n        return 'C(%r)' % (self.v,)\n    def up(self):\n        self.v += N\n        return self.v",
    "class C2(C1):\n    extra = N", "O = C(N)", "O.v = N", "O.up()", "C.shared.append(N)", "print(C.shared)", "print(isinstance(o1, C1), isinstance(o1, C2))", "L = [O, O]", "O.other = L", "o2 = o1", "C.count = N",
    "print(getattr(O, 'v', N))", "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    v: int = N\n    items: list = field(default_factory=list)", "O.items.append(N)",
    "from collections import namedtuple\nP1 = namedtuple('P1', 'x y')\np1 = P1(N, L)", "print(p1.x)", "from enum import Enum\nclass E1(Enum):\n    A = N\n    B = 20\ne1 = E1.B", "print(e1 is E1.B, E1.A.value)",
    "class Oops(Exception):\n    code = N", "raise Oops('N')", "try:\n    raise Oops(N)\nexcept Oops as error:\n    I = error.code", "try:\n    print(F(N))\nexcept Exception as error:\n    print(type(error).__name__)",
    // generators, iterators, views
    "G = (x * N for x in range(10))", "print(next(G))", "I = next(G, N)", "L = iter([N, 1, 2])", "print(next(L))", "def make2():\n    n = N\n    while True:\n        n += len(L)\n        yield n\nG = make2()", "l2 = list(G) if N > 7 else [N]",
    "b1 = bytearray(b'abcN')\nm1 = memoryview(b1)", "m1[0] = 60 + N", "b1[1] = 70 + N", "print(bytes(b1))", "z1 = zip(L, range(N))", "print(list(z1))", "e2 = enumerate(L)", "print(next(e2, None))",
    // ambient state
    "import random\nI = random.random()", "import random\nrandom.seed(N)", "import random\nrandom.shuffle(L)", "import os\nos.environ['KEY'] = 'N'", "import os\nprint(os.environ.get('KEY'))", "import math\nmath.mine = N", "import math\nprint(getattr(math, 'mine', None))",
    "import builtins\nbuiltins.extra = N", "print(extra)", "import sys\nsys.setrecursionlimit(1000 + N)", "import sys\nprint(sys.getrecursionlimit())", "import decimal\ndecimal.getcontext().prec = 5 + N", "import decimal\nprint(decimal.Decimal(1) / 3)",
    // files
    "with open('Q', 'w') as h:\n    h.write('N')", "with open('Q', 'a') as h:\n    h.write('N')", "with open('Q') as h:\n    print(h.read())", "import os\nprint(os.path.exists('Q'))", "import os\nos.remove('Q')", "import os\nprint(sorted(n for n in os.listdir('.') if n.endswith('.txt')))",
    "import os\nos.rename('a.txt', 'b.txt')", "import pathlib\npathlib.Path('Q').write_text('N' * N)", "import pathlib\nI = len(pathlib.Path('Q').read_text())",
    // absence, dynamic code, failure half-way
    "try:\n    print(Y)\nexcept NameError:\n    print('none')", "I = globals().get('l1', N)", "exec('I = N')", "print(sorted(k for k in globals() if k[0] == 'l'))", "print('Y' in dir())", "L.append(N)\nprint(1 // (N - 3))", "I = eval('N + 1')", "assert N > 1, 'small'", "del D['a']", "if N > 4:\n    L = [N]\nelse:\n    D = {}", "while I and I > N:\n    I -= 1",
    "import json\nprint(json.dumps(D, default=str, sort_keys=True))", "I: int = N", "*l1, I = [N, 2, 3]", "try:\n    I = len(L)\nexcept TypeError:\n    I = N\nprint(I)", "try:\n    L = [D['a'], N]\nexcept (KeyError, NameError):\n    print('no')\nelse:\n    I = N\nprint(L, I)",
    "for I in [N, 1]:\n    L.append(I)\nprint(I)", "for I in L:\n    K = [I]\n    if N > 5:\n        break\nprint(I, K)", "with open('Q', 'w') as h:\n    I = h.write('N')\nprint(I)", "import contextlib\nwith contextlib.suppress(Exception):\n    I = D['a'] + N\n    L = [I]\nprint(I, L)",
    "if I > N:\n    L = [I]\nelif N > 5:\n    L = K\nelse:\n    raise Oops(N)\nprint(L)", "try:\n    K.append(N)\n    raise Oops(N)\nexcept Oops as I:\n    L = list(K)\nfinally:\n    print(L)", "while I < N:\n    I += 1\n    L = [I]\nelse:\n    K = L\nprint(K)", "if (I := N) < 3 or (J := K):\n    print(I)\nelse:\n    print(J)",
    "if (I := N) > 4:\n    print(I)", "L.append(O)", "D['self'] = D",
    // sets, and values that can't change and are one object
    "S = {N, 2, 9}", "S.add(N)", "S.discard(N)", "S |= {N, 9 + 8}", "S -= {2, N}", "S ^= {8, N}", "s2 = s1", "s2 = set(s1)", "print(S)", "I = S.pop() if S else N", "s2 = {x for x in L if isinstance(x, int)}", "print(sorted(s1 & s2), s1 is s2)",
    "t2 = (N, I)", "t2 = (1, N)", "t3 = (1, 2)", "L = [t3, (N, 1)]", "def F(a=N):\n    return (1, 2)", "t3 = F()", "print(t2 is t3)", "t3 = t2", "L.append(t2)", "D['t'] = t2", "t2 = t2 + (N,)", "print(t2, t3)", "O.t = t2", "t3 = frozenset([N, 2])", "import datetime\nt2 = datetime.date.fromordinal(1 + N)",
];
