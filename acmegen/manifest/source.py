"""YAML text -> plain data, with the place of every key and value.

The syntax is read by PyYAML (by its C parser where there is one). Scalars follow the core schema of YAML 1.2, not the
1.1 rules of PyYAML: `on`, `no` and `12:30` are text, `010` is ten, `1e-5` is a number. Sequences become tuples.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from acmegen.diagnostics import Diagnostic, DiagnosticError, Edit, Note, Span, codes, quote
from acmegen.diagnostics.edits import line_starts
from acmegen.manifest.removal import removal
from acmegen.manifest.scalar_places import scalar_places

if TYPE_CHECKING or not yaml.__with_libyaml__:
    from yaml import SafeLoader as _Parser
else:
    from yaml import CSafeLoader as _Parser

NodePath: TypeAlias = tuple[str | int, ...]

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
MAX_VALUES = 100_000
MAX_DIGITS = 400
MAX_MISTAKES = 100

_STANDARD = "tag:yaml.org,2002:"
_PLAIN = ""  # what `_Loader` gives to a scalar that has neither quotes nor a tag

_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _TooManyValues(Exception):
    """The file is not read to its end."""


class _Loader(_Parser):
    """PyYAML's parser without its 1.1 rules for scalars. It gives up when the file holds too many nodes."""

    nodes = 0

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        self.nodes += 1
        if self.nodes > MAX_VALUES:
            raise _TooManyValues
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _STANDARD + "str"
        return _STANDARD + ("map" if kind is yaml.MappingNode else "seq")


