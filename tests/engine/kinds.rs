//! Kinds of statement whose result hangs on more than the text names. Each was once met in a wrong result.

use reweave::engine::OnError;

use super::harness::Run;
use super::sound;

/// Steps, and what the one that is named becomes; the last one must run again.
fn reaches(steps: &[&str], edited: usize, text: &str) {
    let names = ["1", "2", "3", "4", "5"];
    let before: Vec<(&str, &str)> = names.into_iter().zip(steps.iter().copied()).collect();
    let mut after = before.clone();
    after[edited - 1].1 = text;
    let ran = sound(&before, &after);
    assert_eq!(ran.last().map(String::as_str), before.last().map(|step| step.0), "{steps:?}: {ran:?}");
}

#[test]
fn a_name_that_is_looked_up_by_something_that_was_kept() {
    for kept in
        ["g = globals().__getitem__", "me = globals()\ng = me.get", "import operator\ng = lambda n, e=eval: e(n)"]
    {
        reaches(&[kept, "k = 1", "print(g('k'))"], 2, "k = 2");
    }
    reaches(&["import __main__ as me", "k = 1", "print(me.k)\ndel me"], 2, "k = 2");
    let pickled = "import pickle\nwith open('o', 'wb') as out:\n    pickle.dump(A(), out)";
    reaches(
        &["class A:\n    v = 1", pickled, "import pickle\nprint(pickle.load(open('o', 'rb')).v)"],
        1,
        "class A:\n    v = 2",
    );
    let hints = "import typing\nprint(typing.get_type_hints(f)['x'].v)";
    reaches(&["class A:\n    v = 1", "def f(x: 'A'): pass", hints], 1, "class A:\n    v = 2");
    let subclasses = "print([c.__name__ for c in Base.__subclasses__()])";
    reaches(&["class Base: pass", "class A(Base): pass", subclasses], 2, "class B(Base): pass");
}

#[test]
fn an_attribute_that_is_read_by_a_computed_name() {
    reaches(&["import math", "math.qq = 5", "n = 'q' * 2", "print(getattr(math, n))"], 2, "math.qq = 6");
    reaches(&["import math", "math.qq = 5", "print('{m.qq}'.format(m=math))"], 2, "math.qq = 6");
    // What a library had of itself it uses.
    let parses = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n')\nprint(p.parse_args().n)";
    reaches(&["import sys\nsys.argv = ['p', '--n', '3']", parses], 1, "import sys\nsys.argv = ['p', '--n', '4']");
    let asks = "import tempfile as t\nprint(t.gettempdir())";
    reaches(&["import tempfile\ntempfile.tempdir = '.'", asks], 1, "import tempfile\ntempfile.tempdir = '..'");
    let counter = "from collections import Counter";
    reaches(&[counter, "Counter.foo = 1", "print(Counter.foo)"], 2, "Counter.foo = 2");
}

#[test]
fn what_happens_when_the_last_name_of_something_goes() {
    let class = "class R:\n    def __init__(self, n): self.n = n\n    def __del__(self): print('gone', self.n)";
    let made = format!("{class}\nr = R(1)");
    reaches(&[&made, "r = None"], 1, &format!("{class}\nr = R(7)"));
    reaches(
        &["f = open('o.txt', 'w')\nf.write('A')", "f = None", "print(open('o.txt').read())"],
        1,
        "f = open('o.txt', 'w')\nf.write('B')",
    );
    let generator = "def g():\n    try:\n        yield\n    finally:\n        print(1)\ni = g()\nnext(i)";
    reaches(&[generator, "i = None"], 1, &generator.replace("print(1)", "print(2)"));
}

#[test]
fn what_a_digest_must_tell() {
    let method = "import types\nk.speak = types.MethodType(lambda self: 'one', k)";
    reaches(&["class K: pass\nk = K()", method, "print(k.speak())"], 2, &method.replace("one", "two"));
    reaches(&["def f(): pass", "f.__doc__ = 'A'", "print(f.__doc__)"], 2, "f.__doc__ = 'B'");
    // A function with a text is brought over as it is.
    let told = [("1", "def f():\n    'It adds.'\n    return x + 1"), ("2", "x = 1"), ("3", "print(f())")];
    assert_eq!(sound(&told, &[told[0], ("2", "x = 2"), told[2]]), ["2", "3"]);
    let cause = "e = ValueError()\ne.__cause__ = KeyError('A')";
    reaches(&[cause, "print(e.__cause__)"], 1, &cause.replace('A', "B"));
    let long = format!("x = 0x{}\nprint(x % 7)", "f".repeat(5000));
    assert_eq!(sound(&[("1", &long)], &[("1", &long.replace("% 7", "% 8"))]), ["1"]);
    // One that is not a number is in a list by being that very one.
    let nan = "import math\nl = [1, math.nan]";
    reaches(&[nan, "k = 1", "print(k, math.nan in l, l == list(l))"], 2, "k = 2");
}

#[test]
fn what_is_shared_without_a_reference_that_shows() {
    reaches(&["import weakref\nclass A: pass\na = A()\np = weakref.proxy(a)", "a.x = 5", "print(p.x)"], 2, "a.x = 6");
    reaches(&["class A: pass\nT = list[A]", "A.v = 1", "print(T.__args__[0].v)"], 2, "A.v = 2");
    let printed =
        "import io, contextlib\nbuf = io.StringIO()\ncm = contextlib.redirect_stdout(buf)\ncm.__enter__()\nNone";
    reaches(&[printed, "print('A')", "cm.__exit__(None, None, None)\nprint(buf.getvalue())"], 2, "print('B')");
}

#[test]
fn files_by_every_way_to_them() {
    reaches(
        &["f = open('x', 'w')", "f.write('A')\nf.flush()", "print(open('x').read())"],
        2,
        "f.write('B')\nf.flush()",
    );
    let tree = "import os\nos.makedirs('a/b')\nopen('a/b/f', 'w').write('A')";
    let moved = "import os\nos.rename('a', 'z')\nprint(os.path.exists('a'), os.path.exists('a/b'))";
    reaches(&[tree, moved, "print(open('z/b/f').read())"], 1, &tree.replace("'A'", "'B'"));
    let removed = "import shutil\nshutil.rmtree('a')\nprint(os.path.exists('a'), os.listdir('.'))";
    reaches(&[tree, removed], 1, &tree.replace("'a/b/f'", "'a/b/g'"));
    let linked = "import os\nopen('x', 'w').write('A')\nos.symlink('x', 'l')";
    reaches(&[linked, "open('l', 'a').write('B')", "print(open('x').read())"], 2, "open('l', 'a').write('C')");
    let hard = "import os\nopen('x', 'w').write('A')\nos.link('x', 'y')\nopen('x', 'a').write('B')";
    reaches(&[hard, "print(open('y').read())"], 1, &hard.replace("'B'", "'C'"));
    reaches(
        &["open('d', 'w').write('one')\nf = open('d')", "open('d', 'a').write('A')", "print(f.read())"],
        2,
        "open('d', 'a').write('B')",
    );
    let asks = "import io, sys\nsys.stdin = io.StringIO('a\\n')\nprint(input())";
    assert_eq!(sound(&[("1", asks)], &[("1", &asks.replace("'a", "'b"))]), ["1"]);
}

#[test]
fn which_warnings_were_shown() {
    let warns = "import warnings\nwarnings.warn('old')";
    let printed = format!("{warns}\nprint(1)");
    // An equal one of the same line is shown once in a run, wherever the steps are executed.
    assert_eq!(sound(&[("1", warns), ("2", warns)], &[("1", warns), ("2", &printed)]), ["2"]);
    assert_eq!(sound(&[("1", warns), ("2", warns)], &[("1", "import warnings"), ("2", warns)]), ["1", "2"]);
    let within = [("1", "import warnings"), ("2", "warnings.warn('old')"), ("3", "warnings.warn('old')")];
    let caught = ("1", "import warnings\nwith warnings.catch_warnings(): pass");
    assert_eq!(sound(&within, &[caught, within[1], within[2]]), ["1"]);
    // Who sets filters has what was shown forgotten, however it came to be shown.
    let forgets = ("2", "with warnings.catch_warnings(): pass");
    let after =
        [("1", "import warnings\nwarnings.warn('old')"), forgets, ("3", "import warnings\nwarnings.warn('old')")];
    assert_eq!(sound(&[within[0], forgets, after[2]], &after), ["1"]);
    // What a step puts where Python keeps them harms nobody.
    let puts =
        "__warningregistry__ = {(1,): 1, ('a', None, 2): 1, 'version': 0}\nimport warnings\nwarnings.warn('old')";
    assert_eq!(sound(&[("1", puts), ("2", "print(1)")], &[("1", puts), ("2", "print(2)")]), ["2"]);
    let once = "import warnings\nwarnings.simplefilter('once')";
    let shows = format!("{once}\nwarnings.warn('old')");
    reaches(&[once, "warnings.warn('old')"], 1, &shows);
}

