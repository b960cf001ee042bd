"""What the study found, as tables in Markdown and CSV, and pictures."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from armature import Results
from armature.bounds import bound_or_none
from armature.storage.files import write_text
from armature.views.chart import markdown_table
from armature.views.experiment_charts import Panel, plot_panels
from studies.challenger.close import against_the_best, close_table, ratio_to_best
from studies.challenger.narrowed import NARROWED, narrowed_table
from studies.challenger.picture import plot_ratios, plot_shares
from studies.challenger.search import Failure, share_stuck
from studies.challenger.stuck import Stuck, stuck_table

MINE = "Challenger"


@dataclass(frozen=True, eq=False)
class Study:
    """All results of a study."""

    panels: dict[str, Results]
    mints: dict[str, Results]
    random: dict[str, Results]
    ablations: dict[str, Results]
    long: dict[str, Results]
    shares: dict[str, Results]
    failures: list[tuple[Failure, Results]]
    groups: dict[str, str]  # of each random case
    close: dict[str, Results] = field(default_factory=dict)
    narrowed: dict[str, Results] = field(default_factory=dict)
    stuck: list[Stuck] = field(default_factory=list)

    @property
    def of_groups(self) -> dict[str, list[Results]]:
        """The cases of each group: those with more runs, where it was in doubt."""
        first, again = (grouped(cases, self.groups) for cases in (self.random, self.close))
        return {
            group: again[group] if runs_of(again.get(group, [])) > runs_of(cases) else cases
            for group, cases in first.items()
        }


def runs_of(cases: list[Results]) -> int:
    """How many runs of a group there are."""
    return sum(results.repetitions for results in cases)


def final(results: Results, policy: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Final regrets."""
    return np.asarray(results.regret(policy)[:, -1])


def best_other(results: Results, without: Collection[str] = ()) -> str:
    """The policy with the least mean regret, but for ours and those that are left out."""
    others = [name for name in results.names if name not in (MINE, *without)]
    return min(others, key=lambda name: final(results, name).mean())


def reference(results: Results) -> str:
    """UCB, or KLUCB where the rewards are not for UCB."""
    return "UCB" if "UCB" in results.names else "KLUCB"


def grouped(cases: dict[str, Results], group_of: dict[str, str]) -> dict[str, list[Results]]:
    """The random cases of each group."""
    groups: dict[str, list[Results]] = {}
    for name, results in cases.items():
        groups.setdefault(group_of[name], []).append(results)
    return groups


def panel_table(study: Study) -> str:
    """Mean regret on the panels, a row for each policy."""
    panels = {name.rpartition("-")[0]: results for name, results in study.panels.items()}
    names = list(dict.fromkeys(n for results in panels.values() for n in results.names))
    rows = []
    for policy in names:
        cells = []
        for results in panels.values():
            if policy not in results.names:
                cells.append("")
                continue
            values = final(results, policy)
            cells.append(f"{values.mean():.1f} ± {values.std(ddof=1) / np.sqrt(values.size):.1f}")
        rows.append([policy, *cells])
    return markdown_table(["policy", *panels], rows)


def panel_differences(study: Study) -> str:
    """On each panel, against the best other policy: the paired difference and the tails."""
    rows = []
    for name, results in study.panels.items():
        rival = best_other(results)
        paired = results.paired(MINE, rival)
        mine = final(results, MINE)
        rows.append(
            [
                name.rpartition("-")[0],
                f"{mine.mean():.1f}",
                f"{rival}, {final(results, rival).mean():.1f}",
                f"{paired.difference:+.1f} ({paired.low:+.1f} to {paired.high:+.1f})",
                "yes" if paired.low <= 0.0 else "**no**",
                f"{np.median(mine):.1f}",
                f"{np.quantile(mine, 0.95):.0f}",
                f"{np.quantile(mine, 0.99):.0f}",
                f"{np.quantile(final(results, 'SPk'), 0.99):.0f}",
            ]
        )
    titles = ["panel", MINE, "best other", "difference (95 %)", "at or below", "median", "95 %"]
    return markdown_table([*titles, "99 %", "SPk's 99 %"], rows)


def others_in(cases: list[Results], without: Collection[str] = ()) -> list[str]:
    """The policies that took part in all cases of a group, but for ours and some."""
    common = set.intersection(*(set(r.names) for r in cases)) - {MINE, *without}
    return [name for name in cases[0].names if name in common]


