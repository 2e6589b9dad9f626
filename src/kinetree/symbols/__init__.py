"""The dynamics of a model as CasADi functions, traced from the kernels that simulate it. See `kt.symbolic`."""