#[test]
fn what_of_a_package_was_imported() {
    let uses = [("1", "import xml.dom.minidom\nx = 1"), ("2", "print(xml.dom.minidom.__name__)")];
    assert_eq!(sound(&uses, &[uses[0], ("2", "print(xml.dom.minidom.__name__, 2)")]), ["2"]);
    let apart =
        [("1", "import xml"), ("2", "from xml.dom import minidom as m"), ("3", "print(xml.dom.minidom.__name__)")];
    assert_eq!(sound(&apart, &[apart[0], apart[1], ("3", "print(xml.dom.minidom.__name__, 2)")]), ["3"]);
    assert_eq!(sound(&apart, &[apart[0], ("2", "m = 1"), apart[2]]), ["2", "3"]);
    // Who imports it as well makes it stand whatever was before.
    let twice = [("1", "import xml.dom"), ("2", "import xml.dom"), ("3", "print(xml.dom.__name__)")];
    assert_eq!(sound(&twice, &twice[1..]), [""; 0]);
    reaches(
        &["import urllib.request as u\nu.foo = 1", "import urllib.request\nprint(urllib.request.foo)"],
        1,
        "import urllib.request as u\nu.foo = 2",
    );
}

#[test]
fn what_is_called_when_something_dies() {
    let made = "import weakref\nclass A: pass\na = A()\nl = []\nf = weakref.finalize(a, l.append, 1)";
    reaches(&[made, "del a", "print(l)"], 1, &made.replace(", 1)", ", 2)"));
    let printed = "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 1)\nNone";
    reaches(&[printed, "del a"], 1, &printed.replace(", 1)", ", 2)"));
}

#[test]
fn state_of_a_module_whatever_it_is_called() {
    let week = "print(c.weekheader(2))";
    reaches(&["import calendar as c", "c.setfirstweekday(2)", week], 2, "c.setfirstweekday(3)");
    let by_name = "from calendar import weekheader as w, setfirstweekday as s";
    reaches(&[by_name, "s(2)", "print(w(2))"], 2, "s(3)");
    let named = "from xml.etree import ElementTree as E\nE.register_namespace('zz', 'http://z')";
    reaches(&[named, "print(E.tostring(E.Element('{http://z}a')))"], 1, &named.replace("zz", "yy"));
}

#[test]
fn attributes_where_few_look_for_them() {
    let members = "import enum\nclass C(enum.Enum):\n    A = 1";
    reaches(&[members, "C.A.note = 5", "print(C.A.note)"], 2, "C.A.note = 6");
    let long = "print(reprlib.repr([1, 2, 3, 4, 5, 6, 7, 8]))";
    reaches(&["import reprlib", "reprlib.aRepr.maxlist = 2", long], 2, "reprlib.aRepr.maxlist = 3");
    reaches(&["import os", "os.environb[b'Z'] = b'1'", "print(os.environb[b'Z'])"], 2, "os.environb[b'Z'] = b'2'");
    reaches(
        &["import logging", "logging.addLevelName(25, 'A')", "import logging\nprint(logging.getLevelName(25))"],
        2,
        "logging.addLevelName(25, 'B')",
    );
    let zone = "import datetime\nclass T(datetime.tzinfo):\n    off = 0\n    def utcoffset(self, d): \
                return datetime.timedelta(hours=T.off)\n    def dst(self, d): return None\n\
                d = datetime.datetime(2020, 1, 1, tzinfo=T())";
    reaches(&[zone, "T.off = 1", "print(d)"], 2, "T.off = 2");
    reaches(&["l = []\ns = slice(l)", "l.append(1)", "print(s.stop)"], 2, "l.append(2)");
    let sizes = "import os\nprint([e.stat().st_size for e in os.scandir('.') if e.name == 'x'])";
    reaches(&["open('x', 'w').write('A')\nNone", sizes], 1, "open('x', 'w').write('AB')\nNone");
}

#[test]
fn what_libraries_take_from_a_shell_is_there() {
    // As matplotlib does when the first figure is made. Where IPython is installed, its own finds no shell.
    let text = "import IPython\nip = IPython.get_ipython() or get_ipython()\nip.events.register('post_execute', print)\n\
                ip.enable_gui('agg')\nprint(IPython.version_info[0] > 7)";
    let mut run = super::harness::Run::new(reweave::engine::OnError::Continue);
    assert_eq!(run.update(&[("1", text)]).results["1"], "True\n None");
}

#[test]
fn permissions_of_files_are_state() {
    let looks = "import os, stat\nprint(stat.filemode(os.stat('a.txt').st_mode))";
    let before = [("1", "open('a.txt', 'w').write('x')"), ("2", "import os\nos.chmod('a.txt', 0o700)"), ("3", looks)];
    let mut after = before;
    after[1].1 = "import os\nos.chmod('a.txt', 0o500)";
    assert_eq!(sound(&before, &after), ["2", "3"]);
    after[1].1 = "import os";
    assert_eq!(sound(&before, &after), ["2", "3"]);
    // What is written anew has them again from who gave them.
    after = before;
    after[0].1 = "open('a.txt', 'w').write('y')";
    assert_eq!(sound(&before, &after), ["1", "2", "3"]);
    let copies = [
        before[0],
        before[1],
        ("3", "import shutil\nshutil.copy('a.txt', 'b.txt')"),
        ("4", "import os\nprint(os.access('b.txt', os.X_OK))"),
    ];
    let mut after = copies;
    after[1].1 = "import os\nos.chmod('a.txt', 0o600)";
    assert_eq!(sound(&copies, &after), ["2", "3", "4"]);
}

/// To set something to what it is already changes nothing now, and much once what it was is another.
#[test]
fn what_is_set_to_what_it_was_is_set() {
    for (set, shows) in [
        ("import builtins\nbuiltins.q = ?", "print(q)"),
        ("import builtins\nsetattr(builtins, 'q', ?)", "print(q)"),
        ("import math\nmath.q = ?", "print(math.q)"),
        ("import os\nos.environ['K'] = '?'", "print(os.environ['K'])"),
        ("import os\nos.environ.update(K='?')", "print(os.environ['K'])"),
        ("import os\nos.environb[b'K'] = b'?'", "print(os.environ['K'])"),
        ("import sys\nsys.setrecursionlimit(1000 + ?)", "print(sys.getrecursionlimit())"),
        ("import decimal\ndecimal.getcontext().prec = 5 + ?", "print(decimal.Decimal(1) / 3)"),
        ("import os\nos.umask(?)", "print(os.umask(1))"),
        ("import random\nrandom.seed(?)", "print(random.random())"),
        ("open('f', 'w').write('?')", "print(open('f').read())"),
    ] {
        let [one, two] = ["1", "2"].map(|value| set.replace('?', value));
        // The second sets it to what the first did, and the third looks.
        let ran = sound(&[("1", &one), ("2", &one), ("3", shows)], &[("1", &two), ("2", &one), ("3", shows)]);
        assert!(ran.iter().all(|step| step != "3"), "{set}: {ran:?}");
    }
    let gone = "import os\ndel os.environ['K']";
    let set = "import os\nos.environ['K'] = '1'";
    assert_eq!(sound(&[("1", set), ("2", gone)], &[("1", "import os"), ("2", gone)]), ["1", "2"]);
}

