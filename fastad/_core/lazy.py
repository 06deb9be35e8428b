"""Public names that load their module when they are first used."""

import dis
import importlib
import sys
from collections.abc import Callable, Sequence

# The package whose names are looked for in the one above; it loads none of them itself.
_MEASURES = "measures"
Loader = Callable[[str], object]


def lazy_names() -> tuple[Loader, Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of the package that calls.

    The names are those that it imports under ``if TYPE_CHECKING:``, where type checkers and editors
    find them. Python compiles that block, and never runs it; it is read from the package's code,
    which is there where the source is not. Packages below it are imported from itself.
    """
    caller = sys._getframe(1)
    space, package = caller.f_globals, caller.f_globals["__name__"]
    # Other imports have been run; of a package that is loaded again also some of these.
    there = space.keys() - {*space.get("__all__", ())}
    module_of = {}
    module = ""
    for instruction in dis.get_instructions(caller.f_code):
        if instruction.opname == "IMPORT_NAME":
            module = instruction.argval
        elif instruction.opname == "IMPORT_FROM" and instruction.argval not in there:
            module_of[instruction.argval] = module

    def load(name: str) -> object:
        if name not in module_of:
            has_measures = module_of.get(_MEASURES) == package
            below = f"{package}.{_MEASURES}" if has_measures else ""
            hint = _suggestion(name, public, below)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value: object
        if module_of[name] == package:
            value = importlib.import_module(f"{package}.{name}")
        else:
            value = getattr(importlib.import_module(module_of[name]), name)
        space[name] = value
        return value

    public = sorted(module_of)
    version = ["__version__"] if "__version__" in space else []
    return load, lambda: [*public, *version], public


def _suggestion(name: str, public: Sequence[str], below: str) -> str:
    if name.startswith("_"):  # names that Python itself looks for
        return ""
    # Here, because `import fastad` is to stay light.
    from fastad._core.suggestions import did_you_mean, suggestion

    if below and name in importlib.import_module(below).__all__:
        return suggestion([f"{below}.{name}"])
    return did_you_mean(name, {each: each for each in public})
