"""Give a backend other names: in its manifests, and in texts that people wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from acmegen.diagnostics import Diagnostic, DiagnosticError, codes
from acmegen.manifest.load import BACKEND
from acmegen.manifest.names import DeviceName, LibraryName, NamespaceName, PackageName
from acmegen.manifest.validate import check_value
from acmegen.plan.names import Names, derive_names

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What stands before a namespace, where it is not followed by `::`.
_BEFORE_NAMESPACE = re.compile(r"(\bnamespace\s+|::\s*|\btorch\.ops\.|\bTORCH_LIBRARY\w*\(\s*|\bLibrary\(\s*['\"])$")
# Fields of backend.yaml that hold names of the vendor's.
_VENDORS = ("driver", "library")


@dataclass(frozen=True)
class NewNames:
    """The names that somebody chose; None leaves one to follow from the others."""

    device: str | None = None
    namespace: str | None = None
    package: str | None = None
    library: str | None = None

    def __bool__(self) -> bool:
        return any(name is not None for name in asdict(self).values())


@dataclass(frozen=True)
class Renaming:
    """Old names and new ones.

    Attributes:
        old: the names of the project.
        new: those that take their place.
        identifiers: longer identifiers that hold a name, such as `AcmeStream`, with their new ones.
    """

    old: Names
    new: Names
    identifiers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> frozenset[str]:
        """The old names themselves."""
        return frozenset(self._words)

    def with_identifiers(self, identifiers: Mapping[str, str]) -> Renaming:
        """The same with longer identifiers."""
        return replace(self, identifiers=identifiers)

    def text(self, text: str, cmake: bool = False) -> str:
        """`text` with whole identifiers exchanged. Within `cmake` the package's name alone means the library."""

        def exchange(match: re.Match[str]) -> str:
            word = match.group()
            if word in self.identifiers:
                return self.identifiers[word]
            choices = self._words.get(word)
            if not choices:
                return word
            before, after = text[max(match.start() - 40, 0) : match.start()], text[match.end() : match.end() + 2]
            if "namespace" in choices and (after == "::" or _BEFORE_NAMESPACE.search(before)):
                return choices["namespace"]
            if "library" in choices and cmake and not after.startswith("/"):
                return choices["library"]
            return next(iter(choices.values()))

        return self._pattern.sub(exchange, text)

    def manifest(self, file: str, data: dict[str, Any]) -> dict[str, Any]:
        """The data of a manifest, `file` below the manifests' folder, under the new names."""
        if file != BACKEND:
            return {key: self._value(key, value) for key, value in data.items()}
        renamed = {key: value if key in _VENDORS else self._value(key, value) for key, value in data.items()}
        return renamed | {
            "name": self.new.device,
            "cpp_namespace": self.new.namespace,
            "python_package": self.new.package,
            "cpp_library": self.new.library,
        }

    def derived(self, identifier: str) -> tuple[str, ...]:
        """What a longer identifier that holds an old name may be under the new names; empty when it holds none."""
        capitals = re.sub(rf"(?<![A-Z0-9]){self.old.upper}(?![A-Z0-9])", self.new.upper, identifier)
        capitals = re.sub(rf"{self.old.pascal}(?![a-z])", self.new.pascal, capitals)
        found = []
        for old, new in (
            (f"lib{self.old.library}", f"lib{self.new.library}"),
            (self.old.package, self.new.package),
            (self.old.tileops_package, self.new.tileops_package),
            (self.old.namespace, self.new.namespace),
            (self.old.device, self.new.device),
        ):
            found.append(re.sub(rf"(?<![A-Za-z0-9]){old}(?![A-Za-z0-9])", new, capitals))
        return tuple(dict.fromkeys(name for name in found if name != identifier))

    def _value(self, key: str, value: Any) -> Any:
        match value:
            case str() if key == "namespace" and value == self.old.namespace:
                return self.new.namespace
            case str():
                return self.text(value)
            case dict():
                return {inner: self._value(inner, item) for inner, item in value.items()}
            case tuple():
                return tuple(self._value(key, item) for item in value)
            case _:
                return value

    @cached_property
    def _words(self) -> dict[str, dict[str, str]]:
        """Each old name as a word, with the new names that it may stand for; the usual one first."""
        words: dict[str, dict[str, str]] = {}
        new = asdict(self.new)
        for kind, name in asdict(self.old).items():
            words.setdefault(name, {})[kind] = new[kind]
        for kind in ("package", "tileops_package"):
            # As distributions are called.
            old = getattr(self.old, kind).replace("_", "-")
            words.setdefault(old, {})[kind] = new[kind].replace("_", "-")
        return words

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        dashed = sorted(word for word in self._words if "-" in word)
        return re.compile("|".join([*(rf"(?<![\w-]){word}(?![\w-])" for word in dashed), _IDENTIFIER.pattern]))


def identifiers_of(text: str) -> set[str]:
    """The identifiers in `text`, of whatever language."""
    return set(_IDENTIFIER.findall(text))


def rename(old: Names, chosen: NewNames) -> Renaming:
    """What takes the place of the names `old`.

    A name that is not chosen follows from the device's if it did so before; otherwise the device's name is exchanged
    within it.

    Raises:
        DiagnosticError: a chosen name cannot be one, or two that must differ are the same.
    """
    for kind, name in (
        (DeviceName, chosen.device),
        (NamespaceName, chosen.namespace),
        (PackageName, chosen.package),
        (LibraryName, chosen.library),
    ):
        if name is not None:
            check_value(kind, name)
    device = chosen.device or old.device
    usual = derive_names(old.device)

    def follow(name: str, default: str) -> str | None:
        return None if name == default else re.sub(rf"(?<![A-Za-z0-9]){old.device}(?![A-Za-z0-9])", device, name)

    new = derive_names(
        device,
        package=chosen.package or follow(old.package, usual.package),
        namespace=chosen.namespace or follow(old.namespace, usual.namespace),
        library=chosen.library or follow(old.library, old.package),
    )
    if new.package.lower() == new.tileops_package:
        message = f"`{new.package}` is taken: it is the package of the TileOPs side"
        raise DiagnosticError([Diagnostic(codes.RESERVED_NAME, message)])
    return Renaming(old, new)
