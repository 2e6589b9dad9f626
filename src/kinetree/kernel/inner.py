"""A Numba pipeline for inner kernels: typed and lowered, but turned into machine code only inside an entry.

Stock Numba optimises and emits machine code for every function at every level of the call tree; skipping that halves the
compile time. Uses Numba's internals, hence the pinned minor version in pyproject.toml.
"""

from numba import _dynfunc
from numba.core import codegen, funcdesc
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering


class InnerLibrary(codegen.JITCodeLibrary):
    """Code that waits to be linked into an entry's library."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(LoweringPass):
    """Numba's native lowering, without the machine code."""

    _name = "kinetree_inner_lowering"

    def __init__(self):
        LoweringPass.__init__(self)

    def run_pass(self, state):
        """Lower to LLVM and register the function so that other kernels can call it."""
        context = state.targetctx
        library = state.library = InnerLibrary(context.codegen(), state.func_id.func_qualname)
        descriptor = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            state.func_ir, state.typemap, state.return_type, state.calltypes, mangler=context.mangler,
            inline=state.flags.forceinline, noalias=state.flags.noalias, abi_tags=[state.flags.get_mangle_string()],
        )  # fmt: skip
        with context.push_code_library(library):
            lower = Lower(context, library, descriptor, state.func_ir, metadata=state.metadata)
            lower.lower()
        library.finalize()
        name = descriptor.qualname.split(".")[-1]
        function = _dynfunc.make_function(descriptor.lookup_module(), name, "", 0, lower.env, (library,))
        context.insert_user_function(function, descriptor, [library])
        state["cr"] = _LowerResult(descriptor, lower.call_helper, cfunc=function, env=lower.env)
        return True


class InnerCompiler(CompilerBase):
    """Numba's nopython pipeline with `InnerLowering` in place of native lowering."""

    def define_pipelines(self):
        """The one pipeline of inner kernels."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(InnerLowering if p is NativeLowering else p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]
