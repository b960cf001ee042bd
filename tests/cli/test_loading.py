"""Loading a file imports and calls nothing that the caller has not allowed."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import armature as am
from armature.experiments import runs as results_module
from armature.experiments.experiment import parse_experiments
from armature.experiments.spec import parse_instance
from armature.rounds.play import PolicyRuns
from armature.storage import registry
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, build, describe
from armature.testing import discover

OWN = """
from dataclasses import dataclass
import os
import armature as am

def function(n_arms=3):
    return am.Unconstrained(n_arms)

class NotAPolicy:
    def __init__(self):
        raise SystemExit("made")

@dataclass(frozen=True)
class Last(am.PythonPolicy):
    inner: am.Policy = am.UCB()
    names: tuple = ()

    def choose(self, state, problem, history, rng):
        return problem.structure.n_arms - 1

class Both(am.Structure):
    def __init__(self, parts):
        self.parts, self.n_arms = tuple(parts), parts[0].n_arms

    def __eq__(self, other):
        return self.parts == other.parts

    def project(self, means, weights, family):
        return self.parts[0].project(means, weights, family)

    def alt_min(self, means, weights, best, challenger, family):
        return self.parts[0].alt_min(means, weights, best, challenger, family)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch):
    """A module of one's own that can be imported."""
    (tmp_path / "own_for_test.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_for_test"
    sys.modules.pop("own_for_test", None)


def signed(content: dict) -> str:
    """A saved bandit with a checksum that fits: what someone with bad intentions would write."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    return json.dumps({**rest, "checksum": digest})


def malicious(path: Path) -> list[dict]:
    command = f"touch {path}"
    return [
        {"kind": "subprocess:Popen", "args": command, "shell": True},
        {"kind": "os:system", "command": command},
        {"kind": "builtins:eval", "source": f"open({str(path)!r}, 'w')"},
        {"kind": "armature.storage.registry:importlib.import_module", "name": "antigravity"},
        {"kind": "OSSB", "epsilon": {"kind": "subprocess:Popen", "args": ["touch", str(path)]}},
        {"kind": "Gaussian", "sigma": [{"kind": "subprocess:Popen", "args": ["touch", str(path)]}]},
        {"kind": "Unimodal", "n_arms": {"tuple": [{"kind": "os:system", "command": command}]}},
    ]


@pytest.mark.parametrize("case", range(7))
@pytest.mark.parametrize("section", ["policy", "structure", "family"])
def test_a_saved_bandit_runs_no_command(tmp_path: Path, section: str, case: int) -> None:
    content = json.loads(am.Bandit(am.UCB(), am.Unimodal(3)).to_json())
    content[section] = malicious(tmp_path / "done")[case]
    with pytest.raises(am.ArmatureError):
        am.Bandit.from_json(signed(content))
    assert list(tmp_path.iterdir()) == []


def test_a_spec_runs_no_command(tmp_path: Path) -> None:
    text = 'means = [0.1, 0.9]\n[structure]\nkind = "subprocess:Popen"\n'
    text += f'args = ["touch", "{tmp_path / "done"}"]\n'
    with pytest.raises(am.ArmatureError, match=r"allow=\['subprocess'\], or --allow subprocess"):
        parse_instance(text)
    with pytest.raises(am.ArmatureError, match="'subprocess:Popen' is not a structure"):
        parse_instance(text, allow=["subprocess"])
    policies = 'policies = ["subprocess:Popen"]\n'
    with pytest.raises(am.ArmatureError, match="runs its code"):
        parse_experiments(policies + text)
    assert list(tmp_path.iterdir()) == []


def some_results(policies=None, structure=None) -> am.Results:
    """Results of no runs at all."""
    policies = policies or [am.UCB()]
    structure = structure or am.Unimodal(3)
    instance = am.Instance(structure, [0.1, 0.9, 0.5])
    checkpoints = np.array([1, 10, 100])
    runs = {policy.name: PolicyRuns.empty(2, 3, 3) for policy in policies}
    return am.Results(instance, tuple(policies), 100, 0, checkpoints, runs)


def test_a_file_of_results_runs_no_command(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / "results.parquet"
    some_results().save(path)
    table = pq.read_table(path)
    format_name = results_module.FORMAT.encode()
    about = json.loads(table.schema.metadata[format_name])
    about.pop("checksum")
    for section, index in (("structure", None), ("family", None), ("policies", 0)):
        for kind in malicious(tmp_path / "done"):
            changed = json.loads(json.dumps(about))
            if index is None:
                changed[section] = kind
            else:
                changed[section][index] = kind
            changed["checksum"] = results_module._checksum(changed, table.to_pandas())
            pq.write_table(table.replace_schema_metadata({format_name: json.dumps(changed)}), path)
            with pytest.raises(am.ArmatureError):
                am.Results.load(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.parquet"]


def test_what_is_allowed_is_imported(own: str, tmp_path: Path) -> None:
    import own_for_test as module

    structure = module.Both([am.Unimodal(3), am.Lipschitz(3, 0.9)])
    policy = module.Last(inner=am.SPk(test="raw"), names=("a", ("b", 2)))
    text = am.Bandit(policy, structure).to_json()
    sys.modules.pop(own)
    with pytest.raises(am.ArmatureError, match="If you trust it, allow it"):
        am.Bandit.from_json(text)
    with pytest.raises(am.ArmatureError, match="If you trust it, allow it"):
        am.Bandit.from_json(text, allow=["own_for", "other"])
    assert own not in sys.modules
    for allow in (own, [own]):
        bandit = am.Bandit.from_json(text, allow=allow)
        assert bandit.to_json() == text
        assert bandit.policy.inner == am.SPk(test="raw")
        assert bandit.policy.names == ("a", ("b", 2))
        assert bandit.structure.parts == (am.Unimodal(3), am.Lipschitz(3, 0.9))
    results = some_results([bandit.policy], bandit.structure)
    results.save(tmp_path / "results.parquet")
    with pytest.raises(am.ArmatureError, match="If you trust it, allow it"):
        am.Results.load(tmp_path / "results.parquet")
    loaded = am.Results.load(tmp_path / "results.parquet", allow=[own])
    assert loaded.policies == results.policies
    bandit.save(tmp_path / "bandit.json")
    assert am.Bandit.load(tmp_path / "bandit.json", allow=own).to_json() == text


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ("own_for_test:NotAPolicy", "'own_for_test:NotAPolicy' is not a policy"),
        ("own_for_test:function", "is not a policy"),
        ("own_for_test:Both", "is not a policy"),
        ("own_for_test:os.system", "is not a policy"),
        ("own_for_test:os.path", "is not a policy"),
        ("own_for_test:am.UCB", "is not a policy"),
        ("own_for_test:Missing", "can't be imported: .*Missing"),
        ("own_for_test.sub:Missing", "can't be imported"),
        ("own_for_test:", "can't be imported"),
        (":UCB", "runs its code"),
        (3, "policy.kind must be a name; got 3"),
    ],
)
def test_only_a_class_of_the_right_kind_is_made(own: str, kind: object, complaint: str) -> None:
    with pytest.raises(am.ArmatureError, match=complaint):
        build(POLICIES, "policy", {"kind": kind}, allow=[own])


def test_a_module_that_fails_gets_a_sentence(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "broken_for_test.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(am.ArmatureError, match="can't be imported: division by zero"):
        build(POLICIES, "policy", "broken_for_test:Policy", allow=["broken_for_test"])


def test_entry_points_need_no_permission(own: str, monkeypatch) -> None:
    point = metadata.EntryPoint("LastArm", "own_for_test:Last", "armature")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group else [])
    registry._entry_points.cache_clear()
    try:
        policy = build(POLICIES, "policy", "lastarm")
        assert type(policy).__name__ == "Last"
        assert build(POLICIES, "policy", describe(POLICIES, policy)) == policy
        with pytest.raises(am.ArmatureError, match="is not a structure"):
            build(STRUCTURES, "structure", "LastArm")
        with pytest.raises(am.ArmatureError, match="did you mean 'lastarm'"):
            build(POLICIES, "policy", "lastarms")
    finally:
        registry._entry_points.cache_clear()


def test_names_come_from_what_the_packages_export() -> None:
    for classes, base in ((FAMILIES, am.Family), (STRUCTURES, am.Structure), (POLICIES, am.Policy)):
        found = set(classes.values())
        assert {cls for cls in found if cls.examples()} == set(discover(base, am))
        assert {cls for cls in found if not cls.examples()} <= {am.Segments}
    names = [*FAMILIES, *STRUCTURES, *POLICIES]
    assert len(set(names)) == len(names)


def test_descriptions_nest(own: str) -> None:
    spec = """
        means = [0.2, 0.5, 0.4]
        [structure]
        kind = "own_for_test:Both"
        parts = [{ kind = "unimodal" }, { kind = "lipschitz", constant = 0.5 }]
    """
    instance = parse_instance(spec, allow=[own])
    assert instance.structure.parts == (am.Unimodal(3), am.Lipschitz(3, 0.5))
    table = {"kind": f"{own}:Last", "inner": {"kind": f"{own}:Last"}}
    assert build(POLICIES, "policy", table, allow=[own]).inner.inner == am.UCB()
    with pytest.raises(
        am.ArmatureError, match=r"policy\.inner\.kind 'ubc' is unknown: did you mean"
    ):
        build(POLICIES, "policy", {**table, "inner": {"kind": "ubc"}}, allow=[own])
    with pytest.raises(am.ArmatureError, match="is not a reward family, structure, policy or c"):
        build(POLICIES, "policy", {**table, "inner": {"kind": f"{own}:NotAPolicy"}}, allow=[own])


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"n_arms": 3}, r"\[structure\] has no kind: it can be"),
        (["unimodal"], "structure must be a table with a kind"),
        (None, "structure must be a table with a kind"),
        ({"kind": "unimodel"}, "did you mean 'unimodal'"),
        ({"kind": "unimodal"}, "needs the key 'n_arms'"),
        ({"kind": "unimodal", "n_arms": 3, "n_arm": 3}, "did you mean 'n_arms'"),
        ({"kind": "categorised", "categories": 3}, "categories must be a list"),
        ({"kind": "linear", "features": {"array": {"type": "object"}}}, "can't be read"),
        ({"kind": "linear", "features": {"array": 3}}, "can't be read as a value of type array"),
    ],
)
def test_bad_descriptions(table: object, complaint: str) -> None:
    with pytest.raises(am.ArmatureError, match=complaint):
        build(STRUCTURES, "structure", table)
