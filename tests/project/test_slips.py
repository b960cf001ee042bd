"""Natural slips get a sentence: every argument of everything that users construct."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.rounds.play import PolicyRuns
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES
from armature.testing import check_family, check_policy, check_structure
from armature.words import Arm, Sentence

WRONG = (
    None, "x", "", b"1", math.nan, math.inf, -1, -1.0, 0, 2.5, 1e300, 1e-300, 10**400, True,
    1j, [], {}, (), [[]], ["x"], [None], [1, [2]], [10**400], object(), am.UCB,
    am.Unimodal(3), print,
)  # fmt: skip
NUMBERS = (None, math.nan, math.inf, -math.inf, -1, -1.0, "1", "x", 1e300, 10**400, True, 1j, [1.0],
           np.array([1.0]), object())  # fmt: skip
UNIMODAL = am.Instance(am.Unimodal(3), [0.1, 0.9, 0.5])


def refused(call: Any, *arguments: Any, **named: Any) -> str:
    """The sentence; any other error, or none, is a failure of the test."""
    with pytest.raises(am.ArmatureError) as caught:
        call(*arguments, **named)
    sentence = str(caught.value)
    assert sentence.endswith((".", "?"))
    return sentence


@pytest.mark.parametrize(
    "cls",
    [*FAMILIES.values(), *STRUCTURES.values(), *POLICIES.values()],
    ids=lambda cls: cls.__name__,
)
def test_every_argument_of_everything(cls: type) -> None:
    """A wrong argument is refused with a sentence, or was not wrong."""
    for example in cls.examples():
        names = list(inspect.signature(cls).parameters)
        arguments = {name: getattr(example, name) for name in names}
        for name in names:
            for wrong in WRONG:
                with contextlib.suppress(am.ArmatureError):
                    cls(**{**arguments, name: wrong})


OPTIONS = [
    pytest.param(cls, field, id=f"{cls.__name__}.{field.name}")
    for cls in POLICIES.values()
    for field in dataclasses.fields(cls)
]


@pytest.mark.parametrize(("cls", "field"), OPTIONS)
def test_every_option_of_a_policy(cls: type[am.Policy], field: dataclasses.Field) -> None:
    """The numbers that no option can be; the sentence names the option."""
    wrong = [value for value in NUMBERS if not (value is None and field.default is None)]
    if isinstance(field.default, bool):
        wrong.remove(True)
    if field.name == "half_life":
        wrong.remove(math.inf)  # what never fades
    for value in wrong:
        assert refused(cls, **{field.name: value}).startswith(f"{field.name} must be")


@pytest.mark.parametrize("policy", [am.OSSB, am.CATSE, am.EndOfOptimism])
def test_horizons(policy: type[am.Policy]) -> None:
    for horizon in (-1, 0, 1.5, "100", 10**400):
        sentence = refused(policy, horizon=horizon)
        assert sentence.startswith("horizon must be a whole number, at least 1")
        assert "horizon must be" in refused(
            am.Bandit, am.UCB(), am.Unimodal(3), horizon=horizon
        )  # whether or not the policy needs it
    assert policy(horizon=100).name != policy(horizon=1000).name
    assert policy().with_horizon(100).name == policy.__name__
    assert policy(horizon=50).with_horizon(100) == policy(horizon=50)


def test_two_horizons_are_two_policies() -> None:
    policies = [am.OSSB(), am.OSSB(horizon=100), am.OSSB(horizon=1000)]
    results = am.simulate(UNIMODAL, policies, horizon=20, repetitions=1)
    assert results.names == ("OSSB", "OSSB(horizon=100)", "OSSB(horizon=1000)")
    for twice in ([am.OSSB(), am.OSSB()], [am.OSSB(), am.OSSB(horizon=20)]):
        assert "OSSB is there twice" in refused(am.simulate, UNIMODAL, twice, 20, 1)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((None, [1, 2]), "structure must be a structure such as Unimodal"),
        ((am.Unimodal, [1, 2]), r"That is a class: make one, as in Unimodal\(...\)"),
        (("unimodal", [1, 2]), "structure must be a structure"),
        (([1, 2], am.Unimodal(2)), "structure must be a structure"),
        ((am.Unimodal(2), None), r"means = nan|means must be"),
        ((am.Unimodal(2), "12"), "means must be 2 numbers"),
        ((am.Unimodal(2), [1, 10**400]), "means must be numbers"),
        ((am.Unimodal(2), [1, 1e31]), r"means\[1\] = 1e\+31 is beyond what is supported"),
        ((am.Unimodal(2), [1, 2], "gaussian"), "family must be a reward family such as Gaussian"),
        ((am.Unimodal(2), [1, 2], am.Gaussian), r"as in Gaussian\(...\)"),
        ((am.Unimodal(2), [1, 1e-31], am.Exponential()), "too small: it must be at least 1e-30"),
    ],
)
def test_instances(arguments: tuple, complaint: str) -> None:
    with pytest.raises(am.ArmatureError, match=complaint):
        am.Instance(*arguments)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"policy": None}, "policy must be a policy such as SPk"),
        ({"policy": "UCB"}, "policy must be a policy"),
        ({"policy": am.UCB}, r"as in UCB\(...\)"),
        ({"policy": am.Unimodal(3)}, "policy must be a policy"),
        ({"structure": None}, "structure must be a structure"),
        ({"structure": 3}, "structure must be a structure"),
        ({"structure": am.Unimodal}, r"as in Unimodal\(...\)"),
        ({"family": "gaussian"}, "family must be a reward family"),
        ({"family": 1.0}, "family must be a reward family"),
        ({"family": am.Bernoulli}, r"as in Bernoulli\(...\)"),
        ({"seed": None}, "seed must be an integer"),
        ({"seed": -1}, "seed must be an integer"),
        ({"seed": 1.5}, "seed must be an integer"),
        ({"seed": 2**64}, "seed must be an integer"),
        ({"labels": 3}, "labels must be a list with one for each arm; got 3"),
        ({"labels": {"a", "b", "c"}}, "labels must be a list"),
        ({"labels": ["a", "b"]}, "2 labels for 3 arms"),
        ({"labels": ["a", ["b"], "c"]}, r"labels\[1\] = \['b'\] can't be a label: use strings"),
        ({"labels": ["a", {}, "c"]}, r"labels\[1\] = {} can't be a label"),
        ({"labels": ["a", (1, [2]), "c"]}, r"labels\[1\] = \(1, \[2\]\) can't be a label"),
        ({"labels": ["a", math.nan, "c"]}, r"labels\[1\] = nan can't be a label"),
        ({"labels": [1, True, 2]}, "True is there twice"),
        ({"horizon": "long"}, "horizon must be a whole number"),
    ],
)
def test_bandits(changes: dict, complaint: str) -> None:
    arguments = {"policy": am.IMED(), "structure": am.Unimodal(3), **changes}
    with pytest.raises(am.ArmatureError, match=complaint):
        am.Bandit(**arguments)


@pytest.mark.parametrize("labels", [None, [("a",), ("b", 1), ("c",)]])
def test_whatever_is_told_is_taken_in_or_refused(labels: list | None) -> None:
    bandit = am.Bandit(am.UCB(), am.Unimodal(3), labels=labels)
    good = 0 if labels is None else labels[0]
    before = bandit.to_json()
    wrong_rewards = (None, "1", "x", b"1", math.nan, -math.inf, 1e31, -1e300, 10**400, 1j, [1.0],
                     [], np.array([1.0]), object(), {})  # fmt: skip
    for reward in wrong_rewards:
        refused(bandit.tell, good, reward)
    for arm in (None, "z", -1, 3, 0.0, True, [], {}, (), (1, [2]), ([1],), object(), 10**400):
        refused(bandit.tell, arm, 1.0)
    for arms, rewards in (
        ([good], 1.0), ([good, good], [1.0]), ([good], "1"), ([good], [[1.0]]), ([good], None),
        ([good, good], [1.0, [2.0]]), ([[good]], [1.0]), ((good, good), (1.0, math.nan)),
        (np.array([[0]]), [1.0]),
    ):  # fmt: skip
        refused(bandit.tell, arms, rewards)
    for n in (-1, 1.5, "2", True, [1]):
        refused(bandit.ask, n)
    assert bandit.to_json() == before
    bandit.tell([good, good], np.array([1.0, np.float32(2.0)]))
    bandit.tell(good, True)


def test_simulations() -> None:
    policies = [am.UCB()]
    for arguments, complaint in (
        ((None, policies, 10), "instance must be a"),
        ((am.Unimodal(3), policies, 10), "instance must be a"),
        ((UNIMODAL, None, 10), "policies must be a list"),
        ((UNIMODAL, "ucb", 10), "policies must be a list"),
        ((UNIMODAL, ["ucb"], 10), "policy must be a policy"),
        ((UNIMODAL, [am.UCB], 10), r"as in UCB(...)"),
        ((UNIMODAL, policies, "10"), "horizon must be a whole number"),
        ((UNIMODAL, policies, 10**400), "horizon must be a whole number"),
        ((UNIMODAL, policies, 10, 1.5), "repetitions must be a whole number"),
        ((UNIMODAL, policies, 10, 1, "a"), "seed must be an integer"),
        ((UNIMODAL, policies, 10, 1, 0, "2"), "workers must be a whole number"),
        ((UNIMODAL, policies, 10, 1, 0, -3), "workers must be a whole number"),
    ):
        assert complaint in refused(am.simulate, *arguments)
    for call in (am.simulate, am.identify):
        named = {"horizon": 10} if call is am.simulate else {"delta": 0.1}
        wrong = refused(call, UNIMODAL, policies, **named, progress="yes")
        assert wrong == "progress must be a function; got 'yes'."


def test_results() -> None:
    runs = {name: PolicyRuns.empty(2, 1, 3) for name in ("UCB", "IMED")}
    results = am.Results(UNIMODAL, (am.UCB(), am.IMED()), 10, 0, np.array([10]), runs)
    for level in (95, 0, 1, -0.5, math.nan, "0.95", None):
        assert "level must be a number between 0 and 1" in refused(
            results.paired, "UCB", "IMED", level
        )
    for name in (None, "ubc", 3, am.SPk(), [1]):
        assert "is unknown" in refused(results.regret, name)
        assert "is unknown" in refused(results.paired, name, "UCB")
    assert results.paired(am.UCB(), am.IMED()).wins == 0.5


def test_a_missing_or_foreign_file(tmp_path) -> None:
    assert "there is no file" in refused(am.Bandit.load, tmp_path / "nothing.json")
    (tmp_path / "picture").write_bytes(b"\xff\xfe\x00")
    assert "is not a text file" in refused(am.Bandit.load, tmp_path / "picture")
    for text in ("", "[]", "null", "3", '{"format": 3}', "[" * 100_000, None):
        assert "not a saved bandit" in refused(am.Bandit.from_json, text)


@pytest.mark.parametrize("ask", [am.lower_bound, am.characteristic_time, am.solve_game])
@pytest.mark.parametrize("wrong", [am.Unimodal(3), am.Instance, [0.1, 0.9, 0.5], None], ids=str)
def test_what_asks_for_an_instance(ask: Any, wrong: Any) -> None:
    sentence = refused(ask, wrong)
    assert sentence.startswith("instance must be an Instance such as Instance(Unimodal(3), [0.1")
    assert ("That is a class" in sentence) == (wrong is am.Instance)


def test_the_article_of_an_instance() -> None:
    for ask in (am.simulate, am.identify):
        assert "must be an Instance such as" in refused(ask, am.Unimodal(3), [am.UCB()], 10)


@pytest.mark.parametrize("given", [[1, 2, 3], [[1], [2, 3]], {"a": [1]}, {1, 2}], ids=str)
def test_structures_that_keep_what_they_are_given(given: Any) -> None:
    """A constructor may store a list: equal lists make equal structures, which can be hashed."""
    one, same, other = Kept(given), Kept(type(given)(given)), Kept("x")
    assert one == same
    assert hash(one) == hash(same)
    assert one != other


class Kept(am.Structure):
    """Nothing is known of three arms but what somebody said."""

    def __init__(self, said: Any) -> None:
        self.n_arms, self.said = 3, said

    def pieces(self):
        yield am.Piece(np.empty((0, 3)), [])


class Declares(am.Structure):
    """A structure whose author has made a mistake."""

    def __init__(self, n_arms: Any, found: Any) -> None:
        self.n_arms, self.found = n_arms, found

    def pieces(self) -> Any:
        return self.found


class Answers(am.Structure):
    n_arms = 3

    def project(self, means, weights, family):
        return None

    def alt_min(self, means, weights, best, challenger, family):
        return None


class Countless(am.Structure):
    def pieces(self):
        return [am.Piece(np.eye(3), np.zeros(3))]


@pytest.mark.parametrize(
    ("structure", "complaint"),
    [
        (Declares(3, 3), "Declares.pieces() must yield am.Piece(A, b, C, d); got 3."),
        (Declares(3, "x"), "Declares.pieces() must yield am.Piece(A, b, C, d); got 'x'."),
        (Declares(3, [None]), "Declares.pieces() must yield am.Piece(A, b, C, d); got None."),
        (Declares(3, [am.Piece(np.eye(2), np.zeros(2))]), "is for 2 arms, and its n_arms is 3"),
        (Declares("3", []), "n_arms must be a whole number; got '3'."),
        (Answers(), "Answers: project must return am.Fit(means, cost); got None."),
        (Countless(), "Countless needs n_arms, the number of its arms."),
    ],
)
def test_structures_with_a_mistake(structure: am.Structure, complaint: str) -> None:
    def play() -> None:
        bandit = am.Bandit(am.Challenger(), structure)
        bandit.tell([0, 1, 2], [0.0, 1.0, 2.0])
        bandit.ask()

    assert complaint in refused(play)


def test_suites_and_kernels_take_one_thing() -> None:
    for wrong in ("unimodal", am.Unimodal, None, am.UCB()):
        assert "structure must be a structure" in refused(check_structure, wrong)
    for wrong in ("gaussian", am.Gaussian, None, 3):
        assert "family must be a reward family" in refused(check_family, wrong)
        assert "family must be a reward family" in refused(
            check_structure, am.Unimodal(3), [wrong], problems=1
        )
    for wrong in ("ucb", am.UCB, None):
        assert "policy must be a policy" in refused(
            check_policy, wrong, am.Unimodal(3), am.Gaussian()
        )
    for wrong in (3, "x", None, am.UCB):
        assert "kernel is for a function" in refused(am.kernel, wrong)


def test_clients() -> None:
    from armature.client import AsyncClient, Client

    for make in (Client, AsyncClient):
        assert refused(make, 3) == "url must be a text; got 3."
        assert refused(make, "http://x", 3) == "key must be a text; got 3."
        for timeout in ("x", 0, None, -1.0, math.nan):
            assert "timeout must be a positive number" in refused(make, "http://x", timeout=timeout)
    with Client("http://127.0.0.1:9", retries=0) as client:
        assert refused(client.decide, 3) == "name must be a text; got 3."
        assert refused(client.reward, None, 1.0) == "id must be a text; got None."


def test_suites_take_what_keeps_a_list() -> None:
    check_structure(Kept([1, 2]), problems=2)
    check_family(Listed(said=[1.0, 2.0]))
    check_family(am.Gaussian([1.0, 2.0]))  # of two arms


@dataclasses.dataclass(frozen=True)
class Listed(am.Gaussian):
    said: Any = ()


class Foresees(am.PythonPolicy):
    """Has an arm in its words that is none."""

    def choose(self, state, problem, history, rng):
        return 0

    def explain(self, belief):
        said = {"one": Arm(1), "leader": Arm(belief.leader)}
        return Sentence("Not arm 99, and not {one}: {leader} it is.", **said)


def test_words_of_a_policy_are_left_alone() -> None:
    bandit = am.Bandit(Foresees(), am.Unimodal(3), labels=["a", "b", "c"])
    bandit.tell(["a", "b", "c"], [0.0, 1.0, 2.0])
    assert bandit.explain().summary == "Not arm 99, and not b: c it is."


def test_guarded_words_have_labels() -> None:
    bandit = am.Bandit(am.Guarded(), am.Unimodal(3), labels=["a", "b", "c"])
    bandit.tell(["a", "b", "c"] * 40, [0.9, 0.0, 1.0] * 40)
    assert "c has the best mean" in bandit.explain().summary


class Halfway(am.Structure):
    """Nothing is known, in plain Python; `StructuredUCB` asks for more than it has."""

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def project(self, means, weights, family):
        return am.Unconstrained(self.n_arms).project(means, weights, family)

    def alt_min(self, means, weights, best, challenger, family):
        return am.Unconstrained(self.n_arms).alt_min(means, weights, best, challenger, family)


class AllTheWay(Halfway):
    def highest(self, low, high):
        return np.asarray(high)


def test_what_structured_ucb_asks_of_plain_python() -> None:
    sentence = refused(am.Bandit, am.StructuredUCB(), Halfway(3))
    assert sentence.startswith("Halfway does not say how high its means can be")
    assert "highest(low, high)" in sentence
    assert refused(Halfway(3).highest, [0.0] * 3, [1.0] * 3) == sentence
    bandit = am.Bandit(am.StructuredUCB(), AllTheWay(3))
    bandit.tell([0, 1, 2], [0.0, 5.0, 1.0])
    assert bandit.ask() == 1
