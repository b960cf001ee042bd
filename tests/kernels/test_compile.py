"""Kernels: compiled on first use, cached, never stale, and equal to their interpreted twins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from processes import run

from armature.kernels.vectors import argsort_descending, select_largest

TWIN = """
import sys
import numpy as np
import armature as am
from armature.testing import discover, random_problem, supported_families

for cls in discover(am.Structure, am):
    for structure in cls.examples()[-2:]:
        for family in supported_families(structure):
            rng = np.random.default_rng(1)
            for _ in range(4):
                p = random_problem(structure, family, rng)
                for fit in (p.project(), p.nearest(), p.alt_min(p.challenger)):
                    values = [fit.cost, *fit.means]
                    print(cls.__name__, family, *(f"{v:.10e}" for v in values))
for family in (am.Gaussian(), am.Bernoulli(), am.Poisson(), am.Exponential()):
    x = np.linspace(0.05, 0.95, 7)
    for table in (family.divergence(x, x[::-1]), family.upper(x, 0.3), family.lower(x, 0.3)):
        print(family, *(f"{v:.14e}" for v in table))
"""


def test_import_compiles_nothing() -> None:
    run("import sys, armature; assert not {'numba', 'scipy'} & set(sys.modules)")


def assert_twins(compiled: str, interpreted: str) -> None:
    """Line by line the same, up to what rounding in another order can do to a minimiser."""
    pairs = list(zip(compiled.splitlines(), interpreted.splitlines(), strict=True))
    assert len(pairs) > 300
    for one, other in pairs:
        words, twin_words = one.split(), other.split()
        numbers = np.array([float(x) for x in words if x[-1].isdigit() or x in ("inf", "nan")])
        twins = np.array([float(x) for x in twin_words if x[-1].isdigit() or x in ("inf", "nan")])
        assert words[0] == twin_words[0]
        np.testing.assert_allclose(numbers, twins, rtol=1e-6, atol=1e-8)


def test_compiled_equals_interpreted() -> None:
    interpreted = run(TWIN, silent=False, NUMBA_DISABLE_JIT="1")
    assert_twins(run(TWIN), interpreted)
    line = interpreted.splitlines()[10]
    number = line.split()[-1]
    wrong = interpreted.replace(line, line.replace(number, f"{float(number) + 1e-4:.10e}"), 1)
    with pytest.raises(AssertionError):
        assert_twins(interpreted, wrong)


SMALL = """
import time
import numpy as np, armature as am
from armature.structures import unconstrained
am.Unconstrained(3).nearest_alternative([1, 2, 3], [1, 1, 1], 2, am.Gaussian())
stats = unconstrained.nearest.dispatcher.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def test_a_second_process_does_not_compile(tmp_path: Path) -> None:
    assert run(SMALL, ARMATURE_CACHE_DIR=str(tmp_path)).split() == ["0", "1"]
    before = sorted(tmp_path.rglob("*"))
    assert run(SMALL, ARMATURE_CACHE_DIR=str(tmp_path)).split() == ["1", "0"]
    assert sorted(tmp_path.rglob("*")) == before


def test_users_numba_settings_are_left_alone() -> None:
    run(
        "import numba, armature as am; am.Poisson().upper(1.0, 1.0)\n"
        "assert not numba.config.CACHE_DIR"
    )


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 31, 100, 1000])
def test_sorting(n: int, rng: np.random.Generator) -> None:
    for keys in (rng.random(n), rng.integers(0, 5, n).astype(float), np.arange(n) * 1.0):
        order, buffer = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        argsort_descending(keys, order, buffer)
        assert order.tolist() == np.argsort(-keys, kind="stable").tolist()
        for m in {0, 1, n // 2, n}:
            order = rng.permutation(n)
            select_largest(keys, order, n, m)
            assert sorted(order) == list(range(n))
            assert sorted(keys[order[:m]]) == sorted(keys)[n - m :]
