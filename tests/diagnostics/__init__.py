"""The corpus of diagnostics: what acmegen says about each mistake, to the letter.

A case is one of these, and has its golden files in `goldens/`, named after it:

- the wrong example of an explanation (`acmegen/diagnostics/explanations/CODE.md`);
- a file of `cases/`, whose name starts with the codes that it gives: one manifest or several, each under a comment that
  says which file it is;
- a function of `situations.py`, for what no manifest can hold, such as a torch that is not installed.

`pytest tests/diagnostics --update-goldens` writes the golden files anew, and fails, so that the change is looked at.

`sarif-schema-2.1.0.json` is the schema that OASIS publishes, unchanged (github.com/oasis-tcs/sarif-spec).
"""
