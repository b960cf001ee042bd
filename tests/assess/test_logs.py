"""Logs: whatever they come as is read the same, and what is wrong with them has its line."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import armature as am
from armature.assess.log import Log, read_log
from armature.assess.reading import read_csv
from armature.assess.table import Columns, LogRows
from armature.cli.program import app

QUOTED = '"x ""y, z"""'
SPEC = 'draws = 2\nhorizon = 100\npolicies = []\n[structure]\nkind = "unimodal"\n'


def log_of(text: str | bytes, folder: Path, **options: Any) -> Log:
    path = folder / "log.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_log(path, **options)


def rows(n: int = 60, arms: int = 3, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    shown = rng.integers(0, arms, n)
    return pd.DataFrame(
        {"arm": shown, "reward": rng.normal(shown, 1.0), "probability": np.full(n, 1.0 / arms)}
    )


@pytest.mark.checks("assess", by="every form of a log")
def test_all_forms_say_the_same(tmp_path: Path) -> None:
    frame = rows()
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    groups = frame.groupby("arm").reward
    sums = {
        "counts": groups.size().tolist(),
        "sums": groups.sum().tolist(),
        "squares": (frame.reward**2).groupby(frame.arm).sum().tolist(),
    }
    table = pd.DataFrame({"arm": range(3), "count": sums["counts"], "sum": sums["sums"],
                          "squares": sums["squares"]})  # fmt: skip
    table.to_csv(tmp_path / "sums.csv", index=False)
    own = groups.agg(lambda r: float(((r - r.mean()) ** 2).sum()))
    for given in (
        frame,
        tmp_path / "a.csv",
        str(tmp_path / "a.parquet"),
        tmp_path / "a.tsv",
        list(zip(frame.arm, frame.reward, strict=True)),
        sums,
        {key: dict(enumerate(value)) for key, value in sums.items()},
        tmp_path / "sums.csv",
    ):
        found = read_log(given, am.Unimodal(3))
        assert found.arms == (0, 1, 2)
        np.testing.assert_array_equal(found.counts, groups.size())
        np.testing.assert_allclose(found.sums, groups.sum(), rtol=1e-12)
        assert found.squares is not None
        np.testing.assert_allclose(found.squares, own, rtol=1e-9)
    assert read_log(frame).probabilities is not None


def test_columns_are_named(tmp_path: Path) -> None:
    text = "price;margin;p;note\n2.50;1.5;0.5;a\n1.25;0.5;0.5;b\n2.5;0;0.5;c\n"
    columns = Columns(arm="price", reward="margin", probability="p")
    found = log_of(text, tmp_path, columns=columns, arms=[1.25, 2.5])
    assert found.arms == (1.25, 2.5)
    assert found.counts.tolist() == [1.0, 2.0]
    assert found.probabilities is not None
    assert found.probabilities.tolist() == [0.5] * 3


def test_which_arm_is_which(tmp_path: Path) -> None:
    text = "arm,reward\n10,1\n9,2\n100,3\n"
    assert log_of(text, tmp_path, structure=am.Unimodal(3)).arms == ("9", "10", "100")
    text = "arm,reward\n2,1\n4,2\n"
    assert log_of(text, tmp_path, structure=am.Unimodal(5)).counts.tolist() == [0, 0, 1, 0, 1]
    text = "arm,reward\nb,1\na,2\n"
    assert log_of(text, tmp_path, structure=am.Unconstrained(2)).arms == ("a", "b")
    found = log_of(text, tmp_path, structure=am.Unimodal(3), arms=["b", "c", "a"])
    assert found.counts.tolist() == [1, 0, 1]
    with pytest.raises(am.ArmatureError, match="their order means something to Unimodal"):
        log_of(text, tmp_path, structure=am.Unimodal(2))
    with pytest.raises(am.ArmatureError, match=r"has 2 arms \(a, b\), and the structure 3"):
        log_of(text, tmp_path, structure=am.Unconstrained(3))
    with pytest.raises(am.ArmatureError, match="an arm 'b', which is not one of 'a', 'c'"):
        log_of(text, tmp_path, arms=["a", "c"])
    with pytest.raises(am.ArmatureError, match=r"written like the number 1\.5"):
        log_of("arm,reward\n1.5,1\n1.50,2\n", tmp_path)


@pytest.mark.parametrize("other", ["1.0", "01", "+1", "1e0"])
def test_one_number_written_in_two_ways_is_refused(other: str, tmp_path: Path) -> None:
    """It was another arm, and the structure had one more that nobody had ever pulled."""
    rows = "".join(f"{k},{reward}\n" for k in (1, 2, 3) for reward in (0, 1)) + f"{other},1\n"
    message = re.escape(f"written like the number 1, '1' and {other!r}: write each arm in one way")
    for structure in (None, am.Unimodal(4), am.Unimodal(5), am.Unconstrained(4)):
        with pytest.raises(am.ArmatureError, match=message):
            log_of("arm,reward\n" + rows, tmp_path, structure=structure)
    with pytest.raises(am.ArmatureError, match=message):
        log_of("arm,reward\n" + rows + "x,1\n", tmp_path)
    named = log_of("arm,reward\n" + rows, tmp_path, structure=am.Unimodal(3), arms=[1, 2, 3])
    assert named.counts.tolist() == [3, 2, 2]
    spec, log = tmp_path / "spec.toml", tmp_path / "log.csv"
    spec.write_text("structure = 'unimodal'\nfamily = 'bernoulli'\n")
    log.write_text("arm,reward\n" + rows)
    found = CliRunner().invoke(app, ["assess", str(log), "--spec", str(spec)])
    assert found.exit_code == 2


HOSTILE = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n\n", "is empty"),
    "header only": (b"arm,reward\n", "has no rewards"),
    "no such column": (b"arm,rewards\n1,2\n", "'reward' is unknown: did you mean 'rewards'"),
    "a column twice": (b"arm,reward,arm\n1,2,3\n", "two columns are called 'arm'"),
    "a word": (b"arm,reward\n1,2\n2,three\n", "line 3: 'reward' is 'three', where a number"),
    "an empty field": (b"arm,reward\n1,2\n2,\n1,3\n", "line 3: 'reward' is ''"),
    "an empty arm": (b"arm,reward\n1,2\n ,4\n", "line 3: 'arm' is empty"),
    "nan": (b"arm,reward\n1,2\n\n2,nan\n1,3\n", "line 4: the reward is nan"),
    "inf": (b"arm,reward\n1,2\n2,-inf\n", "line 3: the reward is -inf"),
    "gigantic": (b"arm,reward\n1,2\n2,1e300\n", r"line 3: the reward is 1e\+300"),
    "400 digits": (b"arm,reward\n1,2\n2," + b"9" * 400 + b"\n", "line 3: the reward is inf"),
    "too many fields": (b"arm,reward\n1,2\n2,3,4\n", "line 3: 3 fields, where the header has 2"),
    "too few": (b"arm,reward\n1,2\n2\n", "line 3: 1 fields"),
    "not UTF-8": (b"arm,reward\n1,2\ncaf\xe9,3\n", "line 3: not UTF-8"),
    "a header that is not UTF-8": (b"caf\xe9,reward\n1,2\n", "line 1: not UTF-8"),
    "binary": (bytes(range(256)) * 8, "zero byte"),
    "one arm": (b"arm,reward\n1,2\n1,3\n", "one arm only, '1', from line 2 to line 3"),
    "constant": (b"arm,reward\n1,2\n2,2\n3,2\n", "all 3 rewards are 2, from line 2 to line 4"),
    "a quoted newline": (b'arm,reward\n"1\n1",2\n2,x\n', "line 4: 'reward' is 'x'"),
    "a probability": (b"arm,reward,probability\n1,2,0.5\n2,3,1.5\n", "line 3: the probability"),
    "no probability": (b"arm,reward,probability\n1,2,0\n2,3,0.5\n", "line 2: the probability is 0"),
    "underscores": (b"arm,reward\n1,1_000\n2,3\n", "line 2: 'reward' is '1_000'"),
    "an open quote": (b'arm,reward\n"1,2\n2,3\n', r"can't be read|line 2"),
    "sums that are none": (b"arm,count,sum\n1,2,3\n2,0,5\n", "line 3: the sum of 0 rewards"),
    "a count": (b"arm,count,sum\n1,2,3\n2,1.5,5\n", "line 3: the count is 1.5"),
    "squares": (b"arm,count,sum,squares\n1,2,3,9\n2,2,4,1\n", "line 3: the sum of squares is 1"),
    "an arm twice": (b"arm,count,sum\n1,2,3\n1,2,5\n", "line 3: the arm '1' has a line before"),
}  # fmt: skip