def group_table(study: Study) -> str:
    """For each group of random instances: ratios to the best other policy and to UCB, and tails."""
    rows = []
    everything = []
    for group, cases in grouped(study.random, study.groups).items():
        found = against_the_best(cases, others_in(cases))
        to_best = [final(r, MINE).mean() / final(r, best_other(r)).mean() for r in cases]
        to_ucb = [final(r, MINE).mean() / final(r, reference(r)).mean() for r in cases]
        everything += to_best
        mine = np.concatenate([final(r, MINE) for r in cases])
        spk = np.concatenate([final(r, "SPk") for r in cases])
        rows.append(
            [
                group,
                f"{len(cases)} \N{MULTIPLICATION SIGN} {cases[0].repetitions}",
                f"{np.exp(np.mean(np.log(to_best))):.2f}",
                f"{max(to_best):.2f}",
                f"{found.rival}, {found.above:+.0%} ± {found.error:.0%}",
                "**no**" if found.clearly else "yes",
                f"{np.exp(np.mean(np.log(to_ucb))):.2f}",
                f"{max(to_ucb):.2f}",
                f"{mine.mean():.0f}",
                f"{np.median(mine):.0f}",
                f"{np.quantile(mine, 0.95):.0f}",
                f"{np.quantile(mine, 0.99):.0f}",
                f"{np.quantile(spk, 0.99):.0f}",
                f"{np.mean([share_stuck(r, MINE) for r in cases]):.1%}",
            ]
        )
    rows.append(["**all**", "", f"**{np.exp(np.mean(np.log(everything))):.2f}**", *[""] * 11])
    titles = [
        "group",
        "runs",
        "to the best other",
        "worst",
        "against the group's best",
        "at or below",
    ]
    titles += ["to UCB", "worst", "mean"]
    return markdown_table([*titles, "median", "95 %", "99 %", "SPk's 99 %", "stuck"], rows)


def rival_table(study: Study) -> str:
    """Against each policy alone: the geometric mean, over all cases, of the ratio of regrets."""
    names = [n for n in dict.fromkeys(n for r in study.random.values() for n in r.names)]
    rows = []
    for policy in names:
        if policy == MINE:
            continue
        cases = [r for r in study.random.values() if policy in r.names]
        ratios = np.array([final(r, MINE).mean() / final(r, policy).mean() for r in cases])
        better = np.mean([r.paired(MINE, policy).high < 0.0 for r in cases])
        worse = np.mean([r.paired(MINE, policy).low > 0.0 for r in cases])
        cells = [f"{np.exp(np.log(ratios).mean()):.2f}", f"{ratios.max():.2f}"]
        rows.append([policy, str(len(cases)), *cells, f"{better:.0%}", f"{worse:.0%}"])
    titles = ["other policy", "instances", "ratio", "largest", "clearly better", "clearly worse"]
    return markdown_table(titles, rows)


def growth_table(cases: dict[str, Results]) -> str:
    """Regret at each power of ten, and growth per decade over V ln 10."""
    rows = []
    for name, results in cases.items():
        bound = bound_or_none(results.instance)
        value = 0.0 if bound is None else bound.value
        marks = [10**p for p in range(3, 10) if 10**p <= results.horizon]
        at = [int(np.searchsorted(results.checkpoints, t)) for t in marks]
        for policy in results.names:
            curve = results.regret(policy).mean(axis=0)
            grown = np.diff(curve[at]) / (value * np.log(10.0)) if value > 0.0 else []
            cells = [f"{curve[i]:.1f}" for i in at]
            cells += [f"{g:.2f}" for g in grown] or ["" for _ in at[1:]]
            rows.append([name.rpartition("-")[0], policy, *cells])
    powers = [f"10^{len(str(t)) - 1}" for t in marks]
    return markdown_table(
        ["panel", "policy", *powers, *(f"growth to {p}" for p in powers[1:])], rows
    )


