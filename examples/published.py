"""Published tables, from log to decision: what `armature assess` says of each, with a picture.

    python examples/published.py [--draws 40] [--out FOLDER]

Cakes at six temperatures, doses against migraine, orange juice at a dozen prices (of one brand the
margin has one peak, of another it clearly has not), lectures rated by students. The tables and
their sources are in `examples/logs`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from armature.assess.from_spec import assess_file

LOGS = Path(__file__).parent / "logs"


def main() -> None:
    """Assess every table."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--draws", type=int, default=40, help="problems drawn around each log")
    options.add_argument("--horizon", type=int, help="rounds; else what each file says")
    options.add_argument("--out", type=Path, default=Path("published"), help="a folder")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for log in sorted(LOGS.glob("*.csv")):
        settings = {"draws": given.draws, "horizon": given.horizon}
        found = assess_file(log, log.with_suffix(".toml"), settings=settings)
        print(f"{found.title}\n  {found.recommendation}\n")
        found.plot(given.out / f"{log.stem}.png")
        found.save(given.out / log.stem)


if __name__ == "__main__":
    main()