@pytest.mark.checks("assess", by="errors name the line")
@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_logs_are_refused_with_the_line(case: str, tmp_path: Path) -> None:
    content, words = HOSTILE[case]
    with pytest.raises(am.ArmatureError, match=words):
        log_of(content, tmp_path)


@pytest.mark.parametrize("case", ["nan", "not UTF-8", "constant", "empty", "gigantic"], ids=str)
def test_the_command_refuses_them_and_writes_nothing(case: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(HOSTILE[case][0])
    (tmp_path / "spec.toml").write_text(SPEC)
    out = tmp_path / "out"
    arguments = ["assess", str(tmp_path / "log.csv"), "--spec", str(tmp_path / "spec.toml")]
    result = CliRunner().invoke(app, [*arguments, "--out", str(out), "--quiet"])
    assert result.exit_code == 2
    assert result.output.startswith("Error: ")
    assert result.output.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("log", "family", "words"),
    [
        ([(0, 1.0), (1, 0.5), (0, 0.0)], am.Bernoulli(), r"row 1: the reward 0\.5 can't come from"),
        ([(0, 1.0), (1, -1.0)], am.Poisson(), "row 1: the reward -1"),
        ([(0, 8.0), (1, 8.0), (1, 0.0)], am.Bernoulli([8.0, 9.0]), "row 1: the reward 8"),
        ({"counts": [2, 2], "sums": [1, 1.5]}, am.Bernoulli(), "arm 1: 2 rewards"),
        ({"counts": [2, 2], "sums": [1, 7]}, am.Bounded(0, 3), "arm 1: 2 rewards"),
    ],
)
def test_rewards_that_the_family_does_not_have(log: Any, family: am.Family, words: str) -> None:
    with pytest.raises(am.ArmatureError, match=words):
        read_log(log, am.Unconstrained(2), family)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (3, "log must be the path"),
        ("nowhere.csv", "there is no file"),
        (".", "is a folder"),
        (__file__, "a log is a .csv or .parquet file"),
        ([(1, 2, 3)], "not a pair"),
        ({"counts": [1, 2]}, "needs 'sums'"),
        ({"counts": [1, 2], "sums": [1]}, "must be 2 numbers"),
        ({"counts": {"a": 1}, "sums": {"b": 1}}, "which log\\['counts'\\] has not"),
        ({"counts": [1], "sums": [1], "means": [1]}, "no entry 'means'"),
        (pd.DataFrame({"arm": ["a", None], "reward": [1.0, 2.0]}), "row 1: 'arm' is empty"),
        (pd.DataFrame({"arm": [1, 2], "reward": [1.0, "x"]}), "row 1: 'reward' is 'x'"),
        (pd.DataFrame({"arm": [1, 2], "reward": [1.0, np.nan]}), "row 1: the reward is nan"),
        (pd.DataFrame({"arm": range(20_000), "reward": np.arange(20_000.0)}), "20,000 different"),
    ],
)
def test_other_things_are_refused(log: Any, words: str) -> None:
    with pytest.raises(am.ArmatureError, match=words):
        read_log(log)


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(b"arm,reward\n1,2\n")
    with pytest.raises(am.ArmatureError, match="no Parquet file that can be read"):
        read_log(path)