def ablation_table(cases: dict[str, Results]) -> str:
    """Each variant's mean regret over that of the policy as it is, by group."""
    groups = list(dict.fromkeys(name.rpartition("-")[0] for name in cases))
    variants = list(next(iter(cases.values())).names)
    rows = []
    for group in groups:
        members = [r for name, r in cases.items() if name.rpartition("-")[0] == group]
        cells = []
        for variant in variants:
            ratios = [final(r, variant).mean() / final(r, variants[0]).mean() for r in members]
            tails = [np.quantile(final(r, variant), 0.99) for r in members]
            cells.append(f"{np.exp(np.mean(np.log(ratios))):.2f} / {np.mean(tails):.0f}")
        rows.append([group, *cells])
    return markdown_table(["problem", *(f"`{v}`" for v in variants)], rows)


def failure_table(study: Study) -> str:
    """What the search ended with."""
    rows = [
        [
            f.kind,
            f.against,
            f"{f.ratio:.2f} ± {1.96 * f.error:.2f}",
            f.rival,
            f"{f.stuck:.1%}",
            ", ".join(f"{m:.2f}" for m in f.means),
        ]
        for f, _ in study.failures
    ]
    return markdown_table(["structure", "against", "ratio (95 %)", "rival", "stuck", "means"], rows)


def growth(results: Results, policy: str) -> float:
    """Over the last decade, in parts of V ln 10; nan where V is 0."""
    bound = bound_or_none(results.instance)
    curve = results.regret(policy).mean(axis=0)
    start = int(np.searchsorted(results.checkpoints, results.horizon / 10))
    if bound is None or bound.value <= 0.0:
        return float("nan")
    return float((curve[-1] - curve[start]) / (bound.value * np.log(10.0)))


def verdict(what: str, aim: str, measured: str, met: bool, part: str) -> list[str]:
    """A row of the table of aims: with whether it is met, and what to run to measure it again."""
    return [what, aim, measured, "yes" if met else "**no**", f"`--only {part}`"]


def both_ways(
    what: str, aim: str, measure: Callable[[Collection[str]], tuple[str, bool]], part: str
) -> list[str]:
    """The same for an aim that compares: with all policies, and without the narrowed ones."""
    (everybody, met), (others, met_by_others) = measure(()), measure(NARROWED)
    if everybody == others:
        return verdict(what, aim, everybody, met, part)
    measured = f"{others} ({everybody} with the narrowed ones)"
    row = verdict(what, aim, measured, met_by_others, part)
    if met != met_by_others:
        row[3] += " (yes with them)" if met else " (**no** with them)"
    return row


def verdicts(study: Study) -> str:
    """Each aim of the parts that were run, what was measured, and whether that is enough."""
    rows: list[list[str]] = []
    if study.panels:

        def panels(without: Collection[str]) -> tuple[str, bool]:
            found = study.panels.values()
            below = [r.paired(MINE, best_other(r, without)).low <= 0.0 for r in found]
            return f"{sum(below)} of {len(below)}", all(below)

        what = "panels on which no other policy is clearly below it (paired, 95 %)"
        rows.append(both_ways(what, "all", panels, "panels"))
    if study.random:
        rows += group_verdicts(study)
    for against, most in (("the best other", 1.15), ("UCB", 1.0)):
        ended = [f for f, _ in study.failures if f.against == against]
        if ended:
            f = max(ended, key=lambda f: f.ratio)
            what, measured = f"the search's worst instance, over {against}", f"{f.ratio:.2f}"
            measured += f" \N{PLUS-MINUS SIGN} {1.96 * f.error:.2f} ({f.kind}, {f.rival})"
            rows.append(verdict(what, f"{most:.2f}", measured, f.ratio <= most, "search"))
    if study.stuck:
        rows.append(stuck_verdict(study))
    if study.long:
        rows += long_verdicts(study)
    return markdown_table(["", "aim", "measured", "met", "to measure it again"], rows)


def stuck_verdict(study: Study) -> list[str]:
    """Of many runs on the panels, how many stay with another arm."""
    runs, stuck, late = (
        sum(getattr(p, name) for p in study.stuck) for name in ("runs", "stuck", "late")
    )
    ends = study.stuck[0].horizon, study.stuck[0].longest
    measured = f"{stuck} of {runs:,} at T = {ends[0]:,}, {late} of these at T = {ends[1]:,}"
    return verdict(
        "runs on the panels that are stuck", "none of 10^5", measured, stuck == 0, "stuck"
    )


