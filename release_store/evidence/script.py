"""The stand-alone script of an evidence bundle, made of the modules that verify in the store too.

The text of each module stands in the script as it is, without its docstring and its imports. Imports of
the standard library and of `cryptography` come first, once; imports of the modules themselves fall away,
since all of them share one namespace. So a name may be defined in one of them only.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import resources

from policy.errors import StoreError

# In the order in which each needs only what stands before it.
MODULES = (
    ("protocol", "names"),
    ("protocol", "strict_json"),
    ("protocol", "ed25519"),
    ("protocol", "merkle_proofs"),
    ("protocol", "person_names"),
    ("protocol", "clock"),
    ("protocol", "checkpoints"),
    ("protocol", "proofs"),
    ("protocol", "questions"),
    ("protocol", "overrides"),
    ("protocol", "demanded_gates"),
    ("evidence", "findings"),
    ("evidence", "zip_file"),
    ("evidence", "known"),
    ("evidence", "reader"),
    ("evidence", "checks"),
    ("evidence", "examine"),
)
_DESCRIPTION = '''\
"""Verify the evidence bundle of one release: what was published, who approved it, and whether it was changed.

    python verify_evidence.py BUNDLE.zip [--public-key FILE|HEX] [--checkpoint FILE]

Needs Python 3.10 or newer and the package `cryptography`; no database, no network, nothing else. One line a
finding; exit code 0 if there is none, 6 otherwise. Without --public-key the bundle's own key is trusted, and
whoever made the whole bundle may have made that too: give the key, and a checkpoint, that you kept yourself.
If this file comes from the bundle, they may have made it too: `releasegate evidence --script` writes it.

Made from the modules of releasegate that are named below; change those, and not this file.
"""

from __future__ import annotations
'''
_INSIDE = ("__future__", "release_store.")
_END = """


def script() -> bytes:
    return Path(__file__).read_bytes()


if __name__ == "__main__":
    sys.exit(main())
"""


@cache
def script() -> bytes:
    """Return the script. Raises StoreError where a name is defined in two modules, or a module is missing."""
    imports: set[str] = {"import sys"}
    parts: list[str] = []
    owners: dict[str, str] = {}
    for folder, module in MODULES:
        name = f"release_store/{folder}/{module}.py"
        try:
            text = (resources.files(f"release_store.{folder}") / f"{module}.py").read_text(encoding="utf-8")
        except OSError as error:
            raise StoreError(f"cannot be read ({type(error).__name__})", where=name) from None
        tree = ast.parse(text)
        imports |= _foreign_imports(tree)
        for defined in _defined_names(tree):
            if owners.setdefault(defined, name) != name:
                raise StoreError(f"defines {defined}, as {owners[defined]} does", where=name)
        parts.append(f"\n\n# {name} {'-' * (98 - len(name))}\n\n{_body(tree, text)}\n")
    order = sorted(imports, key=lambda line: ("cryptography" in line, line.startswith("from"), line))
    return (_DESCRIPTION + "\n" + "\n".join(order) + "\n" + "".join(parts) + _END).encode()


def _foreign_imports(tree: ast.Module) -> set[str]:
    """Return the imports of a module from outside releasegate, one name a line."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {f"import {one.name}" for one in node.names}
        elif isinstance(node, ast.ImportFrom) and not str(node.module).startswith(_INSIDE):
            found |= {f"from {node.module} import {one.name}" for one in node.names}
    return found


def _defined_names(tree: ast.Module) -> set[str]:
    """Return the names that the top of a module defines."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return found


def _body(tree: ast.Module, text: str) -> str:
    """Return the text of a module from behind its docstring and imports."""
    head = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    return "\n".join(text.splitlines()[max(node.end_lineno or 0 for node in head) :]).strip("\n")
