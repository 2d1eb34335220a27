"""The questions asked of every head, each with its cases, baselines and control."""
