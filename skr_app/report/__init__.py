"""What was found, as tables, plots and a page."""
