"""Finding classes: a class that exists is a class that is tested."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any, TypeVar

from armature.storage.registry import is_of_kind

EXTRAS = ("armature.cli.demo", "armature.client", "armature.integrations", "armature.service")
T = TypeVar("T")


def discover(base: type[T], package: ModuleType) -> list[type[T]]:
    """All public concrete subclasses of `base` defined in a package, by name.

    Except in the service and `integrations`, which need what the library does not.

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
                if member.__module__ == module.__name__
                and not name.startswith("_")
                and is_of_kind(member, base)
            }
    return [found[name] for name in sorted(found) if found[name].examples()]
