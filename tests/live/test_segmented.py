"""Live bandits of tables: each segment's decisions, what they share, saving, coming and going."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle

import numpy as np
import pytest

import armature as am
from armature.families.kernels import learning_address, total_learning_cost
from armature.rounds.play import NO_CHECKPOINTS, make_record
from armature.rounds.run import _simulated
from armature.rounds.segmented import seed_of
from armature.storage.files import checksum
from armature.structures.oracles.model import make_model
from armature.structures.segments.row import Row, rows_of
from armature.structures.segments.whole import learning_of, leave_alone, n_judged

MEANS = np.array([0.1, 0.5, 0.8, 0.4]) + np.array([[0.0], [0.3], [-0.2]])
NAMES = ["mobile", "desktop", "returning"]


def table_of(coupling: am.Coupling | None, names: list[str] = NAMES) -> am.Segments:
    return am.Segments(names, each=am.Unimodal(4), coupling=coupling)


def play(
    bandit: am.SegmentedBandit, rounds: int, seed: int = 0, names: list[str] = NAMES
) -> list[int]:
    """Ask and tell, with rewards that come later, in another order."""
    rng, asked, open_ = np.random.default_rng(seed), [], []
    for _ in range(rounds):
        c = int(rng.integers(len(names)))
        arm = bandit.ask(segment=names[c])
        asked.append(arm)
        open_.append((names[c], arm, float(rng.normal(MEANS[c % 3][arm], 0.5))))
        if rng.random() < 0.7:
            name, arm, reward = open_.pop(int(rng.integers(len(open_))))
            bandit.tell(arm, reward, segment=name)
    for name, arm, reward in open_:
        bandit.tell(arm, reward, segment=name)
    return asked


@pytest.mark.parametrize("policy", [am.Challenger(), am.ProjectedThompson(), am.Guarded()])
@pytest.mark.parametrize("coupling", [am.Additive(), None], ids=repr)
def test_it_decides_as_the_loop_does(policy: am.Policy, coupling: am.Coupling | None) -> None:
    instance = am.Instance(table_of(coupling), MEANS, frequencies=[0.5, 0.3, 0.2])
    record = make_record(NO_CHECKPOINTS, 12, 120)
    _simulated(policy, instance, 7, 0, record, None).advance(120)
    bandit = am.Bandit(policy, instance.structure, seed=7)
    assert isinstance(bandit, am.SegmentedBandit)
    for cell, gain in zip(record.choices, record.gains, strict=True):
        name, arm = NAMES[cell // 4], int(cell % 4)
        assert bandit.ask(segment=name) == arm
        bandit.tell(arm, float(gain), segment=name)
    assert bandit.pulls.sum() == 120


def test_without_a_coupling_it_is_separate_bandits() -> None:
    bandit = am.Bandit(am.Challenger(), table_of(None), am.Gaussian(0.5), seed=3)
    alone = [
        am.Bandit(am.Challenger(), am.Unimodal(4), am.Gaussian(0.5), seed=seed_of(3, c))
        for c in range(3)
    ]
    rng = np.random.default_rng(1)
    for _ in range(150):
        c = int(rng.integers(3))
        arm = bandit.ask(segment=NAMES[c])
        assert alone[c].ask() == arm
        reward = float(rng.normal(MEANS[c][arm]))
        bandit.tell(arm, reward, segment=NAMES[c])
        alone[c].tell(arm, reward)


@pytest.mark.parametrize("policy", [am.Challenger(), am.Guarded(), am.ProjectedThompson()])
def test_saved_and_resumed_it_decides_the_same(policy: am.Policy) -> None:
    bandit = am.Bandit(policy, table_of(am.Additive()), am.Gaussian(0.5), seed=5, floor=0.02)
    play(bandit, 60)
    bandit.ask(segment="mobile")  # one is outstanding
    again = am.SegmentedBandit.from_json(bandit.to_json())
    assert again.to_json() == bandit.to_json()
    assert play(bandit, 60, seed=9) == play(again, 60, seed=9)
    assert again.to_json() == bandit.to_json()
    with pytest.raises(am.ArmatureError, match="SegmentedBandit"):
        am.Bandit.from_json(bandit.to_json())
    text = bandit.to_json().replace('"seed": 5', '"seed": 6', 1)
    with pytest.raises(am.ArmatureError, match="checksum"):
        am.SegmentedBandit.from_json(text)
    assert len(json.loads(bandit.to_json())["segments"]) == 3


def test_edited_fields_are_refused_or_work() -> None:
    bandit = am.Bandit(am.Challenger(), table_of(am.Additive()), am.Gaussian(0.5))
    bandit.tell([0, 1], [0.1, 0.5], segment="mobile")
    bandit.ask(segment="desktop")
    content = json.loads(bandit.to_json())
    refused = 0
    for c, key in itertools.product((0, 2), content["segments"][0]):
        for value in (None, -1, 1.5, "x", [], {}, [0], [None], [[1.0]], 1e300):
            edited = copy.deepcopy(content)
            edited["segments"][c][key] = value
            del edited["checksum"]
            text = json.dumps({**edited, "checksum": checksum(edited)})
            try:
                again = am.SegmentedBandit.from_json(text)
            except am.ArmatureError:
                refused += 1
            else:
                again.tell(again.ask(segment="mobile"), 0.5, segment="mobile")
    assert refused >= 150


def test_it_is_saved_to_files_with_labels_and_prices(tmp_path) -> None:  # type: ignore[no-untyped-def]
    prices = [4.99, 6.99, 8.99]
    table = am.Segments("ab", each=am.Unimodal(3), coupling=am.Additive())
    bandit = am.Bandit(am.Challenger(), table, am.Bernoulli(scale=prices), labels=prices)
    bandit.tell([4.99, 6.99], [4.99, 0.0], segment="a")
    price = bandit.ask(segment="b")
    bandit.tell(price, price, segment="b")
    bandit.save(tmp_path / "bandit.json")
    again = am.SegmentedBandit.load(tmp_path / "bandit.json")
    assert [again.ask(segment=s) for s in "abab"] == [bandit.ask(segment=s) for s in "abab"]


def test_what_is_refused_changes_nothing() -> None:
    bandit = am.Bandit(am.Challenger(), table_of(am.Additive()), am.Bernoulli())
    bandit.tell([0, 1, 2, 3], [0.0, 1.0, 1.0, 0.0], segment="mobile")
    before = bandit.to_json()
    for arm, reward, segment in ((1, 0.5, "mobile"), (9, 1.0, "mobile"), (1, 1.0, "tablet")):
        with pytest.raises(am.ArmatureError):
            bandit.tell(arm, reward, segment=segment)
    with pytest.raises(am.ArmatureError, match="'mobile', 'desktop', 'returning'"):
        bandit.ask(segment="tablet")
    with pytest.raises(am.ArmatureError, match="arms do not come or go"):
        bandit.of("mobile").add_arm()
    with pytest.raises(am.ArmatureError, match="twice"):
        bandit.add_segment("mobile")
    with pytest.raises(am.ArmatureError, match='goal="min"'):
        am.Bandit(am.Challenger(), table_of(am.Additive()), goal="min")
    assert bandit.to_json() == before


def test_other_names_are_the_same_segments() -> None:
    first = am.Bandit(am.Challenger(), table_of(am.Additive()))
    names = ["x", "y", "z"]
    second = am.Bandit(am.Challenger(), table_of(am.Additive(), names))
    assert play(first, 80) == play(second, 80, names=names)


def test_segments_come_and_go() -> None:
    bandit = am.Bandit(am.Challenger(), table_of(am.Additive()), am.Gaussian(0.1), seed=2)
    for name, row in zip(NAMES, MEANS, strict=True):
        bandit.tell([0, 1, 2, 3] * 30, [*row] * 30, segment=name)
    decisions = [bandit.ask(segment=name) for name in NAMES]
    for name, arm in zip(NAMES, decisions, strict=True):
        bandit.cancel(arm, segment=name)
    bandit.add_segment("tablet")
    assert bandit.segments == [*NAMES, "tablet"]
    assert bandit.pulls.sum(axis=1).tolist() == [120, 120, 120, 0]
    bandit.tell(2, 1.3, segment="tablet")  # what it adds is known from one reward,
    asked = []
    for _ in range(10):
        asked.append(bandit.ask(segment="tablet"))
        bandit.tell(asked[-1], 1.3, segment="tablet")
    assert asked == [0] * asked.count(0) + [2] * asked.count(2)  # and then the best arm is
    assert asked.count(0) <= 1
    bandit.remove_segment("desktop")
    assert bandit.segments == ["mobile", "returning", "tablet"]
    assert bandit.pulls.sum(axis=1).tolist() == [120, 120, 11]
    again = am.SegmentedBandit.from_json(bandit.to_json())
    assert [again.ask(segment=s) for s in again.segments] == [
        bandit.ask(segment=s) for s in bandit.segments
    ]
    bandit.add_segment("desktop")
    seeds = [bandit.of(name)._seed for name in bandit.segments]
    assert len(set(seeds)) == 4


def test_a_segment_can_stand_for_all_others() -> None:
    bandit = am.Bandit(am.UCB(), am.Segments(["mobile", "all"], each=am.Unconstrained(2)),
                       otherwise="all")  # fmt: skip
    arm = bandit.ask(segment="tablet")
    bandit.tell(arm, 1.0, segment="phablet")
    assert bandit.pulls.tolist() == [[0, 0], [1, 0]]
    with pytest.raises(am.ArmatureError, match="stands for all"):
        bandit.remove_segment("all")
    again = am.SegmentedBandit.from_json(bandit.to_json())
    assert again.ask(segment="unheard of") == bandit.ask(segment="all")


def test_what_it_says_of_a_segment() -> None:
    bandit = am.Bandit(am.Challenger(), table_of(am.Additive()), am.Gaussian(0.5))
    play(bandit, 300)
    explained = bandit.explain(segment="mobile")
    fitted = np.stack([bandit.explain(segment=name).projected for name in NAMES])
    assert bandit.structure.contains(fitted)
    assert "mobile" in repr(bandit)
    assert str(explained)
    verdict = bandit.verdict(0.05, segment="mobile")
    assert verdict.arm == 2
    assert 0.0 < verdict.needed < 1000.0
    proved = bandit.verdict(0.05, segment="mobile", threshold="theory")
    one = bandit.of("mobile").structure
    assert proved.statistic == verdict.statistic
    assert proved.threshold > verdict.threshold
    with pytest.raises(am.ArmatureError, match="that of its table"):
        am.lower_bound(am.Instance(one, [0.1, 0.5, 0.9, 0.4]))
    assert bandit.plot(segment="mobile") is not None
    whole = bandit.evidence()
    assert bandit.of("mobile").evidence().log_e == pytest.approx(whole.log_e)
    assert not whole.refuted


def test_each_segment_notices_changes_of_its_own() -> None:
    bandit = am.Bandit(am.Challenger(), table_of(am.Additive()), am.Gaussian(0.5))
    rng = np.random.default_rng(0)
    for n in range(400):
        for c, name in enumerate(NAMES[:2]):
            moved = 1.5 if name == "desktop" and n >= 250 else 0.0
            bandit.tell(n % 4, float(rng.normal(MEANS[c][n % 4] - moved, 0.5)), segment=name)
    changes = bandit.changes()
    assert list(changes) == ["desktop"]
    assert abs(changes["desktop"].since - 250) <= 16
    assert bandit.change(segment="mobile") is None
    own = bandit.change(segment="desktop")
    assert own is not None
    assert own.evidence == changes["desktop"].evidence
    assert "until about decision" in str(bandit.explain(segment="desktop"))
    assert "until about decision" not in str(bandit.explain(segment="mobile"))
    assert not bandit.verdict(0.05, segment="desktop").sure
    assert bandit.plot() is not None
    again = am.SegmentedBandit.from_json(bandit.to_json())
    assert str(again.changes()["desktop"]) == str(changes["desktop"])
    with pytest.raises(am.ArmatureError, match="between 0 and 1"):
        bandit.changes(2.0)
    one, alone = (
        am.Bandit(am.UCB(), am.Segments(names, each=am.Unconstrained(2)), am.Gaussian(0.5))
        for names in ("abcd", "a")
    )
    for reward in [0.0] * 32 + [1.0] * 48:  # a share of the false alarms asks for more evidence
        for b in (one, alone):
            b.tell([0, 1], [reward, 0.0], segment="a")
    own = alone.change(segment="a")
    assert own is not None
    rate = math.exp(-own.evidence) * 1.5
    assert "a" in alone.changes(rate)
    assert one.changes(rate) == {}
    assert "a" in one.changes(4.0 * rate)


def test_floors_of_segments() -> None:
    floors = {"mobile": 0.1, "desktop": 0.02}
    bandit = am.Bandit(am.UCB(), table_of(None), floor=floors)
    assert [bandit.of(name).floor for name in NAMES] == [0.1, 0.02, 0.0]
    again = am.SegmentedBandit.from_json(bandit.to_json())
    assert [again.of(name).floor for name in NAMES] == [0.1, 0.02, 0.0]
    with pytest.raises(am.ArmatureError, match="no segment 'tablet'"):
        am.Bandit(am.UCB(), table_of(None), floor={"tablet": 0.1})


def test_a_wrong_coupling_shows_in_the_evidence() -> None:
    bandit = am.Bandit(am.Challenger(), table_of(am.Additive()), am.Gaussian(0.5))
    bandit.tell([0, 1, 2, 3] * 40, [0.0, 0.3, 0.6, 0.9] * 40, segment="mobile")
    bandit.tell([0, 1, 2, 3] * 40, [0.9, 0.6, 0.3, 0.0] * 40, segment="desktop")
    assert bandit.evidence().refuted
    assert bandit.of("returning").evidence().refuted


def guarded_runs(instance: am.Instance, rounds: int, repetitions: int) -> list[list[float]]:
    """When each segment's guard dropped something, at the end of each run."""
    found = []
    for seed in range(repetitions):
        record = make_record(NO_CHECKPOINTS, instance.n_arms)
        run = _simulated(am.Guarded(), instance, seed, 0, record, None)
        run.advance(rounds)
        found.append([float(row.state.verdict[0]) for row in run.runner.rows])  # type: ignore[union-attr]
    return found


