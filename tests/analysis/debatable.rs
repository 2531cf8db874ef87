//! Cases about which two careful people could differ, with what is answered here and why.

use reweave::analysis::{Certainty, Options, analyze_all};
use reweave::graph::resolve;

/// Steps as lines: reads, writes (`?` for those on some paths only), and edges.
pub fn told(steps: &[&str]) -> String {
    let names = analyze_all(steps, &Options::default());
    let ids = (0..steps.len()).map(|at| format!("s{at}").parse().unwrap());
    let pairs: Vec<_> = ids.zip(&names).collect();
    let (resolved, edges) = resolve(&pairs);
    let mut out = String::new();
    for ((id, names), resolved) in pairs.iter().zip(&resolved) {
        let reads: Vec<&str> = resolved.reads.iter().map(|name| &**name).collect();
        let writes: Vec<String> = resolved
            .writes
            .iter()
            .map(|(name, how)| format!("{name}{}", if *how == Certainty::Possible { "?" } else { "" }))
            .collect();
        let needs: Vec<&str> = edges.iter().filter(|edge| edge.to == *id).map(|edge| edge.from.as_str()).collect();
        let opaque = if names.opaque.is_some() { " opaque" } else { "" };
        let join = |words: Vec<&str>| if words.is_empty() { "-".to_owned() } else { words.join(" ") };
        let writes = join(writes.iter().map(String::as_str).collect());
        out += &format!("{id}: reads {}; writes {writes}; needs {}{opaque}\n", join(reads), join(needs));
    }
    out
}

#[test]
fn who_calls_a_function_needs_what_its_names_were_bound_to_last() {
    // A function's free names are looked up when it is called. With edges by name alone s3 would be kept when s2
    // changes, and show a result that no run in order gives: the edge from s2 is one that running it shows.
    insta::assert_snapshot!(told(&["x = 1", "def f():\n    return x", "x = 2", "y = f()"]), @r"
    s0: reads -; writes x; needs -
    s1: reads x; writes f; needs s0
    s2: reads -; writes x; needs -
    s3: reads f; writes y; needs s1 s2
    ");
    // The same for a name that is there only after the function, ...
    insta::assert_snapshot!(told(&["def f():\n    return g()", "def g():\n    return 1", "print(f())"]), @r"
    s0: reads g; writes f; needs -
    s1: reads -; writes g; needs -
    s2: reads f; writes -; needs s0 s1
    ");
    // ... and for a lambda.
    insta::assert_snapshot!(told(&["f = lambda: z", "z = 1", "print(f())"]), @r"
    s0: reads z; writes f; needs -
    s1: reads -; writes z; needs -
    s2: reads f; writes -; needs s0 s1
    ");
}

#[test]
fn what_a_constant_format_takes_from_the_namespace_is_read() {
    // What `%` takes from `globals()` stands in the text, so that it is v alone can be told: to say nothing would
    // lose the edge that running it shows, and to say "everything" would cost all others.
    insta::assert_snapshot!(told(&["v = 1", "s = '%(v)s' % globals()", "w = 2\nt = '{v:>{w}}'.format(**globals())"]), @r"
    s0: reads -; writes v; needs -
    s1: reads v; writes s; needs s0
    s2: reads v; writes t w; needs s0
    ");
}

#[test]
fn annotations_that_nothing_evaluates_are_no_reads() {
    let steps = [
        "T = int",
        "from __future__ import annotations\nv: T = 3",
        "def f():\n    y: T = 1\n    return y",
        "def g(a: 'T') -> 'T': pass",
    ];
    insta::assert_snapshot!(told(&steps), @r"
    s0: reads -; writes T; needs -
    s1: reads -; writes annotations v; needs -
    s2: reads -; writes f; needs -
    s3: reads -; writes g; needs -
    ");
}

#[test]
fn a_function_that_nobody_has_called_has_written_nothing() {
    // The write is where f is called: s2 needs s0, and s4 needs s3.
    let steps = ["x = 1", "def f():\n    global x\n    x = 2", "print(x)", "f()", "print(x)"];
    insta::assert_snapshot!(told(&steps), @r"
    s0: reads -; writes x; needs -
    s1: reads -; writes f; needs -
    s2: reads x; writes -; needs s0
    s3: reads f; writes x; needs s1
    s4: reads x; writes -; needs s3
    ");
}

#[test]
fn the_last_import_of_a_package_is_needed_and_the_first_by_what_it_binds() {
    // `xml` is the same module twice: the second import binds it anew, so only that one is an edge. That the first
    // has loaded `xml.dom` is something that the run sees (the module's attributes are read), not the text.
    insta::assert_snapshot!(told(&["import xml.dom", "import xml.sax", "print(xml.dom, xml.sax)"]), @r"
    s0: reads -; writes xml; needs -
    s1: reads -; writes xml; needs -
    s2: reads xml; writes -; needs s1
    ");
}

#[test]
fn a_builtin_that_was_hidden_and_is_bared_again_is_read() {
    insta::assert_snapshot!(told(&["max = 3", "del max", "v = max(1, 2)"]), @r"
    s0: reads -; writes max; needs -
    s1: reads max; writes max; needs s0
    s2: reads max; writes v; needs s1
    ");
}

#[test]
fn constant_tests_are_decided() {
    // CPython leaves out what a constant test excludes, so these are certain. A name that happens to be true is not.
    let steps = ["x = 0", "if True:\n    x = 1", "while True:\n    x = 2\n    break", "c = 1\nif c:\n    x = 3"];
    insta::assert_snapshot!(told(&steps), @r"
    s0: reads -; writes x; needs -
    s1: reads -; writes x; needs -
    s2: reads -; writes x; needs -
    s3: reads -; writes c x?; needs -
    ");
}

#[test]
fn a_name_bound_by_a_handler_may_be_gone_after_it() {
    let steps = ["e = 1\nm = ''", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    m = str(e)", "print(m, e)"];
    insta::assert_snapshot!(told(&steps), @r"
    s0: reads -; writes e m; needs -
    s1: reads -; writes e? m?; needs -
    s2: reads e m; writes -; needs s0 s1
    ");
}

#[test]
fn constant_sources_and_keys_are_read_as_if_they_stood_there() {
    let steps = ["x = 1\nsrc = 'x'", "exec('y = x')", "z = eval('x + 1')", "w = globals()['x']", "v = eval(src)"];
    // A computed source may read and write any name: the step needs whoever wrote anything before it.
    insta::assert_snapshot!(told(&steps), @r"
    s0: reads -; writes src x; needs -
    s1: reads x; writes y; needs s0
    s2: reads x; writes z; needs s0
    s3: reads x; writes w; needs s0
    s4: reads src; writes v; needs s0 s1 s2 s3 opaque
    ");
}