/// What a dataclass holds of its library is asked by identity, and a field with metadata reads them through a proxy.
#[test]
fn dataclasses_and_proxies_are_brought_over() {
    let made = "\
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
@dataclass(order=True)
class A:
    v: int = field(default=1, metadata={'unit': 'm'})
    items: list = field(default_factory=list)
@dataclass
class B(A):
    w: int = 2
a, b = A(3), B()
import types
base = {'a': 1}
view = types.MappingProxyType(base)";
    let shows = "base['a'] += 1\nprint([f.name for f in fields(B)], fields(A)[0].metadata, asdict(a), replace(b, w=5), a < A(4), view, type(b) is B)";
    let mut run = Run::new(OnError::Continue);
    run.update(&[("1", made), ("2", "c = replace(a)\nd = A(1)"), ("3", shows)]);
    run.restart();
    let after = [
        ("1", made),
        ("2", "c = replace(a)\nd = A(1)"),
        ("3", &*format!("{shows}\nprint(c, d, A.__dataclass_fields__['v'].default_factory is MISSING)")),
    ];
    let told = run.update(&after);
    assert_eq!((told.ran, told.rebuilt), (vec!["3".to_owned()], 0));
    assert_eq!(told.results, Run::new(OnError::Continue).update(&after).results);
}

/// `except ... as name` takes the name away, also where there was none.
#[test]
fn a_name_that_is_taken_away_and_was_not_there() {
    let takes = "try:\n    raise ValueError\nexcept ValueError as e:\n    pass";
    let after = |step| [("1", "e = 5"), ("2", step), ("3", "print(globals().get('e'))")];
    assert_eq!(sound(&[("1", "x = 1"), after(takes)[1], after(takes)[2]], &after(takes)), ["1", "2"]);
    let calls = "def f():\n    global e\n    e = 1\n    del e\nf()";
    assert_eq!(sound(&[("1", "x = 1"), after(calls)[1], after(calls)[2]], &after(calls)), ["1", "2"]);
    let before = [("1", "x = 1"), ("2", takes), ("3", "y = 2")];
    assert_eq!(sound(&before, &[("1", "x = 2"), ("2", takes), ("3", "y = 2")]), ["1"]);
}

/// `Path.touch` makes a file where there is none, and tells of nothing but a time where there is one.
#[test]
fn a_file_that_is_touched() {
    let step =
        |text| [("1", text), ("2", "import pathlib\npathlib.Path('a').touch()"), ("3", "print(open('a').read())")];
    let (without, with) = (step("x = 1"), step("with open('a', 'w') as f:\n    f.write('x')"));
    sound(&without, &with);
    sound(&with, &without);
    let mut run = Run::new(OnError::Continue);
    let told = run.update(&without);
    run.update(&with);
    assert_eq!(run.update(&without).results, told.results);
}

/// A definition that loses its name has its next one from whoever else holds it: that another one does now changes what
/// those hold who held it by the first.
#[test]
fn another_name_for_a_definition_that_loses_its_own() {
    let made = "def f(): return 1\ng = f\nheld = [f]";
    let shows = "print(held[0] is g, held[0]())";
    for (one, two) in [("x = 1", "def g(): return 2"), ("def g(): return 2", "x = 1")] {
        reaches(&[made, one, "f = None", shows], 2, two);
        reaches(&[made, one, "held.append(0)\nf = None", shows], 2, two);
        reaches(&[made, one, "f = (lambda f: lambda: f)(f)", "print(f() is g)"], 2, two);
        reaches(&[made, "y = 1", one, "f = None", shows], 3, two);
    }
    let class = "class C: pass\nD = C\no = C()";
    for (one, two) in [("x = 1", "class D: pass"), ("class D: pass", "x = 1")] {
        reaches(&[class, one, "class C: pass", "print(type(o) is D, isinstance(o, C))"], 2, two);
    }
    // It is where it is, as well.
    let fails = "def f(): 1 / 0\ng = f";
    let line = "try:\n    g()\nexcept ZeroDivisionError as e:\n    print(e.__traceback__.tb_next.tb_lineno)";
    let moved = format!("# a remark\n{fails}");
    for takes in ["f = 0", "f = [f, 1][1]"] {
        reaches(&[fails, takes, line], 1, &moved);
    }
    // One that is named no more is as it was for who holds it.
    let before = [("1", made), ("2", "x = 1"), ("3", "f = None"), ("4", shows)];
    assert_eq!(sound(&before, &[("1", made), ("2", "x = 2"), ("3", "f = None"), ("4", shows)]), ["2"]);
}

/// Code that is run in a namespace of its own reaches what stands in it.
#[test]
fn functions_with_a_namespace_of_their_own() {
    let made = "space = {'x': 1}\nexec('def f(): return x', space)\nf = space['f']";
    reaches(&[made, "space['x'] = 2", "print(f())"], 2, "space['x'] = 3");
    let alone = "space = {'x': [1]}\nexec('def f(): return x', space)\nf = space['f']\ndel space";
    reaches(&[alone, "f().append(2)", "print(f())"], 2, "f().append(3)");
    reaches(&["f = eval('lambda: y', {'y': 0})", "f.__globals__['y'] = 1", "print(f())"], 2, "f.__globals__['y'] = 2");
    let class = "space = {}\nexec('class K:\\n    n = []', space)\nK = space['K']";
    reaches(&[class, "K.n.append(1)", "print(space['K'].n, K().n)"], 2, "K.n.append(2)");
    reaches(&[class, "k = K()\ndel space", "K.n.append(1)", "print(k.n)"], 3, "K.n.append(2)");
    // What makes a named tuple does so, and is as it was when it is made again.
    let tuples = "from collections import namedtuple\nfrom typing import NamedTuple\nP = namedtuple('P', 'x y')\nclass Q(NamedTuple):\n    x: int";
    let after = format!("{tuples}\nz = 1");
    let before = [("1", tuples), ("2", "p, q = P(1, 2), Q(3)"), ("3", "print(p, q._replace(x=4), P._fields)")];
    assert_eq!(sound(&before, &[("1", &after), before[1], before[2]]), ["1"]);
}

/// What is common in people's values is told by its content: who makes it again makes the same.
#[test]
fn what_is_made_again_is_the_same() {
    for (made, uses) in [
        ("class A:\n    def m(self): return 1\na = A()\nf = a.m", "f, a"),
        ("d = {'a': 1}\nks, vs = d.keys(), d.items()", "ks, vs"),
        ("import threading\nlock, again = threading.Lock(), threading.RLock()", "lock, again"),
        ("import io\ntext, raw = io.StringIO('a'), io.BytesIO(b'b')", "text, raw"),
        ("class S:\n    __slots__ = ('a', '__b')\n    def __init__(self): self.a = self.__b = 1\ns = S()", "s, S"),
        ("import types\nd = {'a': 1}\nview = types.MappingProxyType(d)", "view, d"),
        ("from collections import namedtuple\nP = namedtuple('P', 'x y')\np = P(1, 2)", "P, p"),
        ("import configparser\nc = configparser.ConfigParser()\nc.read_string('[a]\\nb=1')", "c, 1"),
        ("import argparse\np = argparse.ArgumentParser()\n_ = p.add_argument('--x', type=int)", "p, 1"),
    ] {
        let shows = format!("two = ({uses})\nprint(len(two))\ndel two");
        let after = format!("{made}\nmore = 2");
        let ran = sound(&[("1", made), ("2", &shows)], &[("1", &after), ("2", &shows)]);
        assert_eq!(ran, ["1"], "{made}");
    }
}

/// A name that a step binds anew says nothing of what else holds what it held.
#[test]
fn what_is_reached_through_another_though_its_name_is_bound_anew() {
    let class = "def f(self): return ?\nclass C: pass\nC.m = f";
    for uses in
        ["f = None\nprint(C().m())", "f = None\no = C()\nprint(o.m())", "def f(self): return 5\nprint(C().m(), f(0))"]
    {
        reaches(&[&class.replace('?', "1"), uses], 1, &class.replace('?', "2"));
    }
    reaches(&["def g(): return 1\nheld = [g]", "g = 0\nprint(held[0]())"], 1, "def g(): return 2\nheld = [g]");
    let base = "class A:\n    def m(self): return ?\nclass B(A): pass\nb = B()";
    reaches(&[&base.replace('?', "1"), "A = B = None\nprint(b.m())"], 1, &base.replace('?', "2"));
    // What a step defines itself it has from nobody.
    let own = "class A: pass\na = A()\nprint(isinstance(a, A))";
    let ran = sound(&[("1", "class A: v = 1\na = A()"), ("2", own)], &[("1", "class A: v = 2\na = A()"), ("2", own)]);
    assert_eq!(ran, ["1"]);
}

