#!/usr/bin/env python3
"""Fails if the program ships a crate under a licence that a permissive project can't ship.

Reads `cargo tree`: what the binary links on any platform (normal and build dependencies, not dev ones).
"""
import subprocess
import sys

ALLOWED = {
    "MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib",
    "0BSD", "Unlicense", "CC0-1.0", "BSL-1.0", "Unicode-3.0", "Unicode-DFS-2016", "bzip2-1.0.6",
    "MPL-2.0", "MPL-2.0+",  # file-level: what it covers stays under it, what links it need not
}


def allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met by allowed licences alone."""
    expression = expression.replace("/", " OR ").replace("(", " ( ").replace(")", " ) ")
    words = []
    for word in expression.split():
        if words[-1:] == ["WITH"]:
            words[-2:] = [f"{words[-2]} WITH {word}"]
        else:
            words.append(word)
    python = " ".join(
        w if w in "()" else w.lower() if w in ("AND", "OR") else str(w in ALLOWED) for w in words
    )
    return bool(eval(python))  # only brackets, and, or, True, False


def main() -> int:
    tree = subprocess.run(
        ["cargo", "tree", "--locked", "-e", "normal,build", "--target", "all", "--prefix", "none", "--format", "{p}|{l}"],
        check=True, capture_output=True, text=True).stdout
    crates = {tuple(line.replace(" (*)", "").split("|")) for line in tree.splitlines() if "|" in line}
    bad = sorted(f"{crate}: {licence or 'none given'}" for crate, licence in crates if not licence or not allowed(licence))
    print(f"licences: {len(crates)} crates linked, {len(bad)} not allowed", *bad, sep="\n  ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
