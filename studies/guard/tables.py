"""What the study found: premium and cover, as tables in Markdown, a CSV file and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from armature import Guarded, Results
from armature.experiments.markdown import markdown_table
from armature.files import write_text
from studies.guard.cases import Case
from studies.guard.picture import plot_cover

ALONE, REFERENCE, AFTER = "Challenger", "KLUCB", "IMED"
USUAL = Guarded().name


@dataclass(frozen=True, eq=False)
class Study:
    """All results of a study."""

    wrong: list[tuple[Case, Results]]
    panels: list[tuple[Case, Results]]
    groups: list[tuple[Case, Results]]


def mean_regret(results: Results, policy: str) -> float:
    """The mean of the final regret."""
    return float(results.regret(policy)[:, -1].mean())


def geometric(values: Sequence[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def cover(study: Study, policy: str) -> list[float]:
    """Its regret over KLUCB's on every problem whose structure is wrong."""
    return [mean_regret(r, policy) / mean_regret(r, REFERENCE) for _, r in study.wrong]


def premiums(study: Study, policy: str) -> dict[str, float]:
    """Its regret over Challenger's, for each panel and group whose structure is true."""
    ratios: dict[str, list[float]] = {}
    for case, r in (*study.panels, *study.groups):
        ratios.setdefault(case.group, []).append(mean_regret(r, policy) / mean_regret(r, ALONE))
    return {group: geometric(values) for group, values in ratios.items()}


def dial_table(study: Study, guarded: Sequence[Guarded]) -> str:
    """A row for each setting: what it costs where the structure is true, what it covers if not."""
    rows = []
    for policy in (ALONE, *(g.name for g in guarded), AFTER):
        ratios = cover(study, policy)
        cells = [f"{geometric(ratios):.2f}", f"{max(ratios):.2f}"]
        cells += [f"{sum(ratio > 2.5 for ratio in ratios)} of {len(ratios)}"]
        if policy == AFTER:
            cells += ["", ""]
        else:
            paid = premiums(study, policy)
            worst = max(paid, key=lambda group: paid[group])
            cells += [f"{geometric(list(paid.values())) - 1.0:+.0%}"]
            cells += ["" if policy == ALONE else f"{paid[worst] - 1.0:+.0%} ({worst})"]
        rows.append([f"`{policy}`", *cells])
    titles = ["policy", "wrong: over KLUCB's", "largest", "above 2.5", "true: premium", "largest"]
    return markdown_table(titles, rows)


def wrong_table(study: Study, guarded: Sequence[Guarded]) -> str:
    """Every problem whose structure is wrong: regret over KLUCB's, and the tail."""
    names = [ALONE, *(g.name for g in guarded)]
    rows = []
    for case, r in study.wrong:
        tail = np.quantile(r.regret(USUAL)[:, -1], 0.95)
        cells = [f"{mean_regret(r, n) / mean_regret(r, REFERENCE):.2f}" for n in names]
        rows.append(
            [case.name, case.group, f"{mean_regret(r, REFERENCE):.0f}", *cells, f"{tail:.0f}"]
        )
    titles = ["problem", "mistake", "KLUCB", *(f"`{n}`" for n in names), "95 % of the usual guard"]
    return markdown_table(titles, rows)


def true_table(study: Study, guarded: Sequence[Guarded]) -> str:
    """Every panel and group whose structure is true: regret over Challenger's."""
    every = {g.name: premiums(study, g.name) for g in guarded}
    rows = [
        [group, *(f"{every[g.name][group]:.2f}" for g in guarded)]
        for group in next(iter(every.values()))
    ]
    return markdown_table(["problem", *(f"`{g.name}`" for g in guarded)], rows)


def aims_table(study: Study) -> str:
    """Each aim, and what was measured."""
    ratios, paid = cover(study, USUAL), premiums(study, USUAL)
    worst = study.wrong[int(np.argmax(ratios))][0].name
    rows = [
        ["wrong structures: geometric mean over KLUCB's, at most 1.2", f"{geometric(ratios):.2f}"],
        ["wrong structures: nowhere above 2.5", f"{max(ratios):.2f} ({worst})"],
        [
            "true structures: premium of at most 15 %, geometric mean of panels and groups",
            f"{geometric(list(paid.values())) - 1.0:+.1%}",
        ],
    ]
    return markdown_table(["aim", "measured"], rows)


def write_tables(study: Study, guarded: Sequence[Guarded], out: Path) -> None:
    """tables.md with all tables, cases.csv with all numbers, and the picture."""
    sections = {
        "aims": aims_table(study),
        "dial": dial_table(study, guarded),
        "wrong": wrong_table(study, guarded),
        "true": true_table(study, guarded),
    }
    text = "\n".join(
        f"<!-- {name} -->\n\n{table}\n<!-- end -->\n" for name, table in sections.items()
    )
    write_text(out / "tables.md", text)
    rows = [
        {
            "part": part,
            "case": case.name,
            "group": case.group,
            "policy": policy,
            "mean": mean_regret(r, policy),
            "q95": float(np.quantile(r.regret(policy)[:, -1], 0.95)),
            "repetitions": r.repetitions,
        }
        for part in ("wrong", "panels", "groups")
        for case, r in getattr(study, part)
        for policy in r.names
    ]
    frame = pd.DataFrame(rows)
    write_text(out / "cases.csv", frame.to_csv(index=False, lineterminator="\n"))
    plot_cover(frame, ALONE, USUAL, REFERENCE, out / "cover.png")
