"""Generated C++ includes what it uses of the standard library, and has no functions that nobody calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.rendering import rendered

FLAGSHIP = Path(__file__).parents[2] / "generated" / "acme"
OPS = "manifest: ops/v1\n"

# What stands in signatures: a header of the project that has it in one may provide it too.
VOCABULARY = {
    "array": r"array",
    "cstddef": r"(size_t|ptrdiff_t|byte)",
    "optional": r"(optional|nullopt)",
    "string": r"(string|to_string|getline)",
    "string_view": r"string_view",
    "tuple": r"(tuple|tie|make_tuple|apply)",
    "vector": r"vector",
}
OTHERS = {
    "algorithm": r"(min|max|clamp|sort|find|find_if|any_of|all_of|copy_n|fill|fill_n|transform)",
    "atomic": r"(atomic|memory_order\w+)",
    "bit": r"(bit_cast|bit_ceil|bit_floor|bit_width|countl_zero|countr_zero)",
    "charconv": r"(from_chars|to_chars)",
    "chrono": r"chrono",
    "cmath": r"(sqrt|exp|log|pow|sin|cos|isnan|isinf|isfinite|fma|lgamma|ldexp)",
    "condition_variable": r"condition_variable",
    "cstdlib": r"(getenv|malloc|abort|strtoull|aligned_alloc)",
    "cstring": r"(memcpy|memset|strcmp|strlen)",
    "deque": r"deque",
    "exception": r"(exception_ptr|current_exception|rethrow_exception)",
    "functional": r"(function|hash|greater)",
    "iomanip": r"(setw|setfill|setprecision)",
    "ios": r"(hex|dec|fixed)",
    "iostream": r"(cerr|cout)",
    "iterator": r"(next|prev|back_inserter|make_move_iterator)",
    "limits": r"numeric_limits",
    "map": r"map",
    "memory": r"(make_shared|make_unique|unique_ptr|shared_ptr|weak_ptr)",
    "mutex": r"(mutex|lock_guard|unique_lock|once_flag|call_once)",
    "new": r"(bad_alloc|nothrow|launder)",
    "numeric": r"(accumulate|iota|gcd|lcm|reduce)",
    "set": r"set",
    "shared_mutex": r"(shared_mutex|shared_lock)",
    "span": r"span",
    "sstream": r"[io]?stringstream",
    "stdexcept": r"(runtime_error|logic_error|invalid_argument|out_of_range)",
    "system_error": r"(errc|error_code|system_error)",
    "thread": r"(thread|this_thread)",
    "type_traits": r"(is_same_v|is_integral_v|is_floating_point_v|conditional_t|type_identity|make_unsigned_t)",
    "unordered_map": r"unordered_map",
    "unordered_set": r"unordered_set",
    "utility": r"(move|forward|pair|swap|exchange|declval)",
}


_NOT_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')


def included(text: str) -> set[str]:
    return set(re.findall(r"#include <([^>]+)>", text))


def missing(path: Path, text: str, headers: dict[str, str]) -> set[str]:
    """The standard headers whose names `text` uses and neither it nor a header of the project provides."""
    own, near = included(text), set()
    for name in re.findall(r'#include "([^"]+)"', text):
        header = headers.get(name.removeprefix("generated/"), "")
        provided = included(header)
        own |= provided if Path(name).stem == path.stem else set()
        near |= provided & VOCABULARY.keys()
    code = _NOT_CODE.sub("", text)
    used = {header for header, names in (VOCABULARY | OTHERS).items() if re.search(rf"\bstd::{names}\b", code)}
    return used - own - near


def test_what_is_used_of_the_standard_library_is_included() -> None:
    paths = [path for folder in ("csrc", "third_party") for path in (FLAGSHIP / folder).rglob("*.*")]
    texts = {path: path.read_text(encoding="utf-8") for path in paths if path.suffix in (".cpp", ".h")}
    generated = FLAGSHIP / "csrc" / "generated"
    headers = {
        str(path.relative_to(generated)) if path.is_relative_to(generated) else path.name: text
        for path, text in texts.items()
        if path.suffix == ".h"
    }
    found = {str(path.relative_to(FLAGSHIP)): missing(path, text, headers) for path, text in texts.items()}
    assert len(found) > 100
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("function", "ops"),
    [
        ("list_device", "ops:\n  _foreach_zero_: user\n"),
        ("element", "ops:\n  mm: {library: simGemm, dtypes: [float32], args: ['self.sizes[-1]', out]}\n"),
    ],
)
def test_functions_that_few_kernels_need_are_emitted_for_those(tmp_path: Path, function: str, ops: str) -> None:
    sources = ("csrc/generated/kernels/KernelSupport.h", "csrc/generated/kernels/KernelSupport.cpp")
    without = rendered(tmp_path / "without", ops__test=OPS + "ops:\n  nonzero: user\n")
    needed = rendered(tmp_path / "with", ops__test=OPS + ops)
    for path in sources:
        assert f"{function}(" not in without[path]
        assert f"{function}(" in needed[path]
