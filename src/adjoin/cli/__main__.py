"""``python -m adjoin.cli``."""

from adjoin.cli.app import main

main()
