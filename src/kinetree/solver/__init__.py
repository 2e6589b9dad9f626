"""Solvers of the constrained motion: the acceleration that minimises MuJoCo's convex cost."""
