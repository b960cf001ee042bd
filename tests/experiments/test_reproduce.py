"""`armature reproduce`: the figure, the tables, and the report in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import CHROMIUM, Browser
from matplotlib.image import imread
from test_run import invoke

import armature as am
from armature.experiments.paper import PANELS, default_folder, panel_experiments, policies_of

PAPER = {
    "unconstrained": "SPk SPLambda SPk SPLambda OSSB UCB StructuredUCB",
    "categorised-1": "SPk SPLambda SPk SPLambda OSSB UCB StructuredUCB CATSE",
    "linear": "SPk SPLambda SPk SPLambda OSSB UCB StructuredUCB EndOfOptimism LinUCB",
    "unimodal-2": "SPk SPLambda SPk SPLambda OSSB UCB StructuredUCB OSUB",
    "sparse-1": "SPk SPLambda SPk SPLambda OSSB UCB StructuredUCB SparseUCB",
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small reproduction of two panels."""
    folder = tmp_path_factory.mktemp("reproduction") / "out"
    code, output = invoke(
        "reproduce", "sparse-2", "unimodal-1", "--horizon", "200", "--repetitions", "3",
        "--out", str(folder),
    )  # fmt: skip
    assert code == 0, output
    assert "compiled or loaded in" in output
    return folder


@pytest.mark.parametrize("panel", PAPER)
def test_the_policies_of_the_paper(panel: str) -> None:
    policies = policies_of(panel)
    assert [type(policy).__name__ for policy in policies] == PAPER[panel].split()
    assert policies[:2] == (am.SPk.published(), am.SPLambda.published())
    assert policies[2:4] == (am.SPk(), am.SPLambda())  # the library's own, beside them


def test_the_papers_names_are_for_the_papers_algorithms(out: Path) -> None:
    table = pd.read_csv(out / "table.csv")
    drawn = dict(zip(table["policy"], table["options"], strict=True))
    assert drawn["SPk"] == "SPk(test='raw', tracking='pulls')"
    assert drawn["SPλ"] == "SPLambda(test='raw')"
    assert drawn["SPk (glr)"] == "SPk"
    assert drawn["SPλ (glr)"] == "SPLambda"
    for text in ((out / "report.html").read_text(), (out / "table.md").read_text()):
        assert all(name in text for name in drawn)


def test_all_panels_have_the_settings_of_the_paper() -> None:
    experiments = panel_experiments()
    assert tuple(experiments) == PANELS
    for experiment in experiments.values():
        assert experiment.instance.family == am.Gaussian(sigma=1.0)
        assert (experiment.horizon, experiment.repetitions) == (10_000, 200)


def test_the_runs_are_what_simulate_gives(out: Path) -> None:
    experiment = panel_experiments()["sparse-2"]
    again = am.simulate(experiment.instance, experiment.policies, 200, 3)
    table = pd.read_csv(out / "table.csv").set_index(["panel", "options"])
    text = (out / "table.md").read_text()
    for name in again.names:
        final = again.regret(name)[:, -1]
        error = final.std(ddof=1) / np.sqrt(3)
        assert table.loc[("sparse-2", name), "regret"] == pytest.approx(final.mean())
        assert table.loc[("sparse-2", name), "standard_error"] == pytest.approx(error)
        assert f"{final.mean():.1f} ± {error:.1f}" in text
    assert table.loc[("unimodal-1", "UCB"), "V"] == pytest.approx(14.0)


def test_every_picture_is_there(out: Path) -> None:
    for name in ("figure-1", "sparse-2", "unimodal-1"):
        picture = imread(out / f"{name}.png")
        assert picture.shape[1] >= 1000
        assert picture[..., :3].std() > 0.05  # something is drawn
        assert "<svg" in (out / f"{name}.svg").read_text()[:1000]
    assert (out / "figure-1.pdf").read_bytes().startswith(b"%PDF")


def test_running_again_changes_no_number(out: Path) -> None:
    before = {name: (out / name).read_text() for name in ("table.csv", "table.md")}
    code, output = invoke(
        "reproduce", "unimodal-1", "sparse-2", "--horizon", "200", "--repetitions", "3",
        "--out", str(out),
    )  # fmt: skip
    assert code == 0, output
    assert {name: (out / name).read_text() for name in before} == before


def test_another_reproduction_is_not_written_over(out: Path) -> None:
    before = (out / "report.html").read_bytes()
    for options in (["--horizon", "300"], ["--horizon", "200", "--repetitions", "3"]):
        code, output = invoke("reproduce", "unimodal-1", *options, "--out", str(out))
        assert code == 2
        assert "holds another" in " ".join(output.split())
        assert (out / "report.html").read_bytes() == before


def test_an_unknown_panel_is_named() -> None:
    code, output = invoke("reproduce", "unimodel-1", "--out", "nowhere")
    assert code == 2
    assert "unimodal-1" in output
    assert not Path("nowhere").exists()


def test_folders_of_other_figures_have_other_names() -> None:
    whole = default_folder(PANELS, 10_000, 200, False)
    assert whole == Path("out")
    others = {
        default_folder(PANELS, 10_000, 200, True),
        default_folder(PANELS[:2], 10_000, 200, False),
        default_folder(PANELS, 100_000, 200, False),
        default_folder(PANELS, 10_000, 20, False),
    }
    assert len(others) == 4
    assert whole not in others


def test_the_report_says_how_to_run_it_again(out: Path) -> None:
    report = (out / "report.html").read_text()
    command = re.search("<pre>(.*)</pre>", report)
    assert command is not None
    assert command[1] == "armature reproduce unimodal-1 sparse-2 --horizon 200 --repetitions 3"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to open the report with")
def test_the_report_in_a_browser(out: Path, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open((out / "report.html").as_uri())
        pictures = browser.evaluate(
            "[...document.images].map(i => [i.complete, i.naturalWidth, i.clientWidth])"
        )
        assert len(pictures) == 3
        for complete, natural, shown in pictures:
            assert complete
            assert natural > 100
            assert shown > 300
        assert browser.evaluate("document.querySelectorAll('tbody tr').length") > 20
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        outside = [url for url in browser.requests if not url.startswith(("file:", "data:"))]
        assert outside == []
        browser.picture(tmp_path / "report.png")
        assert imread(tmp_path / "report.png")[..., :3].std() > 0.05