def long_verdicts(study: Study) -> list[list[str]]:
    """Those of the longest horizon."""
    stuck = max(share_stuck(r, MINE) for r in study.long.values())
    grown = [g for g in (growth(r, MINE) for r in study.long.values()) if not np.isnan(g)]
    measured, met = f"{min(grown):.2f} to {max(grown):.2f}", min(grown) >= 0.8 and max(grown) <= 1.2
    what = "stuck runs on the panels at the longest horizon"
    growing = "growth over the last decade there, over V ln 10"
    return [
        verdict(what, "none", f"{stuck:.1%}", stuck == 0.0, "long"),
        verdict(growing, "0.8 to 1.2", measured, met, "long"),
    ]


def group_verdicts(study: Study) -> list[list[str]]:
    """Those of the random instances."""
    groups = list(study.of_groups.values())

    def below(without: Collection[str]) -> tuple[str, bool]:
        found = [not against_the_best(g, others_in(g, without)).clearly for g in groups]
        return f"{sum(found)} of {len(found)}", sum(found) >= 0.95 * len(found)

    def ratio(without: Collection[str]) -> tuple[str, bool]:
        found = [ratio_to_best(g, others_in(g, without)) for g in groups]
        mean = float(np.exp(np.mean(np.log(found))))
        return f"{mean:.3f}", mean <= 0.93

    tails = []
    for cases in groups:
        mine, spk = (
            np.quantile(np.concatenate([final(r, p) for r in cases]), 0.99) for p in (MINE, "SPk")
        )
        tails.append(mine <= spk)
    where = "groups --only close"
    what = "its regret over that of each instance's best other policy: geometric mean of groups"
    worst = "groups in which its 99th percentile is no worse than SPk's"
    count = f"{sum(tails)} of {len(tails)}"
    return [
        both_ways("groups in which no other policy is clearly below it", "95 %", below, where),
        both_ways(what, "0.93", ratio, where),
        verdict(worst, "all", count, all(tails), where),
    ]


def tables(study: Study) -> dict[str, str]:
    """Each table of the parts that were run, by its name."""
    found = {"aims": verdicts(study)}
    if study.panels:
        found |= {"panels": panel_table(study), "panel-differences": panel_differences(study)}
    if study.mints:
        found["mints"] = ablation_table(study.mints)
    if study.long:
        found["growth"] = growth_table(study.long)
    for results in study.narrowed.values():
        found["narrowed"] = narrowed_table(results)
    if study.stuck:
        found["stuck"] = stuck_table(study.stuck)
    if study.shares:
        found["shares"] = growth_table(study.shares)
    if study.random:
        found |= {"groups": group_table(study), "rivals": rival_table(study)}
    if study.close:
        found["close"] = close_table(grouped(study.close, study.groups))
    if study.ablations:
        found["ablations"] = ablation_table(study.ablations)
    if study.failures:
        found["failures"] = failure_table(study)
    return found


def drawn(title: str, results: Results) -> Panel:
    """Regret of all policies of a problem, for a picture."""
    curves = {name: results.regret(name) for name in results.names}
    return Panel(title, results.instance, results.checkpoints, curves)


def write_tables(study: Study, out: Path) -> None:
    """tables.md with the tables, cases.csv with the numbers, and pictures."""
    text = "\n".join(
        f"<!-- {name} -->\n\n{table}\n<!-- end -->\n" for name, table in tables(study).items()
    )
    write_text(out / "tables.md", text)
    rows = []
    for name, results in {**study.panels, **study.random}.items():
        for policy in results.names:
            values = final(results, policy)
            rows.append(
                {
                    "case": name,
                    "group": study.groups.get(name, "panels"),
                    "policy": policy,
                    "mean": values.mean(),
                    "standard_error": values.std(ddof=1) / np.sqrt(values.size),
                    "median": np.median(values),
                    "q95": np.quantile(values, 0.95),
                    "q99": np.quantile(values, 0.99),
                }
            )
    frame = pd.DataFrame(rows)
    write_text(out / "cases.csv", frame.to_csv(index=False, lineterminator="\n"))
    if rows:
        plot_ratios(frame, MINE, out / "ratios.png")
    panels = [drawn(f"{f.kind}, against {f.against}", results) for f, results in study.failures]
    if panels:
        plot_panels(panels, [out / "failures.png"], band=2.0)
    for results in study.shares.values():
        bound = bound_or_none(results.instance)
        assert bound is not None
        plot_shares(results, bound.value, out / "shares.png")
