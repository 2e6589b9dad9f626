"""A Numba pipeline for entries that round as plain C does: every product before it is added, none fused with the sum.

Kernels are shared by all stages, and their instructions carry the flag that lets LLVM fuse. Where the last digit decides
between equals, as in collision, a stage takes the flag off again, after everything has been linked into it.
"""

import re

from llvmlite import binding
from numba.core import codegen
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

FUSABLE = re.compile(r"(?<= )contract (?=\S)")


class RoundingLibrary(codegen.JITCodeLibrary):
    """Code whose instructions may not be fused."""

    def _optimize_final_module(self):
        name = self._final_module.name
        self._final_module = binding.parse_assembly(FUSABLE.sub("", str(self._final_module)))
        self._final_module.name = name
        super()._optimize_final_module()


@register_pass(mutates_CFG=True, analysis_only=False)
class RoundingLowering(NativeLowering):
    """Numba's native lowering into such a library."""

    _name = "kinetree_rounding_lowering"

    def run_pass(self, state):
        """Lower to machine code."""
        state.library = RoundingLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()  # Numba does so only where it makes the library
        return super().run_pass(state)


class RoundingCompiler(CompilerBase):
    """Numba's nopython pipeline with `RoundingLowering` in place of native lowering."""

    def define_pipelines(self):
        """The one pipeline of these entries."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(RoundingLowering if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]
