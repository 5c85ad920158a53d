"""Measurements beside a peer, as ratios; never a part of the tests."""
