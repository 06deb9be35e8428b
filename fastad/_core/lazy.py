"""Public names that load their module when they are first used."""

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence

Loader = Callable[[str], object]


def lazy_names(
    package: str, names: Mapping[str, Sequence[str]], packages: Sequence[str] = ()
) -> tuple[Loader, Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        The package, as its ``__name__``.
    names : mapping of str to sequence of str
        Public names by the module that defines them.
    packages : sequence of str
        Public packages below it.
    """
    module_of = {name: module for module, defined in names.items() for name in defined}

    def load(name: str) -> object:
        if name in module_of:
            value: object = getattr(importlib.import_module(module_of[name]), name)
        elif name in packages:
            value = importlib.import_module(f"{package}.{name}")
        else:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}{_suggestion(name, public)}"
            )
        setattr(sys.modules[package], name, value)
        return value

    public = sorted([*module_of, *packages])
    version = ["__version__"] if hasattr(sys.modules[package], "__version__") else []
    return load, lambda: [*public, *version], public


def _suggestion(name: str, public: Sequence[str]) -> str:
    if name.startswith("_"):  # what Python itself looks for
        return ""
    # Here, because `import fastad` is to stay light.
    from fastad._core.suggestions import did_you_mean

    return did_you_mean(name, {each: each for each in public})
