"""Run by the pinned interpreter, inside the stage: which modules the agent needs; byte code.

Standard library only, and a file of its own, since another Python than ours runs it.

    python3.11 -I -S stage_python.py modules LIBRARY SOURCES NAME...
    python3.11 -I -S stage_python.py compile LIBRARY
"""

import ast
import codecs
import contextlib
import importlib
import importlib.util
import py_compile
import sys
from collections.abc import Iterator
from pathlib import Path


def main(argv: list[str]) -> int:
    """Do one of the two."""
    if argv[1] == "modules":
        return _print_modules(Path(argv[2]), Path(argv[3]), argv[4:])
    return _compile(Path(argv[2]))


def _print_modules(library: Path, sources: Path, names: list[str]) -> int:
    """Print the files below `library` that the packages in `sources` and `names` import."""
    for source in sorted(sources.rglob("*.py")):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        names += _imports(tree)
        _load_codecs(tree)
    ours = {each.name for each in sources.iterdir()}
    for name in sorted(set(names)):
        if name.partition(".")[0] not in ours:
            importlib.import_module(name)
        elif not _is_packed(sources, name):
            sys.stderr.write(f"the agent imports {name}, which is not in the ramdisk\n")
            return 1
    files = {Path(file) for file in map(_file_of, sys.modules.values()) if file}
    for file in sorted(each for each in files if each.is_relative_to(library)):
        sys.stdout.write(f"{file.relative_to(library)}\n")
    return 0


def _is_packed(sources: Path, name: str) -> bool:
    path = sources.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.joinpath("__init__.py").is_file()


def _file_of(module: object) -> str | None:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def _imports(tree: ast.Module) -> Iterator[str]:
    """Every module named anywhere, in functions too: those are imported late, on the server."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            for each in node.names:
                name = f"{node.module}.{each.name}"
                if _is_module(node.module, name):
                    yield name


def _load_codecs(tree: ast.Module) -> None:
    """Load every codec that a text of the source might name: they are found by name only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            with contextlib.suppress(LookupError, ValueError):
                codecs.lookup(node.value)


def _is_module(parent: str, name: str) -> bool:
    if parent.partition(".")[0] not in sys.stdlib_module_names:
        return False
    package = importlib.import_module(parent)
    return hasattr(package, "__path__") and importlib.util.find_spec(name) is not None


def _compile(library: Path) -> int:
    """Put byte code in the place of every source below `library`.

    It carries a hash that is never compared: nothing of it depends on a time or a folder.
    """
    for source in sorted(library.rglob("*.py")):
        py_compile.compile(
            str(source),
            f"{source}c",
            dfile=f"/usr/lib/python3.11/{source.relative_to(library)}",
            doraise=True,
            optimize=0,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        source.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
