"""Sentences: labels and numbers go in when they are shown, whatever the labels look like."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import armature as am
from armature.words import Arm, Sentence, listed, number

PACKAGE = Path(am.__file__).parent


def test_labels_are_never_read_as_templates() -> None:
    why = Sentence("{arm} leads with {pulls} pulls, before {rest}.",
                   arm=Arm(0), pulls=12345.0, rest=[Arm(1), Arm(2)])  # fmt: skip
    assert str(why) == "Arm 0 leads with 12,345 pulls, before arm 1 and arm 2."
    labels = ["{pulls}", "arm 99", r"\1 {0}"]
    assert why.shown(labels) == r"{pulls} leads with 12,345 pulls, before arm 99 and \1 {0}."


def test_sentences_add_up_and_are_data() -> None:
    both = Sentence("{a} leads.", a=Arm(3)) + Sentence("It has {n} pulls.", n=2)
    assert both.shown(["w", "x", "y", "z"]) == "z leads. It has 2 pulls."
    assert both.to_data() == [
        {"template": "{a} leads.", "a": 3},
        {"template": "It has {n} pulls.", "n": 2},
    ]


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (0.0, "", "0"),
        (-1234.5, ".1f", "-1,234.5"),
        (float("inf"), "", "inf"),
        (1e20, "", "1e+20"),
        (999.6, ".3g", "1e+03"),
        (True, "", "True"),
    ],
)
def test_numbers(value: float, spec: str, text: str) -> None:
    assert number(value, spec) == text


def test_lists() -> None:
    assert listed([]) == ""
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c, d and e"


class Confusing(am.PythonPolicy):
    """Says a number that is no arm."""

    def init(self, structure: am.Structure, family: am.Family) -> None:
        return None

    def choose(self, state: None, problem: am.Problem, history: am.History, rng: object) -> int:
        return 0

    def explain(self, belief: object) -> str:
        return "arm 99 is not there, and {leader} is no template."


def test_a_policys_own_words_are_left_as_they_are() -> None:
    bandit = am.Bandit(Confusing(), am.Unimodal(3), labels=["low", "middle", "high"])
    bandit.tell(["low", "middle", "high"], [0.1, 0.2, 0.3])
    assert bandit.explain().summary == "arm 99 is not there, and {leader} is no template."


def test_every_policy_names_its_arms_by_their_labels() -> None:
    """With labels that look like numbers of other arms, each named label is one of them."""
    labels = ["arm 7", "arm 8", "arm 9"]
    for policy in (am.Challenger(), am.Guarded(am.Challenger()), am.SPk(), am.TopTwo(), am.UCB()):
        bandit = am.Bandit(policy, am.Unimodal(3), labels=labels)
        rng = np.random.default_rng(0)
        for _ in range(20):
            arm = bandit.ask()
            bandit.tell(arm, rng.normal())
        summary = bandit.explain().summary
        assert any(label in summary for label in labels)
        assert not any(f"arm {k}" in summary for k in range(3))


def test_no_prose_is_taken_apart() -> None:
    """No `.replace` of a word and no `re.sub`, but for a style sheet and a file's name."""
    allowed = {":root", r"[^A-Za-z0-9.,=_+-]+"}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                is_sub = ast.unparse(node.func) == "re.sub"
                if is_sub or (node.func.attr == "replace" and len(node.args) == 2):
                    old = node.args[0]
                    text = str(old.value) if isinstance(old, ast.Constant) else ""
                    if is_sub or any(c.isalpha() for c in text):
                        found.add(text or f"{path.name}, line {node.lineno}")
    assert found == allowed
