"""How soon a large run is on the screen, and how little it costs to keep it there.

`python3 benches/open.py [PATH OF reweave] [STEPS]` makes a run of 10,000 steps that each read three before them, runs it
once, and opens it in a pseudo-terminal of 120x40: the time to the first frame that shows it, from a key to the frame that
answers it, from the rename of an edited step to its mark, the memory of the workbench, and what it costs at rest. Then
keys are pressed at 120x40 and at 200x60 while steps run, one that prints without end among them, and another process goes
on rewriting files of the run. Times are medians of several; nothing is asserted.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

TIMES = 7
# What a frame ends with (mode 2026).
FRAME = b"\x1b[?2026l"
# What every terminal is asked and answers at once (DA1).
QUESTION, ANSWER = b"\x1b[c", b"\x1b[?62;22c"


def source(at: int, constant: int) -> str:
    reads = [f"v{at - back}" for back in (1, 7, 31) if back <= at]
    return f"v{at} = ({' + '.join(reads) or '0'} + {constant}) % 1000\n"


class Screen:
    """The program in a terminal; what it writes is kept since the last key."""

    def __init__(self, program: str, run: Path, columns: int = 120, rows: int = 40) -> None:
        self.text = b""
        self.start = time.perf_counter()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(program, [program, "open", str(run)])
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait(self, wanted: bytes, seconds: float = 60) -> float:
        """When it has written `wanted`."""
        until = time.perf_counter() + seconds
        while wanted not in self.text:
            left = until - time.perf_counter()
            if left <= 0 or not select.select([self.terminal], [], [], left)[0]:
                raise SystemExit(f"{wanted!r} was not shown: {self.text[-2000:]!r}")
            came = os.read(self.terminal, 1 << 16)
            if QUESTION in came:
                os.write(self.terminal, ANSWER)
            self.text += came
        return time.perf_counter()

    def quiet(self, seconds: float) -> int:
        """Reads until nothing has come for so long; gives how many bytes came."""
        came = 0
        while select.select([self.terminal], [], [], seconds)[0]:
            try:
                came += len(os.read(self.terminal, 1 << 16))
            except OSError:  # It ended.
                break
        self.text = b""
        return came

    def quiet_for(self, seconds: float) -> None:
        """Reads for so long, whatever comes."""
        until = time.perf_counter() + seconds
        while (left := until - time.perf_counter()) > 0:
            if select.select([self.terminal], [], [], left)[0]:
                os.read(self.terminal, 1 << 16)

    def key(self, key: bytes, shows: bytes = b"") -> float:
        """How long a key takes to be answered by a whole frame, the one with `shows` in it."""
        self.text = b""
        start = time.perf_counter()
        os.write(self.terminal, key)
        if not shows:
            return self.wait(FRAME, 5) - start
        self.wait(shows, 5)
        self.text = self.text[self.text.index(shows) :]
        return self.wait(FRAME, 5) - start

    def used(self) -> tuple[float, float]:
        """Megabytes that are its own or shared, and seconds of processor so far."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return resident / 1024, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        os.kill(self.pid, signal.SIGTERM)
        self.quiet(1)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def told(what: str, seconds: list[float], limit: str) -> None:
    worst = max(seconds)
    print(f"  {what:48} median {statistics.median(seconds) * 1e3:8.1f} ms  worst {worst * 1e3:8.1f} ms  limit {limit}")


# Prints as fast as a screen can follow, and without end.
PRINTS = """import time
end = time.monotonic() + 600
while time.monotonic() < end:
    print("line", time.monotonic(), flush=True)
    time.sleep(0.001)
"""

# Saves one step after the other, as editors do.
SAVES = """import os, sys, time
run, steps, parent = sys.argv[1], int(sys.argv[2]), os.getppid()
turn = 0
while os.getppid() == parent:
    turn += 1
    at = steps - 200 + turn % 150
    with open(f"{run}/.new", "w") as file:
        file.write(f"v{at} = {turn}\\n")
    os.rename(f"{run}/.new", f"{run}/{at:05}.py")
    time.sleep(0.05)
"""


