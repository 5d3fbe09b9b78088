"""The registry of codes: what each means, in a paragraph that stands on its own.

001-099 manifests, 100-199 operators and kernels, 200-299 torch and other installed packages, 300-399 TileOPs,
400-499 the output folder, which `output_explanations.py` explains. A code keeps its meaning for ever; a code that is no
longer used is not given away again.
"""

from __future__ import annotations

from dataclasses import dataclass

FILE_UNREADABLE = "ACME001"
NOT_TEXT = "ACME002"
YAML_SYNTAX = "ACME003"
DUPLICATE_KEY = "ACME004"
YAML_TAG = "ACME005"
YAML_LIMIT = "ACME006"
NOT_ONE_MAPPING = "ACME007"
KEY_NOT_TEXT = "ACME008"
MISSING_FIELD = "ACME010"
WRONG_TYPE = "ACME011"
UNKNOWN_FIELD = "ACME012"
WRONG_VALUE = "ACME013"
BAD_SIZE = "ACME014"
BAD_NAME = "ACME015"
RESERVED_NAME = "ACME016"
BAD_PATH = "ACME017"
UNKNOWN_DTYPE = "ACME018"
BAD_VERSION_RANGE = "ACME019"
BAD_LICENSE = "ACME020"
KERNEL_KIND = "ACME021"
BAD_OPERATOR_NAME = "ACME022"
DUPLICATE_OPERATOR = "ACME023"
UNKNOWN_PRESET = "ACME024"
CONTRADICTION = "ACME025"
HOST_ACCESS_MISSING = "ACME026"
UNKNOWN_FILE = "ACME027"
UNKNOWN_OPERATOR = "ACME100"
CUTS_AUTOGRAD = "ACME101"
VIEW_OPERATOR = "ACME102"
SERVED_BY_GROUP = "ACME103"
CLAIMED_TWICE = "ACME104"
NOT_COMPOSITE = "ACME105"
NO_LIBRARY = "ACME106"
WRONG_KIND = "ACME107"
BAD_LIBRARY_ENTRY = "ACME108"
NO_CPU_KERNEL = "ACME109"
BAD_EXPRESSION = "ACME110"
BAD_SCHEMA = "ACME111"
META_MISSING = "ACME112"
BAD_BACKWARD = "ACME113"
NO_RUNTIME_KERNEL = "ACME114"
TORCH_MISSING = "ACME200"
TORCH_INCOMPLETE = "ACME202"
TORCH_OUT_OF_RANGE = "ACME203"
TILEOPS_UNREADABLE = "ACME300"
TILEOPS_MISSING = "ACME301"
TILEOPS_OUT_OF_RANGE = "ACME302"
TILEOPS_UNKNOWN_OP = "ACME303"
TILEOPS_NO_REFERENCE = "ACME304"
TILEOPS_EXPRESSION = "ACME305"
LOCK_UNREADABLE = "ACME400"
FILE_EDITED = "ACME401"
FILE_IN_THE_WAY = "ACME402"
PRISTINE_LOST = "ACME403"
NOT_GENERATED = "ACME404"
TORCH_CHANGED = "ACME410"
TILEOPS_CHANGED = "ACME411"
OPERATORS_GONE = "ACME412"
OPERATORS_CHANGED = "ACME413"
METHODS_CHANGED = "ACME414"
TILEOPS_OPS_CHANGED = "ACME415"
OLDER_ACMEGEN = "ACME416"
MERGE_CONFLICTS = "ACME417"
UNMERGEABLE = "ACME418"
NOT_WRITTEN = "ACME420"
CHANGED_MEANWHILE = "ACME421"
READ_ONLY_FILE = "ACME422"
PROJECT_HELD = "ACME423"
JOURNAL_UNREADABLE = "ACME424"
JOURNAL_LEFT = "ACME425"
RUN_FOLDER_BLOCKED = "ACME426"
RUN_INTERRUPTED = "ACME427"
NOT_UP_TO_DATE = "ACME430"
EXPORT_EDITED = "ACME431"
EXPORT_NAME_TAKEN = "ACME432"
LICENSE_TEXT_MISSING = "ACME433"
LINK_NOT_VENDORED = "ACME434"
PROVENANCE_UNREADABLE = "ACME435"

