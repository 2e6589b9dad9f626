"""Sensors: a table of small kernels for each stage, and the rules of delivery: cutoff, delay, interval, history."""
