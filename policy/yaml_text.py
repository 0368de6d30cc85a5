"""Read YAML that somebody else wrote: no field twice, few tags, no number with two meanings, bounded work.

PyYAML reads YAML 1.1, where 010 is 8 and 2026-1-1 a date; in YAML 1.2 they are 10 and a text. Here a date is
a text, and a number that the two read differently is refused.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

LARGEST_TEXT = 1 << 20  # characters
MOST_NODES = 200_000  # values, each alias counted with all that it stands for
LONGEST_NUMBER = 40  # characters
LONGEST_NAME = 60


_TAG = "tag:yaml.org,2002:"
_INT, _FLOAT = f"{_TAG}int", f"{_TAG}float"
_UNREAD = frozenset({f"{_TAG}timestamp", f"{_TAG}value"})  # what looks like these is a text in YAML 1.2
_NUMBER_OF_1_2_ALONE = re.compile(r"[-+]?0(?:[0-9_]+|o[0-7_]+)\Z")
_SAME_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+")
_SAME_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", re.I)
_TWO_WAYS = (
    "a number that YAML 1.1 and 1.2 read differently: write it without leading zeros, _, 0b and 0o, "
    "or in quotes if it is a text"
)


class StrictLoader(yaml.SafeLoader):
    """YAML that refuses a field written twice, and what is no plain text, number, truth value or nothing."""


class _Dumper(yaml.SafeDumper):
    """YAML whose texts are quoted wherever some reader would take them for something else."""


StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag not in _UNREAD]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _kind in (StrictLoader, _Dumper):
    _kind.add_implicit_resolver(_INT, _NUMBER_OF_1_2_ALONE, ["-", "+", "0"])


def _mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, list | dict | set):
            raise yaml.constructor.ConstructorError(
                None, None, "a field's name must be text, not a list or mapping", key_node.start_mark
            )
        if key in found:
            raise yaml.constructor.ConstructorError(
                None, None, f"the field '{str(key)[:LONGEST_NAME]}' stands twice", key_node.start_mark
            )
        found[key] = loader.construct_object(value_node, deep=True)
    return found


def _number(loader: StrictLoader, node: yaml.ScalarNode) -> int | float:
    """Read a number of bounded length; 1:30 is to YAML a number to base 60, which nobody means."""
    text = loader.construct_scalar(node)
    problem = ""
    if ":" in text or len(text) > LONGEST_NUMBER:
        what = "a number to base 60" if ":" in text else f"a number of more than {LONGEST_NUMBER} characters"
        problem = f"YAML reads {what} here: put it in quotes if it is a text"
    elif not (_SAME_INT if node.tag == _INT else _SAME_FLOAT).fullmatch(text):
        problem = _TWO_WAYS
    if problem:
        raise _at(node, problem)
    if node.tag == _INT:
        return int(text, 16 if "x" in text else 10)
    return float(re.sub(r"\.(?=[a-z])", "", text.lower()))  # Python's names of what is no number have no dot


def _truth(loader: StrictLoader, node: yaml.ScalarNode) -> bool:
    found = loader.bool_values.get(loader.construct_scalar(node).lower())
    if found is None:
        raise _at(node, "should be true or false")
    return found


def _text(loader: StrictLoader, node: yaml.ScalarNode) -> str:
    """Read a text; two escapes that are the halves of one character, as JSON has them, are that character."""
    written: str = loader.construct_scalar(node)
    try:
        return written.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _at(node, "a text has half of a surrogate pair") from None


_READ = {
    yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG: _mapping,
    yaml.resolver.BaseResolver.DEFAULT_SEQUENCE_TAG: yaml.SafeLoader.construct_yaml_seq,
    yaml.resolver.BaseResolver.DEFAULT_SCALAR_TAG: _text,
    f"{_TAG}null": yaml.SafeLoader.construct_yaml_null,
    f"{_TAG}bool": _truth,
    _INT: _number,
    _FLOAT: _number,
    None: yaml.SafeLoader.construct_undefined,
}
StrictLoader.yaml_constructors = _READ


def dump_yaml(document: Any, **how: Any) -> str:
    """Return YAML that `load_yaml` and any other reader read as this document, its fields in this order."""
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **how)
    return text


def load_yaml(text: str) -> Any:
    """Return the plain values that a YAML text of one document holds.

    Raises yaml.YAMLError, also for a text of over `LARGEST_TEXT` characters and for aliases that make over
    `MOST_NODES` values or lead to themselves; RecursionError.
    """
    if len(text) > LARGEST_TEXT:
        raise yaml.MarkedYAMLError(problem=f"has more than {LARGEST_TEXT:,} characters")
    loader = StrictLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_size(node)
        return loader.construct_document(node)
    except (ValueError, OverflowError):  # of chr, for a number beyond Unicode
        problem = "a text has an escape that is no character"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=loader.get_mark()) from None
    finally:
        loader.dispose()


def _check_size(root: yaml.Node) -> None:
    """Raise YAMLError where the values, aliases followed, are too many; each node is looked at once."""
    sizes: dict[int, int] = {}
    pending: list[tuple[yaml.Node, bool]] = [(root, False)]
    begun: set[int] = set()
    while pending:
        node, children_done = pending.pop()
        if id(node) in sizes:
            continue
        children = _children(node)
        if children_done:
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in children)
            if sizes[id(node)] > MOST_NODES:
                raise _at(node, f"holds more than {MOST_NODES:,} values, its aliases (*) counted in full")
            continue
        if id(node) in begun:
            raise _at(node, "an alias (*) contains itself")
        begun.add(id(node))
        pending.append((node, True))
        pending += [(child, False) for child in children if id(child) not in sizes]


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _at(node: yaml.Node, problem: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def yaml_finding(error: yaml.YAMLError) -> str:
    """Tell where YAML stops being so, in one line."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "not YAML"
    return f"line {mark.line + 1}: {problem}" if mark else problem
