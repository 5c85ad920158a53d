"""The page that shows the loop: what ``skr serve`` serves."""