def under_load(program: str, run: Path, steps: int, columns: int, rows: int) -> None:
    """Keys while steps run and print, and files change: from each to the end of the frame that shows what it asked for."""
    # Second of all, so that it is what runs.
    (run / "0prints.py").write_text(PRINTS)
    screen = Screen(program, run, columns, rows)
    screen.wait(b"fresh")
    screen.quiet(3)
    screen.key(b"a")
    screen.key(b"Z")
    # To the step that prints, with its output in sight.
    for key in (b"3", b"1", b"g", b"g"):
        screen.key(key)
        screen.quiet_for(0.2)
    screen.key(b"j", b"0prints")
    screen.wait(b"line", 120)
    saves = subprocess.Popen([sys.executable, "-c", SAVES, str(run), str(steps)])
    times = []
    for turn in range(120):
        # Up and down the list: to the source of another step, and back to the output of the one that prints.
        keys = [(b"k", "00000"), (b"j", "0prints")]
        if turn % 4 == 0:
            keys += [(b"?", "First of all"), (b"\x1b", ""), (b":", "Commands"), (b"\x1b", "")]
        for key, shows in keys:
            took = screen.key(key, shows.encode())
            if shows:
                times.append(took)
            # An escape is a key of its own once nothing has come for 30 ms.
            screen.quiet_for(0.03 if shows else 0.1)
    saves.kill()
    saves.wait()
    times.sort()
    told(f"a key while steps run, {columns}x{rows}", times, "16 ms at the 99th of 100")
    print(f"    at the 99th of 100 {times[len(times) * 99 // 100] * 1e3:.1f} ms, memory {screen.used()[0]:.0f} MB")
    screen.close()


def main() -> None:
    program = str(Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/reweave").resolve())
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    # The last process of a run may still be leaving it.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run = Path(folder)
        for at in range(steps):
            (run / f"{at:05}.py").write_text(source(at, 1))
        start = time.perf_counter()
        subprocess.run([program, "run", str(run), "--json"], check=True, stdout=subprocess.DEVNULL)
        print(f"{steps} steps, run once in {time.perf_counter() - start:.1f} s")
        first, checked = [], []
        shown = f"{steps} fresh".encode()
        for _ in range(TIMES):
            screen = Screen(program, run)
            # As it stood when it was closed last, and marked so; then as it is.
            first.append(screen.wait(f"{steps} steps".encode()) - screen.start)
            checked.append(screen.wait(shown) - screen.start)
            screen.quiet(1)
            screen.close()
        told("first frame with the run in it, warm store", first, "150 ms")
        told("every step checked", checked, "none")
        screen = Screen(program, run)
        screen.wait(b"fresh")
        screen.quiet(3)
        keys = [screen.key(key) for key in (b"j", b"k", b"G", b"g", b"g", b"2", b"3", b"4", b"1") for _ in range(8)]
        keys.sort()
        told("a key, to the end of its frame", keys, "16 ms at the 99th of 100")
        screen.quiet(1)
        marks = []
        for turn in range(TIMES):
            at = steps - 20 - turn * 5
            (run / "new").write_text(source(at, 100 + turn))
            start = time.perf_counter()
            (run / "new").rename(run / f"{at:05}.py")
            marks.append(screen.wait(FRAME) - start)
            screen.quiet(1)
        told("an edited step is renamed, to its mark", marks, "50 ms")
        screen.quiet(2)
        before = screen.used()[1]
        time.sleep(5)
        written = screen.quiet(0.01)
        resident, after = screen.used()
        print(f"  memory {resident:.0f} MB, limit 200")
        print(f"  at rest for 5 s: {(after - before) * 1e3:.0f} ms of processor, {written} bytes written")
        screen.close()
        for columns, rows in ((120, 40), (200, 60)):
            under_load(program, run, steps, columns, rows)


main()
