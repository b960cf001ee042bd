"""The command line, as its users meet it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armature as am
from armature.cli import app
from armature.descriptions import STRUCTURES
from armature.experiments import load_instance, shipped_specs
from armature.experiments.spec import parse_instance

SHIPPED = {**shipped_specs("panels"), **shipped_specs("examples")}
GOOD = "means = [0.1, 0.9, 0.3]\n[structure]\nkind = 'unimodal'\n"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join((result.output + (result.stderr or "")).split())


def test_bound_prints_tables() -> None:
    code, output = run("bound", "unimodal-1")
    assert code == 0
    assert "V = 14" in output
    assert "without the structure: 19.3571 (1.38 times that)" in output
    assert "all others" in output
    code, output = run("bound", "sparse-1")
    assert code == 0
    assert "No instance with another best arm could be mistaken for this one" in output


def test_bound_as_json() -> None:
    code, output = run("bound", "categorised-2", "--json", "--epsilon", "0.1")
    assert code == 0
    data = json.loads(output)
    bound = am.lower_bound(load_instance("categorised-2"), 0.1)
    assert data["value"] == pytest.approx(bound.value)
    assert data["pulls"] == pytest.approx(bound.pulls.tolist())
    assert len(data["alternatives"]) == len(bound.alternatives)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_bound_draws(tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"bound.{suffix}"
    assert run("bound", "features", "--plot", str(target))[0] == 0
    assert target.stat().st_size > 5_000
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    code, output = run("bound", str(path), "--json")
    assert code == 0
    assert json.loads(output)["structure"] == "Unimodal"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_problem_has_a_bound(name: str) -> None:
    instance = load_instance(name)
    bound = am.lower_bound(instance)
    assert bound.value <= bound.unconstrained * (1 + 1e-6)


def test_every_structure_has_an_example() -> None:
    kinds = {type(load_instance(name).structure) for name in SHIPPED}
    assert kinds == set(STRUCTURES.values())


def test_lists() -> None:
    for what in ("policies", "structures", "families", "panels", "examples"):
        code, output = run("list", what)
        assert code == 0
        assert len(output) > 50
    assert len(shipped_specs("panels")) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("means = [1, 2", "this is not TOML"),
        ("menas = [1, 2]", "the key 'menas' is unknown: did you mean 'means'?"),
        ("means = [1, 2]", r"there is no \[structure\]"),
        ("[structure]\nkind = 'unimodal'", "there are no means"),
        ("means = [1, 2]\n[structure]\nn_arms = 2", r"\[structure\] has no kind"),
        ("means = [1, 2]\n[structure]\nkind = 'unimodel'", "did you mean 'unimodal'"),
        (
            "means = [1, 2]\n[structure]\nkind = 'lipschitz'\nconstnat = 1",
            "structure.constnat: the key 'constnat' is unknown: did you mean 'constant'",
        ),
        ("means = [1, 2]\n[structure]\nkind = 'lipschitz'", "needs the key 'constant'"),
        (GOOD + "[family]\nkind = 'gausian'", "did you mean 'gaussian'"),
        (GOOD + "[family]\nkind = 'bernoulli'\nsigma = 1", "'sigma' is unknown"),
        ("means = [1, 0, 1]\n[structure]\nkind = 'unimodal'", "rises again after the peak"),
        (
            "theta = [1]\n[structure]\nkind = 'linear'\nfeatures = [[1, 2], [2, 1]]",
            "theta must have one number for each feature",
        ),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        parse_instance(text)
    path = tmp_path / "bad.toml"
    path.write_text(text)
    code, output = run("bound", str(path))
    assert code == 2
    assert "Error:" in output
    assert "Traceback" not in output


def test_bad_arguments(tmp_path: Path) -> None:
    assert "did you mean 'unimodal-1'?" in run("bound", "unimodl-1")[1]
    assert "there is no file 'none.toml'" in run("bound", "none.toml")[1]
    assert "must end in .png" in run("bound", "linear", "--plot", str(tmp_path / "x.gif"))[1]
    assert run("bound", "linear", "--epsilon", "-1")[0] == 2


def test_help_needs_no_compiler() -> None:
    """`python -m armature --help` answers without importing Numba or matplotlib."""
    code = (
        "import sys; sys.argv = ['armature', '--help']\n"
        "from armature.cli import app\n"
        "try:\n    app()\nexcept SystemExit:\n    pass\n"
        "assert not {'numba', 'matplotlib', 'scipy'} & set(sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    result = subprocess.run(
        [sys.executable, "-m", "armature", "list", "families"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "gaussian" in result.stdout
