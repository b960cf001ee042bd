"""Means that change while a policy plays: against a plain loop, and against means that stay."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armature as am
from armature.experiments.keys import run_key
from armature.experiments.spec import parse_instance
from armature.rounds.rewards import make_rewards, next_reward
from armature.rounds.run import make_run

FIRST, SECOND = [0.2, 0.9, 0.1], [0.1, 0.3, 0.7]
POLICIES = [am.UCB(), am.Challenger()]
FAMILIES = [am.Bernoulli(), am.Gaussian(sigma=[1.0, 2.0, 0.5]), am.Poisson(), am.Bounded(0.0, 1.0)]


class Noted(am.PythonPolicy):
    """Thirds of the rounds for each arm, and notes what came of them."""

    def init(self, structure, family):
        return {"rows": []}

    def choose(self, state, problem, history, rng):
        return int(history.clock[0] * 7 // 5) % 3

    def update(self, state, problem, history, arm, reward):
        state["rows"].append((arm, reward))


@pytest.mark.checks("structures.changing", by="a plain loop")
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_run_by_a_plain_loop(family):
    pieces = [(0, FIRST), (150, SECOND), (151, FIRST), (330, SECOND)]
    problem = am.Changing(pieces, am.Unimodal(3), family)
    run = make_run(Noted(), problem, seed=3, repetition=2, checkpoints=np.arange(1, 401))
    run.advance(200)
    run.advance(200)
    rows, pulls, regret = run.runner.state["rows"], np.zeros(3, dtype=int), 0.0
    assert len(rows) == 400
    for t, (arm, reward) in enumerate(rows):
        mu = np.array([m for start, m in pieces if start <= t][-1])
        fresh = make_rewards(mu, 3, 2)
        fresh.drawn[arm] = pulls[arm] - pulls[arm] % 64
        while fresh.drawn[arm] <= pulls[arm]:
            expected = next_reward(family.record_for(3), fresh, arm)
        assert reward == expected
        pulls[arm] += 1
        regret += mu.max() - mu[arm]
        assert run.record.regret[t] == pytest.approx(regret, abs=1e-9)


def test_until_the_first_change_all_is_as_if_there_were_none():
    stays = am.Instance(am.Unimodal(3), FIRST, am.Bernoulli())
    same = am.Changing([(0, FIRST), (40, FIRST)], am.Unimodal(3), am.Bernoulli())
    jumps = am.Changing([(0, FIRST), (500, SECOND)], am.Unimodal(3), am.Bernoulli())
    assert same.changes == ()
    assert jumps.changes == (500,)
    one, two, three = (am.simulate(i, POLICIES, 1000, 6, seed=1) for i in (stays, same, jumps))
    for name in one.names:
        a, b, c = one.runs[name], two.runs[name], three.runs[name]
        assert (a.regret == b.regret).all()
        before = one.checkpoints <= 500
        assert (a.regret[:, before] == c.regret[:, before]).all()
        assert (c.regret[:, -1] > a.regret[:, -1]).any()


def test_a_path_by_rounds_is_the_same_and_so_is_any_number_of_workers():
    pairs = am.Changing([(0, FIRST), (70, SECOND)], am.Unimodal(3), am.Gaussian())
    path = am.Changing(np.array([FIRST] * 70 + [SECOND] * 3), am.Unimodal(3), am.Gaussian())
    assert path.starts.tolist() == [0, 70]
    one = am.simulate(pairs, POLICIES, 300, 5, seed=1, workers=1)
    two = am.simulate(path, POLICIES, 300, 5, seed=1, workers=2)
    for name in one.names:
        assert (one.runs[name].regret == two.runs[name].regret).all()
        assert (one.runs[name].pulls == two.runs[name].pulls).all()


def test_saved_results_keep_the_changes(tmp_path):
    problem = am.Changing([(0, FIRST), (70, SECOND)], am.Unimodal(3), am.Gaussian())
    am.simulate(problem, POLICIES, 300, 2).save(tmp_path / "results.parquet")
    loaded = am.Results.load(tmp_path / "results.parquet")
    assert isinstance(loaded.instance, am.Changing)
    assert loaded.instance.changes == (70,)
    assert loaded.is_current
    first = am.Instance(am.Unimodal(3), FIRST, am.Gaussian())
    later = am.Changing([(0, FIRST), (71, SECOND)], am.Unimodal(3), am.Gaussian())
    assert len({run_key(i, am.UCB(), 300, 0) for i in (problem, first, later)}) == 3
    assert loaded.plot(tmp_path / "picture.png") is not None
    assert "regret" in " ".join(loaded.summary().columns)


def test_a_file_with_changes():
    text = "means = [0.2, 0.9, 0.1]\nchanges = [[70, [0.1, 0.3, 0.7]]]\nstructure = 'unimodal'\n"
    problem = parse_instance(text)
    assert isinstance(problem, am.Changing)
    assert problem.at(70).tolist() == SECOND
    for wrong in ("3", "[[70]]", "[[0, [0.1, 0.3, 0.7]]]", "[[70, [0.9, 0.3, 0.7]]]"):
        with pytest.raises(am.ArmatureError, match=r"means|changes|round"):
            parse_instance(text.replace("[[70, [0.1, 0.3, 0.7]]]", wrong))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ([(5, FIRST)], "must rise from 0"),
        ([(0, FIRST), (0, SECOND)], "must rise from 0"),
        ([(0, FIRST), (10**30, SECOND)], "must rise from 0"),
        ([(0, FIRST), (9, [0.9, 0.1, 0.9])], "from round 9 are not in Unimodal"),
        ([(0, FIRST), (9, [0.9, 0.1])], "must be 3 numbers"),
        ([], "are written as"),
        (np.zeros(3), r"\(rounds, arms\)"),
    ],
)
def test_what_is_no_path_is_refused(path, said):
    with pytest.raises(am.ArmatureError, match=said):
        am.Changing(path, am.Unimodal(3))


def test_what_asks_for_one_truth_refuses_means_that_change():
    problem = am.Changing([(0, FIRST), (70, SECOND)], am.Unimodal(3))
    for ask in (am.lower_bound, am.characteristic_time):
        with pytest.raises(am.ArmatureError, match="where means change"):
            ask(problem)
    with pytest.raises(am.ArmatureError, match="where means change"):
        am.identify(problem, [am.UCB()], repetitions=1)


def test_a_peak_wanders_and_turns_back():
    problem = am.Changing.wandering(am.Unimodal(9), 3000, step=0.4, seed=5)
    path = np.array([problem.at(t) for t in range(3000)])
    rng = np.random.default_rng((5, 0))
    place = 4.0
    for t in range(3000):
        assert path[t] == pytest.approx([1.0 - 0.25 * abs(k - place) for k in range(9)], abs=1e-9)
        place += 0.4 * rng.normal()
        while not 0.0 <= place <= 8.0:
            place = -place if place < 0.0 else 16.0 - place
            # after a turn the walk goes on in the other direction
            rng = Mirrored(rng)
    with pytest.raises(am.ArmatureError, match="step must be a finite number"):
        am.Changing.wandering(am.Unimodal(9), 10, step=math.inf)


class Mirrored:
    """The same numbers with the other sign."""

    def __init__(self, rng) -> None:
        self.rng = rng

    def normal(self) -> float:
        return -self.rng.normal()


def test_seasons_come_and_go():
    problem = am.Changing.seasonal([0.5, 0.4], [0.2, -0.1], 240, 1000, am.Unconstrained(2))
    for t in range(0, 1000, 7):
        phase = 2.0 * math.pi * (t // 10) / 24.0
        assert problem.at(t) == pytest.approx(
            [0.5 + 0.2 * math.sin(phase), 0.4 - 0.1 * math.sin(phase)], abs=1e-12
        )
    assert (problem.at(240) == problem.at(0)).all() or np.allclose(problem.at(240), problem.at(0))
    with pytest.raises(am.ArmatureError, match="period must be"):
        am.Changing.seasonal([0.5, 0.4], [0.2, -0.1], 0, 10, am.Unconstrained(2))
