"""`python -m nettrial.cli` is the same as `nettrial`."""

from nettrial.cli import main

main()