def test_the_guard_drops_the_coupling_before_the_row() -> None:
    coupled = am.Segments("ab", each=am.Unimodal(3), coupling=am.Additive())
    wrong = am.Instance(coupled, [[0.0, 2.0, 4.0], [4.0, 2.0, 0.0]], strict=False)
    assert all(when < 0.0 for run in guarded_runs(wrong, 400, 4) for when in run)
    worse = am.Instance(coupled, [[30.0, 0.0, 40.0], [40.0, 0.0, 30.0]], strict=False)
    assert all(when > 0.0 for run in guarded_runs(worse, 400, 4) for when in run)


@pytest.mark.parametrize("family", [am.Gaussian(2.0), am.Bernoulli(scale=[1.0, 2.0])], ids=repr)
def test_the_guard_judges_all_cells_until_the_coupling_is_dropped(family: am.Family) -> None:
    """Of few arms alone, the misfit of many segments would refute a coupling that holds."""
    table = am.Segments(range(3), each=am.Unconstrained(2), coupling=am.Additive())
    row = rows_of(table, family)[1]
    assert isinstance(row, Row)
    pulls, means = np.array([[9.0, 4.0], [1.0, 2.0], [0.0, 7.0]]), np.full((3, 2), 0.4)
    for kept, seen in zip(row.ledger[1:], (means, pulls, pulls * means), strict=True):
        kept[:] = seen
    model, address = make_model(row, family, ("project",)), learning_address(family)
    expected = [
        sum(
            float(
                total_learning_cost(
                    address, family.for_arm(k).record_for(1), n[k : k + 1], x[k : k + 1]
                )
            )
            for n, x in zip(some, sums, strict=True)
            for k in range(2)
        )
        for some, sums in ((pulls, pulls * means), (pulls[1:2], (pulls * means)[1:2]))
    ]
    asked = model, address, pulls[1], (pulls * means)[1]
    assert n_judged(model, 2) == 6
    assert learning_of(*asked) == pytest.approx(expected[0])
    leave_alone(model, True)
    assert n_judged(model, 2) == 2
    assert learning_of(*asked) == pytest.approx(expected[1])
    assert expected[0] > 1.5 * expected[1]


