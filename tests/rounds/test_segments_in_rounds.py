"""Tables at play: against separate bandits, and against slow twins of the policies."""

from __future__ import annotations

import numpy as np
import pytest
from twins import ChallengerTwin

import armature as am
from armature.kernels.streams import ARRIVALS, DECISIONS, make_stream, next_unit, next_units
from armature.rounds.play import NO_CHECKPOINTS, make_record
from armature.rounds.run import _simulated, make_run
from armature.rounds.runner import make_runner
from armature.rounds.segmented import seed_of

SHARES = [0.6, 0.3, 0.1]
MEANS = np.array([0.1, 0.5, 0.8, 0.4]) + np.array([[0.0], [0.3], [-0.2]])
SEED, REPETITION = 11, 2


def played(policy: am.Policy, instance: am.Instance, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The cells and rewards of a run, round by round."""
    record = make_record(NO_CHECKPOINTS, instance.n_arms, rounds)
    run = _simulated(policy, instance, SEED, REPETITION, record, None)
    run.advance(rounds // 2)
    run.advance(rounds - rounds // 2)  # in two parts
    return record.choices, record.gains


def instance_of(
    each: am.Structure, coupling: am.Coupling | None, family: am.Family | None = None
) -> am.Instance:
    table = am.Segments("abc", each=each, coupling=coupling)
    means = MEANS if family is None else np.clip(0.3 + 0.4 * MEANS, 0.05, 0.95)
    return am.Instance(table, means, family, frequencies=SHARES)


class Everything(am.PythonPolicy):
    """The arms in turn: in plain Python."""

    def choose(self, state: dict, problem: am.Policy, history: am.Policy, rng: object) -> int:
        state["next"] = state.get("next", -1) + 1
        return int(state["next"] % history.pulls.size)


@pytest.mark.parametrize(
    "policy",
    [am.Challenger(), am.Guarded(), am.SPk(), am.ThompsonSampling(), am.ProjectedThompson(),
     am.UCB(), am.StructuredUCB(), am.OSSB(), am.IMED(), am.KLUCB(), Everything()],
    ids=lambda policy: policy.name,
)  # fmt: skip
@pytest.mark.parametrize(
    "family", [None, am.Gaussian(0.8, known=False)], ids=["known", "estimated"]
)
def test_without_a_coupling_it_is_separate_bandits(
    policy: am.Policy, family: am.Family | None
) -> None:
    each = am.Unimodal(4)
    instance = instance_of(each, None, family)
    if not policy.supports(instance.structure, instance.family):
        pytest.skip("it does not go with such rewards")
    cells, gains = played(policy, instance, 240)
    alone = [
        make_runner(policy, each, instance.family, seed_of(SEED, c), REPETITION) for c in range(3)
    ]
    for cell, gain in zip(cells, gains, strict=True):
        c, arm = divmod(int(cell), 4)
        assert alone[c].next(alone[c].history) == arm
        alone[c].take_in(arm, float(gain))


@pytest.mark.parametrize("coupling", [am.Additive(), am.SameBest(), None])
def test_one_segment_plays_as_none(coupling: am.Coupling | None) -> None:
    each, means = am.Unimodal(4), MEANS[0]
    table = am.Segments(["everyone"], each=each, coupling=coupling)
    checkpoints = np.array([1, 10, 200])
    for policy in (am.Challenger(), am.ThompsonSampling(), am.SPk()):
        runs = [
            make_run(policy, one, SEED, REPETITION, checkpoints)
            for one in (am.Instance(table, [means]), am.Instance(each, means))
        ]
        for run in runs:
            run.advance(200)
        assert (runs[0].record.regret == runs[1].record.regret).all()
        assert (runs[0].record.pulls == runs[1].record.pulls).all()
        assert (runs[0].record.explored == runs[1].record.explored).all()


def test_segments_arrive_by_frequency_whoever_plays() -> None:
    instance = instance_of(am.Unimodal(4), am.Additive())
    arrived = [played(policy, instance, 300)[0] // 4 for policy in (am.Challenger(), am.UCB())]
    assert (arrived[0] == arrived[1]).all()
    stream = make_stream(SEED, REPETITION, ARRIVALS)
    units = np.array([next_unit(stream) for _ in range(300)])
    assert (arrived[0] == np.searchsorted(np.cumsum(SHARES), units, side="right")).all()


class WholeTable(am.Unimodal):
    """A row of a table, for a slow twin: its questions are asked about all cells."""

    def __init__(self, table: am.Segments, c: int, twins: list[ChallengerTwin]) -> None:
        super().__init__(table.n_each)
        for name, value in {"whole": table, "c": c, "twins": twins}.items():
            object.__setattr__(self, name, value)

    def cells(self, mu: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        seen = [(t.sums / np.maximum(t.N, 1.0), t.N) for t in self.twins]
        seen[self.c] = (mu, N)
        return np.stack([one for one, _ in seen]), np.stack([n for _, n in seen])

    def of_row(self, fit: am.Fit) -> am.Fit:
        return am.Fit(np.asarray(fit.means)[self.c], fit.cost)

    def project(self, mu, N, family) -> am.Fit:  # type: ignore[no-untyped-def, override]
        return self.of_row(self.whole.project(*self.cells(mu, N), family))

    def challenger_min(self, mu, N, j, i, family) -> am.Fit:  # type: ignore[no-untyped-def, override]
        at = self.c * self.n_arms
        asked = at + j, at + i
        return self.of_row(self.whole.challenger_min(*self.cells(mu, N), *asked, family))


@pytest.mark.parametrize("coupling", [am.Additive(), am.SameBest()], ids=repr)
@pytest.mark.parametrize("family", [None, am.Bernoulli()], ids=["gaussian", "bernoulli"])
def test_challenger_decides_as_its_slow_twin(
    coupling: am.Coupling, family: am.Family | None
) -> None:
    instance = instance_of(am.Unimodal(4), coupling, family)
    cells, gains = played(am.Challenger(), instance, 150 if family is None else 60)
    twins: list[ChallengerTwin] = []
    for c in range(3):
        stream = make_stream(seed_of(SEED, c), REPETITION, DECISIONS)

        def units(stream: object = stream) -> tuple[float, float]:
            return next_units(stream)  # type: ignore[arg-type]

        row = WholeTable(instance.structure, c, twins)
        twins.append(ChallengerTwin(row, instance.family, units))
        if isinstance(coupling, am.Additive) and c > 0:
            twins[c].start = [0]
    gave_way = 0
    for t, (cell, gain) in enumerate(zip(cells, gains, strict=True)):
        c, arm = divmod(int(cell), 4)
        allowed = twins[c].choose()
        assert arm in allowed, f"round {t}: {arm} in segment {c}, its twin says {allowed}"
        gave_way += arm != allowed[0]
        twins[c].tell(arm, float(gain))
    assert gave_way <= 3
    assert sum(twin.explorations for twin in twins) > 5


def test_a_sample_is_projected_with_samples_of_the_other_segments() -> None:
    """Without a structure of rows, additive means are linear: the projection is a posterior sample.

    Its spread in a segment is that of the linear model, not that of a fit to the others' means.
    """
    from armature.structures.oracles.model import make_model
    from armature.structures.segments.row import rows_of
    from armature.structures.segments.whole import project_sample

    table = am.Segments("ab", each=am.Unconstrained(2), coupling=am.Additive())
    row, _ = rows_of(table, am.Gaussian())
    pulls = np.array([[1.0, 1.0], [4.0, 4.0]])
    row.ledger.pulls[:] = pulls
    model = make_model(row, am.Gaussian(), ("project",))
    stream, lam = make_stream(0, 0, DECISIONS), np.zeros(2)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(4000):
        project_sample(model, rng.normal(size=2), pulls[0], stream, lam)
        found.append(lam[1] - lam[0])
    assert np.var(found) == pytest.approx(1.0 / (1.0 / 2.0 + 4.0 / 2.0), rel=0.1)


def test_policies_say_why_they_do_not_go_with_coupled_segments() -> None:
    table = am.Segments("ab", each=am.Unimodal(3), coupling=am.Additive())
    for policy in (am.SPk(), am.OSSB(), am.StructuredUCB(), am.MINTS(), am.TrackAndStop()):
        assert not policy.supports(table, am.Gaussian())
        with pytest.raises(am.ArmatureError, match=r"Challenger, Guarded.*leave the coupling out"):
            policy.check(table, am.Gaussian())
        assert policy.supports(am.Segments("ab", each=am.Unimodal(3)), am.Gaussian())
    for policy in (am.Challenger(), am.Guarded(), am.ProjectedThompson(), am.IMED(), am.KLUCB()):
        policy.check(table, am.Gaussian())


@pytest.mark.parametrize("coupling", [None, am.Additive()])
def test_the_best_arms_of_a_table_are_not_identified(coupling: am.Coupling | None) -> None:
    for policy in (am.TopTwo(), am.Challenger()):
        with pytest.raises(am.ArmatureError, match=r"one_by_one\[0\].*characteristic_time"):
            am.identify(instance_of(am.Unimodal(4), coupling), [policy])


def test_results_per_segment_add_up() -> None:
    instance = instance_of(am.Unimodal(4), am.Additive())
    results = am.simulate(instance, [am.Challenger()], horizon=100, repetitions=3, workers=1)
    whole = results.regret("Challenger")
    parts = [results.regret("Challenger", segment=name) for name in "abc"]
    assert sum(parts) == pytest.approx(whole, abs=1e-9)
    assert (parts[0][:, -1] > 0.0).all()
    assert results.pulls("Challenger").shape[2] == 12
    with pytest.raises(am.ArmatureError, match="'a', 'b', 'c'"):
        results.regret("Challenger", segment="d")


def test_results_of_tables_are_saved_and_loaded(tmp_path) -> None:  # type: ignore[no-untyped-def]
    each = {"a": am.Unimodal(4), "b": am.Lipschitz(4, 1.0), "c": am.Unconstrained(4)}
    table = am.Segments("abc", each=each, coupling=am.Additive() & am.Alike(1.0))
    instance = am.Instance(table, MEANS, frequencies=SHARES)
    results = am.simulate(instance, [am.UCB()], horizon=100, repetitions=2, workers=1)
    results.save(tmp_path / "results.parquet")
    again = am.Results.load(tmp_path / "results.parquet")
    assert again.instance.structure == table
    assert (again.instance.frequencies == instance.frequencies).all()
    assert (again.regret("UCB") == results.regret("UCB")).all()
    assert again.is_current
