"""The compiler: kernels to machine code, through LLVM. Nothing else in the package imports llvmlite, but for loading code.

`types`, `values`, `source`, `expressions` and `translate` make LLVM's code of a kernel; `memory`, `functions`, `primitives`,
`elementary`, `guard` and `python` are what it may use; `emit`, `worker` and `library` make objects and libraries of it.
"""
