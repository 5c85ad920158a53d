"""The papers beside the product: data sets, baselines, experiments, key-facts, their measures."""
