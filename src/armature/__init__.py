"""Armature: structured stochastic bandits.

Say what you know about the shape of the rewards, and explore only as much as that requires.

The public names (`armature.public`) are imported when the first of them is used: `import armature`
alone takes no time. What the rooms of families, structures and policies export is among them.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armature.families import *
    from armature.policies import *
    from armature.public import *
    from armature.structures import *

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """A public name, or a room, when it is used first."""
    if not name.startswith("__") or name == "__all__":
        public = importlib.import_module("armature.public")
        if hasattr(public, "__all__"):  # it is not while it is being imported
            known = {one: getattr(public, one) for one in public.__all__}
            globals().update(known, __all__=[*known, "__version__"])
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module 'armature' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, without the rooms of the package."""
    names: list[str] = __getattr__("__all__")
    return names


class _Package(ModuleType):
    """A package in which `assess` is the function, whenever the room of that name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "assess" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
