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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from acmegen.diagnostics import Diagnostic, DiagnosticError, Edit, Note, Span, codes
from acmegen.diagnostics.edits import line_starts
from acmegen.manifest.scalar_places import scalar_places
from acmegen.manifest.values import MAX_VALUES, PLAIN, STANDARD, TOO_DEEP, Builder, Entries, node_span

if TYPE_CHECKING or not yaml.__with_libyaml__:
    from yaml import SafeLoader as _Parser
else:
    from yaml import CSafeLoader as _Parser

NodePath: TypeAlias = tuple[str | int, ...]

MAX_BYTES = 4 * 1024 * 1024
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
            return PLAIN if implicit[0] else STANDARD + "str"
        return STANDARD + ("map" if kind is yaml.MappingNode else "seq")


@dataclass(frozen=True)
class Source:
    """One manifest as it was read.

    Attributes:
        path: the file, as it is shown to the user.
        text: its text, without a byte order mark.
        data: the top-level mapping.
        digest: sha256 of the file's bytes, in hexadecimal.
        diagnostics: what is wrong with the text. The data is what was most likely meant, only to find more mistakes.
        doubtful: where the data may not be what was meant: a mistake at that very place would follow from those.
    """

    path: Path
    text: str = field(repr=False)
    data: dict[str, Any] = field(repr=False)
    digest: str
    diagnostics: tuple[Diagnostic, ...] = field(repr=False)
    doubtful: frozenset[Span] = field(repr=False)
    _root: yaml.MappingNode = field(repr=False, compare=False)
    _entries: Mapping[int, Entries] = field(repr=False, compare=False)

    def span(self, path: NodePath = (), key: bool = False) -> Span:
        """The place of the value at `path`, or of its key. A value that is left empty has the place of its key.

        Raises:
            KeyError: there is nothing at `path`.
        """
        node, key_node = self._find(path)
        empty = isinstance(node, yaml.ScalarNode) and node.start_mark.index == node.end_mark.index
        return node_span(self.path, key_node if key_node is not None and (key or empty) else node)

    def written(self, path: NodePath) -> str | None:
        """The single value at `path` as the file has it, without quotes; None where there is none."""
        try:
            node, _ = self._find(path)
        except KeyError:
            return None
        return str(node.value) if isinstance(node, yaml.ScalarNode) else None

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
            return node_span(self.path, node)
        first = places[min(start, len(places) - 1)]
        last = places[min(max(end, start + 1), len(places)) - 1]
        line, column = _line_and_column(self.text, first)
        end_line, end_column = _line_and_column(self.text, max(first, last))
        return Span(self.path, line, column, end_line, end_column + 1)

    def _find(self, path: NodePath) -> tuple[yaml.Node, yaml.Node | None]:
        node: yaml.Node = self._root
        key_node: yaml.Node | None = None
        for item in path:
            if isinstance(node, yaml.MappingNode) and item in (entries := self._entries[id(node)]):
                key_node, node = entries[str(item)]
            elif isinstance(node, yaml.SequenceNode) and isinstance(item, int) and item < len(node.value):
                key_node, node = None, node.value[item]
            else:
                raise KeyError(path)
        return node, key_node


def load_source(path: Path) -> Source:
    """Read the manifest `path`.

    Raises:
        DiagnosticError: it cannot be read, or its text is not one YAML mapping within the limits. What is wrong with
            it otherwise is in the source.
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
    builder = Builder(path, text)
    content = builder.build(root, 1)
    diagnostics = tuple(builder.diagnostics)
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
        message, span = f"a manifest is a mapping, and this is {kind}", node_span(path, root)
        raise DiagnosticError([*diagnostics, Diagnostic(codes.NOT_ONE_MAPPING, message, span)])
    if any(diagnostic.code == codes.YAML_LIMIT for diagnostic in diagnostics):
        raise DiagnosticError(diagnostics)
    digest = hashlib.sha256(data).hexdigest()
    return Source(path, text, content, digest, diagnostics, frozenset(builder.doubtful), root, builder.entries)


def _error(code: str, message: str, span: Span | None = None) -> DiagnosticError:
    return DiagnosticError([Diagnostic(code, message, span)])


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


def _compose(path: Path, text: str) -> yaml.Node:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise DiagnosticError([_syntax_error(path, text, error)]) from error
    except _TooManyValues:
        raise _error(codes.YAML_LIMIT, f"more than {MAX_VALUES:,} values", Span.of_file(path)) from None
    except RecursionError:
        raise _error(codes.YAML_LIMIT, TOO_DEEP, Span.of_file(path)) from None
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
        return Diagnostic(codes.YAML_LIMIT, TOO_DEEP, span)
    if mark and text[mark.index : mark.index + 1] == "\t":
        return Diagnostic(codes.YAML_SYNTAX, "a tab cannot indent YAML", span, help="use spaces")
    if mark and (error.problem or "").startswith("mapping values are not allowed"):
        return _misplaced_key(path, text, mark)
    if error.context_mark and error.problem == "could not find expected ':'":
        unspaced = _missing_space(path, text, error.context_mark.line)
        if unspaced is not None:
            return unspaced
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


_LINE_END = re.compile(r"\r\n|\r|\n")
# A line that starts with `key:value`, which is a text: the beginning of one that goes on below.
_NO_SPACE = re.compile(r"[ \t-]*[^\s:#'\"{}\[\],&*!|>%@`]+(:)[^\s:/]")


def _missing_space(path: Path, text: str, line: int) -> Diagnostic | None:
    """The mistake in a line, counted from 0, that should be a key and a value; None where it is not such a line."""
    match = _NO_SPACE.match(text, line_starts(text)[line])
    if match is None:
        return None
    number, column = _line_and_column(text, match.start(1))
    span = Span(path, number, column, number, column + 1)
    message = "not valid YAML: a space is missing after `:`"
    return Diagnostic(codes.YAML_SYNTAX, message, span, help="write `key: value`", edits=(Edit(span, ": "),))


def _misplaced_key(path: Path, text: str, mark: yaml.Mark) -> Diagnostic:
    """What is wrong when a `:` makes a key where none can stand."""
    lines = _LINE_END.split(text)
    if ": " in lines[mark.line][: mark.column]:
        message = "not valid YAML: this line has a key and a value already"
        remedy = "write a mapping in a line in braces, `key: {other: value}`, and a text with `: ` in quotes"
        return Diagnostic(codes.YAML_SYNTAX, message, _mark_span(path, text, mark), help=remedy)
    above = next((number for number in range(mark.line - 1, -1, -1) if lines[number].strip()), 0)
    message = "not valid YAML: a key cannot stand here, since what is above has a value already"
    indented = Diagnostic(
        codes.YAML_SYNTAX, message, _mark_span(path, text, mark), help="indent it like the keys beside it"
    )
    return _missing_space(path, text, above) or indented
