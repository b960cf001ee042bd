"""What is written is what is read: every family, structure and policy, in every kind of file."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.rounds.play import PolicyRuns
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, Classes, build, describe
from armature.storage.tagged_json import decoded, encoded

DATA = Path(__file__).parents[1] / "data"
OPTIONS = (
    3, 0.25, 1e-3, True, False, "raw", "theory", "tail", [0.0, 3.0, 1.0], [2.0, 0.5],
    am.ProjectedThompson(),
)  # fmt: skip
TABLES = (
    am.Segments(["a", "b"], am.Unimodal(3), am.Additive()),
    am.Segments(["a", ("b", 1)], {"a": am.Unimodal(3), ("b", 1): am.Unconstrained(3)}),
    am.Segments([1, 2], am.Unconstrained(2), am.Alike(0.5) & am.SameBest()),
)
ALL = [
    pytest.param(classes, cls, id=cls.__name__)
    for classes in (FAMILIES, STRUCTURES, POLICIES)
    for cls in classes.values()
]


def as_toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)


def arguments_of(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in inspect.signature(type(value)).parameters}


def optional_arguments(cls: type) -> list[str]:
    parameters = inspect.signature(cls).parameters.values()
    return [p.name for p in parameters if p.default is not p.empty]


def accepted(cls: type, arguments: dict[str, Any]) -> Any:
    try:
        return cls(**arguments)
    except (am.ArmatureError, TypeError):
        return None


def examples_of(cls: type) -> tuple[Any, ...]:
    """Its examples; tables of segments, which have none to play with, are made here."""
    return TABLES if cls is am.Segments else tuple(cls.examples())


def variants(cls: type) -> list[Any]:
    """Every example, with each optional argument and all of them left out, and with each given."""
    found = list(examples_of(cls))
    optional = optional_arguments(cls)
    for example in examples_of(cls):
        arguments = arguments_of(example)
        found.append(cls(**{k: v for k, v in arguments.items() if k not in optional}))
        for name in optional:
            rest = {key: value for key, value in arguments.items() if key != name}
            candidates = [rest, *({**rest, name: option} for option in OPTIONS)]
            found += [made for made in (accepted(cls, c) for c in candidates) if made is not None]
    return found


def with_numpy(value: Any) -> Any:
    """The same argument in NumPy's types."""
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, (int, float)):
        return np.asarray(value)[()]
    if isinstance(value, str):
        return np.str_(value)
    if isinstance(value, tuple):
        return tuple(with_numpy(item) for item in value)
    return value


@pytest.mark.parametrize(("classes", "cls"), ALL)
def test_descriptions_are_read_back(classes: Classes, cls: type) -> None:
    made = variants(cls)
    for value in made:
        description = describe(classes, value)
        assert ":" not in description["kind"]
        through_json = json.loads(json.dumps(description, allow_nan=False))
        through_toml = tomllib.loads("x = " + as_toml(description))["x"]
        for read in (through_json, through_toml):
            assert build(classes, "it", read) == value
    for name in optional_arguments(cls):
        assert any(name in describe(classes, value) for value in made), f"nothing tries {name}"


@pytest.mark.parametrize(("classes", "cls"), ALL)
def test_numpy_scalars_are_as_good_as_numbers(classes: Classes, cls: type) -> None:
    for value in variants(cls):
        same = cls(**{k: with_numpy(v) for k, v in arguments_of(value).items()})
        assert same == value
        assert describe(classes, same) == describe(classes, value)
        assert json.dumps(describe(classes, same)) == json.dumps(describe(classes, value))
        if isinstance(same, am.Policy):
            assert same.name == value.name


