"""Getting models in and motions out: loading through MuJoCo, derived constants, trajectory files."""