/// What a step put in place of something that is not its own does what its text says.
#[test]
fn a_function_in_place_of_another() {
    for (puts, uses) in [
        ("import builtins\nplain = print\ndef loud(*a): plain(?, *a)\nbuiltins.print = loud", "print('x')"),
        ("import math\ndef f(): return ?\nmath.mine = f", "print(math.mine())"),
        ("import math\ndef f(): return g()\ndef g(): return ?\nmath.mine = f", "print(math.mine())"),
        (
            "import json\ndef f(o): return ?\njson.JSONEncoder.default = lambda self, o: f(o)",
            "print(json.dumps(object()))",
        ),
        ("import os\nclass P: n = ?\nos.mine = P()", "print(os.mine.n)"),
    ] {
        reaches(&[&puts.replace('?', "1"), uses], 1, &puts.replace('?', "2"));
    }
}

/// What a finalizer does is what its class says.
#[test]
fn what_is_told_at_the_end() {
    let class = "class A:\n    def __del__(self): print('gone', ?)\na = A()";
    let (one, two) = (class.replace('?', "1"), class.replace('?', "2"));
    reaches(&[&one, "b = [a]", "del a", "b = 0"], 1, &two);
    reaches(&[&one, "del a"], 1, &two);
    let named = class.replace('?', "word");
    reaches(&[&named, "word = 1", "del a"], 2, "word = 2");
    // A cycle is collected however many processes were made since.
    let cycle = "import gc, weakref\nclass A: pass\na = A()\na.me = a\nw = weakref.ref(a)";
    let steps = [("1", cycle), ("2", "del a\nn = gc.collect() > 0"), ("3", "print(w(), n)")];
    let mut run = Run::new(OnError::Continue);
    run.states(&steps[..0]);
    for count in 1..=3 {
        run.update(&steps[..count]);
        run.states(&steps[..count]);
    }
    assert_eq!(run.update(&steps).results["3"], "None True\n None");
    let counts = "from collections import deque\nd = deque([1, 2], maxlen=2)\ni = iter(d)";
    let shows = "try:\n    print(list(i))\nexcept RuntimeError as e:\n    print(e)";
    let step = |text| [("1", counts), ("2", text), ("3", shows)];
    sound(&step("x = 1"), &step("d.append(3)"));
    let mut more = step("d.append(3)");
    more[2].1 = "print(next(i, 0))";
    sound(&step("d.append(3)"), &more);
}

/// What a module has under a name is the same object for who has it by another.
#[test]
fn what_a_module_has_under_a_name() {
    for (named, sets, shows) in [
        ("from calendar import c", "c.setfirstweekday(?)", "import calendar\nprint(calendar.weekheader(2))"),
        ("import calendar\nc = calendar.c", "calendar.setfirstweekday(?)", "print(c.formatweekheader(2))"),
        ("from json import _default_encoder as e", "e.indent = ?", "import json\nprint(json.dumps([1]))"),
        (
            "from unittest import defaultTestLoader as t",
            "t.testMethodPrefix = '?'",
            "import unittest\nprint(unittest.defaultTestLoader.testMethodPrefix)",
        ),
        ("import sys\ndef f(p=sys.path): return p", "f().append('?')", "print(sys.path[-1])"),
        ("import sys\ndef f(p=[sys.path]): return p", "sys.path.append('?')", "print(f()[0][-1])"),
        ("from sys import argv as p\nimport sys", "sys.argv.append('?')", "print(p[-1])"),
        ("class A:\n    x = 1\np = A.__dict__", "A.x = ?", "print(p['x'])"),
        (
            "import argparse\np = argparse.ArgumentParser(prog='x')",
            "_ = p.add_argument('--n', default=?)",
            "print(p.parse_args([]))",
        ),
    ] {
        reaches(&[named, &sets.replace('?', "1"), shows], 2, &sets.replace('?', "2"));
    }
}

/// What the interpreter calls by itself is used by whoever has it do so.
#[test]
fn hooks_that_the_interpreter_calls() {
    let finder = "import sys\ntried = []\nclass Finder:\n    def find_spec(self, name, path=None, target=None):\n        tried.append(name)\nsys.meta_path.insert(0, Finder())";
    let imports = |name| format!("try:\n    import {name}\nexcept ImportError:\n    pass");
    let shows = "print([name for name in tried if name.startswith('nope')])\nsys.meta_path.pop(0)";
    reaches(&[finder, &imports("nope1"), shows], 2, &imports("nope2"));
    let hook = |mark| {
        format!(
            "import sys\nsaw = []\ndef hook(event, arguments):\n    if event == 'my.event':\n        saw.append({mark})\nsys.addaudithook(hook)"
        )
    };
    reaches(&[&hook(1), "sys.audit('my.event')", "print(saw)"], 1, &hook(2));
    reaches(&["import sys", &hook(1), "sys.audit('my.event')", "print(saw)"], 2, "saw = []");
    let called = |mark| {
        format!("import gc\ngc.disable()\nsaw = set()\ngc.callbacks.append(lambda phase, info: saw.add({mark}))")
    };
    let collects = "gc.collect()\ngc.callbacks.clear()";
    // When it is called by itself is chance.
    reaches(&[&called(1), collects, "print(saw)"], 1, &called(2));
    let opener = "import sys\nsaw = []\ndef opener(path):\n    saw.append(path)\n    raise ImportError\nsys.path_hooks.insert(0, opener)";
    let path = |name| format!("sys.path.append('{name}')\ntry:\n    import nope\nexcept ImportError:\n    pass");
    let shows = "print([path for path in saw if path.startswith('way')])\nsys.path_hooks.pop(0)";
    reaches(&[opener, &path("way1"), shows], 2, &path("way2"));
}

/// Who asks for the event loop gets the one that was set.
#[test]
fn the_event_loop_that_was_set() {
    let made = "import asyncio\nsaw = []\nloop = asyncio.new_event_loop()\nasyncio.set_event_loop(loop)";
    let runs = "asyncio.get_event_loop().run_until_complete(asyncio.sleep(0))";
    let steps = [made, "loop.call_soon(saw.append, 1)", runs, "print(saw)\nloop.close()"];
    reaches(&steps, 2, "loop.call_soon(saw.append, 2)");
}

/// Each flag of the decimal context is raised by itself: who raises one that stood raises it all the same.
#[test]
fn flags_of_the_decimal_context() {
    let inexact = "import decimal\nprint(decimal.Decimal(1) / 3)";
    let zero = "import decimal\ntry:\n    decimal.Decimal(1) / 0\nexcept ArithmeticError as error:\n    print(error)";
    let shows = "import decimal\nprint(sorted(f.__name__ for f, on in decimal.getcontext().flags.items() if on))";
    let (one, none) = ([("1", inexact)], [("1", "x = 1")]);
    let rest = [("2", inexact), ("3", zero), ("4", "y = [1]"), ("5", shows)];
    let steps = |first: &[(&'static str, &'static str)]| [first, &rest].concat();
    // It runs again neither for what it raises itself, nor for what others raise.
    assert_eq!(sound(&steps(&one), &steps(&none)), ["1"]);
    assert_eq!(sound(&steps(&none), &steps(&one)), ["1"]);
    assert_eq!(sound(&steps(&[("1", zero)]), &steps(&none)), ["1"]);
    reaches(&[inexact, "import decimal\ndecimal.getcontext().clear_flags()", zero, shows], 2, "import decimal");
}

/// Names that every step has stand in front of those that steps make.
#[test]
fn names_in_the_order_in_which_they_came() {
    let lists = "for name in list(globals()):\n    if name in ('__file__', 'p', 'q'):\n        print(name)";
    let before = [("1", "p = 1"), ("2", "q = [2]"), ("3", lists)];
    let mut run = Run::new(OnError::Stop);
    run.update(&before);
    let after = [("1", "p = 1"), ("2", "q = [2]"), ("3", &format!("{lists}\nz = 1"))];
    run.restart();
    assert_eq!(run.update(&after).results["3"], "__file__\np\nq\n None");
}

