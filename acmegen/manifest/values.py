"""Nodes of YAML -> plain data, by the core schema of YAML 1.2, and what is wrong with them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, TypeAlias, cast

import yaml

from acmegen.diagnostics import Diagnostic, Edit, Note, Span, codes, quote
from acmegen.manifest.removal import removal

MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_DIGITS = 400
MAX_MISTAKES = 100
TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"

STANDARD = "tag:yaml.org,2002:"
UNREADABLE = math.inf  # in the place of a scalar that cannot be read: few fields take it, and those at no harm
PLAIN = ""  # what the reader gives to a scalar that has neither quotes nor a tag

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def node_span(path: Path, node: yaml.Node) -> Span:
    """The place of `node`."""
    start, end = node.start_mark, _end_mark(node)
    if end.index <= start.index:  # nothing at all, as an item of a list, is one character wide
        return Span(path, start.line + 1, start.column + 1, start.line + 1, start.column + 2)
    return Span(path, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _end_mark(node: yaml.Node) -> yaml.Mark:
    # The parser ends a block collection where the next token starts, which may be lines below.
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        before, item = last if isinstance(last, tuple) else (node, last)
        if item.start_mark.index <= before.start_mark.index:  # an alias has the marks of what it stands for
            return cast(yaml.Mark, node.start_mark if before is node else before.end_mark)
        node = item
    return node.end_mark


Entries: TypeAlias = dict[str, tuple[yaml.Node, yaml.Node]]
"""The key and the value of each entry of a mapping, by key."""


class Builder:
    """Turns nodes into data and collects what is wrong with them. Aliased nodes are shared, not built again.

    What is wrong makes nothing else look wrong: of two equal keys the first counts, and a merge key merges.

    Attributes:
        diagnostics: what is wrong.
        entries: of each mapping, by the id of its node, those that are in the data.
        doubtful: where the data may not be what was meant, so that a mistake at that very place would be no other one.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.entries: dict[int, Entries] = {}
        self.doubtful: set[Span] = set()
        self._path = path
        self._text = text
        self._built: dict[int, tuple[Any, int]] = {}  # node -> its data and its number of values, aliases expanded
        self._open: set[int] = set()
        self._too_many = False

    def build(self, node: yaml.Node, depth: int) -> Any:
        return self._build(node, depth)[0]

    def _build(self, node: yaml.Node, depth: int) -> tuple[Any, int]:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node), 1
        if id(node) in self._built:
            return self._built[id(node)]
        if id(node) in self._open:
            self._report(codes.YAML_LIMIT, "an alias contains itself", node)
            return None, 1
        if depth > MAX_DEPTH:
            self._report(codes.YAML_LIMIT, TOO_DEEP, node)
            return None, 1
        self._open.add(id(node))
        build = self._mapping if isinstance(node, yaml.MappingNode) else self._sequence
        result = build(node, depth)
        self._open.remove(id(node))
        if result[1] > MAX_VALUES:
            if not self._too_many:  # what holds this node, or is expanded like it, is as large for the same reason
                self._report(codes.YAML_LIMIT, f"more than {MAX_VALUES:,} values, with aliases expanded", node)
            self._too_many = True
            result = None, 1
        self._built[id(node)] = result
        return result

    def _sequence(self, node: yaml.Node, depth: int) -> tuple[Any, int]:
        self._check_tag(node, "seq")
        items = [self._build(item, depth + 1) for item in node.value]
        return tuple(data for data, _ in items), 1 + sum(size for _, size in items)

    def _mapping(self, node: yaml.Node, depth: int) -> tuple[Any, int]:
        self._check_tag(node, "map")
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        entries: Entries = {}
        merged_entries: Entries = {}
        total = 1
        for key_node, value_node in node.value:
            value, size = self._build(value_node, depth + 1)
            total += size + 1
            if key_node.tag == PLAIN and key_node.value == "<<":
                help_text = "write the fields out"
                self._report(codes.KEY_NOT_TEXT, "merge keys are not part of YAML 1.2", key_node, help=help_text)
                if isinstance(value, dict):
                    merged |= value
                    merged_entries |= self.entries[id(value_node)]
                else:
                    self._doubt(node)
                continue
            key = self._key(key_node)
            if key is None:
                self._doubt(node)
            elif key in entries:
                self._report_duplicate(entries[key], result[key], (key_node, value_node), value)
            else:
                entries[key] = key_node, value_node
                result[key] = value
        self.entries[id(node)] = merged_entries | entries
        return merged | result, total

    def _key(self, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._report(codes.KEY_NOT_TEXT, "a key is text, not a list or a mapping", node)
            return None
        key = self._scalar(node)
        if key is UNREADABLE:
            return None
        if not isinstance(key, str):
            message = f"the key {quote(node.value)} is {describe(key)}, not text"
            self._report(codes.KEY_NOT_TEXT, message, node, help="put it in quotes")
            return None
        return key

    def _report_duplicate(
        self, first: tuple[yaml.Node, yaml.Node], kept: Any, second: tuple[yaml.Node, yaml.Node], value: Any
    ) -> None:
        edits: tuple[Edit, ...] = ()
        single = (value is None or isinstance(value, str | int | float)) and value is not UNREADABLE
        if single and type(value) is type(kept) and value == kept:
            edits = self._without(*second)
        elif isinstance(kept, dict):
            self._doubt(first[1])  # what it lacks may be in the other one
        self._report(
            codes.DUPLICATE_KEY,
            f"{quote(second[0].value)} occurs twice",
            second[0],
            Note(node_span(self._path, first[0]), "first here"),
            help="remove one of them",
            edits=edits,
        )

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag == STANDARD + "str":
            return node.value
        try:
            value = resolve_scalar(node.value)
        except (ValueError, OverflowError):
            self._report(codes.WRONG_VALUE, "the number is too long", node)
            self._doubt(node)
            return UNREADABLE
        if node.tag == PLAIN:
            return value
        right = self._check_tag(node, "null" if value is None else type(value).__name__)
        return value if right else UNREADABLE

    def _check_tag(self, node: yaml.Node, expected: str) -> bool:
        if node.tag == STANDARD + expected:
            return True
        tag = node.tag.replace(STANDARD, "!!") if node.tag.startswith(STANDARD) else node.tag
        self._report(codes.YAML_TAG, f"the tag {quote(tag)} is not allowed here", node, help="leave it out")
        self._doubt(node)
        return False

    def _without(self, key: yaml.Node, value: yaml.Node) -> tuple[Edit, ...]:
        """The edit that removes a key and its value."""
        start, end = node_span(self._path, key), node_span(self._path, value)
        return removal(self._text, Span(self._path, start.line, start.column, end.end_line, end.end_column))

    def _doubt(self, node: yaml.Node) -> None:
        self.doubtful.add(node_span(self._path, node))

    def _report(
        self,
        code: str,
        message: str,
        node: yaml.Node,
        *secondary: Note,
        help: str | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> None:
        if len(self.diagnostics) == MAX_MISTAKES:
            code, message = codes.YAML_LIMIT, f"more than {MAX_MISTAKES} mistakes; the rest is not shown"
            secondary, help, edits = (), None, ()
        if len(self.diagnostics) <= MAX_MISTAKES:
            span = node_span(self._path, node)
            self.diagnostics.append(Diagnostic(code, message, span, secondary=secondary, help=help, edits=edits))


def resolve_scalar(text: str) -> bool | int | float | str | None:
    """The value of a plain scalar in the core schema of YAML 1.2.

    Raises:
        ValueError: a number with more digits than any field takes.
    """
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text[0] in "tT"
    if _INT.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise ValueError(text)
        base = {"0o": 8, "0x": 16}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)
    if _FLOAT.fullmatch(text):
        word = text.lstrip("+-.")
        return float(text.replace(f".{word}", word) if word[0] in "iInN" else text)
    return text


def describe(value: object) -> str:
    """What `value` is, in the words of a message: "a number", "a list"."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a mapping" if isinstance(value, dict) else "a list"
