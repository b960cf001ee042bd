"""The examples, run small: what they print adds up, and the picture is where it should be."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import armature as am

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGE = str(Path(am.__file__).parent.parent)  # whatever the working directory


def run(name: str, folder: Path, *options: str) -> str:
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *options],
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": PACKAGE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


def regret(output: str, policy: str) -> float:
    """The first number in the policy's row."""
    return float(re.search(rf"^{policy}\s+([\d.]+)", output, re.MULTILINE)[1])  # type: ignore[index]


def check_savings(output: str, rounding: float) -> None:
    """The saving is the difference of the table's rows, and the interval lies around it."""
    without, known = regret(output, "ThompsonSampling"), regret(output, "Challenger")
    found = re.search(
        r"saves (\S+)% of the regret of Thompson sampling:\n"
        r"(\S+) \w+ \(95 % interval (\S+) to (\S+)\)\.",
        output,
    )
    assert found is not None, output
    share, difference, low, high = map(float, found.groups())
    assert difference == pytest.approx(without - known, abs=1.6 * rounding)
    assert (low + high) / 2 == pytest.approx(difference, abs=1.1 * rounding)
    assert low < high
    assert share == pytest.approx(100 * difference / without, abs=0.51 + 160 * rounding / without)


def check_picture(path: Path, width: int, height: int) -> None:
    pixels = imread(path)
    assert pixels.shape[:2] == (height, width)
    assert pixels[:, :, :3].std() > 0.01, "nothing is drawn"


def test_peak(tmp_path: Path) -> None:
    output = run("peak", tmp_path, "--visitors", "800", "--shops", "4")
    lost = {
        name: float(x) for name, x in re.findall(r"^(\S+) +(\d+) \+- \d+$", output, re.MULTILINE)
    }
    assert list(lost) == ["Challenger", "Guarded(Challenger)", "ThompsonSampling", "KLUCB", "UCB"]
    assert max(lost["Challenger"], lost["Guarded(Challenger)"]) < lost["UCB"]


def test_pricing(tmp_path: Path) -> None:
    options = ("--horizon", "400", "--repetitions", "4", "--shops", "2")
    output = run("pricing", tmp_path, *options)
    assert output.startswith("One shop after 400 visitors, and three months before:\n")
    pulls = re.findall(r"^ +\d+\.0 +(\d+) ", output, re.MULTILINE)
    assert len(pulls) == 12
    heard_of = (np.random.default_rng(1).random(400) >= 0.1).sum()
    assert sum(map(int, pulls)) == 900 + 1200 + 600 + heard_of
    assert "Each arm gets at least 2 % of the decisions." in output
    lost = re.findall(r"(price|unknown spread|guessed as 20) +(\d+) \+- \d+$", output, re.MULTILINE)
    most = 400 * 1.91  # the dearest price loses that much with each visitor
    assert len(lost) == 3
    assert all(0.0 < float(euros) < most for _, euros in lost)
    check_savings(output, rounding=1.0)
    check_picture(tmp_path / "pricing.png", 1050, 900)


def test_creatives(tmp_path: Path) -> None:
    options = ("--horizon", "5000", "--repetitions", "4", "--out", "sub.png")
    output = run("creatives", tmp_path, *options)
    rates = [21, 18, 12, 24, 15, 10, 35, 30, 19, 17, 14]  # per thousand; the best has 41

    def divergence(x: float, y: float) -> float:
        return x * math.log(x / y) + (1 - x) * math.log((1 - x) / (1 - y))

    value = sum((0.041 - r / 1000) / divergence(r / 1000, 0.041) for r in rates)
    assert f"whoever does not, {value:.1f} ln T." in output
    check_savings(output, rounding=0.1)
    for name in ("Challenger", "ThompsonSampling"):
        row = re.search(rf"^ *{name}: (.*)$", output, re.MULTILINE)
        assert row is not None
        assert sum(float(n) for n in re.findall(r"[\d.]+", row[1])) == pytest.approx(100, abs=0.21)
    check_picture(tmp_path / "sub.png", 1650, 690)
    assert [path.name for path in tmp_path.iterdir()] == ["sub.png"]


def test_features(tmp_path: Path) -> None:
    output = run("features", tmp_path, "--horizon", "200", "--repetitions", "3")
    assert "The best of 30 flats" in output
    check_savings(output, rounding=1.0)
    worst = re.search(r"in its worst run Challenger lost (\d+)\.", output)
    assert worst is not None
    assert float(worst[1]) >= regret(output, "Challenger")
    check_picture(tmp_path / "features.png", 1650, 690)


def test_published(tmp_path: Path) -> None:
    output = run("published", tmp_path, "--draws", "2", "--horizon", "200", "--out", "found")
    assert output.count("Of the policies tried, ") == 5
    assert "The log refutes Unimodal: do not use it. Start from Unconstrained." in output
    pictures = sorted(path.name for path in (tmp_path / "found").glob("*.png"))
    assert len(pictures) == 5
    for name in pictures:
        pixels = imread(tmp_path / "found" / name)
        assert pixels[:, :, :3].std() > 0.01, name
        assert (tmp_path / "found" / name.removesuffix(".png") / "report.html").is_file()
