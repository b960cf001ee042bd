"""Files that are nearly right are read, or refused with a sentence: never anything else."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mutations import as_toml, mutated
from typer.testing import CliRunner

import armature as am
from armature.assess.from_spec import assess_file
from armature.cli.program import app
from armature.experiments.experiment import parse_experiments
from armature.experiments.simulation import SimulationPlan
from armature.experiments.spec import shipped_specs
from armature.experiments.sweep import point_folder
from armature.service.domain.spec import parse_spec
from armature.service.limits import ServiceLimits

MORE = [
    """
    means = { n_arms = 4, best = 1.0, gap = 0.5 }
    horizon = 50
    policies = ["ucb", { kind = "guarded", policy = { kind = "spk", epsilon = 0.5 } }]
    structure = { kind = "unimodal" }
    [sweep]
    "means.gap" = [0.1, 0.2]
    "policies.ucb.width" = [1.0, 0.5]
    "structure.kind" = ["unimodal", "concave"]
    """,
    """
    title = "both"
    means = [0.1, 0.9, 0.3]
    strict = false
    seed = 3
    policies = ["klucb", "ossb", "challenger"]
    family = { kind = "bounded", low = 0, high = 1 }
    [structure]
    kind = "intersection"
    parts = [{ kind = "unimodal" }, { kind = "box", low = 0 }]
    """,
    """
    means = [0.1, 0.9, 0.3]
    policies = ["toptwo", "imed"]
    family = { kind = "bernoulli", scale = [1.0, 2.0, 3.0] }
    [structure]
    kind = "relabelled"
    structure = { kind = "unimodaltree", edges = [[0, 1], [1, 2]] }
    order = [2, 0, 1]
    """,
]
RUNS = [*shipped_specs("panels").values(), *shipped_specs("examples").values()]
ASSESS = [
    """
    title = "x"
    horizon = 200
    traffic = 8
    unit = "euros"
    draws = 2
    seed = 1
    delta = 0.1
    policies = ["ucb"]
    structure = { kind = "unimodal" }
    family = { kind = "bernoulli" }
    candidates = [{ kind = "concave" }]
    log = { arm = "arm", reward = "reward" }
    """,
    """
    arms = [0, 1, 2]
    horizon = 100
    draws = 1
    spread = "each"
    policies = [{ kind = "klucb" }]
    structure = { kind = "monotone" }
    family = { kind = "gaussian", sigma = "unknown" }
    """,
]
SERVED: list[dict[str, Any]] = [
    {
        "structure": {"kind": "unimodal", "n_arms": 3},
        "family": {"kind": "bernoulli", "scale": [1.0, 2.0, 3.0]},
        "policy": {"kind": "guarded", "policy": {"kind": "challenger"}},
        "labels": ["a", "b", "c"],
        "seed": 1,
        "horizon": 100,
        "goal": "max",
        "floor": 0.1,
        "rewards": {"window": 60, "default": 0.0},
        "sticky": 0,
    },
    {"structure": {"kind": "categorised", "categories": ["a", "a", "b"]}, "policy": "catse"},
]


def read_or_refused(read: Callable[[], object], what: object) -> bool:
    """Whether it was read; if not, there is a sentence, and any other error fails the test."""
    try:
        read()
    except am.ArmatureError as error:
        sentence = str(error)
    except Exception as error:
        raise AssertionError(f"{error!r} from {what}") from error
    else:
        return True
    assert sentence.rstrip().endswith((".", "?")), what
    return False


def test_experiments() -> None:
    tables, read = [tomllib.loads(text) for text in [*RUNS, *MORE]], 0
    for seed in range(1200):
        text = as_toml(mutated(Random(seed).choice(tables), seed))

        def use(text: str = text) -> None:
            for one in parse_experiments(text, (), ("toptwo",)):
                plan = SimulationPlan.of(one)
                json.dumps(plan.description())
                assert plan.full_title
                assert point_folder(one.point)

        read += read_or_refused(use, text)
    assert 50 < read < 1100


def test_assessments(tmp_path: Path) -> None:
    rng, tables, read = Random(1), [tomllib.loads(text) for text in ASSESS], 0
    rows = [f"{k},{int(rng.random() < 0.2 + 0.2 * k)}" for _ in range(20) for k in range(3)]
    (tmp_path / "log.csv").write_text("\n".join(["arm,reward", *rows]))
    for seed in range(200):
        text = as_toml(mutated(rng.choice(tables), seed))
        (tmp_path / "spec.toml").write_text(text, encoding="utf-8")

        def use() -> None:
            found = assess_file(tmp_path / "log.csv", tmp_path / "spec.toml", workers=1)
            assert str(found)
            json.loads(found.to_json())

        read += read_or_refused(use, text)
    assert 5 < read < 190


def test_specs_of_the_service() -> None:
    read = 0
    for seed in range(600):
        spec = mutated(SERVED[seed % 2], seed)

        def use(spec: dict[str, Any] = spec) -> None:
            parse_spec(spec, (), ServiceLimits()).as_text()

        read += read_or_refused(use, spec)
    assert 20 < read < 550


WORDS = (
    "", "x", "-1", "0", "nan", "inf", "2/8", "0/0", "9/3", "a/b", "folder", "good.toml", "missing",
    "good.toml/x", "9" * 400, "x://y", "binary.toml", "empty.toml", "a b", "[red]",
)  # fmt: skip
OPTIONS = [
    ("bound good.toml", "--epsilon --plot --allow"),
    ("run good.toml", "--out --workers --engine --address --shard --allow"),
    ("identify good.toml", "--delta --policy --threshold --out --shard --source --allow"),
    ("assess log.csv --spec assess.toml", "--out --arm --reward --probability --spec --allow"),
    ("merge good.toml --out out", "--workers --out --allow"),
    ("bound", ""), ("run", ""), ("identify", ""), ("merge good.toml --out out", ""), ("list", ""),
    ("compile", ""), ("reproduce", ""), ("assess", ""), ("assess log.csv --spec", ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "options"), OPTIONS, ids=[line for line, _ in OPTIONS])
def test_words_of_the_command_line(
    line: str, options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any word for any option: it works, or there is a sentence and a code of 1 or 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\0")
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "good.toml").write_text(
        'means = [0.2, 0.9]\nhorizon = 5\nrepetitions = 1\npolicies = ["uniformsampling"]\n'
        'structure = "unconstrained"\n'
    )
    (tmp_path / "log.csv").write_text("arm,reward\n0,1\n1,0\n1,1\n0,0\n")
    (tmp_path / "assess.toml").write_text('policies = []\nstructure = "unconstrained"\n')
    for option in options.split() or [None]:
        for word in WORDS:
            words = [*line.split(), *([] if option is None else [option]), word]
            found = CliRunner().invoke(app, words)
            assert found.exception is None or isinstance(found.exception, SystemExit), words
            assert found.exit_code in (0, 1, 2), words
            assert "Traceback" not in found.output, words
            assert found.exit_code == 0 or "Error" in found.output, words
