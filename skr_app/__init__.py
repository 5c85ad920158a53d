"""The ``skr`` command."""
