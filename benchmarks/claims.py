"""Measure what the paper claims in its experiments, and write docs/studies/reproduction.md.

    python benchmarks/claims.py            # a quarter of an hour on two cores; can be interrupted
    python benchmarks/claims.py sparse-arms    # some parts only

It runs Figure 1 at two horizons (into the folders that `armature reproduce` would use) and fills
in the parts of the document between `<!-- name -->` and `<!-- end -->`: no number there is typed.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from rich.console import Console

import armature as am
from armature.authoring import Floats
from armature.experiments import load_instance
from armature.experiments.paper import PANELS, default_folder, reproduce
from armature.experiments.run import Runner
from armature.views.chart import markdown_table

ROOT = Path(__file__).parent.parent
RUNS = {10**4: 200, 10**5: 100}  # repetitions at each horizon
RAW = {10**4: 200, 10**5: 50}  # the same for the paper's own exploit test
ARMS = (5, 10, 20, 40)  # of sparse-2
CONSOLE = Console(stderr=True)

Runs = dict[int, dict[str, am.Results]]


def power(horizon: int) -> str:
    """10^4 and so on."""
    return f"10^{len(str(horizon)) - 1}"


def table(titles: list[str], rows: list[list[str]]) -> str:
    """In Markdown, without the last line break."""
    return markdown_table(titles, rows).rstrip()


def ratio(results: am.Results, a: str, b: str) -> str:
    """Mean final regret of a over that of b, with the half width of a 95 % interval."""
    x, y = results.regret(a)[:, -1], results.regret(b)[:, -1]
    value = x.mean() / y.mean()
    error = (x - value * y).std(ddof=1) / (y.mean() * np.sqrt(x.size))
    return f"{value:.2f} ± {1.96 * error:.2f}"


def growth(results: am.Results, policy: str, median: bool = False) -> float:
    """Growth of the mean (or median) regret per ln t over the last decade, over V."""
    middle = np.median if median else np.mean
    curve = middle(results.regret(policy), axis=0)
    start = int(np.searchsorted(results.checkpoints, results.horizon / 10))
    span = np.log(results.horizon / results.checkpoints[start])
    return float((curve[-1] - curve[start]) / span / am.lower_bound(results.instance).value)


def regret_at(results: am.Results, policy: str, t: int) -> float:
    """Mean regret after t rounds."""
    at = int(np.searchsorted(results.checkpoints, t))
    return float(results.regret(policy)[:, at].mean())


def exploring(results: am.Results, policy: str, start: int, stop: int) -> Floats:
    """How the pulls of arms that are not best were shared out between two rounds."""
    pulls = results.pulls(policy).mean(axis=0)
    first, last = np.searchsorted(results.checkpoints, [start, stop])
    spent = pulls[last] - (pulls[first] if start > 0 else 0.0)
    spent[results.instance.best_arm] = 0.0
    return spent / max(spent.sum(), 1e-12)


def distance(p: Floats, q: Floats) -> float:
    """Total variation."""
    return 0.5 * float(np.abs(p - q).sum())


def comparable_to_ucb(runs: Runs) -> str:
    """SPk and SPLambda over UCB."""
    titles = ["panel", *(f"{p}, {power(T)}" for p in ("SPk", "SPLambda") for T in runs)]
    rows = [
        [name, *(ratio(runs[T][name], p, "UCB") for p in ("SPk", "SPLambda") for T in runs)]
        for name in PANELS
    ]
    return table(titles, rows)


def adaptation(runs: Runs) -> str:
    """Growth over the last decade, in multiples of V."""
    policies = ("SPk", "SPLambda", "UCB")
    titles = ["panel", *(f"{p}, {power(T)}" for p in policies for T in runs)]
    rows = [
        [name, *(f"{growth(runs[T][name], p):.1f}" for p in policies for T in runs)]
        for name in PANELS
        if name != "sparse-1"
    ]
    return table(titles, rows)


def exploration(runs: Runs) -> str:
    """The share of rounds in which SPk and SPLambda explored."""
    policies = ("SPk", "SPLambda")
    titles = ["panel", *(f"{p}, {power(T)}" for p in policies for T in runs)]
    rows = [
        [name]
        + [f"{runs[T][name].summary().loc[p, 'explored']:.1%}" for p in policies for T in runs]
        for name in PANELS
    ]
    return table(titles, rows)


def ossb_slope(runs: Runs) -> str:
    """OSSB's growth, of the mean and of the median run, in multiples of V."""
    titles = ["panel", *(f"{kind}, {power(T)}" for T in runs for kind in ("mean", "median"))]
    rows = [
        [name, *(f"{growth(runs[T][name], 'OSSB', m):.1f}" for T in runs for m in (False, True))]
        for name in PANELS
        if name != "sparse-1"
    ]
    return table(titles, rows)