/// What only steps made is put back where somebody took it away; an input that is gone is gone.
#[test]
fn a_file_that_somebody_takes_away() {
    let steps = [
        ("1", "with open('made', 'w') as out:\n    out.write('1')\nimport os\nos.mkdir('dir')"),
        ("2", "print(open('made').read(), os.path.isdir('dir'))"),
        ("3", "with open('given', 'a') as out:\n    out.write('+')"),
        ("4", "print(open('given').read())"),
    ];
    let mut run = Run::new(OnError::Continue);
    std::fs::write(run.dir.path().join("given"), "a").unwrap();
    let told = run.update(&steps);
    std::fs::remove_file(run.dir.path().join("made")).unwrap();
    std::fs::remove_dir(run.dir.path().join("dir")).unwrap();
    let again = run.update(&steps);
    assert_eq!(again.results, told.results);
    assert!(again.ran.is_empty(), "{:?}", again.ran);
    assert_eq!(std::fs::read_to_string(run.dir.path().join("made")).unwrap(), "1");
    assert!(run.dir.path().join("dir").is_dir());
    std::fs::remove_file(run.dir.path().join("given")).unwrap();
    assert_eq!(run.update(&steps).ran, ["3", "4"]);
}

/// What a step puts into `sys.modules` is imported from there, and who looked for it in vain learns of it.
#[test]
fn modules_that_steps_make() {
    let put = "import sys\nsys.modules['fake'] = type(sys)('fake')";
    let steps = [put, "import fake\nfake.v = [1]", "fake.v.append(2)", "print(fake.v)"];
    reaches(&steps, 2, "import fake\nfake.v = [5]");
    let looks = "try:\n    import fake\n    print('there')\nexcept ImportError:\n    print('not there')";
    reaches(&["x = 1", looks], 1, put);
    reaches(&[put, looks], 1, "x = 1");
    reaches(&["x = 1", &looks.replace("fake", "colorsys")], 1, "import sys\nsys.modules['colorsys'] = None");
    let class =
        "import sys\nclass Fake:\n    def __getattr__(self, name): return name + '1'\nsys.modules['fake'] = Fake()";
    reaches(&[class, "import fake", "print(fake.hello)"], 1, &class.replace("'1'", "'2'"));
    let loads = "from importlib import machinery, util\nimport sys\nloader = machinery.SourceFileLoader('plug', 'plug.dat')\nm = util.module_from_spec(util.spec_from_loader('plug', loader))\nsys.modules['plug'] = m\nloader.exec_module(m)\ndel m, loader";
    let file = |value| format!("with open('plug.dat', 'w') as out:\n    out.write('V = [{value}]')");
    reaches(&[&file(1), loads, "import plug\nplug.V.append(0)", "print(plug.V)"], 1, &file(2));
}

#[test]
fn a_pipe_with_a_name_goes_with_its_step() {
    let (makes, looks) = ("import os\nos.mkfifo('pipe')", "import os\nprint(os.path.exists('pipe'))");
    reaches(&[makes, looks], 1, "import os");
    reaches(&["import os", looks], 1, makes);
}

/// A list that takes the place of one that is gone lies where that lay.
#[test]
fn what_a_step_binds_anew_before_it_fails() {
    let mut run = Run::new(OnError::Continue);
    let steps = |first| [("1", first), ("2", "a = None\na = [5]\n1 / 0"), ("3", "print(a)")];
    assert_eq!(run.update(&steps("a = [1]")).results["3"], "[5]\n None");
    let told = run.update(&steps("a = [2]"));
    assert_eq!((told.results["3"].as_str(), told.ran), ("[5]\n None", vec!["1".to_owned()]));
    // What stands on the line that fails may not have come to run.
    let steps = |first| [("1", first), ("2", "b = 1 / 0; a = [5]"), ("3", "print(a)")];
    run.update(&steps("a = [1]"));
    assert_eq!(run.update(&steps("a = [2]")).results["3"], "[2]\n None");
}

/// Values that are equal can be told apart by which of them they are.
#[test]
fn which_of_its_equals_a_value_is() {
    for made in [
        "a = (1, 2)",
        "a = (1, ('b', 2.5), None)",
        "a = tuple(range(3))",
        "a = frozenset([1, 2])",
        "a = bytes([1, 2])",
        "a = range(3)",
        "a = slice(1)",
        "import decimal\na = decimal.Decimal('1.5')",
        "import fractions\na = fractions.Fraction(1, 3)",
        "import datetime\na = datetime.date(2020, 1, 1)",
        "import datetime\na = datetime.datetime(2020, 1, 1)",
        "import pathlib\na = pathlib.Path('x')",
    ] {
        let steps =
            |y| [("1", made), ("2", "held = [a, 1]\nsame = a"), ("3", y), ("4", "print(a is held[0], a is same, y)")];
        sound(&steps("y = 1"), &steps("y = 2"));
        // Made anew, it is what the one that held it before had no more.
        let mut equal = steps("y = 2");
        equal[1].1 = "held = [type(a)(a) if type(a) is bytes else a, 1]\nsame = held[0]";
        sound(&steps("y = 1"), &equal);
    }
    let swapped = |kept| [("1", "t = tuple([1, 2])\nheld = [t]"), ("2", kept), ("3", "print(held[0] is t)")];
    assert_eq!(sound(&swapped("held[0] = t"), &swapped("held[0] = tuple([1, 2])")), ["2", "3"]);
    // One that has no text in tens: to look at it is no fault of the step's.
    let long = format!("a = (0x{}, 1)\nb = a", "f".repeat(5000));
    assert_eq!(Run::new(OnError::Stop).update(&[("1", &long), ("2", "print(a is b)")]).results["2"], "True\n None");
    // A constant of one step, and of another.
    let (made, anew, asks) = (("1", "a = (1, 2)\nb = a"), ("3", "a = (1, 2)"), ("4", "print(a is b)"));
    sound(&[made, ("2", "a = 5"), anew, asks], &[made, asks]);
    sound(&[made, asks], &[made, anew, asks]);
    sound(&[made, anew, asks], &[made, asks]);
    sound(
        &[made, anew, ("5", "c = a"), ("6", "print(a is b, c is a, c is b)")],
        &[made, ("5", "c = a"), ("6", "print(a is b, c is a, c is b)")],
    );
    sound(&[("1", "a = (1, 2)"), ("2", "b = tuple([1, 2])"), asks], &[("1", "a = (1, 2)"), ("2", "b = a"), asks]);
    // Of a function, and of the one that takes its place.
    let given = |between| {
        let gives = "def f(): return (1, 2)";
        [("1", gives), ("2", "t = f()"), ("3", between), ("4", "u = f()"), ("5", "print(t is u)")]
    };
    sound(&given("y = 1"), &given("def f(): return (1, 2)"));
    sound(&given("def f(): return (1, 2)"), &given("y = 1"));
    // Under another name, with a step that has the same in its place.
    let renamed = |first: &'static str, second: &'static str| {
        [(first, "a = (1, 2)\nx = 1"), (second, "b = (1, 2)\ny = 1"), ("4", "c = b"), ("5", "print(a is b, c is b)")]
    };
    sound(&renamed("1", "2"), &renamed("2", "3"));
}

/// What held a definition by its name shares it with what was made of it, once the name stands for something else.
#[test]
fn what_was_made_of_a_definition_that_lost_its_name() {
    let define = "def f(a=2):\n    return a";
    let steps = |held| {
        [
            ("1", define),
            ("2", held),
            ("3", "import functools\nf = functools.partial(f, 2)"),
            ("4", "g = functools.partial(f, 0)\nprint(f.args)"),
            ("5", "x = 1"),
        ]
    };
    let mut run = Run::new(OnError::Stop);
    for held in ["d = {}", "d = {'f': f}"] {
        run.update(&steps(held));
    }
    run.restart();
    for id in ["4", "5"] {
        run.try_state(&steps("d = {'f': f}"), id).unwrap();
    }
    let before = [("1", define), ("2", "d = {}"), ("3", "f, g = 5, [f]"), ("4", "print(d.get('f') in g)")];
    let mut after = before;
    after[1].1 = "d = {'f': f}";
    sound(&before, &after);
    sound(&after, &before);
}

