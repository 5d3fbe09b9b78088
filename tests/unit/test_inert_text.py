"""Free text of manifests in C++, Python, TOML and CMake: whatever it holds, it stays text."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from acmegen.diagnostics import codes
from acmegen.plan.dialects.host import _escape
from acmegen.plan.ops_functions import inert, string_literal
from acmegen.render.environment import quoted as double_quoted
from tests.unit.manifests import BACKEND, diagnostics_of
from tests.unit.rendering import formatted, rendered, skeleton

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

TEXTS = (
    *(
        "plain",
        "*/ int x; /*",
        "// x",
        'say "no"',
        "it's",
        "ends in \\",
        "ends in ??/",
        "?" * 5,
        "\\n \\0 \\x41 \\u0041",
    ),
    *(
        "{{ 7 * 7 }}",
        "{% raw %}{{ x }}",
        "{# x #}",
        "${x} $(x) `x`",
        "%s %n %%",
        "'''",
        '"""',
        "#",
        "# x",
        "]==]",
        ");",
    ),
    *(
        "\u202etxet\u202c",
        "\u2066x",
        "a\u200bb",
        "\U0001f600",
        "日本語",
        "e\u0301",
        "a\tb",
        "<!-- --> &lt;",
        "NaN: [x, y}",
    ),
)
# With what only a double-quoted scalar can hold.
ANY_TEXTS = (*TEXTS, "two\nlines \\\nend", "\r", "\x00", "\x1b[31m", "\x85\u2028\u2029", "\x7f")


def quoted(text: str) -> str:
    return yaml.safe_dump(text, default_style='"', width=10_000).strip()


