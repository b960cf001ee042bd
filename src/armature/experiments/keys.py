"""Keys of runs: hashes of the code and the problem, which differ where numbers may differ.

A run is a pure function of (instance, policy, seed, repetition) *and of the code*: of the core of
this package, and of the modules in which a user's own classes are. `code_of` is a hash of both, and
`run_key` puts everything together that the numbers of a run depend on.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from armature.policies import Policy
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, spelled_out
from armature.structures.changing import Changing
from armature.structures.instance import Instance

PACKAGE = Path(__file__).parents[1]
# The rooms that the numbers of a run depend on. Nothing else does.
CORE = ("kernels", "families", "solver", "structures", "bounds", "policies", "rounds")


@functools.cache
def package_version() -> str:
    """The version of this package."""
    return version_of("armature-bandits", "armature")


def version_of(package: str, module: str) -> str:
    """A package's version as it was installed; of one that only lies on the path, as it says."""
    from importlib import metadata  # which loads the mail and network modules

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(module), "__version__", "not installed"))


def versions_of(*packages: str) -> list[list[str]]:
    """Names and versions: of Python, of this package, and of others that it uses."""
    rows = [["Python", platform.python_version()], ["armature-bandits", package_version()]]
    return rows + [[name, version_of(name, name)] for name in packages]


def sources(package: Path = PACKAGE) -> list[Path]:
    """The files of the core."""
    return [path for room in CORE for path in sorted((package / room).rglob("*.py"))]


@functools.cache
def package_code() -> str:
    """A hash of the package's version and of those files."""
    digest = hashlib.sha256(package_version().encode())
    for path in sources():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def code_of(*objects: Any) -> str:
    """A hash of the code behind some objects: the package, and the modules of users' classes.

    Of a user's class, the module counts and every module of the user's that this one uses. A class
    whose source can't be found gets another hash each time: its runs are never taken for known.
    """
    digest = hashlib.sha256(package_code().encode())
    for name, source in sorted(_own_sources(objects).items()):
        digest.update(name.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()


def run_key(
    instance: Instance,
    policy: Policy,
    horizon: int,
    seed: int,
    more: dict[str, Any] | None = None,
) -> str:
    """Names what the numbers of a policy's repetitions depend on: 24 hexadecimal digits.

    `more` is what they depend on besides, as plain data, where it is not a simulation's regret.
    """
    code = code_of(policy, instance.structure, instance.family)
    return _hash({**_about(instance, policy, horizon, seed, more), **_version(code)})


def problem_key(
    instance: Instance,
    policy: Policy,
    horizon: int,
    seed: int,
    more: dict[str, Any] | None = None,
) -> str:
    """A key without the code: it tells an older run of the same problem from a run of another."""
    return _hash(_about(instance, policy, horizon, seed, more))


def _about(
    instance: Instance, policy: Policy, horizon: int, seed: int, more: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        **(more or {}),
        "structure": spelled_out(STRUCTURES, instance.structure),
        "family": spelled_out(FAMILIES, instance.family),
        **means_of(instance),
        "policy": spelled_out(POLICIES, policy),
        "horizon": int(horizon),
        "seed": int(seed),
    }


def means_of(instance: Instance) -> dict[str, Any]:
    """The means as plain data; of those that change, all pieces; of a table, frequencies."""
    found: dict[str, Any] = {"means": instance.means.tolist(), **instance.frequencies_of_table}
    if isinstance(instance, Changing):
        pieces = zip(instance.starts.tolist(), instance.path.tolist(), strict=True)
        found["changes"] = [list(piece) for piece in pieces][1:]
    return found


def _version(code: str) -> dict[str, str]:
    return {"version": package_version(), "code": code}


def _hash(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=repr).encode()).hexdigest()[:24]


def _own_sources(objects: tuple[Any, ...]) -> dict[str, bytes]:
    """The source of each module that is a user's and stands behind some objects, by its name."""
    found: dict[str, bytes] = {}
    waiting = [name for value in objects for name in _class_modules(type(value))]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        module = sys.modules.get(name)
        found[name] = _source(module)
        if module is not None:
            waiting += [other for other in _used_by(module) if _is_a_users(other, name)]
    return found


def _class_modules(cls: type[Any]) -> list[str]:
    return [base.__module__ for base in cls.__mro__ if _is_a_users(base.__module__, "")]


def _is_a_users(name: str, user: str) -> bool:
    """True if a module belongs neither to this package, nor to Python, nor to an installed package.

    What is installed counts if it is in the package of the module that uses it.
    """
    top = name.partition(".")[0]
    if top == "armature" or top in sys.stdlib_module_names:
        return False
    if not user or top == user.partition(".")[0]:
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and not {"site-packages", "dist-packages"} & set(Path(file).parts)


def _used_by(module: ModuleType) -> Iterator[str]:
    """The names of the modules that a module's global names come from."""
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else None
        name = name or getattr(value, "__module__", None)
        if isinstance(name, str):
            yield name


def _source(module: ModuleType | None) -> bytes:
    file = getattr(module, "__file__", None)
    if file is not None:
        try:
            return Path(file).read_bytes()
        except OSError:
            pass
    return secrets.token_bytes(16)
