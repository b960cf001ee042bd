"""`python -m studies.guard`: run the study, or go on where it was."""

from armature.cli.terminal import speak_utf8
from studies.commands import Sizes, study_app
from studies.guard.run import PARTS, run_study
from studies.guard.size import FULL, QUICK, SHORT

TEXT = """Guarded against a wrong structure: what it covers, and what it costs where it is right.

Interrupted, it goes on where it was when it is run again.
"""
FILES = {"tables": "tables.md", "numbers": "cases.csv"}
app = study_app(TEXT, run_study, "out-guard", Sizes(FULL, SHORT, QUICK), FILES, PARTS)

if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.guard")