def test_lines_are_counted_as_editors_do(tmp_path: Path) -> None:
    """Quoted newlines, empty lines and other line ends: the line is where the row begins."""
    text = 'arm,reward\r\n"a\r\nb",1\r\n\r\nc,2\r\n'
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode("utf-8-sig"))
    found = read_csv(path, Columns())
    assert isinstance(found, LogRows)
    assert [found.where(0), found.where(1)] == ["line 2", "line 5"]
    assert [found.labels[code] for code in found.codes] == ["a\r\nb", "c"]


@pytest.mark.checks("assess", by="two readers")
def test_arrow_and_the_line_by_line_reader_agree(tmp_path: Path) -> None:
    """Random small files: what one reads, so does Python's csv module; what it refuses is named."""
    rng = np.random.default_rng(5)
    pieces = ["1", "2", "a", QUOTED, "", " 3 ", "1e3", "-.5", "é", "0x1", "+7."]
    read = refused = 0
    for _ in range(300):
        lines = ["arm,reward"]
        for _ in range(rng.integers(2, 6)):
            width = rng.integers(1, 4) if rng.random() < 0.1 else 2
            lines.append(",".join(rng.choice(pieces, width)))
        path = tmp_path / "log.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            table = read_csv(path, Columns())
        except am.ArmatureError:
            with pytest.raises(am.ArmatureError, match=", line "):
                read_csv(path, Columns())
            refused += 1
            continue
        read += 1
        frame = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))[1:]
        kept = [row for row in frame if row]
        assert isinstance(table, LogRows)
        assert [table.labels[c] for c in table.codes] == [row[0].strip() for row in kept]
        np.testing.assert_array_equal(table.rewards, [float(row[1]) for row in kept])
    assert read > 20
    assert refused > 100