def ossb_start(runs: Runs) -> str:
    """OSSB's regret over UCB's early on, and its spread in the end."""
    rows = []
    for name in PANELS:
        results = runs[10**4][name]
        early = [
            f"{regret_at(results, 'OSSB', t) / regret_at(results, 'UCB', t):.1f}"
            for t in (100, 1000, 10_000)
        ]
        final = results.regret("OSSB")[:, -1]
        quantiles = [f"{np.quantile(final, q):.0f}" for q in (0.5, 0.95, 1.0)]
        rows.append([name, *early, *quantiles])
    return table(["panel", "t = 100", "1,000", "10,000", "median", "95 %", "largest"], rows)


def follow_the_leader(runs: Runs) -> str:
    """OSSB on sparse-1."""
    rows = []
    for T in runs:
        results = runs[T]["sparse-1"]
        final = results.regret("OSSB")[:, -1]
        explored = results.runs["OSSB"].explored[:, -1]
        stuck = float((final > 0.25 * T).mean())
        rows.append(
            [
                power(T),
                f"{explored.mean():.1f}",
                f"{np.median(final):.1f}",
                f"{final.mean():.0f}",
                f"{stuck:.1%}",
                f"{results.regret('SPk')[:, -1].mean():.1f}",
                f"{results.regret('UCB')[:, -1].mean():.0f}",
            ]
        )
    titles = ["T", "rounds explored", "median regret", "mean", "runs stuck", "SPk", "UCB"]
    return table(titles, rows)


def pulls_like_ucb(runs: Runs) -> str:
    """How far SPk's exploring pulls are from UCB's and from the optimal ones."""
    longest = max(runs)
    spans = [(0, 100), (100, 1000), (1000, 10_000), (10_000, longest)]
    titles = ["panel"]
    titles += [f"UCB, {a:,} to {b:,}" for a, b in spans]
    titles += [f"optimal, {a:,} to {b:,}" for a, b in spans]
    rows = []
    for name in PANELS:
        if name == "sparse-1":
            continue
        results = runs[longest][name]
        bound = am.lower_bound(results.instance)
        optimal = bound.pulls.copy()
        optimal[results.instance.best_arm] = 0.0
        optimal /= optimal.sum()
        shares = [exploring(results, "SPk", a, b) for a, b in spans]
        from_ucb = [
            f"{distance(share, exploring(results, 'UCB', a, b)):.2f}"
            for share, (a, b) in zip(shares, spans, strict=True)
        ]
        rows.append([name, *from_ucb, *(f"{distance(share, optimal):.2f}" for share in shares)])
    return table(titles, rows)


def raw_test(runs: Runs) -> str:
    """SPk and SPLambda with the paper's exploit test: regret over UCB's, growth over V."""
    policies = (am.SPk(test="raw"), am.SPLambda(test="raw"), am.UCB())
    names = [policy.name for policy in policies[:2]]
    rows = []
    for panel in PANELS:
        cells = []
        for T, R in RAW.items():
            results = am.simulate(load_instance(panel), policies, T, R)
            for name in names:
                grown = "" if panel == "sparse-1" else f"; {growth(results, name):.1f}"
                cells.append(ratio(results, name, "UCB") + grown)
        rows.append([panel, *cells])
    return table(
        ["panel", *(f"{p.partition('(')[0]}, {power(T)}" for T in RAW for p in names)], rows
    )


