"""The virtual methods of the classes that a backend derives from, read in the headers of the installed torch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acmegen.facts.cache import cached, digest
from acmegen.facts.torch_install import TorchInstall

if TYPE_CHECKING:
    from tree_sitter import Node

# Belongs to the cache's key: raise it whenever VirtualMethod or the way it is read changes.
FORMAT = 1

CLASSES: Mapping[str, str] = {
    "DeviceGuardImplInterface": "c10/core/impl/DeviceGuardImplInterface.h",
    "AcceleratorHooksInterface": "ATen/detail/AcceleratorHooksInterface.h",
    "PrivateUse1HooksInterface": "ATen/detail/PrivateUse1HooksInterface.h",
    "GeneratorImpl": "c10/core/GeneratorImpl.h",
    "Allocator": "c10/core/Allocator.h",
    "DeviceAllocator": "c10/core/CachingDeviceAllocator.h",
    "HostAllocator": "ATen/core/CachingHostAllocator.h",
    "GraphImplInterface": "ATen/core/GraphImplInterface.h",
}

NAMESPACES: Mapping[str, str] = {
    "DeviceGuardImplInterface": "c10::impl",
    "AcceleratorHooksInterface": "at",
    "PrivateUse1HooksInterface": "at",
    "GeneratorImpl": "c10",
    "Allocator": "c10",
    "DeviceAllocator": "c10",
    "HostAllocator": "at",
    "GraphImplInterface": "at",
}

# The grammar knows no macros: these stand where a class name or a declaration would, and say nothing about methods.
_MACROS = re.compile(rb"\b(?:C10|TORCH|AT|ATEN)\w*_(?:API|EXPORT|HIDDEN)\b|\bC10_DIAGNOSTIC_\w+(?:\([^)]*\))?")


@dataclass(frozen=True)
class VirtualMethod:
    """One virtual method that a class declares or inherits. Destructors are not listed.

    Attributes:
        name: `getStream`.
        declared_in: the class whose declaration this is, the most derived one.
        signature: the declaration on one line, without `virtual`, attributes, default values and body
            (`Stream getStream(Device) const`).
        return_type: as the header spells it.
        pure: whether a concrete class must override it.
        const: whether it is a const method.
        noexcept: whether it must not throw.
    """

    name: str
    declared_in: str
    signature: str
    return_type: str
    parameters: tuple[str, ...]
    pure: bool
    const: bool
    noexcept: bool


def virtual_methods(install: TorchInstall) -> Mapping[str, tuple[VirtualMethod, ...]]:
    """The virtual methods of each class in `CLASSES`, inherited ones first; none for a class that this torch lacks."""
    sources = {path: _read(install, path) for path in CLASSES.values()}
    key = digest([str(FORMAT).encode(), *(part for path, text in sources.items() for part in (path.encode(), text))])
    document = cached("headers", key, lambda: _read_classes(sources))
    return {
        name: tuple(VirtualMethod(**{**row, "parameters": tuple(row["parameters"])}) for row in rows)
        for name, rows in document.items()
    }


def host_statistics(install: TorchInstall) -> frozenset[str]:
    """The counters of `at::HostStats`, which torch 2.10 renamed."""
    body = re.search(rb"struct TORCH_API HostStats \{(.*?)\n\};", _read(install, CLASSES["HostAllocator"]), re.DOTALL)
    return frozenset(re.findall(r"^\s*Stat (\w+);", body.group(1).decode(), re.MULTILINE)) if body else frozenset()


def methods_digest(methods: Mapping[str, tuple[VirtualMethod, ...]]) -> str:
    """A digest of the signatures: it does not change with comments and bodies."""
    return digest(f"{name} {method}".encode() for name, rows in sorted(methods.items()) for method in rows)


def _read(install: TorchInstall, path: str) -> bytes:
    """The header's text; empty when this torch does not have it."""
    try:
        return (install.include / path).read_bytes()
    except FileNotFoundError:
        return b""


