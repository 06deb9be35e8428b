"""``python -m fastad``: the command line."""

from fastad.cli import main

if __name__ == "__main__":
    main()
