"""Write the tables and the picture of docs/studies/guard.md from a study's folder.

python -m studies.guard --short            # about ten minutes on one core; can be interrupted
python benchmarks/guard.py out-guard-short
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
    path = ROOT / "docs" / "studies" / "guard.md"
    path.write_text(fill_in(path.read_text(), sections))
    if (folder / "cover.png").is_file():
        shutil.copyfile(folder / "cover.png", ROOT / "docs" / "figures" / "guard-cover.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
