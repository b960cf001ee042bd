"""A key of a sweep sets what a run depends on, or is refused with the nearest one that does."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments.experiment import parse_experiments

SPEC = """
means = [0.2, 0.9, 0.4]
horizon = 80
repetitions = 2
policies = ["ucb", { kind = "spk", test = "raw" }]
structure.kind = "unimodal"
[sweep]
"""


@pytest.mark.parametrize(
    ("sweep", "complaint"),
    [
        ('"experiment.horizon" = [100, 200]', "did you mean 'horizon'?"),
        ('"experiment.seed" = [1, 2]', "did you mean 'seed'?"),
        ('"experiment.policies" = [["ucb"], ["spk"]]', 'Sweep an option of one, as in "policies.'),
        ('policies = [["ucb"], ["spk"]]', 'Sweep an option of one, as in "policies.'),
        ('"famly.sigma" = [1.0, 2.0]', "did you mean 'family.sigma'?"),
        ('"policy.width" = [0.5, 1.0]', "did you mean 'policies.ucb.width'?"),
        ('"policy.c" = [0.5]', "a sweep can set means, structure, family, horizon,"),
        ('title = ["a", "b"]', "the key 'title' is unknown, as no run depends on it"),
        ("strict = [true, false]", "the key 'strict' is unknown, as no run depends on it"),
        ('"horizon.x" = [1, 2]', "the key 'horizon.x' is unknown, as no run depends on it"),
        ('"" = [1, 2]', "the key '' is unknown, as no run depends on it"),
        ("family.sigma = [1.0, 2.0]", "must have a list for each key"),  # TOML: a table in a table
        ('"family.sgma" = [1.0, 2.0]', "did you mean 'sigma'?"),
        ('"structure.level" = [1.0]', "structure.level: the key 'level' is unknown"),
        ('"means.n_arms" = [3, 4]', "'means' is not a section of the file"),
        ('"policies.klucb.c" = [1.0]', "the policy 'klucb' is unknown: there are spk, ucb"),
        ('"policies.ucb" = [1.0]', 'names no option, as in "policies.ucb.<option>" = [...]'),
        ("theta = [[1.0], [2.0]]", "means and theta are both given"),
        ("horizon = [100, 100.0]", "sweep.horizon has 100.0 twice"),
        ('"policies.ucb.width" = [1.0]\n"policies.UCB.width" = [0.5]', "set the same entry"),
        ('family = ["gaussian"]\n"family.sigma" = [1.0]', "set the same entry"),
        ("seed = [1, 2]\nhorizon = [" + "1, " * 60_000 + "]", "sweep.horizon has 1 twice"),
        (f"seed = {list(range(400))}\nhorizon = {list(range(1, 401))}", "has 160,000 points"),
        ("seed = [-1, 0]", "seed must be a whole number, at least 0; got -1"),
    ],
)  # fmt: skip
def test_a_key_that_sets_nothing_is_refused(sweep: str, complaint: str) -> None:
    with pytest.raises(am.ArmatureError) as caught:
        parse_experiments(SPEC + sweep)
    assert complaint in str(caught.value)
    assert str(caught.value).startswith(
        ("[sweep]", "sweep.", "family", "structure", "means", "seed")
    )


def test_variants_that_a_sweep_makes_the_same() -> None:
    both = SPEC.replace('"ucb"', '{ kind = "spk", test = "raw", epsilon = 2.0 }')
    assert len(parse_experiments(both + '"policies.spk.decay" = [0.5, 1.0]')) == 2
    with pytest.raises(am.ArmatureError, match="'epsilon' of all policies 'spk', which makes two"):
        parse_experiments(both + '"policies.spk.epsilon" = [0.5, 1.0]')


def test_what_a_sweep_sets_is_what_its_points_have() -> None:
    sweep = (
        'horizon = [100, 200]\nseed = [3, 4]\n"family.sigma" = [0.5, 2]\n"policies.UCB.width" = [1]'
    )
    found = parse_experiments(SPEC + sweep)
    assert len(found) == 8
    for one in found:
        assert one.horizon == one.point["horizon"]
        assert one.seed == one.point["seed"]
        assert one.instance.family == am.Gaussian(one.point["family.sigma"])
        assert one.policies == (am.UCB(width=1), am.SPk(test="raw"))
    for key, values in (
        ("structure", ["unimodal", "concave"]),
        ("family", ["gaussian", "poisson"]),
    ):
        assert len(parse_experiments(f"{SPEC}{key} = {values}")) == 2


def test_the_command_line_says_so(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC + '"experiment.horizon" = [100, 200]', encoding="utf-8")
    for command in ("run", "identify"):
        found = CliRunner().invoke(app, [command, str(spec)])
        assert found.exit_code == 2
        assert "did you mean 'horizon'?" in " ".join(found.output.split())
