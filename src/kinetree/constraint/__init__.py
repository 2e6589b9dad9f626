"""Constraints as rows of a convex cost: equalities, friction losses, limits, contacts."""
