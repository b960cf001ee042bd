"""From a log to a decision: fit and worth of structures, policies, verdict on the best arm."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from armature.assess.arms import Informed, Spread, estimate_arms, informed, seen_means
from armature.assess.assessment import Assessment
from armature.assess.compare import Progress, Trial, sensible_policies, try_policies
from armature.assess.drift import find_drift
from armature.assess.fit import Candidate, judge, ranked
from armature.assess.log import Log, read_log
from armature.assess.segments.assessment import SegmentedAssessment, assess_segments
from armature.assess.table import Columns
from armature.assess.worth import Certainty, how_sure
from armature.bounds.evidence import DELTA as DELTA_OF_EVIDENCE
from armature.errors import ArmatureError, short
from armature.experiments.plan import check_memory
from armature.families import Family, Gaussian
from armature.kernels.checks import as_real, check_kind, checked_count, checked_list
from armature.kernels.streams import key_of
from armature.policies import Policy
from armature.policies.policy import checked_policy
from armature.rounds.stopping import checked_delta
from armature.structures import Concave, Monotone, Segments, Structure, Unconstrained, Unimodal
from armature.structures.declared import check_is_structure

HORIZON = 10_000
DRAWS = 40
OF_DRAW = 500  # bytes that a problem takes beside its means
MOST_DENSE = 50  # arms, up to which a dense convex program is quick


def assess(
    log: Any,
    structure: Structure,
    family: Family | None = None,
    *,
    arms: Sequence[Hashable] | None = None,
    columns: Columns | dict[str, str] | None = None,
    candidates: Sequence[Structure] | None = None,
    policies: Sequence[Policy] | None = None,
    horizon: int = HORIZON,
    traffic: float | None = None,
    unit: str = "units of reward",
    spread: Spread = "common",
    delta: float = 0.05,
    margin: float | str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    workers: int | None = None,
    title: str = "Assessment",
    progress: Progress | None = None,
) -> Assessment | SegmentedAssessment:
    """Assess a structure and policies on a log, before you deploy.

    The result has: the mean of each arm, with an interval; the evidence against the structure, and
    which deviations the log could not have shown; what the structure saves; the regret of policies
    on problems that could have given this log; how many rewards it takes to know the best arm; and
    whether rewards changed during the log (everything else assumes that they did not).

    >>> from armature.families import Bernoulli
    >>> log = {"counts": [400] * 5, "sums": [30, 52, 80, 60, 31]}
    >>> found = assess(log, Unimodal(5), Bernoulli(), policies=[])
    >>> found.chosen.refuted, found.certainty.verdict.arm, found.certainty.verdict.sure
    (False, 2, False)
    >>> round(found.chosen.worth.unconstrained / found.chosen.worth.value, 1)
    1.4

    Parameters
    ----------
    log
        The path of a CSV or Parquet file; a data frame; pairs of arm and reward; or sums, as
        `{"counts": ..., "sums": ..., "squares": ...}`, a number for each arm. It does not matter
        how the arms were chosen.
    structure
        What you assume about the means. With a table of `Segments`, the log has a column of
        segments, and the answer is a `SegmentedAssessment`: `candidates` and `policies` are not
        asked for then, but with `policies=[]` nothing is simulated.
    family
        The distribution of rewards; by default Gaussian, with sigma estimated from the log.
    arms
        The names of the arms in the order of the structure. Needed if they are not numbers and
        their order matters.
    columns
        The names of the columns: `Columns(arm="price", reward="margin")`, or a dict.
    candidates
        Structures to compare with; by default `Unconstrained` and, if the arms are in order, other
        structures of ordered arms.
    policies
        Policies to simulate; [] simulates none. By default Challenger with and without a guard,
        ProjectedThompson, and KLUCB, which ignores the structure.
    horizon, traffic
        The number of rounds that you plan, and the rounds per day.
    unit
        The unit of rewards, for the report.
    spread : {"common", "each"}
        If sigma is estimated: one for all arms, or one for each arm.
    delta
        The probability of error of the intervals and of the verdict on the best arm. A structure
        is refuted at the smaller of this and 0.01.
    margin
        By how much another arm may be better than the one that you take: a number, or a share of
        its mean, such as "1%". Then the report says whether the leader is good enough.
    draws, seed, workers
        How many problems are simulated, the seed of all random numbers, the number of threads.
    title, progress
        The title of the report; a function that is called during the simulation.

    Returns
    -------
    Assessment
        `print` shows it; `save(folder)` writes a page and the data.

    References: Clopper and Pearson (1934), "The Use of Confidence or Fiducial Limits Illustrated in
    the Case of the Binomial"; Garwood (1936), "Fiducial Limits for the Poisson Distribution"; Ville
    (1939), "Étude critique de la notion de collectif".

    Limits: The stated power is a bound for convex structures and Gaussian rewards; elsewhere it is
    measured. With an estimated sigma the evidence is not proved. Simulated policies start without
    the log.
    """
    family = Gaussian(sigma=None) if family is None else family
    check_is_structure(structure)
    check_kind(family, Family, "family", "Gaussian()")
    delta, horizon = checked_delta(delta), checked_count(horizon, "horizon")
    traffic = _checked_traffic(traffic)
    draws = checked_count(draws, "draws")
    check_memory(draws, "draws", OF_DRAW + 8 * structure.n_arms)
    key_of(seed)
    for name, text in (("unit", unit), ("title", title)):
        if not isinstance(text, str):
            raise ArmatureError(f"{name} must be a text; got {text!r}.")
    if candidates is not None:
        candidates = checked_list(
            candidates, "candidates", "a list such as [Unimodal(5), Monotone(5)]"
        )
        for one in candidates:
            check_kind(one, Structure, "structure", "Unimodal(5)")
    if policies is not None:
        policies = checked_list(policies, "policies", "a list such as [UCB(), SPk()]")
    if isinstance(structure, Segments):
        return assess_segments(
            log, structure, family, arms, checked_columns(columns), title, horizon, traffic, unit,
            delta, 0 if policies == [] else draws, int(seed),
        )  # fmt: skip
    found = read_log(log, structure, family, columns=checked_columns(columns), arms=arms)
    known = informed(found, family, spread)
    simulated = functools.partial(
        try_policies, found, structure, known, horizon=horizon, draws=draws, seed=int(seed),
        workers=workers, progress=progress,
    )  # fmt: skip
    chosen, others = _judged(found, structure, known, candidates, horizon, delta)
    return Assessment(
        title=title,
        log=found,
        informed=known,
        arms=estimate_arms(found, structure, known, delta),
        chosen=chosen,
        candidates=tuple(ranked([chosen, *others])),
        trials=_trials(chosen, known, policies, horizon, simulated),
        certainty=_certainty(found, chosen, known, delta, margin),
        drift=find_drift(found, min(delta, DELTA_OF_EVIDENCE)),
        delta=delta,
        horizon=horizon,
        traffic=traffic,
        unit=unit,
    )


def _checked_traffic(traffic: float | None) -> float | None:
    if traffic is None:
        return None
    if not 0.0 < as_real(traffic) < math.inf:
        raise ArmatureError(f"traffic must be a positive number of rounds a day; got {traffic!r}.")
    return as_real(traffic)


def checked_columns(columns: Columns | dict[str, str] | None) -> Columns:
    """The names of the columns, from a dict or as they are."""
    if columns is None or isinstance(columns, Columns):
        return columns or Columns()
    if not isinstance(columns, dict):
        raise ArmatureError(f"columns must be a dict of names; got {short(columns)}.")
    names = vars(Columns())
    strange = next((key for key in columns if key not in names), None)
    if strange is not None:
        raise ArmatureError(f"columns has no entry {strange!r}: it can have {', '.join(names)}.")
    wrong = next((key for key, name in columns.items() if not isinstance(name, str)), None)
    if wrong is not None:
        raise ArmatureError(f"columns[{wrong!r}] must be the name of a column.")
    return Columns(**columns)


def _judged(
    log: Log,
    structure: Structure,
    known: Informed,
    candidates: Sequence[Structure] | None,
    horizon: int,
    delta: float,
) -> tuple[Candidate, list[Candidate]]:
    """The structure on the log, and the others."""
    level = min(delta, DELTA_OF_EVIDENCE)
    chosen = judge(log, structure, known, horizon, level, with_power=True)
    others = usual_candidates(structure, known) if candidates is None else candidates
    for other in others:
        check_kind(other, Structure, "structure", "Unimodal(5)")
        if other.n_arms != structure.n_arms:
            raise ArmatureError(
                f"the candidate {type(other).__name__} has {other.n_arms} arms, where "
                f"{type(structure).__name__} has {structure.n_arms}."
            )
    others = [other for other in others if other != structure]
    return chosen, [judge(log, other, known, horizon, level) for other in others]


def usual_candidates(structure: Structure, known: Informed) -> list[Structure]:
    """The structures to compare with: no structure, and others for ordered arms."""
    n = structure.n_arms
    ideas: list[Structure] = [Unconstrained(n)]
    if structure.arms_in_order:
        ideas += [Unimodal(n), Monotone(n)]
        ideas += [Concave(n)] if n <= MOST_DENSE else []
    others = [idea for idea in ideas if type(idea) is not type(structure)]
    return [idea for idea in others if _goes_with(idea, known.family)]


def _goes_with(structure: Structure, family: Family) -> bool:
    try:
        structure.checked_family(family)
    except ArmatureError:
        return False
    return True


def _certainty(
    log: Log, chosen: Candidate, known: Informed, delta: float, margin: float | str | None
) -> Certainty:
    """The certainty about the best arm: with the structure, unless it is refuted."""
    if chosen.refuted or not np.isfinite(chosen.fitted).all():
        nothing = chosen.structure.forgotten()
        return how_sure(log, nothing, known, seen_means(log, known), delta, margin)
    return how_sure(log, chosen.structure, known, chosen.fitted, delta, margin)


def _trials(
    chosen: Candidate,
    known: Informed,
    policies: Sequence[Policy] | None,
    horizon: int,
    simulated: Callable[..., Trial],
) -> tuple[Trial, ...]:
    """Policies where the structure is true, unless it is refuted, and where the log is right."""
    structure = chosen.structure
    given = sensible_policies(structure, known) if policies is None else policies
    tried = [checked_policy(policy, horizon) for policy in given]
    for policy in tried:
        policy.check(structure, known.simulated)
    truths = [False] if chosen.assumes_nothing or chosen.refuted else [True, False]
    return tuple(simulated(tried, projected=truth) for truth in truths) if tried else ()
