"""Build the flagship with other allocators, each in an environment of its own, and run its generated tests.

    python -m tests.variants [--variant direct] [-- pytest's arguments]

The flagship itself has a caching allocator for both the device's memory and the host's; it is tested by tests/backend.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.allocators import generate_with_allocator, run_checked
from tests.conftest import REPOSITORY

# By name, what allocator.yaml says.
VARIANTS = {
    "direct": "device: {kind: direct}\nhost: {kind: none}",
    "host_direct": "host: {kind: direct}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--variant", choices=VARIANTS, action="append", help="default: all")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / "build" / "variants", help="for what is built")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest; default: all generated tests")
    arguments = parser.parse_args()
    for name in arguments.variant or VARIANTS:
        folder = arguments.folder / name
        project = generate_with_allocator(VARIANTS[name], folder)
        print(f"{name}: build in {folder}", flush=True)
        python = make_environment(folder / "environment")
        packages = ("-e", project, "-e", project / "tileops_acme")
        install = ("install", "--quiet", "--no-build-isolation", "--no-deps", *packages)
        run_checked(sys.executable, "-m", "pip", "--python", python, *install)
        print(f"{name}: {run_tests(python, project, arguments.pytest)} generated tests passed", flush=True)


def make_environment(folder: Path) -> Path:
    """Make an environment that has what this one has, but for the backends; gives its Python."""
    run_checked(sys.executable, "-m", "venv", "--without-pip", folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    inherited = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    # Folders that are named so are searched, but what is installed editably in them is not found.
    (packages / "inherited.pth").write_text("".join(f"{path}\n" for path in inherited))
    return folder / "bin" / "python"


def run_tests(python: Path, project: Path, arguments: list[str]) -> int:
    """Run the project's tests, none of which may be skipped; gives their number."""
    report = project.parent / "report.xml"
    run_checked(python, "-m", "pytest", "-q", f"--junitxml={report}", *arguments, cwd=project)
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
    if skipped:
        raise RuntimeError(f"skipped: {skipped}")
    return len(cases)


if __name__ == "__main__":
    main()
