"""Real notebooks, edited at random: is what is held after every edit what a run from nothing gives, and how much ran?

`python3 benches/notebooks.py [--reweave PATH] [--python PYTHON] [--edits N] [--seed N] NOTEBOOK...` imports each notebook,
runs it, and edits it again and again: a constant changed, a step deleted, inserted, or swapped with another. After each
edit the run is brought up to date and verified; every tenth time, and at the end, a copy of the sources is run from
nothing in another directory as well, and what every step printed and wrote is compared. Told are the differences, the
steps that ran and that were rebuilt, and how large the largest component of names grew that share something mutable.
Ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
OWN = {".reweave", "recorded"}


class Reweave:
    """The program, for one run."""

    def __init__(self, program: str, python: str) -> None:
        self.program, self.python = program, python

    def call(self, verb: str, run: Path, *more: str) -> dict[str, Any]:
        done = subprocess.run(
            [self.program, verb, str(run), *more, "--json"], capture_output=True, text=True, timeout=3600, check=False
        )
        if not done.stdout.strip():
            raise SystemExit(f"{verb} {run} said nothing: {done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def update(self, run: Path) -> dict[str, Any]:
        return self.call("run", run, "--python", self.python)

    def verify(self, run: Path) -> dict[str, Any]:
        return self.call("verify", run, "--python", self.python)

    def held(self, run: Path) -> dict[str, Any]:
        """What every step printed and showed, how it ended, and every variable after the last that can be looked at."""
        found: dict[str, Any] = {}
        steps = self.update(run)["steps"]
        for step in steps:
            error = step["error"] and (step["error"]["type"], step["error"]["message"])
            told = (step["status"], step["stdout"], step["display"], error)
            # Where an object lies is chance.
            found[step["id"]] = ADDRESS.sub("0x", json.dumps(told))
        for step in [step["id"] for step in reversed(steps) if step["status"] == "fresh"][:1]:
            for variable in self.call("state", run, "--at", step, "--python", self.python)["variables"]:
                if " at 0x" not in variable["repr"]:
                    found[f"{variable['name']} after {step}"] = (variable["type"], variable["repr"])
        return found

    def components(self, run: Path) -> list[int]:
        """The sizes of the components that steps made, hidden state left out."""
        sizes = []
        for step in self.call("status", run)["steps"]:
            for execution in self.call("show", run, step["id"])["executions"][:1]:
                members = {tuple(made["members"]) for made in execution["writes"].values() if made}
                sizes += [sum(not name.startswith("@") for name in names) for names in members]
        return [size for size in sizes if size]


def files_of(run: Path) -> set[str]:
    """What stands in the run besides steps."""
    paths = (path for path in run.rglob("*") if path.is_file() and path.suffix != ".py")
    return {str(path.relative_to(run)) for path in paths if OWN.isdisjoint(path.relative_to(run).parts)}


def steps_of(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*.py") if OWN.isdisjoint(path.relative_to(run).parts))


def edit(run: Path, dice: random.Random) -> str:
    """Changes one thing; says what."""
    steps = steps_of(run)
    chosen, kind = dice.choice(steps), dice.random()
    text = chosen.read_text()
    numbers = list(NUMBER.finditer(text))
    name = chosen.stem
    if kind < 0.7 and numbers:
        place = dice.choice(numbers)
        chosen.write_text(text[: place.start()] + str(dice.randint(1, 9)) + text[place.end() :])
        return f"a constant of {name}"
    if kind < 0.8 and len(steps) > 3:
        chosen.unlink()
        return f"{name} deleted"
    if kind < 0.9:
        other = dice.choice(steps)
        chosen.write_text(other.read_text())
        other.write_text(text)
        return f"{name} and {other.stem} swapped"
    chosen.with_name(f"{name}_{dice.randrange(1000)}.py").write_text("print(len(dir()) > 0)\n")
    return f"a step after {name}"


def by_chance(program: Reweave, run: Path) -> set[str]:
    """Steps that give another answer each time, those that use what they made, and the names that these write."""
    found: set[str] = set()
    for step in program.call("status", run)["steps"]:
        sources = {edge["from"] for edge in step["edges_in"] if edge["kind"] == "data"}
        if step["nondeterministic"] or sources & found:
            found.update([step["id"], *step["writes"]])
    return found


def differences(program: Reweave, run: Path, given: set[str]) -> list[str]:
    """Steps that are other in a directory where nothing ran before, with the files that were `given`."""
    with tempfile.TemporaryDirectory() as room:
        # The same name, so that paths of the same length are printed.
        fresh = Path(room) / run.name
        shutil.copytree(run, fresh, ignore=shutil.ignore_patterns(".reweave"))
        for path in files_of(fresh) - given:
            (fresh / path).unlink()
        here, there = program.held(run), program.held(fresh)
        chance = by_chance(program, run) | by_chance(program, fresh)
        return [
            what for what in here
            if here[what] != there.get(what) and what.split()[0] not in chance and str(run) not in str(here[what])
        ]  # fmt: skip


def main() -> None:
    take = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    take.add_argument("--reweave", default="target/release/reweave")
    take.add_argument("--python", default=sys.executable)
    take.add_argument("--edits", type=int, default=30)
    take.add_argument("--seed", type=int, default=1)
    take.add_argument("notebooks", nargs="+", type=Path)
    asked = take.parse_args()
    program = Reweave(asked.reweave, asked.python)
    wrong = 0
    for notebook in asked.notebooks:
        dice = random.Random(asked.seed)
        with tempfile.TemporaryDirectory() as room:
            run = Path(room) / "run"
            program.call("import", notebook, "-o", str(run))
            for beside in notebook.parent.glob("*.py"):
                shutil.copy(beside, run)
                (run / beside.name).write_text('# /// step\n# kind = "module"\n# ///\n' + beside.read_text())
            given = files_of(run)
            start = time.perf_counter()
            first = program.update(run)
            took = time.perf_counter() - start
            count = len(first["steps"])
            again = program.update(run)
            print(f"{notebook.stem}: {count} steps in {took:.1f} s; again ran {again['ran']}, rebuilt {again['rebuilt']}")
            ran = rebuilt = steps = 0
            for number in range(1, asked.edits + 1):
                what = edit(run, dice)
                told = program.update(run)
                verified = program.verify(run)
                ran, rebuilt, steps = ran + told["ran"], rebuilt + told["rebuilt"], steps + len(told["steps"])
                found = [f"{d['id']} {d['what']}" for d in verified["differences"]]
                if number % 10 == 0 or number == asked.edits:
                    found += [f"{step} beside a fresh directory" for step in differences(program, run, given)]
                if found:
                    wrong += 1
                    print(f"  {number}. {what}: DIFFERS in {', '.join(found[:5])}")
            if steps:
                print(f"  {asked.edits} edits: {ran} of {steps} steps ran ({100 * ran // steps}%), {rebuilt} rebuilt")
            sizes = program.components(run)
            shared = [size for size in sizes if size > 1]
            print(f"  components: {len(sizes)}, {len(shared)} of more than one name, the largest of {max(sizes, default=0)}")
            sys.stdout.flush()
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
