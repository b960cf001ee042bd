"""An output folder in an object store: a server on this machine that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import SPEC, content, draw_quickly
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments.store.remote_store import Store

server = pytest.importorskip("moto.server", reason="moto, which plays S3, is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # moto's own


@pytest.fixture
def bucket() -> Iterator[str]:
    """The address of a new bucket, with all that is needed to write to it."""
    import boto3

    threaded = server.ThreadedMotoServer(port=0, verbose=False)
    threaded.start()
    host, port = threaded.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    keys = {"aws_access_key_id": "me", "aws_secret_access_key": "mine"}
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys).create_bucket(
        Bucket="results"
    )
    yield (
        f"s3://me:mine@results/{{}}?scheme=http&region=us-east-1&endpoint_override={host}%3A{port}"
    )
    threaded.stop()


def test_a_folder_in_an_object_store(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shares and their merging, each of which finds what the earlier ones have left there."""
    monkeypatch.setattr(am.Results, "plot", draw_quickly)
    spec, out = tmp_path / "spec.toml", bucket.format("study/one")
    spec.write_text(SPEC)
    for words in (["run", "--shard", "1/2"], ["run", "--shard", "2/2"], ["merge"]):
        result = CliRunner().invoke(app, [words[0], str(spec), *words[1:], "--out", out])
        assert result.exit_code == 0, result.stderr
    alone = CliRunner().invoke(app, ["run", str(spec), "--out", str(tmp_path / "here")])
    assert alone.exit_code == 0
    store = Store(out)
    found = {name: store.read(name) for name in store.names() if not name.endswith(".part")}
    assert found == content(tmp_path / "here")
    assert len([name for name in store.names() if name.endswith(".part")]) == 4
    other = CliRunner().invoke(app, ["merge", str(spec), "--out", bucket.format("study/two")])
    assert (other.exit_code, "not all runs are in" in other.stderr) == (2, True)
