"""Many worlds at once. `LaneData` is one block of worlds on SIMD lanes, the unit that batches are made of."""
