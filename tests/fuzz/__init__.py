"""A fuzzer of manifests: shipped ones with random damage go through the whole line, load, lower and render.

Each case ends in success or in diagnostics whose places are in the files: never in a traceback, after more than a
second, or with a file written. A part of it runs with the tests; `python -m tests.fuzz --count 20000` runs more.
"""
