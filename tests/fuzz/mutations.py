"""Damage to manifests: to the data, node by node and across files, and to the text."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from acmegen.manifest.dtypes import ALIASES, DTYPES, SETS
from acmegen.manifest.ops import KINDS
from tests.fuzz.projects import Files

Node = tuple[Any, Any]
"""A container (a mapping or a list) and a key or an index in it."""

SCRAPS = (
    *("\t", "\n", "\r", "\r\n", "\x00", "'", '"', "{", "}", "[", "]", ":", ": ", "- ", "#", " #", "&a ", "*a", "? "),
    *(
        "!!str ",
        "!x ",
        "!!python/object/apply:os.system ",
        "<<: ",
        "~",
        "true",
        "1e999",
        "0x",
        "9" * 30,
        "---\n",
        "...\n",
    ),
    *(
        "%YAML 1.1\n",
        "%",
        "|\n",
        ">-\n  ",
        "é",
        "日",
        "\U0001f600",
        "\ufeff",
        "\u2028",
        "\x85",
        "\u202e",
        "\\",
        "\\u0041",
    ),
    *("user", "2MiB", "*/", "//", "{{ x }}", "{% raw %}", "??/", "  ", "\n\n"),
)
TEXTS = (
    *(
        "",
        " ",
        "\n",
        "a\nb",
        "no",
        "null",
        "class",
        "import",
        "std",
        "cuda",
        "../../x",
        "/etc/passwd",
        "a" * 300,
        "é",
        "日本",
    ),
    *(
        "*/ int x; /*",
        '"; int x; "',
        "{{ x }}",
        "{% endraw %}",
        "\\",
        "x \\",
        "??/",
        "\x00",
        "\x1b[31m",
        "\u202eabc",
        "\U0001f600",
    ),
    *(">=2,<1", "==2.*", "!=2.13", ">=2.13", "2MiB", "0B", "99TiB", "1.5MiB", "MIT", "LicenseRef-x"),
    *(
        "a",
        "self",
        "out",
        "stream",
        "alpha",
        "x.sizes[:-1]",
        "product(x.sizes)",
        "dtype(self)",
        "a +",
        "(" * 90,
        "-" * 900 + "a",
    ),
    *(
        "a if b else c",
        "lambda: 0",
        "9**9**9",
        "__import__('os')",
        "f'{a}'",
        "a.b.c",
        "a[0]",
        "[a for a in b]",
        "a := 1",
        "1e999",
    ),
    *(
        "f(Tensor x) -> Tensor",
        "f(Tensor(a!) x) -> Tensor(a!)",
        "f.out(Tensor x, *, int y=3) -> (Tensor, Tensor)",
        "if(Tensor x) -> ()",
    ),
    *(
        "add.Tensor",
        "add_.Tensor",
        "add.out",
        "reshape",
        "view",
        "relu",
        "mm",
        "native_layer_norm",
        "nonsense.op",
        "aten::add.Tensor",
    ),
)
VALUES = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        512,
        2**31,
        2**63,
        -(2**63),
        2**70,
        10**300,
        0.5,
        1e-5,
        float("inf"),
        float("nan"),
    ),
    *(
        [],
        {},
        [[]],
        [{}],
        {"a": 1},
        ["a", "a"],
        [None],
        {"user": {}},
        {"expr": "a"},
        {"library": "f", "dtypes": ["all"]},
    ),
    *(
        {"copy": "self", "to": "out"},
        {"like": "x"},
        {"sizes": [1], "dtype": "x"},
        {"<expr>": 1},
        {"[key]": 1},
        {"str": 1},
    ),
)


def mutated(chance: random.Random, files: Files) -> dict[str, bytes]:
    """`files` with a few mistakes, in the data, in the text, or in both."""
    result = dict(files)
    if chance.random() < 0.7:
        result = _mutate_data(chance, result)
    if chance.random() < 0.4:
        name = chance.choice(sorted(result))
        result[name] = damaged(chance, result[name])
    return {name: _bytes(chance, text) for name, text in result.items()}


def _bytes(chance: random.Random, text: str) -> bytes:
    data = text.encode(errors="replace")
    if data and chance.random() < 0.01:
        at = chance.randrange(len(data))
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    return data


# ---- text


def damaged(chance: random.Random, text: str) -> str:
    """`text` with scraps put in, taken out, and lines that are doubled, exchanged or shifted."""
    for _ in range(chance.randint(1, 4)):
        if chance.random() < 0.3:
            text = chance.choice((_shuffled_lines, _shuffled_lines, _aliased))(chance, text)
            continue
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((0, 0, 1, 3, 12)))
        text = text[:start] + chance.choice(("", *SCRAPS)) + text[end:]
    return text


def _shuffled_lines(chance: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return text
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            lines.insert(second, lines[first])
        case 1:
            lines[first], lines[second] = lines[second], lines[first]
        case 2:
            del lines[first]
        case _:
            lines[first] = " " * chance.randint(1, 4) + lines[first]
    return "".join(lines)


def _aliased(chance: random.Random, text: str) -> str:
    """`text` with an anchor at what a line starts, and at the end of some lines an alias to it, be it inside or not."""
    lines = text.splitlines()
    keys = [index for index, line in enumerate(lines) if line.endswith(":")] or [len(lines) - 1]
    first = chance.choice(keys)
    for index in range(first, len(lines)):
        if index == first:
            lines[index] += " &a"
        elif chance.random() < 0.1:
            start = lines[index].find(": ")
            lines[index] = f"{lines[index][:start]}: *a" if start > 0 else f"{lines[index]} *a"
    return "\n".join(lines)


# ---- data


@cache
def _loaded(text: str) -> Any:
    return yaml.safe_load(text)


def _mutate_data(chance: random.Random, files: Files) -> Files:
    data = {name: copy.deepcopy(_loaded(text)) for name, text in files.items()}
    touched: set[str] = set()
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        if chance.random() < 0.04:
            touched |= _mutate_files(chance, data)
            continue
        name = chance.choice(sorted(data))
        nodes = list(_nodes(data[name]))
        if nodes:
            chance.choice(_NODE_MUTATIONS)(chance, chance.choice(nodes), data)
            touched.add(name)
    return {name: _dumped(chance, data[name]) if name in touched else files[name] for name in data}


def _mutate_files(chance: random.Random, data: dict[str, Any]) -> set[str]:
    """Copy a file's content to another, forget a file, or give an entry to two files."""
    name, other = chance.choice(sorted(data)), chance.choice(sorted(data))
    match chance.randrange(4):
        case 0:
            data[name] = copy.deepcopy(data[other])
        case 1 if len(data) > 1:
            del data[name]
            return set()
        case 2:
            name = chance.choice(("ops/more.yaml", "ops/zz.yaml", "extra.yaml"))
            data[name] = copy.deepcopy(data[other])
        case _:
            data[name] = chance.choice((None, [], "text", 5, {}))
    return {name}


