"""The ``pt-active`` command."""
