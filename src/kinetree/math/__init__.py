"""Small algebra on tuples of scalars: vectors, quaternions, rotation matrices and spatial vectors."""