def test_a_spec_that_is_wrong(tmp_path: Path) -> None:
    rows().to_csv(tmp_path / "log.csv", index=False)
    cases = {
        "horizn = 3": "did you mean 'horizon'",
        "[log]\nreword = 'x'": "did you mean 'reward'",
        "[log]\narm = 3": "must be the name of a column",
        "arms = 3": "arms must be a list",
        "horizon = 0": "horizon must be a whole number",
        "traffic = -1": "traffic must be a positive number",
        "delta = 2": "delta must be a probability",
        "spread = 'none'": "spread must be",
        "policies = ['challengr']": "did you mean 'challenger'",
        "[[candidates]]\nkind = 'unimodel'": "did you mean",
        "x = ": "this is not TOML",
    }
    for text, words in cases.items():
        is_section = text.startswith("[")
        spec = "" if "policies" in text else "policies = []\n"
        spec += ("" if is_section else text) + '\n[structure]\nkind = "unimodal"\n'
        spec += text if is_section else ""
        (tmp_path / "spec.toml").write_text(spec)
        arguments = ["assess", str(tmp_path / "log.csv"), "--spec", str(tmp_path / "spec.toml")]
        result = CliRunner().invoke(app, [*arguments, "--quiet"])
        assert result.exit_code == 2, (text, result.output)
        assert words in result.output, (text, result.output)


def test_columns_can_be_named_by_options(tmp_path: Path) -> None:
    frame = rows().rename(columns={"arm": "price", "reward": "margin", "probability": "p"})
    frame.to_csv(tmp_path / "log.csv", index=False)
    (tmp_path / "spec.toml").write_text(SPEC + '[log]\narm = "nothing"\nreward = "margin"\n')
    arguments = ["assess", str(tmp_path / "log.csv"), "--spec", str(tmp_path / "spec.toml")]
    options = ["--arm", "price", "--probability", "p", "--quiet", "--json"]
    result = CliRunner().invoke(app, [*arguments, *options])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["log"]["rounds"] == 60


def test_the_service_log_can_be_read(tmp_path: Path) -> None:
    """The columns that `armature experiments export` writes."""
    from armature.service.domain.log import COLUMNS

    frame = rows().assign(
        decision=range(60), unit=None, asked_seq=1, told_seq=2, told_at=0.0, counted=True
    )
    frame[list(COLUMNS)].to_csv(tmp_path / "log.csv", index=False)
    (tmp_path / "spec.toml").write_text(SPEC)
    arguments = ["assess", str(tmp_path / "log.csv"), "--spec", str(tmp_path / "spec.toml")]
    result = CliRunner().invoke(app, [*arguments, "--quiet", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["log"]["rounds"] == 60
