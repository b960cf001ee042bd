"""What the study found: premium and cover, as tables in Markdown, a CSV file and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from armature import Guarded, Results
from armature.storage.files import write_text
from armature.views.chart import markdown_table
from studies.guard.cases import Case
from studies.guard.picture import plot_cover

ALONE, REFERENCE, AFTER = "Challenger", "KLUCB", "IMED"
USUAL = Guarded().name
MEAN_AIM, LARGEST_AIM, PREMIUM_AIM = 1.2, 2.5, 0.15
Runs = list[tuple[Case, Results]]


@dataclass(frozen=True, eq=False)
class Study:
    """All results of a study."""

    wrong: Runs
    panels: Runs
    groups: Runs
    drawn_wrong: Runs = field(default_factory=list)
    drawn_true: Runs = field(default_factory=list)
    again: Runs = field(default_factory=list)


def mean_regret(results: Results, policy: str) -> float:
    """The mean of the final regret."""
    return float(results.regret(policy)[:, -1].mean())


def geometric(values: Sequence[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def cover(runs: Runs, policy: str) -> list[float]:
    """Its regret over KLUCB's on every problem whose structure is wrong."""
    return [mean_regret(r, policy) / mean_regret(r, REFERENCE) for _, r in runs]


def premiums(runs: Runs, policy: str) -> dict[str, float]:
    """Its regret over Challenger's, for each panel and group whose structure is true."""
    ratios: dict[str, list[float]] = {}
    for case, r in runs:
        ratios.setdefault(case.group, []).append(mean_regret(r, policy) / mean_regret(r, ALONE))
    return {group: geometric(values) for group, values in ratios.items()}


def error_of(results: Results, policy: str) -> float:
    """The half width of a 95 % interval of its mean regret over KLUCB's."""
    x, y = (results.regret(name)[:, -1] for name in (policy, REFERENCE))
    rest = x - x.mean() / y.mean() * y
    return float(1.96 * rest.std(ddof=1) / (y.mean() * np.sqrt(x.size)))


def dial_table(study: Study, guarded: Sequence[Guarded]) -> str:
    """A row for each setting: what it costs where the structure is true, what it covers if not."""
    rows = []
    for policy in (ALONE, *(g.name for g in guarded), AFTER):
        ratios = cover(study.wrong, policy)
        cells = [f"{geometric(ratios):.2f}", f"{max(ratios):.2f}"]
        cells += [f"{sum(ratio > LARGEST_AIM for ratio in ratios)} of {len(ratios)}"]
        if policy == AFTER:
            cells += ["", ""]
        else:
            paid = premiums([*study.panels, *study.groups], policy)
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
    every = {g.name: premiums([*study.panels, *study.groups], g.name) for g in guarded}
    rows = [
        [group, *(f"{every[g.name][group]:.2f}" for g in guarded)]
        for group in next(iter(every.values()))
    ]
    return markdown_table(["problem", *(f"`{g.name}`" for g in guarded)], rows)


def drawn_wrong_table(runs: Runs) -> str:
    """Every drawn problem whose structure is wrong."""
    rows = []
    for case, r in runs:
        cells = [f"{mean_regret(r, n) / mean_regret(r, REFERENCE):.2f}" for n in (ALONE, AFTER)]
        ratio = (
            f"{mean_regret(r, USUAL) / mean_regret(r, REFERENCE):.2f} ± {error_of(r, USUAL):.2f}"
        )
        tail = np.quantile(r.regret(USUAL)[:, -1], 0.95)
        rows.append([case.name, f"{mean_regret(r, REFERENCE):.0f}", *cells, ratio, f"{tail:.0f}"])
    titles = ["problem", "KLUCB", f"`{ALONE}`", f"`{AFTER}`", f"`{USUAL}` (95 %)"]
    return markdown_table([*titles, "its 95 % quantile"], rows)


def drawn_true_table(runs: Runs) -> str:
    """Every drawn problem whose structure is true."""
    rows = []
    for case, r in runs:
        alone, usual = mean_regret(r, ALONE), mean_regret(r, USUAL)
        rows.append([case.name, f"{alone:.1f}", f"{usual:.1f}", f"{usual / alone:.2f}"])
    return markdown_table(["problem", f"`{ALONE}`", f"`{USUAL}`", "ratio"], rows)


