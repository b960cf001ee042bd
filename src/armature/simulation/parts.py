"""Runs that are finished, on disk: what an interruption leaves to resume from.

A part holds some repetitions of a policy. It is written beside its place and renamed, so that it is
there as a whole or not at all, and it carries the key of the experiment that it belongs to.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from armature.descriptions import FAMILIES, POLICIES, STRUCTURES, describe
from armature.instance import Instance
from armature.policies import Policy
from armature.simulation.results import PolicyRuns

BLOCK = 10  # repetitions in a part


class Parts:
    """The parts of an experiment in a folder."""

    def __init__(self, folder: Path, instance: Instance, horizon: int, seed: int) -> None:
        self._folder = folder
        self._about = {
            "structure": describe(STRUCTURES, instance.structure),
            "family": describe(FAMILIES, instance.family),
            "means": instance.means.tolist(),
            "horizon": horizon,
            "seed": seed,
        }

    def _key(self, policy: Policy) -> str:
        text = json.dumps({**self._about, "policy": describe(POLICIES, policy)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def load(self, policy: Policy, runs: PolicyRuns) -> set[int]:
        """Read what there is of a policy into `runs`; the repetitions that were found."""
        found: set[int] = set()
        for path in sorted(self._folder.glob(f"{self._key(policy)}-*.npz")):
            try:
                with path.open("rb") as file, np.load(file) as part:
                    repetitions = part["repetitions"].tolist()
                    fields = {name: part[name] for name in ("regret", "pulls", "explored")}
            except (OSError, ValueError, KeyError, zipfile.BadZipFile):
                continue  # not ours, or damaged: it is run again
            fits = fields["regret"].shape[1:] == runs.regret.shape[1:]
            for i, repetition in enumerate(repetitions):
                if fits and repetition < len(runs.regret):
                    for name, values in fields.items():
                        getattr(runs, name)[repetition] = values[i]
                    found.add(repetition)
        return found

    def save(self, policy: Policy, runs: PolicyRuns, repetitions: list[int]) -> None:
        """Write some repetitions of a policy."""
        self._folder.mkdir(parents=True, exist_ok=True)
        target = self._folder / f"{self._key(policy)}-{min(repetitions):06d}.npz"
        handle, name = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            np.savez(
                file,
                repetitions=np.array(repetitions),
                regret=runs.regret[repetitions],
                pulls=runs.pulls[repetitions],
                explored=runs.explored[repetitions],
            )
        os.replace(name, target)

    def remove(self) -> None:
        """Delete the parts: the results are written as a whole."""
        for path in [*self._folder.glob("*.npz"), *self._folder.glob("*.tmp")]:
            path.unlink()
        if self._folder.is_dir():
            self._folder.rmdir()
