"""The schema language of custom operators: torch reads what passes, and names mean the same in C++ and Python."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch

from acmegen.cpp_keywords import CPP_KEYWORDS
from acmegen.diagnostics import Diagnostic, codes
from acmegen.facts import load_facts
from acmegen.facts.operators import Operator
from acmegen.manifest.names import _check_namespace
from acmegen.pipeline import resolve
from acmegen.plan.ops_schema import _HIDDEN_NAMES, _HIDDEN_OVERLOADS, SchemaError, parse_schema
from tests.unit.cpp import compile_errors
from tests.unit.manifests import covered, diagnostics_of, write_manifests
from tests.unit.rendering import rendered, write_tree

OPS = "manifest: ops/v1\n"
WORDS = (
    *(
        "if",
        "def",
        "class",
        "lambda",
        "import",
        "from",
        "None",
        "True",
        "False",
        "inf",
        "nan",
        "in",
        "not",
        "and",
        "or",
    ),
    *(
        "is",
        "as",
        "with",
        "while",
        "for",
        "else",
        "elif",
        "return",
        "break",
        "continue",
        "pass",
        "del",
        "global",
        "raise",
    ),
    *(
        "assert",
        "print",
        "Tensor",
        "int",
        "float",
        "self",
        "list",
        "Future",
        "Dict",
        "default",
        "__a",
        "__class__",
        "_x",
    ),
    *("out", "number", "complex", "yield", "async", "match", "template", "operator", "name", "Scalar", "str", "device"),
)
PLACES = (
    *("{}(Tensor x) -> Tensor", "f.{}(Tensor x) -> Tensor", "f(Tensor {}) -> Tensor", "f(Tensor x) -> Tensor {}"),
    *("f(Tensor x) -> (Tensor {}, Tensor b)", "f(Tensor x, *, int {}=1) -> Tensor"),
)
SHAPES = (
    *("f(Tensor x, int a=9223372036854775807) -> Tensor", "f(Tensor x, int a=9223372036854775808) -> Tensor"),
    *("f(Tensor x, int a=-9223372036854775808) -> Tensor", "f(Tensor x, int a=-9999999999999999999999) -> Tensor"),
    *("f(Tensor x, int a=+1) -> Tensor", "f(Tensor x, int a=007) -> Tensor", "f(Tensor x, int[] a=3) -> Tensor"),
    *(
        "f(Tensor x, int[] a=[]) -> Tensor",
        "f(Tensor x, float[] a=1.0) -> Tensor",
        "f(Tensor x, float a=1e999) -> Tensor",
    ),
    *(
        "f(Tensor x, float a=1e-999) -> Tensor",
        "f(Tensor x, float a=0e-999) -> Tensor",
        "f(Tensor x, float a=-.5) -> Tensor",
    ),
    *(
        "f(Tensor x, float a=1.) -> Tensor",
        "f(Tensor x, Scalar a=+1) -> Tensor",
        "f(Tensor x, Scalar a=1e400) -> Tensor",
    ),
    *("f(Tensor x, Scalar a=True) -> Tensor", "f(Tensor x, bool a=True) -> Tensor", "f(Tensor x, str a='b') -> Tensor"),
    *("f(Tensor x, str a='') -> Tensor", "f(Tensor x, str? a=None) -> Tensor", "f(Tensor x, int? a=None) -> Tensor"),
    *(
        "f(Tensor x, int a=1, int b) -> Tensor",
        "f(Tensor x, int a=1, *, int b) -> Tensor",
        "f(Tensor x, int a = 1) -> Tensor",
    ),
    *(
        "f(Tensor x,) -> Tensor",
        "f(Tensor x,, Tensor y) -> Tensor",
        "f(Tensor x, *) -> Tensor",
        "f(*, Tensor x) -> Tensor",
    ),
    *("f(Tensor x, *, *, Tensor y) -> Tensor", "f(Tensor x) -> ()", "f(Tensor x) -> (Tensor)", "f(Tensor x)->Tensor"),
    *("f(Tensor x) -> (Tensor a, Tensor a)", "f(Tensor x) -> (Tensor a,)", "f( Tensor  x ) -> ( Tensor , Tensor )"),
    *(
        "f(Tensor(a!) x) -> Tensor(a!)",
        "f(Tensor(a!) x) -> Tensor(b!)",
        "f(Tensor(a!) x) -> ()",
        "f(Tensor x) -> Tensor(a!)",
    ),
    *("f(Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))", "f(Tensor(a!) x, Tensor(a!) y) -> ()"),
    *(
        "f(Tensor? x) -> Tensor",
        "f(Tensor[] x) -> Tensor",
        "f(Tensor x, Tensor? y=None) -> Tensor",
        "f(Tensor x, int[]? y) -> Tensor",
    ),
)


def parsed(schema: str) -> Operator | None:
    try:
        return parse_schema(schema, "nova")
    except SchemaError:
        return None


def torch_reads(schema: str) -> bool:
    try:
        torch._C.parse_schema(f"nova::{schema}")
    except (RuntimeError, IndexError, ValueError):
        return False
    return True


@pytest.mark.parametrize("place", PLACES)
def test_a15_torch_reads_every_schema_that_passes_whatever_its_words(place: str) -> None:
    """A schema that torch cannot read would end the process when the backend is loaded."""
    schemas = [place.format(word) for word in WORDS]
    assert [schema for schema in schemas if (operator := parsed(schema)) and not torch_reads(operator.schema)] == []
    assert any(map(parsed, schemas)) and not all(map(parsed, schemas))


def test_a15_torch_reads_every_schema_that_passes_whatever_its_shape() -> None:
    accepted = [operator.schema for schema in SHAPES if (operator := parsed(schema))]
    assert [schema for schema in accepted if not torch_reads(schema)] == []
    assert 20 < len(accepted) < len(SHAPES)


def test_names_that_torch_ops_hides_are_refused() -> None:
    packet = torch.ops.aten.relu
    hidden = set(dir(type(packet))) | set(vars(packet))
    plain = {name for name in hidden if not name.startswith("__")} - {"default", "out", "_is_protocol"}
    assert plain <= _HIDDEN_OVERLOADS
    space = type(torch.ops.aten)("nova")
    assert {name for name in vars(space) if not name.startswith("__")} <= _HIDDEN_NAMES


def test_namespaces_of_torch_s_own_operators_are_refused() -> None:
    spaces = {name.split("::")[0] for name in torch._C._dispatch_get_all_op_names()}
    spaces |= {name for name in dir(torch.ops) if not name.startswith("_")}
    # A backend that is installed here, or that a test made, has added its own.
    spaces -= {"nova", *(backend.name for backend in entry_points(group="torch.backends"))}
    free = []
    for name in sorted(spaces):
        try:
            _check_namespace(name)
        except Exception:
            continue
        free.append(name)
    assert free == []


ARGUMENTS = (
    *("from", "register", "errno", "linux", "stream", "stream_", "out0", "x_given", "x_contiguous", "x_contiguous_"),
    *(
        "s_scratch",
        "launch",
        "iterator",
        "T",
        "NULL",
        "NovaStream",
        "TORCH_CHECK",
        "guard",
        "at",
        "std",
        "c10",
        "y_buffer",
    ),
    *("__FILE__", "result", "results", "given", "template", "operator", "self", "index", "double", "handle"),
)


def test_g11_cpp_names_of_arguments_are_distinct_and_no_keywords() -> None:
    schema = f"f(Tensor x, {', '.join(f'int {name}' for name in ARGUMENTS)}) -> Tensor"
    operator = parse_schema(schema, "nova")
    names = [argument.cpp_name for argument in operator.arguments]
    assert len(set(names)) == len(names)
    assert not CPP_KEYWORDS & set(names)
    assert [argument.name for argument in operator.arguments] == ["x", *ARGUMENTS]


def test_g11_names_that_are_keywords_compile(tmp_path: Path) -> None:
    """`random_.from`, an argument `from`, overloads `int` and `double`, and what else a name may clash with."""
    numbers = ", ".join(f"int {name}" for name in ARGUMENTS)
    custom = f"""custom:
  "f.int(Tensor x, Tensor? y, {numbers}) -> Tensor":
    like: x
    library: any_call
    dtypes: [floating]
    args: [x, y, s, {", ".join(f"'{name}'" for name in ARGUMENTS if name not in ("from", "stream"))}]
    scratch: {{s: {{like: x}}}}
    backward: from.double
  "from.double(Tensor gradient, Tensor x, int linux) -> (Tensor, Tensor)": {{like: [x, x], user: {{}}}}
  "lambda.int(Tensor x, Tensor T, {numbers.replace("int T, ", "")}) -> Tensor":
    {{like: x, expr: x * T + errno, dtypes: [floating]}}