@dataclass(frozen=True)
class Source:
    """One manifest as it was read.

    Attributes:
        path: the file, as it is shown to the user.
        text: its text, without a byte order mark.
        data: the top-level mapping.
        digest: sha256 of the file's bytes, in hexadecimal.
    """

    path: Path
    text: str = field(repr=False)
    data: dict[str, Any] = field(repr=False)
    digest: str
    _root: yaml.MappingNode = field(repr=False, compare=False)
    _index: dict[int, dict[str | int, tuple[yaml.Node, yaml.Node]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def span(self, path: NodePath = (), key: bool = False) -> Span:
        """The place of the value at `path`, or of its key. A value that is left empty has the place of its key.

        Raises:
            KeyError: there is nothing at `path`.
        """
        node, key_node = self._find(path)
        empty = isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index
        return _span(self.path, key_node if key_node is not None and (key or empty) else node)

    def slice(self, path: NodePath, start: int, end: int, key: bool = False) -> Span:
        """The place of characters `start` to `end` of the text at `path`, or of its key, in any style of YAML.

        Raises:
            KeyError: there is no single value at `path`.
        """
        node, key_node = self._find(path)
        if key and key_node is not None:
            node = key_node
        if not isinstance(node, yaml.ScalarNode):
            raise KeyError(path)
        places = scalar_places(self.text, node.start_mark.index, node.end_mark.index, node.style, node.value)
        if not places:
            return _span(self.path, node)
        first = places[min(start, len(places) - 1)]
        last = places[min(max(end, start + 1), len(places)) - 1]
        line, column = _line_and_column(self.text, first)
        end_line, end_column = _line_and_column(self.text, max(first, last))
        return Span(self.path, line, column, end_line, end_column + 1)

    def _find(self, path: NodePath) -> tuple[yaml.Node, yaml.Node | None]:
        node: yaml.Node = self._root
        key_node: yaml.Node | None = None
        for item in path:
            if isinstance(node, yaml.MappingNode) and item in (pairs := self._pairs(node)):
                key_node, node = pairs[item]
            elif isinstance(node, yaml.SequenceNode) and isinstance(item, int) and item < len(node.value):
                key_node, node = None, node.value[item]
            else:
                raise KeyError(path)
        return node, key_node

    def _pairs(self, node: yaml.MappingNode) -> dict[str | int, tuple[yaml.Node, yaml.Node]]:
        """The keys and values of a mapping by key. A manifest with thousands of entries is asked for each of them."""
        pairs = self._index.get(id(node))
        if pairs is None:
            pairs = self._index[id(node)] = {key.value: (key, value) for key, value in node.value}
        return pairs


def load_source(path: Path) -> Source:
    """Read the manifest `path`.

    Raises:
        DiagnosticError: it cannot be read, or its text is not one YAML mapping within the limits; all reasons at once
            where reading can go on after the first.
    """
    try:
        data = _read(path)
    except OSError as error:
        message = f"this file cannot be read: {(error.strerror or 'unknown error').lower()}"
        raise _error(codes.FILE_UNREADABLE, message, Span.of_file(path)) from error
    return parse_source(path, data)


def _read(path: Path) -> bytes:
    """The bytes of a regular file, no more than show that it is too large. Opening a pipe or a device does not wait."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _error(codes.FILE_UNREADABLE, "this is not a file", Span.of_file(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def parse_source(path: Path, data: bytes) -> Source:
    """Read the manifest with the bytes `data`; `path` only names it. Raises as `load_source` does."""
    if len(data) > MAX_BYTES:
        message = f"this file is larger than {MAX_BYTES // 1024**2} MiB"
        raise _error(codes.FILE_UNREADABLE, message, Span.of_file(path))
    text = _decode(path, data)
    root = _compose(path, text)
    builder = _Builder(path, text)
    content = builder.build(root, 1)
    if builder.diagnostics:
        raise DiagnosticError(builder.diagnostics)
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
        raise _error(codes.NOT_ONE_MAPPING, f"a manifest is a mapping, and this is {kind}", _span(path, root))
    return Source(path, text, content, hashlib.sha256(data).hexdigest(), root)


def _error(code: str, message: str, span: Span | None = None) -> DiagnosticError:
    return DiagnosticError([Diagnostic(code, message, span)])


def _span(path: Path, node: yaml.Node) -> Span:
    start, end = node.start_mark, _end_mark(node)
    width = 1 if start.index == end.index else 0  # nothing at all, as an item of a list, is one character wide
    return Span(path, start.line + 1, start.column + 1, end.line + 1, end.column + 1 + width)


def _end_mark(node: yaml.Node) -> yaml.Mark:
    # The parser ends a block collection where the next token starts, which may be lines below.
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_mark(last[1] if isinstance(last, tuple) else last)
    return node.end_mark


def _mark_span(path: Path, text: str, mark: yaml.Mark) -> Span:
    if mark.index >= len(text):
        return _place(path, text)  # the parser adds a line to what does not end in one
    return Span(path, mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)


def _place(path: Path, text: str) -> Span:
    """The place of the character that follows `text`, the beginning of a file."""
    line, column = _line_and_column(text, len(text))
    return Span(path, line, column, line, column + 1)


def _line_and_column(text: str, index: int) -> tuple[int, int]:
    starts = line_starts(text)
    line = bisect_right(starts, index)
    return line, index - starts[line - 1] + 1


_OTHER_ENCODINGS = (
    ((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"), "UTF-32"),
    ((b"\xff\xfe", b"\xfe\xff"), "UTF-16"),
)


def _decode(path: Path, data: bytes) -> str:
    for marks, encoding in _OTHER_ENCODINGS:
        if data.startswith(marks):
            message = f"the file is {encoding}; manifests are UTF-8"
            raise _error(codes.NOT_TEXT, message, Span.of_file(path))
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        message = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
        raise _error(codes.NOT_TEXT, message, _place(path, before)) from error
    if found := _UNPRINTABLE.search(text):
        message = f"the character U+{ord(found.group()):04X} is not allowed"
        raise _error(codes.NOT_TEXT, message, _place(path, text[: found.start()]))
    return text


_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


def _compose(path: Path, text: str) -> yaml.Node:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise DiagnosticError([_syntax_error(path, text, error)]) from error
    except _TooManyValues:
        raise _error(codes.YAML_LIMIT, f"more than {MAX_VALUES:,} values", Span.of_file(path)) from None
    except RecursionError:
        raise _error(codes.YAML_LIMIT, _TOO_DEEP, Span.of_file(path)) from None
    finally:
        loader.dispose()
    if root is None:
        raise _error(codes.NOT_ONE_MAPPING, "the file is empty", Span(path, 1, 1, 1, 2))
    return root


_QUOTED = "while scanning a quoted scalar"
# What PyYAML was doing -> what is at the place where that began.
_OPENED = {
    "while parsing a block collection": "the list starts here",
    "while parsing a block mapping": "the mapping starts here",
    "while parsing a flow mapping": "the mapping starts here",
    "while parsing a flow sequence": "the list starts here",
    _QUOTED: "the quoted text starts here",
    "while scanning a simple key": "the key starts here",
}


def _syntax_error(path: Path, text: str, error: yaml.MarkedYAMLError) -> Diagnostic:
    mark = error.problem_mark or error.context_mark
    span = _mark_span(path, text, mark) if mark else None
    if error.problem == "but found another document":
        return Diagnostic(codes.NOT_ONE_MAPPING, "a manifest is one document, and a second one starts here", span)
    if error.problem == "exceeded maximum nesting depth":
        return Diagnostic(codes.YAML_LIMIT, _TOO_DEEP, span)
    if mark and text[mark.index : mark.index + 1] == "\t":
        return Diagnostic(codes.YAML_SYNTAX, "a tab cannot indent YAML", span, help="use spaces")
    if error.context_mark and error.context == _QUOTED and "end of stream" in (error.problem or ""):
        span = _mark_span(path, text, error.context_mark)
        return Diagnostic(codes.YAML_SYNTAX, "not valid YAML: this quote is not closed", span)
    secondary: tuple[Note, ...] = ()
    if error.context and error.context_mark and error.context_mark.index != getattr(mark, "index", None):
        opened = _OPENED.get(error.context, error.context)
        secondary = (Note(_mark_span(path, text, error.context_mark), opened),)
    problem = re.sub(r"'([^']+)'", r"`\1`", error.problem or "the reader gave up here")
    problem = problem.replace("did not find expected", "expected")
    return Diagnostic(codes.YAML_SYNTAX, f"not valid YAML: {problem}", span, secondary=secondary)


class _Builder:
    """Turns nodes into data and collects what is wrong with them. Aliased nodes are shared, not built again."""

    def __init__(self, path: Path, text: str) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._path = path
        self._text = text
        self._built: dict[int, tuple[Any, int]] = {}  # node -> its data and its number of values, aliases expanded
        self._open: set[int] = set()

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
            self._report(codes.YAML_LIMIT, _TOO_DEEP, node)
            return None, 1
        self._open.add(id(node))
        build = self._mapping if isinstance(node, yaml.MappingNode) else self._sequence
        result = build(node, depth)
        self._open.remove(id(node))
        if result[1] > MAX_VALUES:
            self._report(codes.YAML_LIMIT, f"more than {MAX_VALUES:,} values, with aliases expanded", node)
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
        places: dict[str, yaml.Node] = {}
        total = 1
        for key_node, value_node in node.value:
            value, size = self._build(value_node, depth + 1)
            total += size + 1
            key = self._key(key_node)
            if key is None:
                continue
            if key in places:
                first = Note(_span(self._path, places[key]), "first here")
                edits: tuple[Edit, ...] = ()
                if value is None or isinstance(value, str | int | float):
                    same = type(value) is type(result[key]) and value == result[key]
                    edits = self._without(key_node, value_node) if same else ()
                self._report(
                    codes.DUPLICATE_KEY,
                    f"{quote(key)} occurs twice",
                    key_node,
                    first,
                    help="remove one of them",
                    edits=edits,
                )
                continue
            places[key] = key_node
            result[key] = value
        return result, total

    def _key(self, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._report(codes.KEY_NOT_TEXT, "a key is text, not a list or a mapping", node)
            return None
        key = self._scalar(node)
        if not isinstance(key, str):
            message = f"the key {quote(node.value)} is {describe(key)}, not text"
            self._report(codes.KEY_NOT_TEXT, message, node, help="put it in quotes")
            return None
        if key == "<<" and node.tag == _PLAIN:
            self._report(codes.KEY_NOT_TEXT, "merge keys are not part of YAML 1.2", node, help="write the fields out")
            return None
        return key

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag == _STANDARD + "str":
            return node.value
        try:
            value = resolve_scalar(node.value)
        except (ValueError, OverflowError):
            self._report(codes.WRONG_VALUE, "the number is too long", node)
            return None
        if node.tag == _PLAIN:
            return value
        self._check_tag(node, "null" if value is None else type(value).__name__)
        return value

    def _check_tag(self, node: yaml.Node, expected: str) -> None:
        if node.tag != _STANDARD + expected:
            tag = node.tag.replace(_STANDARD, "!!") if node.tag.startswith(_STANDARD) else node.tag
            self._report(codes.YAML_TAG, f"the tag {quote(tag)} is not allowed here", node, help="leave it out")

    def _without(self, key: yaml.Node, value: yaml.Node) -> tuple[Edit, ...]:
        """The edit that removes a key and its value."""
        start, end = _span(self._path, key), _span(self._path, value)
        return removal(self._text, Span(self._path, start.line, start.column, end.end_line, end.end_column))

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
            span = _span(self._path, node)
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
