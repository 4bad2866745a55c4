"""`python -m nanolm` is the `nanolm` command."""

from nanolm.cli import main

if __name__ == "__main__":
    main()