/// Who holds a definition that loses its name shares it with all that hold it then, one more than before or one less.
#[test]
fn one_more_that_holds_a_definition_that_loses_its_name() {
    let define = "t = (1, [])\nclass A: pass\nv = A()";
    let with = [("1", define), ("2", "w = A()"), ("3", "class A: pass"), ("4", "v.t = t"), ("5", "print(v.t)")];
    let mut without = with;
    without[1].1 = "w = 1";
    sound(&without, &with);
    sound(&with, &without);
}

/// Where the code of a value stands is part of what it is, also to a step that only lets go of what it shared something with.
#[test]
fn where_the_code_of_a_value_stands_that_lost_a_companion() {
    let before = [
        ("1", "t = [1]\ndef f(): pass"),
        ("2", "l = [f, t]"),
        ("3", "f = 2"),
        ("4", "l.append(1)"),
        ("5", "t = 5"),
        ("6", "print(l[0].__code__.co_firstlineno)"),
    ];
    let mut after = before;
    after[0].1 = "# a remark\nt = [1]\ndef f(): pass";
    assert_eq!(sound(&before, &after).last().map(String::as_str), Some("6"));
}

/// What a function names that a step defines anew is none of the step's.
#[test]
fn what_the_one_before_would_have_used() {
    let one = "def f():\n    while True:\n        yield len(a)\ng = f()";
    let other = "def f():\n    while True:\n        yield len(b)\ng = f()";
    let anew = "def f():\n    while True:\n        yield k\ng = f()";
    let steps = |before| [("1", "a, b, k = [1], [2, 3], 4"), ("2", before), ("3", anew), ("4", "print(next(g))")];
    let mut run = Run::new(OnError::Stop);
    run.update(&steps(one));
    assert_eq!(run.update(&steps(other)).ran, ["2"]);
    run.restart();
    run.try_state(&steps(other), "3").unwrap();
}

/// Who goes through a dict or a set goes through that very one, also after it was brought over.
#[test]
fn who_goes_through_a_dict_or_a_set() {
    for (made, goes) in [
        ("d = {'a': 1, 'b': 2}", "iter(d)"),
        ("d = {'a': 1, 'b': 2}", "reversed(d.values())"),
        ("d = {'a': 1, 'b': 2}", "zip(d.items(), range(9))"),
        ("from collections import OrderedDict\nd = OrderedDict(a=1, b=2)", "iter(d)"),
        ("d = {1, 2}", "enumerate(d)"),
    ] {
        let begun = format!("it = {goes}\nprint(next(it))");
        let more = "d.add(3) if isinstance(d, set) else d.update(c=3)\nprint(next(it, 'spent'))";
        let steps = |y| [("1", made), ("2", &*begun), ("3", y), ("4", more)];
        sound(&steps("y = 1"), &steps("y = 2"));
        let after = [("1", made), ("2", &*begun), ("4", more), ("5", "y = 2")];
        sound(&steps("y = 1"), &after);
    }
    let steps = [
        ("1", "kept = [3]\nd = {'k': kept}\ndef f():\n    return i"),
        ("2", "e = d.copy()"),
        ("3", "z = zip(e, range(8))"),
        ("4", "n = globals().get('e')"),
        ("5", "print(n, len(kept))"),
        ("6", "d = {'f': f}"),
        ("7", "h = open('a.txt', 'w')\nh.close()\nprint(kept, i)"),
    ];
    let without: Vec<(&str, &str)> = steps.into_iter().filter(|step| step.0 != "4").collect();
    let mut run = Run::new(OnError::Continue);
    for steps in [&steps[..], &without] {
        run.update(steps);
        run.restart();
        run.try_state(steps, "7").unwrap();
    }
}

/// A function that is defined as it was before, where it was another when the step was executed.
#[test]
fn a_definition_that_takes_the_place_of_its_equal() {
    let (one, other) = ("def f(a=1):\n    return a", "def f(a=2):\n    return -a");
    let again = format!("{one}\ngoes = (x for x in 'ab')"); // which nothing but the step makes
    let steps = |first, y| [("1", first), ("2", &*again), ("3", y), ("4", "print(f(), y)"), ("5", "g = (f, y)")];
    let mut run = Run::new(OnError::Stop);
    for (first, y) in [(other, "y = 1"), (one, "y = 1"), (one, "y = 2"), (other, "y = 2")] {
        run.update(&steps(first, y));
        run.restart();
        for id in ["2", "4", "5"] {
            run.try_state(&steps(first, y), id).unwrap();
        }
    }
    let parts = ["import functools\nf = functools.partial(f, 1)", "import functools\nf = functools.partial(f, 2)"];
    let steps = |second| [("1", one), ("2", second), ("3", parts[1]), ("4", "print(f.args)")];
    for second in [parts[0], parts[1], "x = 1", parts[0]] {
        run.update(&steps(second));
        run.restart();
        run.try_state(&steps(second), "3").unwrap();
    }
}

/// In which order a set gives its members, now and when more come, hangs on what it went through.
#[test]
fn the_order_of_a_set() {
    let shrunk = "s = {2, 6}\ns |= {3}\ns -= {2}\ns ^= {8, 1}";
    let merged = "s = {1, 2, 3, 4, 5, 6}\nother = {9, 17, 33} | s";
    let popped = "s = {1, 2, 3, 9, 17}\nn = s.pop()";
    let grown = "s = set()\nfor n in range(0, 90, 9):\n    s.add(n)\ns.discard(9)\ns.discard(81)";
    let collided = "s = set()\nfor n in (15, 7, 23, 31):\n    s.add(n)";
    let words = "s = {'one', 'two', 'three', 'four', 'five', 'six', 'seven'}\ns -= {'two', 'five'}";
    let frozen = "s = frozenset({1, 8, 3, 16, 5, 24} - {3})\ns = {1, s}";
    let of_a_class = "class S(set): pass\ns = S({2, 6})\ns |= {3}\ns -= {2}\ns ^= {8, 1}";
    let emptied = "s = {1, 2}\ns.discard(1)\ns.discard(2)";
    let worked_off = "s = set(range(20))\nwhile s:\n    n = s.pop()";
    for made in [shrunk, merged, popped, grown, collided, words, frozen, of_a_class, emptied, worked_off] {
        let uses = "print(s, y)\ns |= {40, 48, 56}\nprint(s)\nprint([s.pop() for _ in range(3)], s)";
        let steps = |y| [("1", made), ("2", "held = [s]"), ("3", y), ("4", uses)];
        sound(&steps("y = 1"), &steps("y = 2"));
    }
    // One that holds what holds it.
    let cyclic = "class N:\n    def __init__(self): self.all = {1, 2, 3, 9, 17, 25}; self.all.discard(9); self.all.add(self)\nn = N()";
    let steps = |y| [("1", cyclic), ("2", y), ("3", "print(len(n.all), n in n.all, y)")];
    sound(&steps("y = 1"), &steps("y = 2"));
}

/// What stood under a name where another value is brought over has not died in the run.
#[test]
fn nothing_dies_of_being_replaced() {
    let class = "class A:\n    def __del__(self): told.append(1)\ntold = []";
    let steps = |n| {
        [
            ("1", class),
            ("2", n),
            ("3", "a = A()"),
            ("4", "b = a\ny = n"),
            ("5", "del a"),
            ("6", "b = None\nprint(told)"),
        ]
    };
    sound(&steps("n = 1"), &steps("n = 2"));
    let mut run = Run::new(OnError::Continue);
    run.update(&steps("n = 1"));
    run.states(&steps("n = 1"));
    for n in ["n = 2", "n = 3", "n = 1"] {
        assert_eq!(run.update(&steps(n)).results["6"], "[1]\n None");
        run.states(&steps(n));
    }
}

/// Names that are given out have numbers.
#[test]
fn names_of_threads_and_pools() {
    let thread = "import threading\nt = threading.Thread(target=int)\nprint(t.name)\ndel t";
    assert_eq!(
        sound(&[("1", thread), ("2", "x = 1"), ("3", thread)], &[("1", "x = 0"), ("2", "x = 1"), ("3", thread)]),
        ["1", "3"]
    );
    let pool = "import threading\nfrom concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(1) as pool:\n    print(pool.submit(lambda: threading.current_thread().name).result())\ndel pool";
    assert_eq!(
        sound(&[("1", pool), ("2", "x = 1"), ("3", pool)], &[("1", "x = 0"), ("2", "x = 1"), ("3", pool)]),
        ["1", "3"]
    );
    let steps =
        |y| [("1", thread), ("2", y), ("3", thread), ("4", "g = (y for _ in 'ab')"), ("5", "print(next(g), y)")];
    sound(&steps("y = 1"), &steps("y = 2"));
}