def sparse_arms(runs: Runs) -> str:
    """Sparse-2 with the paper's exploit test and other numbers of arms: medians beside means."""
    rows = []
    policies = (am.UCB(), am.SPk(), am.SPk(test="raw"), am.SPLambda(test="raw"))
    for n_arms in ARMS:
        means = np.zeros(n_arms)
        means[:2] = 3.0, 2.0
        instance = am.Instance(am.Sparse(n_arms, 2, 0.0), means)
        results = am.simulate(instance, policies, 10**4, RAW[10**4])
        bar = 2.0 * results.regret("UCB")[:, -1].mean()
        for name in results.names:
            final = results.regret(name)[:, -1]
            error = final.std(ddof=1) / np.sqrt(final.size)
            rows.append(
                [
                    str(n_arms),
                    f"`{name}`",
                    f"{np.median(final):.0f}",
                    f"{final.mean():.0f} ± {error:.0f}",
                    f"{np.quantile(final, 0.9):.0f}",
                    f"{final.max():.0f}",
                    f"{(final > bar).mean():.1%}",
                    f"{growth(results, name, median=True):.1f}",
                ]
            )
    titles = ["arms", "policy", "median", "mean", "90 %", "largest", "above 2 UCB", "growth"]
    return table(titles, rows)


def settings(runs: Runs) -> str:
    """How often each horizon was run."""
    rows = [[power(T), str(next(iter(r.values())).repetitions)] for T, r in runs.items()]
    return table(["T", "repetitions"], rows)


@cache
def figure_runs() -> Runs:
    """Figure 1 at each horizon, with its pictures."""
    runs = {}
    for horizon, repetitions in RUNS.items():
        out = ROOT / default_folder(PANELS, horizon, repetitions, False)
        runs[horizon] = reproduce(PANELS, horizon, repetitions, False, out, Runner(CONSOLE))
        name = f"figure-1-T{horizon}.png"
        shutil.copyfile(out / "figure-1.png", ROOT / "docs" / "figures" / name)
    return runs


def no_runs() -> Runs:
    """For what is simulated on its own."""
    return {}


SECTIONS: dict[str, tuple[Callable[[Runs], str], Callable[[], Runs]]] = {
    "settings": (settings, figure_runs),
    "comparable-to-ucb": (comparable_to_ucb, figure_runs),
    "adaptation": (adaptation, figure_runs),
    "exploration": (exploration, figure_runs),
    "pulls-like-ucb": (pulls_like_ucb, figure_runs),
    "ossb-slope": (ossb_slope, figure_runs),
    "ossb-start": (ossb_start, figure_runs),
    "follow-the-leader": (follow_the_leader, figure_runs),
    "raw-test": (raw_test, no_runs),
    "sparse-arms": (sparse_arms, no_runs),
}


def fill_in(document: str, sections: dict[str, str]) -> str:
    """The document with its generated parts made anew."""
    for name, text in sections.items():
        pattern = re.compile(f"<!-- {name} -->.*?<!-- end -->", re.DOTALL)
        if not pattern.search(document):
            raise SystemExit(f"the document has no part {name!r}")
        document = pattern.sub(lambda _: f"<!-- {name} -->\n\n{text}\n\n<!-- end -->", document)  # noqa: B023
    return document


def main(names: list[str]) -> None:
    """Run what is missing, then write the parts that were asked for, or all."""
    unknown = set(names) - set(SECTIONS)
    if unknown:
        raise SystemExit(f"there is no part {sorted(unknown)}: one of {', '.join(SECTIONS)}")
    path = ROOT / "docs" / "studies" / "reproduction.md"
    for name in names or SECTIONS:
        section, runs = SECTIONS[name]
        path.write_text(fill_in(path.read_text(), {name: section(runs())}))


if __name__ == "__main__":
    main(sys.argv[1:])
