"""Write the tables and the picture of docs/challenger.md from the folder of a study.

armature study challenger --out study      # about an hour on two cores; can be interrupted
python benchmarks/challenger.py study
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from claims import ROOT, fill_in

SECTION = re.compile(r"<!-- ([\w-]+) -->\n\n(.*?)\n<!-- end -->", re.DOTALL)


def main(folder: Path) -> None:
    """Fill in the document."""
    sections = {
        name: text.strip() for name, text in SECTION.findall((folder / "tables.md").read_text())
    }
    path = ROOT / "docs" / "challenger.md"
    path.write_text(fill_in(path.read_text(), sections))
    for name in ("ratios.png", "failures.png"):
        shutil.copyfile(folder / name, ROOT / "docs" / "figures" / f"challenger-{name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