#[test]
fn what_a_step_has_done_to_a_logger() {
    let made = "import logging\nlog = logging.getLogger('mine')";
    let steps = |y| {
        [
            ("1", made),
            ("2", "log.addHandler(logging.NullHandler())"),
            ("3", y),
            ("4", "print(len(log.handlers), y)\nlog.handlers.clear()"),
        ]
    };
    sound(&steps("y = 1"), &steps("y = 2"));
}

#[test]
fn what_a_class_method_was_called_when_it_became_one() {
    let made = "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int";
    let shows = "print(vars(P.__dict__['_make']).get('__qualname__'), y)";
    let steps = |y| [("1", made), ("2", y), ("3", shows)];
    sound(&steps("y = 1"), &steps("y = 2"));
}

/// Who draws numbers and then sets the generator to what it was has read it all the same.
#[test]
fn numbers_drawn_before_the_generator_is_set() {
    for (library, draws) in [("random", "random.random()"), ("random", "random.random()\nheld = random.getstate()")] {
        let uses = format!("import {library}\nn = {draws}\n{library}.seed(0)");
        let before = [("1", "x = 1"), ("2", uses.as_str()), ("3", "print(n)\nimport random\nprint(random.random())")];
        let mut after = before;
        after[0].1 = "import random\nx = random.random()";
        assert_eq!(sound(&before, &after), ["1", "2", "3"]);
    }
}

/// A library's function keeps a set, for a moment, of what is being shown.
#[test]
fn to_show_a_value_changes_nothing() {
    let made = "import dataclasses\n@dataclasses.dataclass\nclass D:\n    x: int = 1\nd = D()";
    let steps = |shows| [("1", made), ("2", shows), ("3", "print(d, D(2))")];
    assert_eq!(sound(&steps("print(d)"), &steps("print(d, d)")), ["2"]);
    assert_eq!(sound(&steps("print(d)"), &steps("print(1)")), ["2"]);
}

/// What an object gives of itself for being brought over may die on the way, and the next lie where it lay.
#[test]
fn sets_that_objects_make_of_themselves() {
    let helper = "class A:\n    def __init__(self, v): self.v = v\n    def __getstate__(self): return set(frozenset(range(self.v, self.v + 6)))\n    def __setstate__(self, state): self.v = min(state)\n";
    let steps = |y| {
        [
            ("1", "import helper\nheld = [helper.A(n) for n in range(50)]"),
            ("2", y),
            ("3", "print([a.v for a in held], y)"),
        ]
    };
    let mut run = Run::new(OnError::Continue);
    std::fs::write(run.dir.path().join("helper.py"), helper).unwrap();
    let before = run.update(&steps("y = 1")).results["3"].clone();
    run.restart();
    let told = run.update(&steps("y = 2"));
    assert_eq!(told.results["3"], before.replace("] 1", "] 2"));
    assert_eq!((told.ran, told.rebuilt), (vec!["2".to_owned(), "3".to_owned()], 0), "it was brought over");
}

/// Python sets up the table for annotations before the first statement of a step, also where the step fails before one.
#[test]
fn annotations_of_a_step_that_fails_before_them() {
    let looks = "print(globals().get('__annotations__'))";
    reaches(&["x = 1", "y = [1]\ny.nothing\nj: int = 1", looks], 1, "i: int = 1");
    reaches(&["x = 1", "y = [1]\nj: int = 1\ny.nothing\nk: int = 1", looks], 1, "i: int = 1");
}

/// What Python had of itself, and what libraries had, is used by all that use a library, also once it counts its calls.
#[test]
fn what_stands_in_place_of_what_all_use() {
    reaches(
        &["x = 1", "import statistics\nprint(statistics.median([3, 1, 2]))"],
        1,
        "import builtins\nbuiltins.sorted = lambda x, key=None: [9, 9, 9]",
    );
    let counts = "import json\ndef make():\n    calls = []\n    def dumps(x):\n        calls.append(x)\n        return \
                  str(len(calls))\n    return dumps\njson.dumps = make()";
    let calls = "import json\nprint(json.dumps(1))";
    reaches(&[counts, calls, calls], 2, "x = 1");
    let builtin = "import builtins\ndef make():\n    calls = []\n    def count(x):\n        calls.append(x)\n        return \
                   len(calls)\n    return count\nbuiltins.abs = make()";
    reaches(&[builtin, "print(abs(1))", "print(abs(1))"], 2, "x = 1");
}

/// What a step could not come by when it was executed it does not come by when that is made again.
#[test]
fn settings_of_a_module_that_was_not_there_yet() {
    for sets in
        ["import decimal\ndecimal.getcontext().prec = 6", "import csv\ncsv.register_dialect('mine', delimiter='-')"]
    {
        let before = [("1", "x = 1"), ("2", "g = (x * 7 for x in range(10))"), ("3", "print(next(g))")];
        let mut after = before;
        after[0].1 = sets;
        assert_eq!(sound(&before, &after), ["1"]);
    }
}

/// What a step keeps of a library to put it back is the library's own, also after it was brought over; and what `mock.patch`
/// sets by a name that it finds itself is seen.
#[test]
fn what_is_put_back_in_a_library() {
    let replaces = "import json\nkept = json.dumps\njson.dumps = lambda *a: 'mine'";
    let back = |text| {
        [
            ("1", replaces),
            ("2", "n = 1"),
            ("3", text),
            ("4", "print(json.dumps([1]), json.dumps is kept)"),
            ("5", "n = 2"),
        ]
    };
    let text = "json.dumps = kept\nprint(json.dumps([2]), json.dumps.__module__)";
    sound(&back("json.dumps = kept"), &back(text));
    let method =
        "import textwrap\nkept = textwrap.TextWrapper.fill\ntextwrap.TextWrapper.fill = lambda self, text: 'mine'";
    let restores = "textwrap.TextWrapper.fill = kept\nprint(textwrap.fill('a'), kept is textwrap.TextWrapper.fill)";
    sound(&[("1", method), ("2", "n = 1")], &[("1", method), ("2", restores)]);
    // Kept and replaced by the step that first imports the module.
    for (module, name) in [
        ("colorsys", "rgb_to_hsv"),
        ("sched", "scheduler.enter"),
        ("random", "random"),
        ("random", "choice"),
        ("random", "seed"),
        ("json", "_default_encoder"),
        ("fractions", "_RATIONAL_FORMAT"),
        ("string", "digits"),
        ("math", "pi"),
        ("sys", "argv"),
    ] {
        let first = format!("import {module}\nkept = {module}.{name}\n{module}.{name} = lambda *a: 1");
        let back = format!("{module}.{name} = kept");
        let shown = format!("{back}\nprint({module}.{name} is kept)");
        let shows = format!("print({module}.{name} is kept)");
        let steps = |third| [("1", &*first), ("2", "n = 1"), ("3", third), ("4", &*shows)];
        sound(&steps(&back), &steps(&shown));
    }
    // As what the library has, where nothing stands in its place.
    let named = "import random\nfrom random import choice, random as drawn";
    let shown = |text| [("1", named), ("2", text)];
    let both = "print(choice is random.choice, drawn is random.random)";
    sound(&shown("n = 1"), &shown(both));
    // One that is followed stands in the place of the library's own, and has no more of the worker than that.
    let named = "from random import seed, setstate as put";
    let shown = |text| [("1", named), ("2", "n = 1"), ("3", text)];
    let mut run = Run::new(OnError::Continue);
    run.update(&shown("import random"));
    run.restart();
    let told = run.update(&shown("import random\nprint(seed is random.seed, put is random.setstate)"));
    assert_eq!((told.ran, told.rebuilt), (vec!["3".to_owned()], 0));
    assert_eq!(told.results["3"], "True True\n None");
    // A patch that started is taken back where it comes into another process.
    let started = "import json.encoder\nfrom unittest import mock\n\
                   p = mock.patch.dict(json.encoder.ESCAPE_DCT, {'z': '<1>'})\np.start()\nNone";
    let looked = "print(json.encoder.ESCAPE_DCT.get('z'))";
    let patched = |text| [("1", started), ("2", looked), ("3", text), ("4", looked)];
    sound(&patched("p.stop()"), &patched("p.stop()\nn = 1"));
    let patches = "from unittest import mock\np = mock.patch('colorsys.rgb_to_hsv', return_value=3)\n\
                   count = lambda made=p.start(): made.call_count";
    let calls = "import colorsys\nprint(colorsys.rgb_to_hsv(0, 0, 0))";
    let counted = |text| [("1", patches), ("2", calls), ("3", text), ("4", "p.stop()"), ("5", calls)];
    sound(&counted("print(count())"), &counted("print(count(), 'calls')"));
}

