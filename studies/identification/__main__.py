"""`python -m studies.identification`: run the study, or go on where it was."""

from armature.cli.terminal import speak_utf8
from studies.commands import Sizes, study_app
from studies.identification.run import run_study
from studies.identification.size import FULL, QUICK, SHORT

TEXT = """How many samples it takes to know the best arm: stopping times, errors, what is saved.

Interrupted, it goes on where it was when it is run again.
"""
FILES = {"tables": "tables.md", "picture": "ratios.png"}
app = study_app(TEXT, run_study, "out-identification", Sizes(FULL, SHORT, QUICK), FILES)

if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.identification")