def _nodes(data: Any) -> Iterator[Node]:
    """Every place in `data` that holds something."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield data, key
            yield from _nodes(value)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield data, index
            yield from _nodes(value)


def _delete(chance: random.Random, node: Node, data: Mapping[str, Any]) -> None:
    container, key = node
    del container[key]


def _replace(chance: random.Random, node: Node, data: Mapping[str, Any]) -> None:
    container, key = node
    container[key] = _nasty(chance)


def _change_text(chance: random.Random, node: Node, data: Mapping[str, Any]) -> None:
    container, key = node
    if isinstance(container[key], str):
        container[key] = _misspelt(chance, container[key])
    elif isinstance(container[key], (int, float)):
        container[key] = chance.choice((-container[key], container[key] * 2, container[key] + 1, str(container[key])))
    else:
        container[key] = [container[key]]


def _rename(chance: random.Random, node: Node, data: Mapping[str, Any]) -> None:
    container, key = node
    if isinstance(container, dict):
        new = chance.choice((_misspelt(chance, str(key)), _word(chance), _text(chance)))
        items = [(new if name == key else name, value) for name, value in container.items()]
        container.clear()
        container.update(items)
    else:
        container.insert(key, copy.deepcopy(container[key]))


def _swap(chance: random.Random, node: Node, data: Mapping[str, Any]) -> None:
    """Exchange with another value, perhaps of another file."""
    other = chance.choice(list(_nodes(data[chance.choice(sorted(data))])) or [node])
    (left, key), (right, other_key) = node, other
    left[key], right[other_key] = copy.deepcopy(right[other_key]), copy.deepcopy(left[key])


def _graft(chance: random.Random, node: Node, data: Mapping[str, Any]) -> None:
    """Put a copy of something else there, under its own key."""
    container, _ = node
    other, other_key = chance.choice(list(_nodes(data[chance.choice(sorted(data))])) or [node])
    value = copy.deepcopy(other[other_key])
    if isinstance(container, dict):
        container[other_key if isinstance(other_key, str) else _word(chance)] = value
    else:
        container.append(value)


_NODE_MUTATIONS: tuple[Callable[[random.Random, Node, Mapping[str, Any]], None], ...] = (
    *(_delete, _replace, _replace, _change_text, _change_text, _rename, _rename, _swap, _graft),
)
_WORDS = (
    *(
        *KINDS,
        *DTYPES,
        *SETS,
        *ALIASES,
        "manifest",
        "include",
        "ops",
        "custom",
        "like",
        "sizes",
        "dtype",
        "when",
        "args",
    ),
    *(
        "scratch",
        "layouts",
        "outputs",
        "before",
        "requires",
        "copy",
        "to",
        "namespace",
        "backward",
        "meta",
        "otherwise",
    ),
    *(
        "small",
        "large",
        "limit",
        "segment",
        "alignment",
        "driver",
        "functions",
        "kernel",
        "expression",
        "python",
        "mode",
    ),
)


def _word(chance: random.Random) -> str:
    return chance.choice(_WORDS)


def _text(chance: random.Random) -> str:
    return chance.choice(TEXTS)


def _nasty(chance: random.Random) -> Any:
    kind = chance.randrange(4)
    if kind == 0:
        return _word(chance)
    if kind == 1:
        return _text(chance)
    if kind == 2:
        return copy.deepcopy(chance.choice(VALUES))
    value: Any = chance.choice((1, "x"))
    for _ in range(chance.randint(2, 80)):
        value = [value] if chance.random() < 0.5 else {"a": value}
    return value


def _misspelt(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    match chance.randrange(5):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + chance.choice("aeX_.0 -*(){}[]'\"\\,:") + text[at:]
        case 2:
            return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]
        case 3:
            return text.swapcase()
        case _:
            return text[:at] + _text(chance) + text[at:]


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def _dumped(chance: random.Random, data: Any) -> str:
    """`data` as YAML, in one of its styles; JSON is one of them."""
    if chance.random() < 0.2:
        text = json.dumps(data, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, 2)))
        return text.replace("-Infinity", "-.inf").replace("Infinity", ".inf").replace("NaN", ".nan")
    return yaml.dump(
        data,
        Dumper=_DUMPER,
        sort_keys=False,
        allow_unicode=chance.random() < 0.5,
        default_flow_style=chance.choice((False, False, None, True)),
        default_style=chance.choice((None, None, None, '"', "'", "|", ">")),
        width=chance.choice((20, 80, 1000)),
    )