def literal(text: str) -> str:
    """A Python literal that holds `text` itself, and not escapes for what cannot be seen."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def project(folder: Path, text: str) -> dict[str, str]:
    visible = text.isprintable() or text == "a\tb"
    expression = f"torch.nn.functional.silu(input) if {literal(text if visible else 'seen')} else None"
    return rendered(
        folder,
        backend=BACKEND + f"description: {quoted(text)}\n",
        tileops=(
            "manifest: tileops/v1\nops:\n  SiLUFwdOp:\n"
            f"    kernel: {{expression: {quoted(expression)}}}\n    reference: torch.relu(input)\n"
        ),
        ops__x="manifest: ops/v1\nops:\n"
        f"  nonzero: {{unsupported: {quoted(text)}}}\n"
        f"  div.Tensor_mode: {{expr: {quoted(f'a if rounding_mode == {literal(text)} else b')}, dtypes: [float32]}}\n",
    )


@pytest.fixture(scope="module")
def benign(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return project(tmp_path_factory.mktemp("benign"), "plain")


@pytest.mark.parametrize("text", TEXTS)
def test_g13_free_text_is_inert_wherever_it_comes_out(tmp_path: Path, benign: dict[str, str], text: str) -> None:
    files = project(tmp_path, text)
    assert files.keys() == benign.keys()
    for path in [path for path in files if files[path] != benign[path]]:
        content, suffix = files[path], Path(path).suffix
        assert all(character.isprintable() or character in "\n\t" for character in content), path
        if suffix in (".cpp", ".h"):
            # A question that is asked once per launch is named after the text.
            code, expected = (
                re.sub("mode_is_[a-zA-Z0-9_]*", "mode_is", skeleton(cpp)) for cpp in (content, benign[path])
            )
            assert code == expected, path
        elif suffix == ".py":
            assert _without_texts(content) == _without_texts(benign[path]), path
        else:
            assert path == "pyproject.toml"
            assert tomllib.loads(content)["project"]["description"] == text
    assert text in _texts(files["tests/generated/test_structured.py"])


def _without_texts(python: str) -> str:
    tree = ast.parse(python)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def _texts(python: str) -> list[str]:
    return [
        node.value
        for node in ast.walk(ast.parse(python))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_g13_literals_have_the_value_of_the_text_and_comments_end_with_their_line(tmp_path: Path) -> None:
    """The compiler is asked, with and without trigraphs, and after formatting too."""
    texts = [text for text in ANY_TEXTS if "\x00" not in text]
    lines = ["#include <cstdio>", "#include <cstring>", "int main() {", "int wrong = 0, seen = 0;"]
    for text in texts:
        data = text.encode()
        expected = "{" + ", ".join(f"(char){byte}" for byte in (*data, 0)) + "}"
        lines += [f"// {inert(text)}", "++seen;", f"/* {inert(text)} */", "++seen;", f"/// Serves `{inert(text)}`."]
        lines += [
            f"{{ const char expected[] = {expected}; wrong += std::strcmp({function(text)}, expected) != 0; }}"
            for function in (string_literal, _escape)
        ]
    lines += [f'std::printf("%d %d", wrong, seen == {2 * len(texts)}); }}', ""]
    source = "\n".join(lines)
    for name, text, options in (
        ("plain", source, ["-std=c++20"]),
        ("trigraphs", source, ["-std=gnu++20", "-trigraphs"]),
        ("formatted", formatted({"x.cpp": source})["x.cpp"], ["-std=c++20", "-trigraphs"]),
    ):
        path = tmp_path / f"{name}.cpp"
        path.write_text(text, encoding="utf-8")
        program = tmp_path / name
        command = [os.environ.get("CXX", "c++"), *options, "-Werror=comment", "-Werror=trigraphs", "-o", program, path]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        assert subprocess.run([program], capture_output=True, text=True).stdout == "0 1", name


@pytest.mark.parametrize("text", ANY_TEXTS)
def test_g13_quoted_texts_have_the_value_of_the_text(text: str) -> None:
    assert tomllib.loads(f"x = {double_quoted(text)}") == {"x": text}
    assert ast.literal_eval(double_quoted(text)) == text


@pytest.mark.parametrize("text", ["two\nlines", "\r", "a\x00", "\x1b[31m", "a\x85b", "a\u2028b", "\x7f", "", "  "])
def test_g13_a_line_of_text_is_one_line_of_text(tmp_path: Path, text: str) -> None:
    for files in (
        {"backend": BACKEND + f"description: {quoted(text)}\n"},
        {"ops__x": f"manifest: ops/v1\nops: {{nonzero: {{unsupported: {quoted(text)}}}}}\n"},
    ):
        (found,) = diagnostics_of(lambda files=files: rendered(tmp_path, **files))  # type: ignore[misc]
        assert found.code == codes.WRONG_VALUE
        (tmp_path / "backend.yaml").unlink()


@pytest.mark.parametrize("character", ["\u202e", "\u200b", "\u2066"])
def test_g13_expressions_of_python_show_all_that_is_in_them(tmp_path: Path, character: str) -> None:
    tileops = (
        "manifest: tileops/v1\nops:\n  SiLUFwdOp:\n    reference: torch.relu(input)\n"
        f"    kernel: {{expression: {quoted(f'torch.relu(input, {character!s}1)')}}}\n"
    )
    (found,) = diagnostics_of(lambda: rendered(tmp_path, tileops=tileops))
    assert (found.code, f"U+{ord(character):04X}" in found.message) == (codes.WRONG_VALUE, True)


@pytest.mark.parametrize(
    "value", ["===x", '===1.0"', "'>=2.9\\n'", "'==2.13]'", '"==2.13\\""', "'>=2.9 # x'", "'>=2.9; x'"]
)
def test_g13_version_ranges_hold_nothing_but_versions(tmp_path: Path, value: str) -> None:
    text = BACKEND + f"torch: {value}\n"
    (found,) = diagnostics_of(lambda: rendered(tmp_path, backend=text))
    assert found.code == codes.BAD_VERSION_RANGE


def test_a_version_range_is_printed_without_its_spaces(tmp_path: Path) -> None:
    files = rendered(tmp_path, backend=BACKEND + 'torch: " >= 2.9,\\n < 9 "\n')
    assert tomllib.loads(files["pyproject.toml"])["project"]["dependencies"] == ["torch>=2.9,<9"]


@pytest.mark.parametrize("text", ["a # x", "a #*/", "a # \\", '"#" if a else b # x'])
def test_g13_an_expression_has_no_comments(tmp_path: Path, text: str) -> None:
    """One would hide what stands on the lines after it, which count as one line with it."""
    ops = f"manifest: ops/v1\nops:\n  relu: {{expr: {quoted(text)}}}\n"
    found = diagnostics_of(lambda: rendered(tmp_path, ops__x=ops))
    assert codes.BAD_EXPRESSION in [one.code for one in found]
    assert any("no comments" in one.message for one in found)
