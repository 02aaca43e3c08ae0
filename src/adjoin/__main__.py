"""``python -m adjoin``."""

from adjoin.cli import main

main()