def breaks_table(runs: Runs) -> str:
    """The drawn problems by how they were broken: geometric means over KLUCB's, and the largest."""
    rows = []
    for how in dict.fromkeys(case.group for case, _ in runs):
        part = [(case, r) for case, r in runs if case.group == how]
        row = [how, str(len(part))]
        for name in (ALONE, AFTER, USUAL):
            ratios = cover(part, name)
            row += [f"{geometric(ratios):.2f}, {max(ratios):.2f}"]
        rows.append(row)
    return markdown_table(
        ["broken by", "problems", *(f"`{n}`" for n in (ALONE, AFTER, USUAL))], rows
    )


def again_table(runs: Runs) -> str:
    """What came out worst, with new rewards and more runs; and how often a run is a bad one."""
    rows = []
    for case, r in runs:
        ratio = mean_regret(r, USUAL) / mean_regret(r, REFERENCE)
        error, bad = error_of(r, USUAL), r.regret(USUAL)[:, -1] > 5.0 * mean_regret(r, REFERENCE)
        where = "yes" if ratio + error <= LARGEST_AIM else "not surely"
        word = "**no**" if ratio - error > LARGEST_AIM else where
        cells = [f"{ratio:.2f} ± {error:.2f}", f"{bad.mean():.1%}", word]
        rows.append([case.name, str(r.repetitions), *cells])
    titles = ["problem", "runs", "over KLUCB's (95 %)", "runs above 5 times KLUCB's mean"]
    return markdown_table([*titles, "below 2.5"], rows)


def verdict(met: bool) -> str:
    """In a table."""
    return "met" if met else "**missed**"


def _cover_aims(wrong: Runs) -> list[str]:
    """What was measured where the structure is wrong: the mean, and the worst."""
    if not wrong:
        return ["not run"] * 2
    ratios = cover(wrong, USUAL)
    worst = int(np.argmax(ratios))
    case, results = wrong[worst]
    above = sum(ratio > LARGEST_AIM for ratio in ratios)
    return [
        f"{geometric(ratios):.2f}, {verdict(geometric(ratios) <= MEAN_AIM)}",
        f"{ratios[worst]:.2f} ± {error_of(results, USUAL):.2f} ({case.name}); {above} of "
        f"{len(ratios)} above, {verdict(above == 0)}",
    ]


def _premium_aim(true: Runs) -> str:
    """What was measured where it is true."""
    if not true:
        return "not run"
    paid = geometric(list(premiums(true, USUAL).values())) - 1.0
    return f"{paid:+.1%}, {verdict(paid <= PREMIUM_AIM)}"


def aims_table(study: Study) -> str:
    """Each aim, and what was measured: where the guard was fitted, and on what was drawn."""
    known = [*_cover_aims(study.wrong), _premium_aim([*study.panels, *study.groups])]
    drawn = [*_cover_aims(study.drawn_wrong), _premium_aim(study.drawn_true)]
    aims = [
        "wrong structures: geometric mean over KLUCB's, at most 1.2",
        "wrong structures: nowhere above 2.5",
        "true structures: premium of at most 15 %, geometric mean",
    ]
    rows = [list(row) for row in zip(aims, known, drawn, strict=True)]
    return markdown_table(["aim", "known problems", "new problems"], rows)


def write_tables(study: Study, guarded: Sequence[Guarded], out: Path) -> None:
    """tables.md with all tables, cases.csv with all numbers, and the picture."""
    sections = {"aims": aims_table(study)}
    if study.wrong:
        sections["dial"] = dial_table(study, guarded)
        sections["wrong"] = wrong_table(study, guarded)
        sections["true"] = true_table(study, guarded)
    if study.drawn_wrong:
        sections["breaks"] = breaks_table(study.drawn_wrong)
        sections["drawn-wrong"] = drawn_wrong_table(study.drawn_wrong)
    if study.drawn_true:
        sections["drawn-true"] = drawn_true_table(study.drawn_true)
    if study.again:
        sections["again"] = again_table(study.again)
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
        for part in ("wrong", "panels", "groups", "drawn_wrong", "drawn_true", "again")
        for case, r in getattr(study, part)
        for policy in r.names
    ]
    frame = pd.DataFrame(rows)
    write_text(out / "cases.csv", frame.to_csv(index=False, lineterminator="\n"))
    if study.wrong:
        known = frame[frame["part"].isin(["wrong", "panels", "groups"])]
        plot_cover(known, ALONE, USUAL, REFERENCE, out / "cover.png")
