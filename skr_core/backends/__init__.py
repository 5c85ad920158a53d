"""What touches a heavy library: one file each, imported only when used."""
