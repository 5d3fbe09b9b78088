"""Other names for a backend: which words of a text they take the place of, and which they leave."""

from __future__ import annotations

import pytest

from acmegen.diagnostics import DiagnosticError
from acmegen.plan.names import derive_names
from acmegen.plan.renaming import NewNames, Renaming, rename
from acmegen.render.outputs import Owner
from acmegen.render.renamed import renamed_project
from acmegen.render.tree import GeneratedFile, Tree

ACME = derive_names("acme")
NEW = NewNames("nova", namespace="nv", package="nova_torch", library="nova_device")


def tree(**texts: str) -> Tree:
    return {path.replace("__", "/"): GeneratedFile(text, Owner.ONCE, "", "") for path, text in texts.items()}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (NewNames("nova"), derive_names("nova")),
        (NewNames("nova", library="lib_n"), derive_names("nova", library="lib_n")),
        (NewNames(namespace="nv"), derive_names("acme", namespace="nv")),
        (NewNames("nova", package="p"), derive_names("nova", package="p")),
        (NEW, derive_names("nova", "nova_torch", "nv", "nova_device")),
    ],
)
def test_names_that_are_not_chosen_follow(chosen: NewNames, expected: object) -> None:
    assert rename(ACME, chosen).new == expected


def test_names_that_did_not_follow_keep_their_form() -> None:
    old = derive_names("acme", "acme_torch", "vendor", "acme_core")
    assert rename(old, NewNames("nova")).new == derive_names("nova", "nova_torch", "vendor", "nova_core")


@pytest.mark.parametrize(
    "chosen",
    [
        NewNames("cuda"),
        NewNames("no-name"),
        NewNames(namespace="std"),
        NewNames(package="torch"),
        NewNames(library="sim"),
    ],
)
def test_b12_names_that_cannot_be_are_refused(chosen: NewNames) -> None:
    with pytest.raises(DiagnosticError):
        rename(ACME, chosen)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("namespace acme {", "namespace nv {"),
        ("using namespace acme;", "using namespace nv;"),
        ("acme::f(::acme::g)", "nv::f(::nv::g)"),
        ("TORCH_LIBRARY_IMPL(acme, PrivateUse1, m)", "TORCH_LIBRARY_IMPL(nv, PrivateUse1, m)"),
        ('torch.library.Library("acme", "IMPL")', 'torch.library.Library("nv", "IMPL")'),
        ('torch.ops.acme.f(x.acme(), "acme:1")', 'torch.ops.nv.f(x.nova(), "nova:1")'),
        ("import torch_acme, tileops_acme", "import nova_torch, tileops_nova"),
        ("pip install torch-acme tileops-acme", "pip install nova-torch tileops-nova"),
        ("Acme and ACME", "Nova and NOVA"),
        ("acmegen regen, ACMEGEN, Acmegen", "acmegen regen, ACMEGEN, Acmegen"),
        ("acme_launch acmeMalloc AcmeRt lacme", "acme_launch acmeMalloc AcmeRt lacme"),
    ],
)
def test_words_are_exchanged_by_what_they_mean(text: str, expected: str) -> None:
    assert rename(ACME, NEW).text(text) == expected


def test_in_cmake_the_package_alone_is_the_library() -> None:
    text = "add_library(torch_acme SHARED)\ninstall(TARGETS torch_acme DESTINATION torch_acme/lib)"
    assert rename(ACME, NEW).text(text, cmake=True) == (
        "add_library(nova_device SHARED)\ninstall(TARGETS nova_device DESTINATION nova_torch/lib)"
    )


def test_manifests_keep_the_vendors_names() -> None:
    renaming = rename(ACME, NEW)
    data = {"name": "acme", "description": "The acme.", "driver": {"link": ("acme",), "stream": "acme"}}
    assert renaming.manifest("backend.yaml", data) == {
        "name": "nova",
        "description": "The nova.",
        "driver": {"link": ("acme",), "stream": "acme"},
        "cpp_namespace": "nv",
        "python_package": "nova_torch",
        "cpp_library": "nova_device",
    }
    ops = {"custom": {"f(Tensor x) -> Tensor": {"namespace": "acme", "like": ("x",), "size": 3}}}
    assert renaming.manifest("ops/mine.yaml", ops) == {
        "custom": {"f(Tensor x) -> Tensor": {"namespace": "nv", "like": ("x",), "size": 3}}
    }


def test_longer_identifiers_are_those_that_the_trees_have() -> None:
    old = tree(a="AcmeStream is_acme ACME_X getDefaultAcmeStream acme_norm acmeMalloc")
    new = tree(a="NovaStream is_nova NOVA_X getDefaultNovaStream nv_norm acmeMalloc")
    renamed = renamed_project(rename(ACME, NEW), old, new, ["a", "mine.cpp"])
    text = "AcmeStream is_acme ACME_X getDefaultAcmeStream acme_norm acmeMalloc AcmeMine acme_mine"
    assert renamed.text("mine.cpp", text) == (
        "NovaStream is_nova NOVA_X getDefaultNovaStream nv_norm acmeMalloc AcmeMine acme_mine"
    )


def test_lines_of_the_template_are_taken_from_the_new_tree() -> None:
    old = tree(CMakeLists="project(torch_acme)\nset(X torch_acme)\nend()\n")
    new = tree(CMakeLists="project(nova_device)\nset(X nova_torch)\nend()\n")
    renamed = renamed_project(rename(ACME, NEW), old, new, ["CMakeLists"])
    mine = "project(torch_acme)\n# torch_acme\nset(X torch_acme)\nend()\nlast"
    assert renamed.text("CMakeLists", mine) == "project(nova_device)\n# nova_torch\nset(X nova_torch)\nend()\nlast"


def test_headers_of_others_keep_their_names() -> None:
    old, new = tree(csrc__AcmeX_h="AcmeX"), tree(csrc__NovaX_h="NovaX")
    renamed = renamed_project(rename(ACME, NEW), old, new, ["csrc/AcmeX.h", "csrc/AcmeX_h", "a.cpp"])
    text = '#include "AcmeX_h"\n  # include <acme/acme.h>\n#include <acme>\nacme\n'
    assert renamed.text("a.cpp", text) == '#include "NovaX_h"\n  # include <acme/acme.h>\n#include <acme>\nnova\n'


def test_the_same_names_change_nothing() -> None:
    same = Renaming(ACME, ACME)
    text = "acme::f torch.acme torch_acme ACME"
    assert same.text(text) == text and same.derived("AcmeStream") == ()
