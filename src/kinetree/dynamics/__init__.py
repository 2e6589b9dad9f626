"""Tree dynamics: one algorithm per file. Kernels read and write the fields of m and d; the stages carry MuJoCo's names."""
