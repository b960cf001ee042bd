"""Writing files: whole or not at all, with the right permissions, and in one place only."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import armature as am
from armature.storage import files
from armature.storage.files import (
    PREFIX,
    read_text,
    remove_leftovers,
    replacing,
    write_bytes,
    write_text,
)
from armature.views import figure

PACKAGE = Path(am.__file__).parent


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Sets the umask, and puts it back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def writers() -> dict[str, object]:
    """All that the package offers to write a file with, each for a path."""
    instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
    results = am.simulate(instance, [am.UCB()], 20, 2)
    return {
        "text.txt": lambda path: write_text(path, "é\n"),
        "bytes.bin": lambda path: write_bytes(path, b"\0\1"),
        "state.json": am.Bandit(am.UCB(), am.Unconstrained(2)).save,
        "results.parquet": results.save,
        "regret.png": results.plot,
        "regret.svg": results.plot,
        "regret.pdf": results.plot,
    }


def test_permissions_are_the_umasks_or_those_that_were(umask, tmp_path: Path) -> None:
    for name, write in writers().items():
        path = tmp_path / name
        umask(0o027)
        write(path)
        assert mode(path) == 0o640, name
        path.chmod(0o604)
        write(path)
        assert mode(path) == 0o604, name
    umask(0o002)
    write_text(tmp_path / "for-all.txt", "x")
    assert mode(tmp_path / "for-all.txt") == 0o664
    assert not list(tmp_path.glob(f"{PREFIX}*"))


def write_half(path: Path, error: type[BaseException]) -> None:
    with replacing(path) as beside:
        assert (beside.parent, beside.suffix) == (path.parent, path.suffix)
        beside.write_text("half")
        assert path.read_text() == "old"
        raise error


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    write_text(path, "old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            write_half(path, error)
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["numbers.csv"]


def test_what_was_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch) -> None:
    done = []
    flush, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("flush"), flush(handle)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("rename"), rename(*paths)))
    write_text(tmp_path / "a.txt", "a")
    assert done[:2] == ["flush", "rename"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert os.listdir(tmp_path / "there") == ["a.txt"]


def test_what_can_not_be_a_file_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(am.ArmatureError, match="is a folder: give the name of a file"):
        write_text(tmp_path, "x")
    with pytest.raises(am.ArmatureError, match="there is no folder"):
        write_text(tmp_path / "no" / "such", "x")
    with pytest.raises(am.ArmatureError, match="is no ordinary file"):
        write_text("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_protected_file_is_left_alone(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "mine.txt"
    write_text(path, "mine")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, how: False)  # which root always has
    with pytest.raises(am.ArmatureError, match=r"mine\.txt' is write-protected"):
        write_text(path, "yours")
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["mine.txt"]


def test_text_is_utf_8_in_every_locale(tmp_path: Path) -> None:
    script = (
        "import sys; from armature.storage.files import *; "
        "write_text(sys.argv[1], 'prix: 3 \\u20ac\\n'); "
        "assert read_text(sys.argv[1]) == 'prix: 3 \\u20ac\\n'"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    path = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", script, str(path)], env=environment, check=True)
    assert path.read_bytes() == "prix: 3 €\n".encode()
    write_bytes(path, b"\xef\xbb\xbfa\r\n")
    assert read_text(path) == "a\r\n"
    write_bytes(path, b"abc\xff")
    with pytest.raises(am.ArmatureError, match=r"is not a text file in UTF-8 \(byte 3\)"):
        read_text(path)


def test_leftovers_of_killed_programs_go_in_time(tmp_path: Path) -> None:
    old, new, other = (
        tmp_path / name for name in (f"{PREFIX}1.tmp", f"{PREFIX}2.tmp.png", "a.tmp")
    )
    for path in (old, new, other):
        path.write_text("")
    os.utime(old, (1.0, 1.0))
    os.utime(other, (1.0, 1.0))
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([new.name, other.name])


def test_two_writers_of_one_picture_do_not_meet(tmp_path: Path) -> None:
    """While a picture is being written, the same one is written by somebody else."""
    from matplotlib.figure import Figure

    path = tmp_path / "a.png"

    class Slow(Figure):
        def savefig(self, *arguments, **options):
            super().savefig(*arguments, **options)
            figure.save(Figure(), [path])

    figure.save(Slow(), [path])
    assert os.listdir(tmp_path) == ["a.png"]


# Every call that puts something into a file, by the name of the function.
ALWAYS = {
    "write_text", "write_bytes", "replace", "rename", "renames", "fdopen", "touch",
    "mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory",
    "copyfile", "copy2", "copytree", "move", "to_pickle", "to_excel", "to_feather", "tofile",
    "dump", "imsave", "write_feather", "write_csv",
}  # fmt: skip
WITH_A_PLACE = {  # and the position of the argument that says where
    "savefig": 0, "to_csv": 0, "to_parquet": 0, "to_latex": 0, "to_markdown": 0, "to_html": 0,
    "write_table": 1, "save": 0, "savez": 0, "savez_compressed": 0, "savetxt": 0,
}  # fmt: skip
MODULES = {"os", "shutil", "tempfile", "np", "numpy", "json", "pickle", "Path"}


def safe_names(tree: ast.AST) -> set[str]:
    """The names that `with replacing(...) as name` binds, and buffers in memory."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem) and isinstance(node.context_expr, ast.Call):
            if getattr(node.context_expr.func, "id", "") == "replacing":
                names.add(getattr(node.optional_vars, "id", ""))
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "io.BytesIO()":
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def opens_for_writing(call: ast.Call, method: bool) -> bool:
    place = 0 if method else 1
    given = call.args[place : place + 1] + [k.value for k in call.keywords if k.arg == "mode"]
    if not given:
        return False
    return not isinstance(given[0], ast.Constant) or bool(set("wax+") & set(str(given[0].value)))


