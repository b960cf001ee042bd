"""Finding classes: a class that exists is a class that is tested."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any, TypeVar

EXTRAS = ("armature.cli.demo", "armature.client", "armature.service")
T = TypeVar("T")


def discover(base: type[T], package: ModuleType) -> list[type[T]]:
    """All public concrete subclasses of `base` defined in a package, by name.

    But for the service, which needs what the library does not.

    >>> import armature
    >>> [cls.__name__ for cls in discover(armature.Family, armature)]
    ['Bernoulli', 'Bounded', 'Exponential', 'Gaussian', 'Poisson']
    """
    found: dict[str, Any] = {}
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not (info.name.endswith("__main__") or info.name.startswith(EXTRAS)):
            module = importlib.import_module(info.name)
            found |= {
                name: member
                for name, member in inspect.getmembers(module, inspect.isclass)
                if member.__module__ == module.__name__ and _is_concrete(member, base)
            }
    return [found[name] for name in sorted(found)]


def _is_concrete(member: Any, base: type[Any]) -> bool:
    """Whether a class is there to be used: a public subclass that can say what an example is."""
    if member is base or not issubclass(member, base) or member.__name__.startswith("_"):
        return False
    return not inspect.isabstract(member) and bool(member.examples())