CANNOT_RUN = frozenset(
    {TORCH_MISSING, TORCH_INCOMPLETE, TILEOPS_UNREADABLE, TILEOPS_MISSING, OLDER_ACMEGEN}
    | {NOT_WRITTEN, PROJECT_HELD, JOURNAL_LEFT}
)
"""The codes that say nothing about a project: something that acmegen needs is not installed, or it cannot write now."""


@dataclass(frozen=True)
class Explanation:
    """What `acmegen explain CODE` prints."""

    title: str
    text: str


EXPLANATIONS: dict[str, Explanation] = {
    FILE_UNREADABLE: Explanation(
        "a manifest cannot be read",
        "A backend is described by a folder with `backend.yaml`, and optionally `allocator.yaml`, `tileops.yaml` and "
        "`ops/*.yaml`. The folder or the file named here does not exist, is not readable, or is larger than 4 MiB. "
        "`acmegen new-backend NAME` writes a folder to start from.",
    ),
    NOT_TEXT: Explanation(
        "the file is not plain UTF-8 text",
        "Manifests are UTF-8 text. A byte that is not valid UTF-8, or a character that cannot be printed (NUL, other "
        "control characters, a Unicode line separator), usually means that the file was saved in another encoding or "
        "is damaged. A byte order mark at the start and Windows line ends are fine.",
    ),
    YAML_SYNTAX: Explanation(
        "the file is not valid YAML",
        "The text cannot be read as YAML. Common causes: an unbalanced bracket or quote, a tab in the indentation, a "
        "value with `: ` or ` #` in it that needs quotes, or lines that are not indented alike. The place is where "
        "the reader gave up; the cause may stand a line above.",
    ),
    DUPLICATE_KEY: Explanation(
        "a key occurs twice in one mapping",
        "Most YAML readers let the last of two equal keys win, silently. Here it is an error, because one of the two "
        "values would have no effect. Remove one of them.",
    ),
    YAML_TAG: Explanation(
        "a YAML tag is not allowed",
        "Only the tags of plain YAML data (`!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!seq`, `!!map`) may "
        "stand in a manifest, and only on values that they fit. Others ask a reader to construct objects of a "
        "programming language, which a manifest never needs.",
    ),
    YAML_LIMIT: Explanation(
        "the manifest is too deep or too large",
        "A manifest may be nested 64 levels deep and hold 200,000 values, counted with all aliases expanded; an alias "
        "may not contain itself. No hand-written manifest comes near that. Spell the values out, or split the file.",
    ),
    NOT_ONE_MAPPING: Explanation(
        "a manifest is one mapping",
        "Each file holds one YAML document, and the document is a mapping whose first entry is `manifest: <kind>/v1`. "
        "An empty file, a list or a single value on top, or a second document after `---` is not a manifest.",
    ),
    KEY_NOT_TEXT: Explanation(
        "a key is not text",
        "All keys of a manifest are names. `true`, `null`, numbers, lists and mappings are not; put quotes around a "
        "name that looks like one of them. Merge keys (`<<`) are not part of YAML 1.2 and are refused too: write the "
        "fields out.",
    ),
    MISSING_FIELD: Explanation(
        "a required field is missing",
        "The mapping lacks a field that has no default. The JSON Schemas that `acmegen schema` writes list all fields "
        "with their meaning, and editors show them.",
    ),
    WRONG_TYPE: Explanation(
        "a value has the wrong type",
        "Values are never converted: a number in quotes is text, `1` is not `true`, and a single value is not a list "
        "of one. YAML is read with the rules of version 1.2, where `yes`, `no`, `on` and `off` are text, and the "
        "booleans are `true` and `false`.",
    ),
    UNKNOWN_FIELD: Explanation(
        "a field is not known",
        "The mapping has a key that means nothing there, often a slip of the pen. Unknown fields are errors because "
        "ignoring them would leave a default in force that you believe to have changed.",
    ),
    WRONG_VALUE: Explanation(
        "a value is not allowed",
        "The value has the right type but is not one of the permitted choices, is out of range, or does not have the "
        "form that the message describes.",
    ),
    BAD_SIZE: Explanation(
        "a size is not valid",
        "A size is a number of bytes, or a whole number with one of the units B, KiB, MiB, GiB and TiB, such as "
        "`2MiB`. Decimal units (KB, MB) are refused because they are read in two ways.",
    ),
    BAD_NAME: Explanation(
        "a name is not an identifier",
        "The name becomes part of C++ and Python names, file names or torch's device strings, so it has to be an "
        "identifier in each of them and not a keyword. torch reads device names of lower-case letters and single "
        "underscores only: `acme2`, `Acme` and `my-dev` could be registered and then never used.",
    ),
    RESERVED_NAME: Explanation(
        "a name is taken",
        "A device called `x` adds `torch.x`, `Tensor.x()`, `Tensor.is_x` and `Module.x()`, and a C++ namespace `x`. "
        "The name is refused when torch already has one of these or uses the name for another device, or when the C "
        "or C++ library declares it at global scope. A renamed device cannot be renamed back in the same process, so "
        "such a clash shows late and cannot be undone.",
    ),
    BAD_PATH: Explanation(
        "a path is not allowed",
        "Paths in manifests are relative, use forward slashes, and stay inside the folder that they start from: no "
        "`..`, no drive, no leading slash, no quotes or line breaks.",
    ),
    UNKNOWN_DTYPE: Explanation(
        "a dtype is not known",
        "Dtypes are named as in Python's torch (`float32`, `bfloat16`, `int64`, `bool`, `complex64`), or by a set: "
        "`floating`, `integral`, `boolean`, `complex`, and `all`, which is the first three together. The short names "
        "of other libraries (`half`, `long`) are not used.",
    ),
    BAD_VERSION_RANGE: Explanation(
        "a version range is not valid",
        "Version ranges are PEP 440 specifiers, as pip takes them: `>=2.9,<2.15`.",
    ),
    BAD_LICENSE: Explanation(
        "a licence is not an SPDX expression",
        "The licence is printed into each generated file and into the Python package's metadata, both of which take "
        "SPDX identifiers: `Apache-2.0`, `BSD-3-Clause`, `MIT OR Apache-2.0`, or `LicenseRef-Name` for your own.",
    ),
    KERNEL_KIND: Explanation(
        "an operator needs exactly one kernel kind",
        "An entry says how an operator is served: `expr`, `library`, `user`, `reference`, `fallback`, `composite`, "
        "`runtime` or `unsupported`. It names exactly one of them. Kinds that need nothing else may be written short: "
        "`nonzero: reference` is `nonzero: {reference: {}}`.",
    ),
    BAD_OPERATOR_NAME: Explanation(
        "an operator's name is not valid",
        "Operators are named as in torch's schemas, `name` or `name.overload`, without a namespace: `add.Tensor`, "
        "`relu`, `sum.dim_IntList`. Operators of your own stand under `custom`, keyed by their schema: "
        '`"rms_norm(Tensor x, float eps) -> Tensor"`.',
    ),
    DUPLICATE_OPERATOR: Explanation(
        "two manifests claim one operator",
        "Two of the project's own files have an entry for the same operator, and neither is more important. Keep one. "
        "Entries of presets (`include`) are different: the project's own entry replaces them.",
    ),
    UNKNOWN_PRESET: Explanation(
        "a preset is not known",
        "`include` names sets of operators that come with acmegen, such as `core` (storage, copies and views, which "
        "every backend needs) and `training`. Files of your own need no `include`: all of `ops/*.yaml` is read.",
    ),
    CONTRADICTION: Explanation(
        "two values contradict one another",
        "Each value is fine by itself, but they cannot hold together: a default that is not among the choices, two "
        "fields that exclude one another, or a list with the same value twice.",
    ),
    HOST_ACCESS_MISSING: Explanation(
        "the driver gives the host no access to device memory",
        "Reference kernels, and `expr` entries in their host form, run on the host and on the device's memory in "
        "place. The driver has to bind `host_pointer` (the host's address of device memory) and "
        "`launch_host_function` (a host function that runs in stream order). Without them use `cpu` as the fallback "
        "policy, and `user`, `library` or `fallback` kernels.",
    ),
    UNKNOWN_FILE: Explanation(
        "a file in the manifests' folder is not read",
        "The folder holds `backend.yaml`, `allocator.yaml`, `tileops.yaml` and `ops/*.yaml`. Another YAML file there "
        "would be ignored, which is rarely meant; rename it or move it elsewhere.",
    ),
    UNKNOWN_OPERATOR: Explanation(
        "the installed torch has no such operator",
        "Operators are looked up in the torch that the backend is built for. The name is `name.overload` as in its "
        "schema: `add.Tensor` and `add.Scalar` are two operators, and there is no `add`. Operators come and go "
        "between versions of torch, so the name may also be right for another one.",
    ),
    CUTS_AUTOGRAD: Explanation(
        "a kernel for this operator would cut autograd",
        "torch decomposes the operator into others, and its gradient is the gradient of those. A kernel of the "
        "backend's own would be called in place of the decomposition, and nothing would record a gradient any more. "
        "Give kernels to the operators that it decomposes into, and leave this one out or write `composite`.",
    ),
    VIEW_OPERATOR: Explanation(
        "a fallback cannot serve a view",
        "The result of a view shares memory with its input. A kernel that runs on the CPU would return a tensor of "
        "its own, and writing to it would no longer change the input. The views of torch are kernels of kind "
        "`runtime` in the preset `core`.",
    ),
    SERVED_BY_GROUP: Explanation(
        "the operator is served by the entry of its group",
        "torch describes the functional, the in-place and the out variant of many operators by one function for "
        "shapes and dtypes. One entry, keyed by the functional variant, serves all of them: `add.Tensor` serves "
        "`add_.Tensor` and `add.out` too.",
    ),
    CLAIMED_TWICE: Explanation(
        "two entries serve one operator",
        "An entry may serve several variants of an operator, and here two of them serve the same one. Only one kernel "
        "can be registered. Remove one of the entries, or key it by another variant.",
    ),
    NOT_COMPOSITE: Explanation(
        "torch does not decompose this operator",
        "`composite` says that torch's own decomposition into other operators is good enough. This operator has none "
        "that works for a backend outside of torch, so it needs a kernel or a fallback.",
    ),
    NO_LIBRARY: Explanation(
        "there is no maths library",
        "`library` entries call the vendor's maths library, which `backend.yaml` binds by name under `library`: its "
        "headers, what to link with, and its values for dtypes. The simulator comes with one.",
    ),
    WRONG_KIND: Explanation(
        "the kernel kind does not fit the operator",
        "`expr` needs an operator that computes one tensor elementwise, keyed by its functional variant. `library` "
        "needs one whose results are tensors, keyed by its functional variant; where torch does not determine their "
        "shapes, `outputs` does.",
    ),
    BAD_LIBRARY_ENTRY: Explanation(
        "an expression of a library entry is not valid",
        "Arguments, conditions and shapes of a `library` entry are expressions over the operator's arguments: names "
        "of tensors (their address on the device), `x.size(0)`, `x.stride(0)`, `x.sizes`, `x.strides`, `x.numel`, "
        "`x.dim`, `x.outer(dim)`, `x.inner(dim)`, `dtype(x)`, `accumulate(x)`, `product(list)`, `ones(count)`, "
        "`reduced_mask(dim, x)`, `double(scalar)`, `int(scalar)`, slices `x.sizes[:-1]`, numbers, `true`, `false`, "
        "`stream`, constants of the library, and in conditions comparisons with `and`, `or`, `not`.",
    ),
    NO_CPU_KERNEL: Explanation(
        "torch has no CPU kernel for this operator",
        "`reference` and `fallback` run torch's CPU kernel, and torch has none for this operator, nor a "
        "decomposition. It needs a kernel of the backend's own, or `unsupported` with a reason.",
    ),
    BAD_EXPRESSION: Explanation(
        "the expression of an entry is not valid",
        "An `expr` entry is a scalar expression over the operator's arguments in Python's syntax: names, numbers, "
        "operators, comparisons, `x if c else y` and functions. It is checked against the operator and the dtypes "
        "that it shall compute in.",
    ),
    BAD_SCHEMA: Explanation(
        "the schema of a custom operator is not valid",
        "Custom operators take and return what torch's schema language calls `Tensor`, `Tensor?`, `Tensor[]`, `int`, "
        "`float`, `bool`, `str`, `Scalar`, `ScalarType`, and lists and optional values of them; results are tensors. "
        'For example: "rms_norm(Tensor x, Tensor? weight, float eps=1e-6) -> Tensor".',
    ),
    META_MISSING: Explanation(
        "a custom operator needs a meta function",
        "torch.compile, FakeTensor and the meta device have to know the shape and dtype of the results without "
        "running a kernel. `like: x` gives each result the shape and dtype of an argument, `outputs` of a library "
        "entry says it in detail, and `meta: user` leaves it to `torch.library.register_fake` in Python.",
    ),
    BAD_BACKWARD: Explanation(
        "the backward operator does not fit",
        "A backward operator is another custom operator of the same namespace. It takes the gradient of each result "
        "first; each further argument has the name and type of an argument, or the name of a result, of the forward "
        "operator. It returns one gradient for each tensor argument, in their order.",
    ),
    NO_RUNTIME_KERNEL: Explanation(
        "the generated runtime has no kernel for this operator",
        "`runtime` kernels are the few that every backend needs and that neither torch nor a fallback can serve: "
        "storage, copies, views and random numbers. The preset `core` lists them all.",
    ),
    TORCH_MISSING: Explanation(
        "torch is not installed",
        "Operators, C++ signatures and virtual methods are read from the torch of the Python environment that acmegen "
        "runs in, which is also the torch that the backend is built for. Nothing of it is imported, and a CPU build "
        "is enough.",
    ),
    TORCH_INCOMPLETE: Explanation(
        "the installed torch lacks a part",
        "acmegen needs the parts of torch's wheel that C++ extensions are built with: the headers in `torch/include`, "
        "and the package `torchgen` beside `torch`. Some distributions leave them out; the wheels of pytorch.org and "
        "PyPI have them.",
    ),
    TORCH_OUT_OF_RANGE: Explanation(
        "the installed torch is not one that the backend supports",
        "`torch` in `backend.yaml` is the range of versions that the backend is meant for, and the installed version "
        "is not in it. What is generated fits the installed torch, so install one from the range, or widen the range.",
    ),
    TILEOPS_UNREADABLE: Explanation(
        "TileOPs' op manifest cannot be read",
        "The ops that TileOPs has, with their inputs and parameters, are read from the YAML files in its package. The "
        "installed version has none, or writes them in another form.",
    ),
    TILEOPS_MISSING: Explanation(
        "TileOPs is not installed",
        "The project has a `tileops.yaml`, and the signatures of the ops in it are read from the TileOPs of the "
        "Python environment that acmegen runs in. It is not imported. A project without `tileops.yaml` does not need "
        "it.",
    ),
    TILEOPS_OUT_OF_RANGE: Explanation(
        "the installed TileOPs is not one that the backend supports",
        "`requires` in `tileops.yaml` is the range of TileOPs versions that the target is meant for, and the "
        "installed version is not in it. Builders fit the installed TileOPs, so install one from the range, or widen "
        "the range.",
    ),
    TILEOPS_UNKNOWN_OP: Explanation(
        "the installed TileOPs has no such op",
        "Ops are keyed as in TileOPs' manifest, which is the name of the op's class: `RMSNormFwdOp`.",
    ),
    TILEOPS_NO_REFERENCE: Explanation(
        "there is nothing to compare an op with",
        "Each op's kernel is compared with a reference on the CPU in the generated tests. By default that is the "
        "function that TileOPs' manifest names, if it is one of torch's. For this op it is another library's, so "
        "write `reference:`, an expression of the op's inputs and params.",
    ),
    TILEOPS_EXPRESSION: Explanation(
        "a kernel's expression cannot be used",
        "A kernel's expression is one Python expression. It may use the op's inputs and params by their names in "
        "TileOPs' manifest, `torch`, `math` and a few builtins such as `len`.",
    ),
    LOCK_UNREADABLE: Explanation(
        "the lock cannot be read",
        "`acmegen.lock` records what was generated. It is damaged, has conflict markers, or was written by another "
        "version of acmegen. Restore it from version control; or remove it and run `acmegen regen --force`, which "
        "overwrites edited generated files.",
    ),
}