def writes(source: str) -> list[str]:
    """The calls in a source that write to a file on their own."""
    tree = ast.parse(source)
    safe, found = safe_names(tree), []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        method = isinstance(call.func, ast.Attribute)
        name = call.func.attr if method else getattr(call.func, "id", "")
        owner = ast.unparse(call.func.value) if method else ""
        if name == "open":
            bad = owner == "os" or opens_for_writing(call, method and owner not in ("io", "gzip"))
            bad &= owner != "webbrowser"
        elif name == "replace":
            bad = owner == "os" or (method and len(call.args) == 1 and not call.keywords)
        elif name in ALWAYS:
            bad = method
        elif name in WITH_A_PLACE and method:
            place = WITH_A_PLACE[name]
            where = call.args[place : place + 1]
            given = ast.unparse(where[0]) if where else ""
            is_numpys = name not in ("save", "savez", "savez_compressed", "savetxt")
            bad = given != "" and given not in safe and (is_numpys or owner in MODULES)
            bad |= any(k.arg in ("path", "path_or_buf", "fname", "buf") for k in call.keywords)
        else:
            bad = False
        if bad:
            found.append(f"line {call.lineno}: {ast.unparse(call)}")
    return found


def test_only_one_module_writes_files() -> None:
    """But for `kernels/kernel.py` and its kin, which keep compiled code where Numba wants it.

    And for the demonstration, whose database goes with it.
    """
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name in ("storage/files.py", "cli/demo.py") or name.startswith(
            ("_compile", "kernels/compiling/")
        ):
            continue
        calls = writes(path.read_text(encoding="utf-8"))
        if calls:
            found[name] = calls
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        'open("a", "w")',
        'open("a", mode="rb+")',
        "open(path, how)",
        'path.open("a")',
        "os.open(path, 0)",
        "path.write_text(text)",
        "path.write_bytes(text)",
        "tempfile.mkstemp()",
        "os.replace(a, b)",
        "a.replace(b)",
        "figure.savefig(path)",
        "with replacing(path) as beside: figure.savefig(path)",
        "frame.to_csv(path, index=False)",
        "frame.to_csv(path_or_buf=path)",
        "pq.write_table(table, path)",
        "np.savez(path, a=1)",
        "json.dump(a, file)",
    ],
)
def test_writing_is_noticed(line: str) -> None:
    assert len(writes(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        'open("a")',
        'path.open("rb")',
        "write_text(path, text)",
        "frame.to_csv(index=False)",
        'name.replace("a", "b")',
        "with replacing(path) as beside: figure.savefig(beside, dpi=150)",
        "with replacing(path) as beside: pq.write_table(table, beside)",
        "buffer = io.BytesIO(); np.savez_compressed(buffer, a=1)",
        "results.save(path)",
        "dataclasses.replace(a, b=1)",
    ],
)
def test_reading_is_not_mistaken_for_writing(line: str) -> None:
    assert writes(line) == []


def test_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    assert files.set_aside(path) is None
    path.write_text("x")
    assert files.set_aside(path) == tmp_path / "a.part.damaged"
    assert os.listdir(tmp_path) == ["a.part.damaged"]
