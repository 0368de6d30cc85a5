"""Read YAML that somebody else wrote: no field twice, no tags, and bounded work."""

from __future__ import annotations

from typing import Any

import yaml

LARGEST_TEXT = 1 << 20  # characters
MOST_NODES = 200_000  # values, each alias counted with all that it stands for
LONGEST_NUMBER = 40  # characters
LONGEST_NAME = 60


class StrictLoader(yaml.SafeLoader):
    """YAML that refuses a field written twice."""


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
    if ":" in text or len(text) > LONGEST_NUMBER:
        what = "a number to base 60" if ":" in text else f"a number of more than {LONGEST_NUMBER} characters"
        raise yaml.constructor.ConstructorError(
            None, None, f"YAML reads {what} here: put it in quotes if it is a text", node.start_mark
        )
    is_whole = node.tag.endswith(":int")
    try:
        return loader.construct_yaml_int(node) if is_whole else loader.construct_yaml_float(node)
    except ValueError:  # 0x_ and the like
        raise yaml.constructor.ConstructorError(
            None, None, "a number without a digit: put it in quotes if it is a text", node.start_mark
        ) from None


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
StrictLoader.add_constructor("tag:yaml.org,2002:int", _number)
StrictLoader.add_constructor("tag:yaml.org,2002:float", _number)


def load_yaml(text: str) -> Any:
    """Return the plain values that a YAML text of one document holds.

    Raises yaml.YAMLError, also for a text of over `LARGEST_TEXT` characters and for aliases that make over
    `MOST_NODES` values or lead to themselves; ValueError for a date that is none; RecursionError.
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