#[test]
fn a_class_that_is_brought_over_is_told_to_no_base_again() {
    let made = "reg = {}
class Base:
    def __init_subclass__(cls, n=1, **k): reg[cls.__name__] = n
class Im(Base, n=9):
    pass";
    for base in ["Base", "Base(ABC)"] {
        let made = format!("from abc import ABC\n{}", made.replace("Base:", &format!("{base}:")));
        let steps = |last| [("1", &*made), ("2", "Im.go = lambda self: '8'"), ("3", last)];
        let mut run = Run::new(OnError::Continue);
        run.update(&steps("n = 1"));
        run.restart();
        let last = steps("print(reg, Im.__bases__, Im.__mro__[1] is Base, Im().go())");
        let told = run.update(&last);
        assert_eq!((told.ran, told.rebuilt), (vec!["3".to_owned()], 0), "{base}");
        assert_eq!(told.results, Run::new(OnError::Continue).update(&last).results, "{base}");
    }
}

#[test]
fn the_group_at_hand_is_known_of_groupby() {
    let made = "import itertools\ng = itertools.groupby([1, 1, 2, 2, 3])\nk, s = next(g)";
    let steps = |text| [("1", made), ("2", "n = 1"), ("3", text), ("4", "print(next(g)[0], list(s))")];
    sound(&steps("print(next(s))"), &steps("print(k, next(s))"));
    let made = "import itertools\nit = iter('abc')\nz = itertools.zip_longest(it, 'd')\nprint(next(z), next(z))";
    let steps = |text| [("1", made), ("2", text), ("3", "print(next(it, 'end'), next(z, 'end'))")];
    sound(&steps("n = 1"), &steps("print(next(z))"));
}

#[test]
fn an_event_loop_that_was_set_is_known_with_its_policy() {
    let made = "import asyncio\nasync def f(): return 1\nit = (x for x in 'abc')";
    let runs = "print(asyncio.run(f()), next(it))";
    let shown = "try: print(asyncio.get_event_loop())\nexcept RuntimeError: print('none')";
    let steps = |text| [("1", made), ("2", runs), ("3", runs), ("4", text), ("5", shown)];
    sound(&steps("n = 1"), &steps("n = 2"));
    // A fork forgets it: where none was set, one is made.
    let steps = |text| [("1", made), ("2", text), ("3", "n = 1"), ("4", shown)];
    sound(&steps("n = f"), &steps("print(asyncio.run(f()))"));
    let own = "class P(asyncio.DefaultEventLoopPolicy): pass\nasyncio.set_event_loop_policy(P())";
    let told = "print(type(asyncio.get_event_loop_policy()).__name__, asyncio.run(f()))";
    let steps = |text| [("1", made), ("2", text), ("3", "n = 1"), ("4", told)];
    let same = format!("{own}\nprint(1)");
    sound(&steps(own), &steps(&same));
    sound(&steps(own), &steps("n = 2"));
}

#[test]
fn what_is_made_of_a_text_or_a_number_is_told_by_that() {
    let made = "class Secret(str):
    def __str__(self): return '***'
    __repr__ = __str__
class Odd(int):
    def __int__(self): return 1
class Half(float):
    def __float__(self): return 1.0
class Pair(tuple):
    def __iter__(self): return iter('ab')
class Raw(bytes):
    def __bytes__(self): return b'x'
class Group(frozenset):
    def __iter__(self): return iter('ab')";
    let held = |n: u8| {
        format!("s, i, f, t, b, g = Secret('{n}'), Odd({n}), Half({n}), Pair([{n}]), Raw(b'{n}'), Group([{n}])")
    };
    let shows = "print(s[0], i + 0, f + 0, t[0], b[0], 2 in g, type(s) is Secret)";
    let (first, second) = (held(1), held(2));
    sound(&[("1", made), ("2", &first), ("3", shows)], &[("1", made), ("2", &second), ("3", shows)]);
    let more = format!("{shows}\nprint(s, g)");
    sound(&[("1", made), ("2", &first), ("3", shows)], &[("1", made), ("2", &first), ("3", &more)]);
    let itself = "from collections import OrderedDict
class D(OrderedDict):
    def items(self): return [('k', 1)]";
    let (first, second) = ("d = D(a=1)", "d = D(a=2)");
    let shows = "print(d['a'], list(OrderedDict.items(d)))";
    sound(&[("1", itself), ("2", first), ("3", shows)], &[("1", itself), ("2", second), ("3", shows)]);
}

#[test]
fn what_a_step_set_on_an_object_counts_whether_or_not_its_class_tells_of_it() {
    let made = "import collections, json, logging
c, log = collections.Counter(), logging.getLogger('q')
class Own(collections.Counter): pass
o = Own()
try: json.loads('x')
except ValueError as fault: e = fault.with_traceback(None)
e.__context__ = None";
    let sets = |n: u8| format!("c.z = [{n}]\nlog.z = {n}\no.z = {n}\ne.z = {n}");
    let shows = "print([getattr(one, 'z', 0) for one in (c, log, o, e)], getattr(logging.getLogger('q'), 'z', 0))";
    let (first, second) = (sets(1), sets(2));
    let steps = |text| [("1", made), ("2", text), ("3", "n = 1"), ("4", shows)];
    sound(&steps(&first), &steps(&second));
    sound(&steps(&first), &steps("n = 0"));
    sound(&steps("n = 0"), &steps(&first));
    // Also where it is changed later, and where it has its name with another.
    let steps = |text| [("1", made), ("2", &first), ("3", text), ("4", shows)];
    sound(&steps("n = 1"), &steps("c.z.append(c)"));
    sound(&steps("c.z.append(c)"), &steps("c.z.append(5)"));
    // Also where the object holds the same under the same key.
    let steps = |text| {
        [("1", "import collections\nc = collections.Counter(z=1)"), ("2", text), ("3", "print(getattr(c, 'z', 0))")]
    };
    sound(&steps("c.z = 1"), &steps("n = 1"));
    sound(&steps("n = 1"), &steps("c.z = 1"));
    let other = "logging.getLogger('q').extra = 1";
    let shows = "print(getattr(log, 'extra', 0))";
    let steps = |text| [("1", "import logging\nlog = logging.getLogger('q')"), ("2", text), ("3", shows)];
    sound(&steps(other), &steps("n = 1"));
    sound(&steps("n = 1"), &steps(other));
}

#[test]
fn what_an_exception_or_a_property_says_is_what_it_said_before() {
    let made = "e = ValueError('a')\nclass A:\n    p = property(lambda self: 1)";
    let sets = "e.__suppress_context__ = True\nA.n = 1";
    let shows = "print(e.__suppress_context__)\ntry: A().p = 2\nexcept AttributeError as fault: print(fault)";
    let steps = |set, text| [("1", made), ("2", set), ("3", text)];
    let more = format!("{shows}\nprint(e)");
    sound(&steps(sets, shows), &steps(sets, &more));
    sound(&steps(sets, shows), &steps("A.n = 2", shows));
    let caused = "e = ImportError('a', name='m')";
    let shows = "print(repr(e.__cause__), e.name)";
    let steps = |set, text| [("1", caused), ("2", set), ("3", text)];
    sound(&steps("e.__cause__ = KeyError(1)", shows), &steps("e.__cause__ = KeyError(2)", shows));
}