def _read_classes(sources: Mapping[str, bytes]) -> dict[str, list[dict[str, Any]]]:
    """The methods of all classes, each with those of its bases that stand in `CLASSES`."""
    import tree_sitter
    import tree_sitter_cpp

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
    own: dict[str, list[dict[str, Any]]] = {}
    bases: dict[str, list[str]] = {}
    for name, path in CLASSES.items():
        text = _MACROS.sub(lambda match: b" " * len(match.group()), sources[path])
        node = _class_node(parser.parse(text).root_node, name)
        own[name] = [] if node is None else list(_methods(node, name))
        bases[name] = [] if node is None else _bases(node)

    def merged(name: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        methods: dict[tuple[Any, ...], dict[str, Any]] = {}
        for base in bases[name]:
            methods.update(merged(base))
        methods.update({(row["name"], len(row["parameters"]), row["const"]): row for row in own[name]})
        return methods

    return {name: list(merged(name).values()) for name in CLASSES}


def _text(node: Node | None) -> str:
    """The node's source on one line."""
    return "" if node is None or node.text is None else " ".join(node.text.decode().split())


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _class_node(root: Node, name: str) -> Node | None:
    """The definition of the class `name`, not a forward declaration."""
    for node in _walk(root):
        is_definition = node.type in ("struct_specifier", "class_specifier") and node.child_by_field_name("body")
        if is_definition and _text(node.child_by_field_name("name")) == name:
            return node
    return None


def _bases(node: Node) -> list[str]:
    """The bases that are in `CLASSES`, without their namespaces."""
    names = [
        _text(child).rpartition("::")[2]
        for clause in node.children
        if clause.type == "base_class_clause"
        for child in clause.named_children
    ]
    return [name for name in names if name in CLASSES]


def _methods(node: Node, class_name: str) -> Iterator[dict[str, Any]]:
    body = node.child_by_field_name("body")
    for member in body.children if body is not None else ():
        if member.type in ("field_declaration", "function_definition"):
            method = _method(member, class_name)
            if method is not None:
                yield method


def _method(member: Node, class_name: str) -> dict[str, Any] | None:
    """The row of `VirtualMethod` for a class member; None when it is anything else than a virtual method."""
    declarator = next((node for node in _declarators(member) if node.type == "function_declarator"), None)
    if declarator is None:
        return None
    name = declarator.child_by_field_name("declarator")
    parameters = declarator.child_by_field_name("parameters")
    if name is None or name.type != "field_identifier" or parameters is None:
        return None
    suffix = [_text(child) for child in declarator.children if child.start_byte >= parameters.end_byte]
    if not any(child.type == "virtual" for child in member.children) and {"override", "final"}.isdisjoint(suffix):
        return None
    return_type = _return_type(member, declarator)
    types = [_parameter(child) for child in parameters.named_children if child.type.endswith("parameter_declaration")]
    const, noexcept = "const" in suffix, any(part.startswith("noexcept") for part in suffix)
    signature = f"{return_type} {_text(name)}({', '.join(types)}){' const' * const}{' noexcept' * noexcept}"
    return {
        "name": _text(name),
        "declared_in": class_name,
        "signature": signature,
        "return_type": return_type,
        "parameters": types,
        "pure": _text(member.child_by_field_name("default_value")) == "0",
        "const": const,
        "noexcept": noexcept,
    }


def _declarators(member: Node) -> Iterator[Node]:
    """The member's declarator and what it wraps: pointers and references stand outside of the function."""
    node = member.child_by_field_name("declarator")
    while node is not None:
        yield node
        if node.type == "function_declarator":
            return
        wrapped = node.child_by_field_name("declarator")
        if wrapped is None:
            wrapped = next((child for child in node.named_children if child.type.endswith("declarator")), None)
        node = wrapped


def _return_type(member: Node, declarator: Node) -> str:
    """Qualifiers, type, and the `*` and `&` that the grammar counts as part of the declarator."""
    parts = [
        _text(child)
        for child in member.children
        if child.end_byte <= declarator.start_byte and child.type not in ("virtual", "attribute_declaration")
    ]
    outer = member.child_by_field_name("declarator")
    marks = ""
    if outer is not None and outer.text is not None and outer.id != declarator.id:
        marks = outer.text[: declarator.start_byte - outer.start_byte].decode().strip()
    return " ".join(parts) + marks


def _parameter(node: Node) -> str:
    """The parameter without attributes, comments and its default value."""
    default = node.child_by_field_name("default_value")
    parts = []
    for child in node.children:
        if child.type in ("attribute_declaration", "comment"):
            continue
        if child.type == "=" or (default is not None and child.id == default.id):
            break
        parts.append(_text(child))
    text = " ".join(parts)
    return re.sub(r"\s*/\*.*?\*/\s*", " ", text).strip()
