"""`python -m studies.challenger`: run the study, or go on where it was."""

from armature.cli.terminal import speak_utf8
from studies.challenger.run import PARTS, run_study
from studies.challenger.size import FULL, QUICK, SHORT
from studies.commands import Sizes, study_app

TEXT = """Challenger against all other policies: panels, random instances, ablations, failures.

Takes hours; with --short, about half of one.

Interrupted, it goes on where it was when it is run again.
"""
FILES = {"tables": "tables.md", "numbers": "cases.csv"}
app = study_app(TEXT, run_study, "out-study", Sizes(FULL, SHORT, QUICK), FILES, PARTS)

if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.challenger")
