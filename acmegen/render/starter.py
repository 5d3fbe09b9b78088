"""The manifests that a new project starts from."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from acmegen.data import data_folder
from acmegen.diagnostics import Diagnostic, DiagnosticError
from acmegen.manifest.names import DeviceName
from acmegen.plan.names import derive_names
from acmegen.render.environment import environment

_SUFFIX = ".jinja"


def starter_manifests(device: str, schemas: str = "schema") -> dict[str, str]:
    """The text of each manifest of a new backend for the device string `device`, by path in the manifests' folder.

    Args:
        device: the device string.
        schemas: the folder of the JSON Schemas that the manifests name for editors, relative to the manifests' folder.

    Raises:
        DiagnosticError: it cannot be a device's name.
    """
    try:
        TypeAdapter(DeviceName).validate_python(device)
    except ValidationError as error:
        found = error.errors()[0]
        context = found["ctx"]
        raise DiagnosticError([Diagnostic(found["type"], context["message"], help=context.get("help"))]) from error
    root = data_folder("templates") / "manifests"
    names = derive_names(device)
    texts = {}
    for template in sorted(root.rglob("*" + _SUFFIX)):
        path = template.relative_to(root).as_posix()
        text = environment().get_template(f"manifests/{path}").render(names=names, schemas=schemas)
        texts[path.removesuffix(_SUFFIX)] = text
    return texts
