"""The manifests that a new project starts from."""

from __future__ import annotations

from acmegen.data import data_folder
from acmegen.manifest.names import DeviceName
from acmegen.manifest.validate import check_value
from acmegen.plan.names import derive_names
from acmegen.render.environment import render_template

_SUFFIX = ".jinja"


def starter_manifests(device: str, schemas: str = "schema") -> dict[str, str]:
    """The text of each manifest of a new backend for the device string `device`, by path in the manifests' folder.

    Args:
        device: the device string.
        schemas: the folder of the JSON Schemas that the manifests name for editors, relative to the manifests' folder.

    Raises:
        DiagnosticError: it cannot be a device's name.
    """
    check_value(DeviceName, device)
    root = data_folder("templates") / "manifests"
    names = derive_names(device)
    texts = {}
    for template in sorted(root.rglob("*" + _SUFFIX)):
        path = template.relative_to(root).as_posix()
        text = render_template(f"manifests/{path}", names=names, schemas=schemas)
        texts[path.removesuffix(_SUFFIX)] = text
    return texts
