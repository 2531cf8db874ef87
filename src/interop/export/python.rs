//! A run as one Python script that runs without reweave.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::ipython::{Need, quoted, translate};
use super::whole::{Whole, WholeStep, split_header};
use crate::step::{Kind, OnError, plain_line};

/// The run as a script. Steps stand in their order, each under `# %% id`; magics are translated, shell steps are
/// run by a shell, modules of the run come along. What a failed step does follows the run's `on_error`.
pub fn script(run: &Whole) -> String {
    let mut needs = BTreeSet::new();
    let mut future = BTreeSet::new();
    let mut body = String::new();
    let mut guarded = false;
    for step in &run.steps {
        let text = step_text(step, &mut needs, &mut future);
        // What is not Python would keep the whole script from running.
        let failed = step.is_broken
            || step.is_current() && step.execution.as_ref().is_some_and(|execution| execution.error.is_some());
        let _ = write!(body, "\n# %% {}\n", plain_line(step.id.as_str()));
        match (failed, run.on_error) {
            (true, OnError::Continue) => {
                guarded = true;
                let _ = writeln!(
                    body,
                    "# It failed in the run, which went on.\n_go_on({}, {})",
                    quoted(&text),
                    quoted(&step.path)
                );
            }
            (true, OnError::Block) => {
                body.push_str("# It failed in the run, whose other steps ran without it.\n");
                body.extend(text.split_inclusive('\n').map(|line| format!("# {line}")));
            }
            _ => body.push_str(&text),
        }
        if !body.ends_with('\n') {
            body.push('\n');
        }
    }
    let mut out = String::from("#!/usr/bin/env python3\n");
    let count = run.steps.len();
    let _ = writeln!(
        out,
        "# The run {}, {count} steps, as a script. Run it in the run's directory.",
        plain_line(&run.title)
    );
    for import in future {
        let _ = writeln!(out, "{import}");
    }
    out.push_str(&prelude(&needs, guarded));
    out.push_str(&modules(run));
    out + &body
}

fn step_text(step: &WholeStep, needs: &mut BTreeSet<Need>, future: &mut BTreeSet<String>) -> String {
    let (text, _) = step.split();
    if step.kind == Kind::Shell {
        needs.insert(Need::Shell);
        return format!("_shell({})\n", quoted(&text));
    }
    // Imports from the future must stand first in a file.
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("from __future__ import ") && !line.contains('(') {
            future.insert(line.split('#').next().unwrap_or_default().trim().to_owned());
            kept.push_str(&format!("# {line}"));
        } else {
            kept.push_str(line);
        }
    }
    translate(&kept, needs)
}

/// Definitions that translated code uses, and only those.
fn prelude(needs: &BTreeSet<Need>, guarded: bool) -> String {
    let mut out = String::new();
    if needs.contains(&Need::Os) {
        out.push_str("import os\n");
    }
    if needs.contains(&Need::Shell) {
        out.push_str(
            "\n\ndef _shell(command, program=\"sh\"):\n    import subprocess\n    import sys\n\n    sys.stdout.flush()\n    \
             subprocess.run(program.split(), input=command, text=True)\n",
        );
    }
    if needs.contains(&Need::Lines) {
        out.push_str(
            "\n\ndef _lines(command):\n    import subprocess\n\n    \
             return subprocess.run([\"sh\", \"-c\", command], stdout=subprocess.PIPE, text=True).stdout.splitlines()\n",
        );
    }
    if needs.contains(&Need::Await) {
        out.push_str(
            "\n\ndef _await(source):\n    import ast\n    import asyncio\n    import inspect\n\n    \
             code = compile(source, \"<step>\", \"exec\", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)\n    \
             waits = eval(code, globals())\n    if inspect.isawaitable(waits):\n\n        \
             async def run():\n            await waits\n\n        asyncio.run(run())\n",
        );
    }
    if needs.contains(&Need::Display) {
        out.push_str("\n\ntry:\n    from IPython.display import display\nexcept ImportError:\n    display = print\n");
    }
    if needs.contains(&Need::GetIpython) {
        out.push_str(
            "\n\ndef get_ipython():\n    import types\n\n    nothing = lambda *_: None\n    \
             return types.SimpleNamespace(run_line_magic=nothing, run_cell_magic=nothing, magic=nothing, system=nothing)\n",
        );
    }
    if guarded {
        out.push_str(
            "\n\ndef _go_on(source, name):\n    import traceback\n\n    try:\n        \
             exec(compile(source, name, \"exec\"), globals())\n    except Exception:\n        traceback.print_exc()\n",
        );
    }
    out
}

/// The run's modules, found by the import system under their names.
fn modules(run: &Whole) -> String {
    if run.modules.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "\n\nimport importlib.abc as _abc\nimport importlib.util as _util\nimport sys as _sys\n\n\
         class _Modules(_abc.MetaPathFinder, _abc.Loader):\n    \
         def find_spec(self, name, path=None, target=None):\n        \
         if name in _SOURCES:\n            return _util.spec_from_loader(name, self)\n\n    \
         def exec_module(self, module):\n        \
         exec(compile(_SOURCES[module.__name__], module.__name__ + \".py\", \"exec\"), module.__dict__)\n\n\n_SOURCES = {\n",
    );
    for (path, text) in &run.modules {
        let name = path.trim_end_matches(".py").replace('/', ".");
        let (text, _) = split_header(text);
        let _ = writeln!(out, "    {}: {},", quoted(&name), quoted(&text));
    }
    out.push_str("}\n_sys.meta_path.insert(0, _Modules())\n");
    out
}
