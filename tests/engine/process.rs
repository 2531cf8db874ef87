//! What a step leaves in the process, in libraries, or behind functions that libraries made: who meets it runs again when
//! it is another.

use super::sound;

/// Steps, with `{}` where the constant is that is edited.
const CASES: [&[&str]; 34] = [
    &["import logging\nlogging.getLogger('a').setLevel({})", "print(logging.getLogger('a').level)"],
    &[
        "import logging, io\nkept = io.StringIO()\nlogging.getLogger('x').addHandler(logging.StreamHandler(kept))\nlogging.getLogger('x').setLevel({}0)",
        "logging.getLogger('x').info('hello')\nprint(repr(kept.getvalue()))",
    ],
    &["import csv\ncsv.register_dialect('mine', quoting={})", "import csv\nprint(csv.get_dialect('mine').quoting)"],
    &["import socket\nsocket.setdefaulttimeout({})", "import socket\nprint(socket.getdefaulttimeout())"],
    &["import os\nos.umask({})", "import os\nnow = os.umask(0)\nos.umask(now)\nprint(now)"],
    &["import gc\ngc.set_threshold({}00)", "import gc\nprint(gc.get_threshold()[0])"],
    &[
        "import signal\ndef heard(*_):\n    print('heard', {})\nsignal.signal(signal.SIGUSR1, heard)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGUSR1)",
    ],
    &["import os, time\nos.environ['TZ'] = 'UTC-{}'\ntime.tzset()", "import time\nprint(time.localtime(0).tm_hour)"],
    &[
        "import resource\nresource.setrlimit(resource.RLIMIT_CORE, ({}, {}))",
        "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE))",
    ],
    &[
        "import functools\n@functools.singledispatch\ndef kind(_):\n    return 'any'",
        "@kind.register(int)\ndef _whole(_):\n    return {}",
        "print(kind(3))",
    ],
    &[
        "from contextlib import contextmanager\nopened = []\n@contextmanager\ndef within():\n    opened.append({})\n    yield len(opened)",
        "with within() as n:\n    print(n)",
        "with within() as n:\n    print(n, opened)",
    ],
    &["import json\njson.JSONEncoder.default = lambda self, _: {}", "import json\nprint(json.dumps(object()))"],
    &[
        "import argparse\nargparse.ArgumentParser.hello = lambda self: {}",
        "import argparse\nprint(argparse.ArgumentParser().hello())",
    ],
    &[
        "import time\ntime.sleep = lambda _: {}",
        "def nap():\n    import time\n    return time.sleep(1)",
        "print(nap())",
    ],
    &["import keyword\nkeyword.kwlist.append('w{}')", "import keyword\nprint(keyword.kwlist[-1])"],
    &[
        "import weakref\nclass Node:\n    pass\nnode = Node()\nseen = weakref.ref(node)",
        "if {} > 1:\n    del node",
        "print(seen() is None)",
    ],
    &[
        "import sys, io\nclass Marked(io.TextIOBase):\n    def __init__(self, out):\n        self.out = out\n    def write(self, text):\n        return self.out.write(text.replace('x', '{}'))\n    def flush(self):\n        self.out.flush()\nsys.stdout = Marked(sys.stdout)",
        "print('axb')",
    ],
    &[
        "import sys\ncalls = []\nsys.setprofile((lambda *event: calls.append(event[1])) if {} > 1 else None)",
        "def g():\n    pass\ng()",
        "import sys\nsys.setprofile(None)\nprint('call' in calls)",
    ],
    // The first step is empty at first: what comes after has been the first to touch it.
    &[
        "if {} > 1:\n    import decimal\n    decimal.getcontext().prec = 5",
        "import decimal\nprint(decimal.Decimal(1) / 3)",
        "import decimal\ndecimal.getcontext().rounding = decimal.ROUND_UP\nprint(decimal.Decimal(1) / 3)",
    ],
    &[
        "if {} > 1:\n    import keyword\n    keyword.kwlist.append('a')",
        "import keyword\nkeyword.kwlist.append('b')\nprint(keyword.kwlist[-2:])",
    ],
    &[
        "import keyword\nif {} > 1:\n    keyword.count = 5",
        "import keyword\nkeyword.count = getattr(keyword, 'count', 0) + 1\nprint(keyword.count)",
    ],
    &[
        "import mimetypes\nmimetypes.add_type('text/x{}', '.zz')",
        "import mimetypes\nprint(mimetypes.guess_type('a.zz'))",
        "import mimetypes\nprint(mimetypes.guess_extension('text/x1'), mimetypes.guess_type('a.html'))",
    ],
    &[
        "import abc\nclass Shape(abc.ABC):\n    pass\nclass Disc:\n    pass",
        "if {} > 1:\n    Shape.register(Disc)",
        "print(isinstance(Disc(), Shape))",
    ],
    &[
        "import collections.abc\nclass Row:\n    pass\nif {} > 1:\n    collections.abc.Sequence.register(Row)",
        "print(isinstance(Row(), collections.abc.Sequence))",
    ],
    &[
        "import codecs\ncodecs.register_error('mine', lambda e: ('{}', e.end))",
        "print('a\u{e9}b'.encode('ascii', 'mine'))",
    ],
    &[
        "import codecs\ndef found(name):\n    return codecs.lookup('utf-{}6' if {} < 2 else 'utf-8') if name == 'mine' else None\ncodecs.register(found)",
        "print('ab'.encode('mine'))",
    ],
    &[
        "import copyreg\nclass Point:\n    pass\ndef made():\n    point = Point()\n    point.x = {}\n    return point\ncopyreg.pickle(Point, lambda point: (made, ()))",
        "import copy\nprint(copy.copy(Point()).x)",
    ],
    &[
        "import sqlite3\nsqlite3.register_adapter(complex, lambda c: 'c{}')",
        "import sqlite3\nprint(sqlite3.connect(':memory:').execute('select ?', (1j,)).fetchone())",
    ],
    &[
        "import xml.etree.ElementTree as ET\nET.register_namespace('p{}', 'http://x')",
        "import xml.etree.ElementTree as ET\nprint(ET.tostring(ET.Element('{http://x}a')))",
    ],
    &["import calendar\ncalendar.setfirstweekday({})", "import calendar\nprint(calendar.month(2024, 1)[:60])"],
    &[
        "import sys\nif hasattr(sys, 'set_int_max_str_digits'):\n    sys.set_int_max_str_digits({}000)",
        "import sys\nprint(len(str(10 ** 900)), getattr(sys, 'get_int_max_str_digits', int)())",
    ],
    &["import threading\nown = threading.local()\nown.x = {}", "print(own.x)"],
    &["import contextvars\nheld = contextvars.ContextVar('held', default=0)\nheld.set({})", "print(held.get())"],
    &[
        "import sqlite3\nbase = sqlite3.connect(':memory:')\nbase.execute('create table t(x)')",
        "_ = base.execute('insert into t values({})')",
        "print(base.execute('select x from t').fetchall())",
    ],
];

#[test]
fn what_a_step_leaves_in_the_process_or_in_libraries_is_seen() {
    for case in CASES {
        let with = |n: &str| -> Vec<String> { case.iter().map(|text| text.replace("{}", n)).collect() };
        let (before, after) = (with("1"), with("3"));
        sound(&steps(&before), &steps(&after));
    }
}

fn steps(texts: &[String]) -> Vec<(&'static str, &str)> {
    ["1", "2", "3"].into_iter().zip(texts.iter().map(String::as_str)).collect()
}
