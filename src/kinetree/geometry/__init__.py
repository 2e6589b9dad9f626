"""Geometry of shapes that meet: rays against geoms."""
