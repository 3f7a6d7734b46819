"""``python -m pt_active`` is the ``pt-active`` command."""

from pt_active.cli.app import main

if __name__ == "__main__":
    main()
