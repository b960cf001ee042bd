"""Armature: structured stochastic bandits.

Say what you know about the shape of the rewards, and explore only as much as that requires.

The public names are what the rooms in `ROOMS` export, and a few more. They are imported when the
first of them is used: `import armature` alone takes no time.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armature.assess import *
    from armature.bounds import *
    from armature.errors import ArmatureError as ArmatureError
    from armature.experiments import *
    from armature.families import *
    from armature.kernels.kernel import kernel as kernel
    from armature.live import *
    from armature.policies import *
    from armature.structures import *
    from armature.structures.changing import Changing as Changing
    from armature.structures.instance import Instance as Instance

ROOMS = ("families", "structures", "policies", "bounds", "live", "experiments", "assess")
MORE = {
    "ArmatureError": "errors",
    "Changing": "structures.changing",
    "Instance": "structures.instance",
    "kernel": "kernels.kernel",
}
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """A public name, or a room, when it is used first."""
    if not name.startswith("__") or name == "__all__":
        rooms = [importlib.import_module(f"armature.{room}") for room in ROOMS]
        if all(hasattr(room, "__all__") for room in rooms):  # not while one is being imported
            known = {one: getattr(room, one) for room in rooms for one in room.__all__}
            for one, place in MORE.items():
                known[one] = getattr(importlib.import_module(f"armature.{place}"), one)
            globals().update(known, __all__=[*sorted(known), "__version__"])
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
