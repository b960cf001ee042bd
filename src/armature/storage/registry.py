"""Objects as plain data: {"kind": name, argument: value, ...}, for TOML and JSON files.

The one place where a word in a file becomes a class. The names are those that the packages of
families, structures and policies export, and those of installed entry points of the group
"armature". A class of your own is named by "module:Class"; its module is imported only if the
caller allows it by name. To be written to a file, a class must keep its arguments as attributes of
the same names.

Arguments that are themselves families, structures or policies, and lists of them, are tables of the
same form.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from armature.errors import ArmatureError, short, unknown
from armature.storage.tagged_json import decoded, encoded

ENTRY_POINTS = "armature"
Allowed = str | Sequence[str]  # modules and packages whose classes a file may name


class Classes(Mapping[str, type[Any]]):
    """The classes of a kind by their names in files: what a package exports, once it is asked.

    The package is named, not imported: what stores objects lies below what they are.
    """

    def __init__(self, base: str, what: str, package: str) -> None:
        self._base, self.what, self._package = base, what, package

    @functools.cached_property
    def base(self) -> type[Any]:
        """The class that all of them are derived from."""
        found: type[Any] = getattr(importlib.import_module(self._package), self._base)
        return found

    @functools.cached_property
    def _exported(self) -> dict[str, type[Any]]:
        """All classes of the kind, those included from which others are made."""
        package = importlib.import_module(self._package)
        exported = [getattr(package, name) for name in package.__all__]
        return {c.__name__.lower(): c for c in exported if is_of_kind(c, self.base)}

    def __getitem__(self, name: str) -> type[Any]:
        found = self._exported[name]
        if not _is_used(found):  # asked of this class alone, as examples can take long to make
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name, found in self._exported.items() if _is_used(found))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _is_used(member: Any) -> bool:
    """True if a class is there to be used, and not for others to be made from."""
    return getattr(member, "is_table", False) or bool(member.examples())


def is_of_kind(member: Any, base: type[Any]) -> bool:
    """True if an export is a class of a kind, and not abstract."""
    if not (isinstance(member, type) and issubclass(member, base)) or inspect.isabstract(member):
        return False
    return member is not base


FAMILIES = Classes("Family", "reward family", "armature.families")
STRUCTURES = Classes("Structure", "structure", "armature.structures")
POLICIES = Classes("Policy", "policy", "armature.policies")
COUPLINGS = Classes("Coupling", "coupling", "armature.structures")
KINDS = (FAMILIES, STRUCTURES, POLICIES, COUPLINGS)


def class_named(classes: Classes, section: str, kind: Any, allow: Allowed = ()) -> type[Any]:
    """The class of a name, or of "module:Class" where the module is allowed."""
    if not isinstance(kind, str):
        raise ArmatureError(f"{section}.kind must be a name; got {kind!r}.")
    if kind.lower() in classes:
        return classes[kind.lower()]
    reference = _entry_points().get(kind.lower(), kind)
    if ":" not in reference:
        raise unknown(f"{section}.kind", kind, [*classes, *_entry_points()])
    found = _class_behind(section, kind, reference, allow)
    if not (isinstance(found, type) and issubclass(found, classes.base)):
        raise ArmatureError(f"{section}.kind: {kind!r} is not a {classes.what}.")
    return found


def _class_behind(section: str, kind: str, reference: str, allow: Allowed) -> Any:
    """The class that "module:Class" names, imported if that is allowed."""
    module = reference.partition(":")[0]
    if not (is_allowed(module, allow) or reference in _entry_points().values()):
        raise ArmatureError(
            f"{section}.kind: {kind!r} is not part of Armature, and importing it runs its code. If "
            f"you trust it, allow it: allow=[{module!r}], or --allow {module} on the command line."
        )
    return _imported(section, reference)


def is_allowed(module: str, allow: Allowed) -> bool:
    """True if a module is one of those, or part of one of those packages, that are allowed."""
    names = [allow] if isinstance(allow, str) else allow
    if not (isinstance(names, Sequence) and all(isinstance(name, str) for name in names)):
        raise ArmatureError(f"allow must be a list of modules' names; got {short(allow)}.")
    return any(module == name or module.startswith(f"{name}.") for name in names)


@functools.cache
def _entry_points() -> dict[str, str]:
    """Classes that installed packages offer: "module:Class" by name."""
    from importlib import metadata  # which loads the mail and network modules

    found = metadata.entry_points(group=ENTRY_POINTS)
    return {point.name.lower(): point.value.replace(" ", "") for point in found}


def _imported(section: str, reference: str) -> Any:
    module, _, path = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
            if not isinstance(found, type):  # no way through other modules and objects
                return None
    except Exception as error:  # whatever the module does when it is imported
        why = str(error) or type(error).__name__
        raise ArmatureError(f"{section}.kind: {reference!r} can't be imported: {why}.") from error
    return found


def as_table(classes: Classes, section: str, description: Any) -> dict[str, Any]:
    """A description as a new table: a word alone is a kind."""
    if isinstance(description, str):
        return {"kind": description}
    if not isinstance(description, dict):
        raise ArmatureError(
            f"{section} must be a table with a kind, such as {{ kind = {next(iter(classes))!r} }}; "
            f"got {description!r}."
        )
    if "kind" not in description:
        raise ArmatureError(f"[{section}] has no kind: it can be {', '.join(classes)}.")
    return dict(description)


def build(classes: Classes, section: str, description: Any, allow: Allowed = ()) -> Any:
    """Make an object of the class that `kind` names from the other entries.

    `allow` names the modules and packages whose classes may be imported.
    """
    arguments = as_table(classes, section, description)
    kind = arguments.pop("kind")
    cls = class_named(classes, section, kind, allow)
    parameters = inspect.signature(cls).parameters
    for key in arguments:
        if key not in parameters:
            raise unknown(f"{section}.{key}: the key", key, parameters)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in arguments:
            raise ArmatureError(f"[{section}] of kind {kind!r} needs the key {name!r}.")
    values = {
        key: decoded(value, functools.partial(_build_any, f"{section}.{key}", allow))
        for key, value in arguments.items()
    }
    try:
        return cls(**values)
    except ArmatureError:
        raise
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ArmatureError(f"[{section}] of kind {kind!r}: {error}.") from None


def _build_any(section: str, allow: Allowed, table: dict[str, Any]) -> Any:
    """A family, structure or policy inside of another's arguments; or a dict."""
    kind = table.get("kind")
    if not isinstance(kind, str):
        inside = functools.partial(_build_any, section, allow)
        return {key: decoded(value, inside) for key, value in table.items()}
    for classes in KINDS:
        if kind.lower() in classes:
            return build(classes, section, table, allow)
    reference = _entry_points().get(kind.lower(), kind)
    if ":" not in reference:
        every = {name for classes in KINDS for name in classes}
        raise unknown(f"{section}.kind", kind, every)
    found = _class_behind(section, kind, reference, allow)
    for classes in KINDS:
        if isinstance(found, type) and issubclass(found, classes.base):
            return build(classes, section, table, allow)
    raise ArmatureError(
        f"{section}.kind: {kind!r} is not a reward family, structure, policy or coupling."
    )


