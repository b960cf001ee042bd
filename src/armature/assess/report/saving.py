"""An assessment in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from armature.errors import ArmatureError
from armature.storage.files import write_text

if TYPE_CHECKING:
    from armature.assess.assessment import Assessment

PAGE, DATA = "report.html", "assessment.json"


def save(assessment: Assessment, folder: str | os.PathLike[str]) -> None:
    """Write the page and the data; all is made before anything is written."""
    contents = {DATA: assessment.to_json() + "\n", PAGE: assessment.to_html()}
    out = Path(folder)
    if out.exists() and not out.is_dir():
        raise ArmatureError(f"{str(folder)!r} is a file: give a folder.")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        write_text(out / name, text)