def test_the_guard_says_what_it_dropped() -> None:
    table = am.Segments("ab", each=am.Unimodal(3), coupling=am.Additive())
    bandit = am.Bandit(am.Guarded(), table)
    rng = np.random.default_rng(0)
    for _ in range(300):
        for name, means in (("a", [0.0, 2.0, 4.0]), ("b", [4.0, 2.0, 0.0])):
            arm = bandit.ask(segment=name)
            bandit.tell(arm, float(rng.normal(means[arm])), segment=name)
    said = str(bandit.explain(segment="a"))
    assert "What the segments have in common was dropped" in said
    again = am.SegmentedBandit.from_json(bandit.to_json())
    assert again.ask(segment="a") == bandit.ask(segment="a") == 2
    assert again.ask(segment="b") == bandit.ask(segment="b") == 0


@pytest.mark.parametrize(
    "names", [["a", "b"], [1, 2], [0.5, 1.5], ["日本", "é"], [("x", 1), ("y", 2)], np.arange(2)]
)
def test_copies_go_on_with_the_same_decisions(names: list) -> None:
    table = am.Segments(names, each=am.Unimodal(4), coupling=am.Additive())
    bandit = am.Bandit(am.Challenger(), table, seed=3, otherwise=names[0])
    play(bandit, 20, names=list(table.names))
    copies = [
        copy.deepcopy(bandit),
        pickle.loads(pickle.dumps(bandit)),
        am.SegmentedBandit.from_json(bandit.to_json()),
    ]
    told = play(bandit, 20, seed=1, names=list(table.names))
    for one in copies:
        assert one.segments == list(table.names)
        assert play(one, 20, seed=1, names=list(table.names)) == told


