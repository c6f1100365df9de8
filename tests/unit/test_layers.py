"""The architecture, held by machine: who imports whom, what the pure packages may not touch, how long code may be."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "operator" / "inference_fleet"
MODULES = sorted(PACKAGE.rglob("*.py"))

PURE = ("api", "catalog", "planning", "throughput", "scaling", "warmpool", "resources")
PURE_MODULES = ("modelcache/keys.py", "modelcache/listing.py", "modelcache/layout.py")
IMPURE = {
    "os.environ",
    "os.getenv",
    "time.time",
    "time.monotonic",
    "datetime.now",
    "datetime.utcnow",
    "datetime.datetime.now",
    "datetime.date.today",
    "date.today",
}
LONGEST_MODULE = 400
LONGEST_FUNCTION = 60


def name_of(path: Path) -> str:
    """A module as the tests' ids show it."""
    return path.relative_to(PACKAGE).as_posix()


def is_pure(path: Path) -> bool:
    """Whether a module decides, and so may touch nothing outside its arguments."""
    name = name_of(path)
    return name.split("/")[0] in PURE or name in PURE_MODULES


def dotted_names(tree: ast.AST) -> Iterator[str]:
    """Every `a.b.c` and every `from a import b` in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_follow_the_contracts() -> None:
    lint = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run(['--no-cache'])"]
    result = subprocess.run(lint, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "4 kept, 0 broken" in result.stdout


def test_the_operator_folder_is_no_package() -> None:
    """With an __init__.py it would hide the standard library's `operator` from everything run in the repository."""
    assert not (ROOT / "operator" / "__init__.py").exists()


@pytest.mark.parametrize("path", [path for path in MODULES if is_pure(path)], ids=name_of)
def test_what_decides_reads_neither_clock_nor_environment(path: Path) -> None:
    assert not IMPURE & set(dotted_names(ast.parse(path.read_text())))


def test_modules_are_short() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_functions_are_short() -> None:
    too_long = {
        f"{name_of(path)}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    }
    assert too_long == {}