def with_arms(table: dict[str, Any], n_arms: int, section: str, allow: Allowed) -> dict[str, Any]:
    """A structure's table with the number of arms, and those of the structures inside of it."""

    def fill(key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [fill(key, item) for item in value]
        if not isinstance(value, dict) or str(value.get("kind")).lower() in COUPLINGS:
            return value
        if "kind" in value:
            return with_arms(value, n_arms, f"{section}.{key}", allow)
        return {name: fill(f"{key}.{name}", item) for name, item in value.items()}

    filled = {key: fill(key, value) for key, value in table.items()}
    cls = class_named(STRUCTURES, section, table["kind"], allow)
    if "n_arms" in inspect.signature(cls).parameters:
        filled.setdefault("n_arms", n_arms)
    return filled


def describe(classes: Classes, value: Any, defaults: bool = False) -> dict[str, Any]:
    """The table from which `build` makes an equal object; on request with defaults, too."""
    cls = type(value)
    name = cls.__name__
    kind = name if classes.get(name.lower()) is cls else f"{cls.__module__}:{cls.__qualname__}"
    description: dict[str, Any] = {"kind": kind}
    for parameter in inspect.signature(cls).parameters.values():
        if not hasattr(value, parameter.name):
            raise ArmatureError(
                f"{cls.__name__} can't be written to a file: it has no attribute "
                f"{parameter.name!r}, as its argument is called."
            )
        argument = getattr(value, parameter.name)
        left_out = isinstance(argument, np.ndarray) and argument.size == 0
        if left_out and parameter.default is None:
            continue
        plain = _plain(argument)
        if plain is None and parameter.default is not None:
            plain = "unknown"  # TOML has no word for nothing
        known = parameter.default is not parameter.empty and plain == _plain(parameter.default)
        if defaults or not known:
            description[parameter.name] = plain
    return description


def spelled_out(classes: Classes, value: Any) -> dict[str, Any]:
    """The table of an object with all arguments, those with default values too.

    `build` makes an equal object from it, and goes on to do so when a default has changed.
    """
    return describe(classes, value, defaults=True)


def from_version_1(description: Any) -> Any:
    """A structure's description from a file that wrote tuples, and no rows at all, as lists."""
    if not isinstance(description, dict):
        return description
    table = {k: value for k, value in description.items() if k not in ("C", "d") or value != []}
    if isinstance(table.get("categories"), list):
        table["categories"] = [tuple_of(label) for label in table["categories"]]
    return table


def tuple_of(label: Any) -> Any:
    """A label of version 1 as it is written now: a list was a tuple, for a list is no label."""
    return {"tuple": [tuple_of(part) for part in label]} if isinstance(label, list) else label


def describe_any(value: Any) -> dict[str, Any] | None:
    """The description of a family, structure or policy; None for anything else."""
    for classes in KINDS:
        if isinstance(value, classes.base):
            return describe(classes, value)
    return None


def _plain(value: Any) -> Any:
    """An argument as plain data; an array as lists, which every constructor takes."""
    if isinstance(value, np.ndarray) and (value.size > 0 or value.ndim == 1):
        return encoded(value.tolist())
    return encoded(value, describe_any)
