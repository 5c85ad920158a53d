"""The commands of ``skr``, one a file."""