LABELS = {
    "texts": (list("abcdefg"), [np.str_(letter) for letter in "abcdefg"]),
    "numbers": ([3, 2.5, 0, -1, 1e9, 7, 0.1], [np.int64(3), np.float64(2.5), 0, -1, 1e9, 7, 0.1]),
    "tuples": (
        [("b", 1), ("c", ("d", 2)), (), (None,), (True,), (2.5, "x"), (1, 2, 3)],
        [("b", np.int32(1)), ("c", ("d", np.uint8(2))), (), (None,), (np.bool_(True),),
         (2.5, np.str_("x")), (1, 2, 3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("labels", "numpy_labels"), LABELS.values(), ids=LABELS)
def test_labels_and_categories_of_any_kind(labels: list[Any], numpy_labels: list[Any]) -> None:
    for given in (labels, numpy_labels):
        categories = [0, np.int64(1), "x", ("y", np.int64(1)), ("y", 1), 2.5, ("z", ("w", 2))]
        bandit = am.Bandit(
            am.UCB(), am.Categorised(categories), labels=given, seed=np.uint32(5),
            horizon=np.int64(9),
        )  # fmt: skip
        bandit.tell(bandit.ask(4), np.ones(4))
        bandit.tell(labels[5], np.float32(0.5))
        copy = am.Bandit.from_json(bandit.to_json())
        assert copy.to_json() == bandit.to_json()
        assert copy.structure == bandit.structure
        rest = copy.ask(6)
        assert rest == bandit.ask(6)
        assert [type(a) for a in rest] == [type(labels[labels.index(a)]) for a in rest]
        copy.tell(rest, [0.0] * 6)


def test_a_label_that_can_not_be_written_is_named() -> None:
    bandit = am.Bandit(am.UCB(), am.Unimodal(2), labels=[frozenset("a"), frozenset("b")])
    assert bandit.ask() == frozenset("a")
    with pytest.raises(am.ArmatureError, match=r"frozenset\({'a'}\) can't be written to a file"):
        bandit.to_json()


@pytest.mark.parametrize("kind", STRUCTURES.values(), ids=lambda kind: kind.__name__)
def test_results_are_read_back(kind: type[am.Structure], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for structure in variants(kind):
        K, policies = structure.n_arms, [am.UCB(), am.OSSB(horizon=50), am.OSSB().with_horizon(90)]
        means = np.asarray(
            structure.project(rng.random(K), rng.random(K) + 0.1, am.Gaussian()).means
        )
        if np.sum(means == means.max()) > 1:
            continue
        instance = am.Instance(structure, means, am.Gaussian(0.5))
        runs = {policy.name: PolicyRuns.empty(2, 2, K) for policy in policies}
        results = am.Results(instance, tuple(policies), 90, 4, np.array([1, 90]), runs)
        results.save(tmp_path / "results.parquet")
        loaded = am.Results.load(tmp_path / "results.parquet")
        assert loaded.instance.structure == structure
        assert loaded.instance.means.tolist() == means.tolist()
        assert loaded.policies == results.policies
        assert loaded.names == results.names == ("UCB", "OSSB(horizon=50)", "OSSB")


def test_numpy_scalars_in_a_simulation(tmp_path: Path) -> None:
    instance = am.Instance(am.Unconstrained(2), [0.0, np.float32(1.0)])
    policies = [am.UCB(width=np.float64(2.0)), am.OSSB(), am.OSSB(horizon=np.int64(50))]
    results = am.simulate(instance, policies, np.int64(100), np.int32(2), np.uint64(3), np.int8(1))
    assert results.names == ("UCB(width=2.0)", "OSSB", "OSSB(horizon=50)")
    results.save(tmp_path / "results.parquet")
    loaded = am.Results.load(tmp_path / "results.parquet")
    assert (loaded.horizon, loaded.repetitions, loaded.seed) == (100, 2, 3)
    assert loaded.names == results.names
    for name in results.names:
        assert (loaded.regret(name) == results.regret(name)).all()
    assert (loaded.regret(am.OSSB(horizon=50)) == results.regret("OSSB(horizon=50)")).all()


@pytest.mark.parametrize(
    "value",
    [
        (1, (2.5, "a"), [None, True]),
        {3: "x", (1, 2): [math.inf, -math.inf]},
        {"tuple": 3},
        {"dict": {"float": "x"}, "array": 1},
        {"float": "inf"},
        [{"kind": "x", "y": ()}],
        -0.0,
        2**70,
        "ü\n",
    ],
)
def test_plain_data_is_read_back(value: Any) -> None:
    again = decoded(json.loads(json.dumps(encoded(value), allow_nan=False)))
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize(
    "array",
    [np.zeros((0, 3)), np.array([[1.0, math.nan], [math.inf, 2.0]]), np.arange(3), np.eye(2) > 0],
)
def test_arrays_are_read_back(array: np.ndarray) -> None:
    again = decoded(json.loads(json.dumps(encoded({"a": [array]}), allow_nan=False)))["a"][0]
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    np.testing.assert_array_equal(again, array)


def test_no_inequalities_at_all() -> None:
    line = am.Polyhedral(np.zeros((0, 2)), [], [[1.0, 2.0]], [1.0])
    assert build(STRUCTURES, "it", json.loads(json.dumps(describe(STRUCTURES, line)))) == line


@dataclasses.dataclass(frozen=True)
class Remembering(am.PythonPolicy):
    """Keeps all kinds of things in its state."""

    def choose(self, state, problem, history, rng):
        seen = state.setdefault("seen", {})
        arm = int(rng.integers(problem.structure.n_arms))
        seen[arm] = (seen.get(arm, (0,))[0] + 1, math.inf)
        state["array"] = np.array([arm, math.nan])
        return arm


def test_a_state_in_plain_python_is_read_back() -> None:
    bandit = am.Bandit(Remembering(), am.Unconstrained(3))
    bandit.tell([0, 1, 2], [0.0, 0.0, 0.0])
    bandit.ask(20)
    copy = am.Bandit.from_json(bandit.to_json(), policy=Remembering())
    assert copy._decisions.state["seen"] == bandit._decisions.state["seen"]
    assert copy.ask(20) == bandit.ask(20)
    assert copy.to_json() == bandit.to_json()


@pytest.mark.parametrize("name", ["polyhedral", "ossb", "tuples"])
def test_bandits_of_version_1_go_on(name: str) -> None:
    """Saved by the release before: without the rows C and d, with a horizon, with tuples."""
    saved = json.loads((DATA / "bandits-version-1.json").read_text())[name]
    bandit = am.Bandit.from_json(saved["text"])
    assert json.loads(json.dumps(bandit.ask(12))) == saved["next"]
    assert json.loads(bandit.to_json())["version"] == 2
    assert am.Bandit.from_json(bandit.to_json()).ask(5) == bandit.ask(5)


def test_results_of_version_1_are_read() -> None:
    results = am.Results.load(DATA / "results-version-1.parquet")
    assert results.instance.structure == am.Polyhedral([[1.0, -1.0, 0.0]], [0.0])
    assert results.names == ("OSSB", "UCB", "OSSB(epsilon=0.1, horizon=50)")
    final = [results.regret(name)[:, -1].mean() for name in results.names]
    assert final == pytest.approx([21.4, 7.6, 22.8])
