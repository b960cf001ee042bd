"""Forms: reading one that a browser sends, and the spec that a new experiment's form describes.

A form is taken only from the page itself: browsers say where a form comes from, and a form without
that is refused.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from fastapi import Request

from armature.errors import ArmatureError
from armature.service.limits import Refused

KNOWLEDGE = {
    "unconstrained": "nothing: any arm may be the best",
    "unimodal": "one peak along the arms, as for prices",
    "monotone": "later arms are never worse",
    "concave": "diminishing returns along the arms",
    "categorised": "one category is better than all others",
}
SALE = "sale"  # Bernoulli's family, with the arms' names as what a yes is worth
REWARDS: dict[str, tuple[str, Any]] = {
    "bernoulli": ("yes or no, as 1 or 0", {"kind": "bernoulli"}),
    SALE: ("the price (the arm's label) or 0", {"kind": "bernoulli"}),
    "gaussian": ("any number, with unknown variance", {"kind": "gaussian", "sigma": None}),
    "bounded": ("a number from 0 to 1", {"kind": "bounded", "low": 0.0, "high": 1.0}),
    "poisson": ("a count", {"kind": "poisson"}),
}
UNITS = {"": 0.0, "minutes": 60.0, "hours": 3_600.0, "days": 86_400.0}


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; of a field that is there twice, the last."""
    body = await request.body()  # what is refused is read, too: the connection goes on
    check_same_site(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Refused(422, "the content type is not that of a form.")
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError:
        raise Refused(422, "the form can't be read.") from None
    return {name: values[-1] for name, values in fields.items()}


def check_same_site(request: Request) -> None:
    """Refuse a form that is not this page's own."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    else:
        own = origin is not None and origin.partition("://")[2] == request.headers.get("host")
    if not own:
        raise Refused(403, "a form is accepted only from this server's own page.")


def spec_of(fields: dict[str, str]) -> Any:
    """The spec that the fields describe; a text with a whole spec counts instead of them."""
    text = fields.get("spec", "").strip()
    if text:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ArmatureError(f"the spec is not JSON that can be read: {error}.") from None
    kind = fields.get("structure", "")
    if kind not in KNOWLEDGE or fields.get("family") not in REWARDS:
        raise ArmatureError("choose what you know about the arms, and what a reward is.")
    labels, categories = _arms(fields.get("arms", ""), kind == "categorised")
    structure: dict[str, Any] = {"kind": kind}
    if kind == "categorised":
        structure["categories"] = categories
    family = dict(REWARDS[fields["family"]][1])
    if fields["family"] == SALE:
        family["scale"] = _prices(labels)
    return {
        "structure": structure,
        "family": family,
        "labels": labels,
        "rewards": _rewards(fields),
    }


def _arms(text: str, with_categories: bool) -> tuple[list[str], list[str]]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        raise ArmatureError("an experiment needs at least two arms, one per line.")
    if not with_categories:
        return lines, []
    pairs = [line.rpartition("|") for line in lines]
    if not all(label.strip() and category.strip() for label, _, category in pairs):
        raise ArmatureError("write each arm with its category, as in: red shoe | shoes.")
    labels = [label.strip() for label, _, _ in pairs]
    return labels, [category.strip() for _, _, category in pairs]


def _prices(labels: list[str]) -> list[float]:
    try:
        return [float(label) for label in labels]
    except ValueError:
        raise ArmatureError(
            "where the reward is a price, each arm's label must be a number."
        ) from None


def _rewards(fields: dict[str, str]) -> dict[str, float | None]:
    window, unit = fields.get("window", "").strip(), fields.get("unit", "")
    default = fields.get("default", "").strip()
    try:
        seconds = float(window) * UNITS[unit] if window else None
        value = float(default) if default else None
    except (ValueError, KeyError):
        raise ArmatureError("the time to wait, and the reward after it, must be numbers.") from None
    return {"window": seconds, "default": value}
