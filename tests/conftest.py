import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# The suite compares machine code with what it should be, and its thousands of short tests would
# make kernels hot one by one. How gears change is tested in `kernels/test_gears.py` and beside it.
os.environ.setdefault("ARMATURE_GEAR", "compiled")

# The same examples in every run; compiling on first use is no reason to fail.
settings.register_profile("armature", deadline=None, derandomize=True, database=None)
settings.load_profile("armature")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="ten times as many random problems")


@pytest.fixture
def n_problems(request: pytest.FixtureRequest) -> int:
    """How many random problems to solve for each structure and family."""
    return 500 if request.config.getoption("--exhaustive") else 50


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of its own for each test, the same in every run."""
    return np.random.default_rng(sum(request.node.nodeid.encode()))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A PostgreSQL of this session's own."""
    from serving import Postgres

    server = Postgres()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty storage of the service, of each kind."""
    from serving import sqlite_in

    if request.param == "sqlite":
        return sqlite_in(tmp_path)
    found: str = request.getfixturevalue("postgres").database()
    return found


@pytest.fixture
def file_storage(tmp_path: Path) -> str:
    """An empty storage that is a file, where the kind does not matter."""
    from serving import sqlite_in

    return sqlite_in(tmp_path)


@pytest.fixture
def http(file_storage: str) -> Iterator[Any]:
    """A server with one experiment and one decision, "1-2-..."."""
    import httpx
    from serving import PRICES, serving

    from armature.client import Client

    with serving(file_storage) as url, httpx.Client(base_url=url) as http:
        with Client(url) as client:
            client.create("prices", PRICES)
            client.decide("prices")
        yield http
