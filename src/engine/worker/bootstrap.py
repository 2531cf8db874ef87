# Receives the worker's modules over descriptor 0 and starts it. Kept small: it travels on the command line.
import _frozen_importlib_external, builtins, json, marshal, os, struct, sys, types

os.setsid()  # no terminal: what a step writes reaches one only through the engine
sys.path[:] = [p for p in sys.path if p]
fd = os.dup(0)
os.set_inheritable(fd, False)
null = os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
os.close(null)


def exactly(n: int) -> bytes:
    data = b""
    while len(data) < n:
        part = os.read(fd, n - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


package = types.ModuleType("_reweave")
package.__path__ = []
sys.modules["_reweave"] = package
own = dict(vars(builtins))


def part() -> bytes:
    return exactly(struct.unpack("<I", exactly(4))[0])


sources = json.loads(part())
# What an interpreter of this kind made of them earlier, for the same engine: to compile them is most of a start.
magic = _frozen_importlib_external.MAGIC_NUMBER
compiled = part()
known = compiled.startswith(magic)
code = marshal.loads(compiled[len(magic) :]) if known else {}


class Finder:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> object:
        if name.startswith("_reweave.") and name[9:] in sources:
            import importlib.machinery

            return importlib.machinery.ModuleSpec(name, Finder)  # type: ignore[arg-type]
        return None

    @staticmethod
    def create_module(spec: object) -> None:
        return None

    @staticmethod
    def exec_module(module: types.ModuleType) -> None:
        name = module.__name__[9:]
        # What steps replace in builtins is theirs: the worker goes on with what was there.
        module.__dict__["__builtins__"] = own
        if name not in code:
            code[name] = compile(sources[name], "<reweave %s>" % name, "exec", dont_inherit=True)
        exec(code[name], module.__dict__)


sys.meta_path.insert(0, Finder)  # type: ignore[arg-type]
from _reweave import worker

made = b"" if known else magic + marshal.dumps(code)
answer = struct.pack("<IQ", 2, len(made)) + b"{}" + made
while answer:
    answer = answer[os.write(fd, answer) :]
worker.main(fd)
