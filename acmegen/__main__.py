"""`python -m acmegen`."""

from acmegen.cli import main

main()
