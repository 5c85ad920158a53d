"""Local models behind the ports, and what every framework's client of a hosted one shares."""
