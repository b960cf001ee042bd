"""Write the tables of docs/studies/challenger.md and docs/choosing.md from a study's folder.

python -m studies.challenger               # about an hour on two cores; can be interrupted
python benchmarks/challenger.py out-study
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from claims import ROOT, fill_in, table

SECTION = re.compile(r"<!-- ([\w-]+) -->\n\n(.*?)\n<!-- end -->", re.DOTALL)


POLICIES = (
    "Challenger", "ProjectedThompson", "StructuredUCB", "SPk", "IMED", "ThompsonSampling", "KLUCB",
)  # fmt: skip
SPECIALISED = (
    "OSUB", "IMEDUB", "UnimodalThompson", "CATSE", "SparseUCB", "LinUCB", "EndOfOptimism", "IDS",
    "IDS(width=0.5)", "SOLID", "SOLID(width=0.3)",
)  # fmt: skip


def by_structure(cases: pd.DataFrame) -> str:
    """Mean regret over KLUCB's, a geometric mean over the random instances of each structure."""
    cases = cases[cases["group"] != "panels"]
    kind = cases["group"].str.partition("-")[0]
    means = cases.pivot(index="case", columns="policy", values="mean")
    kinds = kind.groupby(cases["case"]).first()
    ratios = np.log(means.div(means["KLUCB"], axis=0)).groupby(kinds, sort=False).mean()
    rows = []
    for name, row in np.exp(ratios).iterrows():
        own = [f"{p} {row[p]:.2f}" for p in SPECIALISED if p in row and not np.isnan(row[p])]
        cells = ["" if np.isnan(row[p]) else f"{row[p]:.2f}" for p in POLICIES]
        rows.append([str(name), *cells, ", ".join(own)])
    return table(["structure", *POLICIES, "made for it"], rows)


def main(folder: Path) -> None:
    """Fill in the documents."""
    sections = {
        name: text.strip() for name, text in SECTION.findall((folder / "tables.md").read_text())
    }
    path = ROOT / "docs" / "studies" / "challenger.md"
    path.write_text(fill_in(path.read_text(), sections))
    if "groups" in sections:
        path = ROOT / "docs" / "choosing.md"
        summary = by_structure(pd.read_csv(folder / "cases.csv"))
        path.write_text(fill_in(path.read_text(), {"by-structure": summary}))
    for name in ("ratios.png", "failures.png", "shares.png"):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, ROOT / "docs" / "figures" / f"challenger-{name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
