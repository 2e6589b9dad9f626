"""Constants of a model that follow from others, computed by kernels for worlds that differ: MuJoCo's mj_setConst."""
