"""The command line, as its users meet it."""

from __future__ import annotations

import datetime
import json
import math
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mutations import as_toml
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments import load_instance, shipped_specs
from armature.experiments.experiment import load_experiments, parse_experiments
from armature.experiments.paper import panel_experiments
from armature.experiments.plan import checked_policies
from armature.experiments.spec import parse_instance
from armature.storage.registry import STRUCTURES

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
    inner = STRUCTURES["relabelled"]  # what other structures make of themselves
    assert kinds == set(STRUCTURES.values()) - {inner}


def test_lists() -> None:
    for what in ("policies", "structures", "couplings", "families", "panels", "examples"):
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
        ("means = 3\n[structure]\nkind = 'unimodal'", "means must be a list of numbers"),
        ("means = ['a', 'b']\n[structure]\nkind = 'unimodal'", "means must be a list of numbers"),
        ("means = [1, 2]\nstructure = 3", "structure must be a table with a kind"),
        ("means = [1, 2]\n[[structure]]\nkind = 'unimodal'", "structure must be a table"),
        (GOOD + "[family]\nkind = 'bernoulli'\nhorizon = 9", "Write it above the first section"),
        (GOOD + "policies = ['ucb']", r"'policies' is not a key of \[structure\]"),
        (GOOD + "[experiment]\nhorizen = 9", "experiment.horizen: the key 'horizen' is unknown"),
        ("experiment = 3", r"experiment must be a section: write \[experiment\]"),
        ("horizon = 3\n[experiment]\nhorizon = 3", "horizon is given twice"),
        ("means = [1" + "0" * 30 + ", 2]", "no more than 64 bits"),
        ("means = [1" + "0" * 5000 + "]", "this is not TOML"),
        ("means = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        (
            "means = { n_arms = 3, best = 'x', gap = 1 }\n[structure]\nkind = 'unimodal'",
            "means.best must be a number; got 'x'",
        ),
        (
            "means = { n_arms = 99999999, best = 1, gap = 1 }\n[structure]\nkind = 'unimodal'",
            "means.n_arms must be at most 1,000,000",
        ),
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


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_problem_can_be_run(name: str) -> None:
    (experiment,) = load_experiments(name)
    assert len(checked_policies(experiment.policies, experiment.instance, experiment.horizon)) >= 3


def test_running_a_panel_is_a_part_of_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, panel in panel_experiments().items():
        (tmp_path / name).mkdir()  # as results of it would be
        (alone,) = load_experiments(name)
        assert alone.policies == panel.policies
        assert (alone.title, alone.seed) == (panel.title, panel.seed)
        assert (alone.horizon, alone.repetitions) == (panel.horizon, panel.repetitions)
        assert alone.instance.means.tolist() == panel.instance.means.tolist()
    for name in panel_experiments():
        (tmp_path / name).rmdir()
        (tmp_path / name).write_text("not what the figure is made from")
    assert list(panel_experiments())


def test_names_are_listed_in_order_and_suggested_when_they_are_near() -> None:
    for what in ("policies", "structures", "families"):
        lines = CliRunner().invoke(app, ["list", what]).stdout.splitlines()
        names = [line.split()[0] for line in lines]
        assert names == sorted(names, key=str.lower)
    with pytest.raises(am.ArmatureError) as caught:
        parse_instance(GOOD.replace("unimodal", "nonsense"))
    assert "did you mean" not in str(caught.value)
    assert "there are box, categorised, " in str(caught.value)


def test_the_blocks_of_the_manual_make_a_file() -> None:
    """The problem, and below it what makes an experiment of it, as the page says."""
    page = Path(__file__).parents[2] / "docs" / "experiments.md"
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    *blocks, changing, sweep = blocks
    changed = parse_instance(changing + '[structure]\nkind = "unimodal"\n')
    assert isinstance(changed, am.Changing)
    (experiment,) = parse_experiments("".join(blocks))
    assert (experiment.horizon, experiment.repetitions) == (10_000, 200)
    assert isinstance(experiment.instance.family, am.Bernoulli)
    assert len(experiment.policies) == 4
    swept = parse_experiments("".join([*blocks, sweep]))
    assert [e.horizon for e in swept] == [1_000] * 4 + [10_000] * 4


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_instance(tmp_path / "x.toml").n_arms == 3


def test_wrong_types_anywhere_in_a_file() -> None:
    """Every key of every shipped problem set to values of every type: a sentence or nothing."""
    wrong = ["x", "", -3, 1.5, math.nan, math.inf, True, [], [[]], ["a"], [[1, 2], [3]], {}, [{}]]
    wrong += [datetime.date(2020, 1, 1), {"kind": "ucb"}, {"kind": 3}]
    tried = refused = 0
    for text in SHIPPED.values():
        table = tomllib.loads(text)
        tables = [table, *(entry for entry in table.values() if isinstance(entry, dict))]
        for inner in tables:
            for key, value in list(inner.items()):
                for other in wrong:
                    inner[key] = other
                    tried += 1
                    try:
                        parse_experiments(as_toml(table))
                    except am.ArmatureError:
                        refused += 1
                inner[key] = value
    assert tried > 1500
    assert refused > 0.8 * tried


def test_a_summary_in_latex() -> None:
    """pandas needs jinja2 for this: it is installed with the package, not only with its tests."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert any(name.startswith("jinja2") for name in project["project"]["dependencies"])
    results = am.simulate(am.Instance(am.Unimodal(3), [0.1, 0.9, 0.3]), [am.UCB()], 10, 2)
    assert "tabular" in results.summary().to_latex()
    assert r"q5\%" in results.summary().to_latex(escape=True)


def test_bad_arguments(tmp_path: Path) -> None:
    assert "did you mean 'unimodal-1'?" in run("bound", "unimodl-1")[1]
    assert "there is no file 'none.toml'" in run("bound", "none.toml")[1]
    assert "must end in .png" in run("bound", "linear", "--plot", str(tmp_path / "x.gif"))[1]
    assert run("bound", "linear", "--epsilon", "-1")[0] == 2


def test_help_needs_no_compiler() -> None:
    """`python -m armature --help` answers without importing Numba or matplotlib."""
    code = (
        "import sys; sys.argv = ['armature', '--help']\n"
        "from armature.cli.program import app\n"
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


def test_the_bound_of_a_table_names_its_segments() -> None:
    code, output = run("bound", "segments")
    assert code == 0
    assert "desktop, 2 *" in output
    code, output = run("bound", "segments", "--json")
    assert code == 0
    assert '"best_arms": [ 2, 2, 2 ]' in output
    assert '"separately": 50.0' in output
