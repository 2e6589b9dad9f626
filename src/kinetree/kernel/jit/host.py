"""The processor that this process runs on, as LLVM knows it."""

import llvmlite.binding as llvm


def host():
    """What code for this very processor depends on: system, name and features."""
    return llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