@pytest.mark.parametrize("names", [[None, "b"], [math.nan, 1.0], [["a"], "b"], [b"a"], [1, "1"]])
def test_names_that_could_not_be_told_apart_later(names: list) -> None:
    with pytest.raises(am.ArmatureError, match=r"use strings, numbers or tuples|must differ"):
        am.Segments(names, each=am.Unimodal(4))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"seed": "x"}, "seed must be an integer"),
        ({"seed": -1}, "seed must be an integer"),
        ({"seed": 2**64}, "seed must be an integer"),
        ({"history": "a"}, "history must be"),
        ({"history": [1, 2]}, "history must be"),
    ],
)
def test_wrong_arguments(wrong: dict, complaint: str) -> None:
    with pytest.raises(am.ArmatureError, match=complaint):
        am.Bandit(am.Challenger(), table_of(None), **wrong)


@pytest.mark.parametrize("coupling", [am.Additive(), None], ids=repr)
def test_bounds_and_instances_show_the_names(coupling: am.Coupling | None) -> None:
    instance = am.Instance(table_of(coupling), MEANS)
    for shown in (instance, am.lower_bound(instance), am.characteristic_time(instance)):
        assert [row[0] for row in shown.card().shown] == NAMES
        assert "desktop" in shown._repr_html_()


def test_messages_speak_of_segments() -> None:
    with pytest.raises(am.ArmatureError, match="2 numbers, one for each segment"):
        am.Instance(table_of(None, ["a", "b"]), MEANS[:2], frequencies=[1.0])
    with pytest.raises(am.ArmatureError, match=r"arms 1, 2 of segment 'b' are all best"):
        am.Instance(table_of(None, ["a", "b"]), [MEANS[0], [0.0, 1.0, 1.0, 0.0]])
    with pytest.raises(am.ArmatureError, match=r"LinUCB is for Linear structures.*Challenger"):
        am.Bandit(am.LinUCB(), table_of(am.Additive()))