"""
    ops = "ops: {random_.from: user, rsub.Scalar: user, index.Tensor: user}\n"
    files = rendered(tmp_path / "manifests", ops__x=OPS + ops + custom)
    assert "torch.ops.nova.lambda" not in "".join(text for path, text in files.items() if path.endswith(".py"))
    csrc = write_tree(tmp_path / "tree", files) / "csrc"
    install = load_facts().torch
    sources = sorted(
        path
        for folder in ("kernels", "generated/kernels", "generated/pointwise", "generated/registration")
        for path in (csrc / folder).glob("*.cpp")
        if re.match(r"(Custom_|Kernels_|Pointwise_|nova_|random_)", path.name)
    )
    assert len(sources) >= 5
    whole = csrc / "all.cpp"
    any_call = "template <class... T> simError_t any_call(T...) { return simSuccess; }\n"
    whole.write_text(
        '#include "sim_runtime.h"\n'
        + any_call
        + "".join(f'#include "{path.relative_to(csrc).as_posix()}"\n' for path in sources)
    )
    sdk = tmp_path / "tree" / "third_party" / "sim" / "include"
    assert compile_errors(whole, install, csrc, sdk) == ""


def refused(folder: Path, **files: str) -> Diagnostic:
    (found,) = diagnostics_of(lambda: resolve(write_manifests(folder, **files)))
    return found


@pytest.mark.parametrize(
    ("schema", "place", "words"),
    [
        ("if(Tensor x) -> Tensor", "if", "word of torch's schema language"),
        ("f.default(Tensor x) -> Tensor", "default", "cannot be called"),
        ("f.op(Tensor x) -> Tensor", "op", "cannot be called"),
        ("name(Tensor x) -> Tensor", "name", "cannot be reached"),
        ("__init__(Tensor x) -> Tensor", "__init__", "cannot be reached"),
        ("f(Tensor for) -> Tensor", "for", "word of"),
        ("f(Tensor x) -> Tensor class", "class", "word of"),
        ("f(Tensr x) -> Tensor", "Tensr", "of type `Tensr`"),
        ("f(Tensor x, int y=+1) -> Tensor", "+1", "not a default value"),
        ("f(Tensor x, int y=1, int z) -> Tensor", "int z", "follows one that has one"),
        ("f(Tensor x, int x) -> Tensor", "x", "two arguments"),
    ],
)
@pytest.mark.parametrize("style", ['  "{}": ', "  {}: ", "  ? >-\n    {}\n  : "])
def test_a_mistake_in_a_schema_is_marked_in_the_key(
    tmp_path: Path, schema: str, place: str, words: str, style: str
) -> None:
    text = OPS + "custom:\n" + style.format(schema) + "{user: {}, meta: user}\n"
    found = refused(tmp_path, ops__x=text)
    assert (found.code, covered(found.span, text)) == (codes.BAD_SCHEMA, place)
    assert words in found.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('"f.a(Tensor x) -> Tensor": {user: {}, like: x}', '"f_a(Tensor x) -> Tensor": {user: {}, like: x}'),
        ('"f(Tensor x) -> Tensor": {user: {}, like: x}', '"F(Tensor x) -> Tensor": {user: {}, like: x}'),
        (
            '"b_c(Tensor x) -> Tensor": {namespace: a, user: {}, like: x}',
            '"c(Tensor x) -> Tensor": {namespace: a_b, user: {}, like: x}',
        ),
        (
            '"f(Tensor x) -> Tensor": {namespace: Mine, user: {}, like: x}',
            '"g(Tensor x) -> Tensor": {namespace: mine, user: {}, like: x}',
        ),
        (
            '"f(Tensor x) -> Tensor": {expr: x + 1, dtypes: [float32], like: x}',
            '"f_dtypes(Tensor x) -> Tensor": {user: {}, like: x}',
        ),
    ],
)
def test_names_that_become_one_are_refused_with_both_places(tmp_path: Path, first: str, second: str) -> None:
    text = OPS + f"custom:\n  {first}\n  {second}\n"
    found = refused(tmp_path, ops__x=text)
    assert found.code == codes.NAMES_COLLIDE
    lines = {found.span.line if found.span else 0, *(note.span.line for note in found.secondary)}
    assert lines == {3, 4}


def test_a_custom_operator_and_a_kernel_of_torch_s_collide_with_both_places(tmp_path: Path) -> None:
    text = (
        OPS + 'ops:\n  trace.out: user\ncustom:\n  "out(Tensor x) -> Tensor": {namespace: trace, like: x, user: {}}\n'
    )
    found = refused(tmp_path, ops__x=text)
    assert found.code == codes.NAMES_COLLIDE
    assert [covered(note.span, text) for note in found.secondary] == ["trace.out"]


def test_kernels_of_torch_s_operators_never_collide_not_even_by_case() -> None:
    operators = load_facts().operators
    names = [operators[name].kernel_name.lower() for name in operators]
    assert len(set(names)) == len(names) > 2500


def test_classes_of_autograd_are_distinct_where_names_are() -> None:
    from acmegen.plan.ops_custom import lower_backward

    backward = parse_schema("b(Tensor g, Tensor x) -> Tensor", "nova")
    names = ["f_g", "f__g", "f_g_", "fg", "f", "g_f", "f_g__h", "f___g"]
    classes = []
    for name in names:
        lowered = lower_backward(parse_schema(f"{name}(Tensor x) -> Tensor", "nova"), backward, pytest.fail)
        assert lowered is not None
        classes.append(lowered.class_name)
    assert len(set(classes)) == len(classes)


def test_did_you_mean_another_operator_or_argument(tmp_path: Path) -> None:
    manifest = (
        OPS + "custom:\n"
        '  "f(Tensor x) -> Tensor": {user: {}, like: x, backward: rms_nrm_backward}\n'
        '  "g(Tensor weight) -> Tensor": {user: {}, like: [wieght]}\n'
        '  "rms_norm_backward(Tensor g, Tensor x) -> Tensor": {user: {}, like: x}\n'
    )
    found = diagnostics_of(lambda: resolve(write_manifests(tmp_path, ops__x=manifest)))
    assert [(one.code, one.label, covered(one.span, manifest)) for one in found] == [
        (codes.BAD_BACKWARD, "did you mean `rms_norm_backward`?", "rms_nrm_backward"),
        (codes.META_MISSING, "did you mean `weight`?", "wieght"),
    ]
    assert [edit.replacement for one in found for edit in one.edits] == ["rms_norm_backward", "weight"]
