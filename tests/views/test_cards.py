"""What a REPL and a notebook show: short, ranked, and drawn."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.testing import discover
from armature.views.pages import html_of
from armature.words import Card

LONG = 1500  # characters


def objects(n_arms: int) -> dict[str, Any]:
    """Each kind of object that has a card, with so many arms."""
    means = -np.abs(np.linspace(-1.0, 1.5, n_arms))
    structure = am.Unimodal(n_arms)
    instance = am.Instance(structure, means)
    labels = [f"<b>an option with a long name, {k}</b>" for k in range(n_arms)]
    bandit = am.Bandit(am.Challenger(), structure, labels=labels)
    bandit.tell(labels, means.tolist())
    log = {"counts": [50] * n_arms, "sums": (50 * means).tolist()}
    found = {
        "instance": instance,
        "bound": am.lower_bound(instance),
        "time": am.characteristic_time(instance),
        "bandit": bandit,
        "explanation": bandit.explain(),
        "verdict": bandit.verdict(),
        "evidence": bandit.evidence(),
        "results": am.simulate(instance, [am.UCB(), am.Challenger()], 100, repetitions=2),
        "identification": am.identify(
            instance, [am.UniformSampling()], 0.1, repetitions=1, max_rounds=100
        ),
    }
    if n_arms < 10:
        found["assessment"] = am.assess(log, structure, am.Gaussian())
        rows = [(k, float(means[k])) for k in range(n_arms)] * 20
        found["evaluation"] = am.evaluate(rows, 0, uniform=True)
        found["replay"] = am.replay(rows, [am.UCB()], structure, repetitions=1)
    return found


@pytest.fixture(scope="module", params=[4, 60])
def shown(request: pytest.FixtureRequest) -> dict[str, Any]:
    return objects(request.param)


def test_a_repr_is_short(shown: dict[str, Any]) -> None:
    for name, value in shown.items():
        text = repr(value)
        assert 0 < len(text) < LONG, name
        assert "array(" not in text, name
        assert "functools.partial" not in text, name
        assert max(map(len, text.split("\n"))) <= 403, name


def test_a_card_is_well_formed_html(shown: dict[str, Any]) -> None:
    """Labels are escaped, the style stays inside, and there is a picture where there are arms."""
    bare = ("identification", "evaluation", "replay")
    for name, value in shown.items():
        html = value._repr_html_()
        style = html[html.index("<style>") : html.index("</style>")]
        ET.fromstring(html.replace(style, "<style>"))
        assert "<b>an option" not in html, name
        assert style.count("{") == style.count("}") > 10
        assert re.match(r"<style>\.armature-card \{", style)
        assert ("<svg" in html or "<img" in html) == (name not in bare), name


def test_a_thousand_arms_are_shown_as_few() -> None:
    labels = [f"the option with the number {k}" for k in range(1000)]
    bandit = am.Bandit(am.UCB(), am.Monotone(1000), labels=labels)
    bandit.tell(labels, np.linspace(0.0, 1.0, 1000).tolist())
    for value in (bandit, bandit.explain(), bandit.structure, bandit.verdict(), bandit.evidence()):
        assert 0 < len(repr(value)) < LONG
    html = bandit._repr_html_()
    assert " hide-m" in html  # names for which there is no room at a card's width
    assert "& .hide-m { display: none; }" in html
    rows = bandit.card().shown
    assert len({row[0] for row in rows}) == len(rows)  # cut labels are told apart
    assert "999" in rows[0][0]


def test_arms_are_ranked_by_their_means() -> None:
    instance = am.Instance(am.Unconstrained(3), [0.2, 0.9, 0.5])
    assert [row[0] for row in instance.card().rows] == ["1", "2", "0"]
    costs = am.Bandit(am.UCB(), am.Unconstrained(3), goal="min")
    costs.tell([0, 1], [0.9, 0.1])
    assert [row[0] for row in costs.card().rows] == ["1", "0", "2"]


def test_many_rows_are_counted() -> None:
    card = Card("Many", ("arm",), tuple((str(k),) for k in range(20)))
    assert card.text().endswith("... and 12 more")
    assert "... and 12 more" in html_of(type("X", (), {"card": lambda self: card})())


@pytest.mark.parametrize("cls", discover(am.Structure, am), ids=lambda cls: cls.__name__)
def test_a_structure_shows_its_call(cls: type[am.Structure]) -> None:
    """Short, whatever its size; where it is small, Python reads it back."""
    for structure in cls.examples():
        text = repr(structure)
        assert len(text) < LONG
        assert "array(" not in text
        if "<" not in text:
            again = eval(text, {**{name: getattr(am, name) for name in am.__all__}, "inf": np.inf})
            assert repr(again) == text
            assert type(again) is type(structure)


def test_large_structures_are_named_by_their_sizes() -> None:
    assert repr(am.Linear(np.arange(1e4).reshape(500, 20))) == "Linear(features=<500 x 20 values>)"
    assert repr(am.Unimodal(4) & am.Monotone(4)) == "Unimodal(n_arms=4) & Monotone(n_arms=4)"


def test_dir_lists_public_names_and_no_module() -> None:
    assert dir(am) == sorted(am.__all__)
