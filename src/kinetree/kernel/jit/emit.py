"""An entry as an object file: its kernel is compiled with all that it calls, and optimised by LLVM for a level of processors.

What an object offers are two symbols: see `loader.py`.
"""

import functools
import gc
import re
import threading

import llvmlite.binding as llvm
from llvmlite import ir

from ...occupancy import BUSY
from ..decorator import BOUNDS, made_of
from ..guard import TAKEN, enter, is_elsewhere, leave
from ..levels import NATIVE, known_levels
from ..machine import lane_view
from ..runs import note_run
from .expressions import function_type
from .functions import RULES
from .translate import specialised
from .types import I64, INT, NOTHING, argument_type, handle_type
from .values import Value, cast

ENTRY = """def {name}({names}):
    found = enter(d)
    if found == TAKEN:
        return BUSY
    result = kernel({names})
    leave(d, found)
    return result
"""
UNGUARDED = """def {name}({names}):
    return kernel({names})
"""
NOT_TAKEN = """def {name}({names}):
    result = kernel({names})
    return result
"""
STAGE = """def {name}(m, d):
    kernel(m, d)
    return note_run(d, {number})
"""
LANE_BY_LANE = """def {name}(m, d):
    views, lane = d.views, 0
    while views[lane] != 0:  # a known count would be unrolled into as many copies
        kernel({model}, one_lane(views[lane]))
        lane += 1
    return note_run(d, {number})
"""
LOOK = """:
    if is_elsewhere(d):
        return BUSY
"""

WRAPPER = """
declare i64 @c_{name}({types})
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetString(ptr, ptr)
@PyExc_TypeError = external global ptr
@wrong_count = internal constant [26 x i8] c"wrong number of arguments\\00"

define ptr @py_{name}(ptr %self, ptr %given, i64 %count) {{
  %right = icmp eq i64 %count, {count}
  br i1 %right, label %good, label %bad
bad:
  %kind = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %kind, ptr @wrong_count)
  ret ptr null
good:
{unbox}
  %before = call ptr @PyErr_Occurred()
  %clean = icmp eq ptr %before, null
  br i1 %clean, label %go, label %failed
go:
  %state = call ptr @PyEval_SaveThread()
  %value = call i64 @c_{name}({values})
  call void @PyEval_RestoreThread(ptr %state)
  %after = call ptr @PyErr_Occurred()
  %well = icmp eq ptr %after, null
  br i1 %well, label %done, label %failed
failed:
  ret ptr null
done:
  %out = call ptr @PyLong_FromLongLong(i64 %value)
  ret ptr %out
}}
"""
FUSABLE = re.compile(r"(?<= )contract (?=\S)")
UNBOX = """  %p{i} = getelementptr ptr, ptr %given, i64 {i}
  %b{i} = load ptr, ptr %p{i}
  %v{i} = call i64 @PyLong_AsLongLong(ptr %b{i})"""
_ONE_AT_A_TIME = threading.RLock()  # kernels that are compiled are kept, and LLVM's passes are shared


def python_wrapper(name, count):
    """The text of what Python calls: a function of `count` integers around `c_NAME`, without the interpreter's lock."""
    every = range(count)
    return WRAPPER.format(
        name=name, count=count, types=", ".join(["i64"] * count), unbox="\n".join(UNBOX.format(i=i) for i in every),
        values=", ".join(f"i64 %v{i}" for i in every),
    )  # fmt: skip


def c_wrapper(name, inner, target):
    """A module with `c_NAME`, which takes addresses as integers and returns an integer."""
    module = ir.Module(name)
    function = ir.Function(module, ir.FunctionType(I64, [I64] * len(inner.arguments)), f"c_{name}")
    called = ir.Function(module, function_type(inner.arguments, inner.result), inner.symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    kinds = [t for argument in inner.arguments for t in argument.llvm]
    given = [a if t == I64 else builder.inttoptr(a, t) for a, t in zip(function.args, kinds, strict=True)]
    out = builder.call(called, given)
    if inner.result == NOTHING:
        builder.ret(ir.Constant(I64, 0))
    else:
        part = builder.extract_value(out, 1) if BOUNDS else out
        builder.ret(cast(builder, Value(inner.result, (part,)), INT).part)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    return llvm.parse_assembly(str(module))


@functools.cache
def one_lane_as(handle):
    """A function of the language: the address of a lane's table, taken for a handle."""

    def one_lane(address):
        return address

    RULES[one_lane] = lambda translator, x: Value(handle, (translator.builder.inttoptr(x.part, handle.llvm[0]),))
    return one_lane


@functools.cache
def target_machine(level):
    """LLVM's description of the processors of a level; code may be loaded anywhere."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    cpu = llvm.get_host_cpu_name() if level == NATIVE else known_levels()[level].processor
    features = llvm.get_host_cpu_features().flatten() if level == NATIVE else ""
    return target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")


def template(entry, lane_by_lane):
    """The text of an entry. With bounds checks it does not take the data: an index out of bounds would leave it taken."""
    if not entry.guarded:
        return UNGUARDED
    text = STAGE if entry.number is not None else NOT_TAKEN if BOUNDS else ENTRY
    if lane_by_lane:
        text = LANE_BY_LANE
    if entry.result == "void":
        text = text.replace("result = ", "").replace("return result", "return 0")
    return text.replace(":\n", LOOK, 1) if BOUNDS else text


def lowered(code, target):
    """An entry compiled, with all that it calls, but not optimised."""
    entry, machine = code.entry, code.machine
    handles = [
        handle_type(machine.model, *machine.real_of_model),
        handle_type(machine.data, machine.real, machine.step),
    ]
    handles += [argument_type(a, machine.real) for a in entry.arguments]
    names = ["m", "d", *(f"a{i}" for i in range(len(entry.arguments)))]
    scope = {"kernel": entry.kernel, "note_run": note_run, "enter": enter, "leave": leave}
    scope |= {"is_elsewhere": is_elsewhere, "TAKEN": TAKEN, "BUSY": BUSY}
    if code.lane_by_lane:
        view = lane_view(machine)
        scope["one_lane"] = one_lane_as(handle_type(view.data, view.real, view.step))
        scope["one_model"] = one_lane_as(handle_type(view.model, *view.real_of_model))
    model = "one_model(m.views[lane])" if machine.own else "m"
    source = template(entry, code.lane_by_lane).format(
        name=code.symbol, names=", ".join(names), number=entry.number, model=model
    )
    run = made_of(source, f"<entry {code.symbol}>", {**scope, "__name__": __name__})[code.symbol]
    return specialised(run, tuple(handles), target)


def objects_of(code, levels):
    """The bytes of object files with the two symbols of an entry, one for each level: they share all but the last part."""
    # the best level's, whichever are asked for: code of a level must not hang on what is made beside it
    shared = NATIVE if NATIVE in levels else next(iter(known_levels()))
    with _ONE_AT_A_TIME:
        collecting = gc.isenabled()
        gc.disable()  # a tenth of the compile time
        try:
            machines = [target_machine(level) for level in levels]
            inner = lowered(code, target_machine(shared))
            return [machine.emit_object(optimised(code, inner, machine)) for machine in machines]
        finally:
            if collecting:
                gc.enable()


def optimised(code, inner, machine):
    """LLVM's module of an entry and its wrappers.

    Kernels are shared, and their instructions carry the flag that lets LLVM fuse products with sums. Of an unfused entry it is
    taken off here, where everything is linked together.
    """
    module, name = inner.linked(), code.symbol
    if code.entry.kernel.unfused:
        module = llvm.parse_assembly(FUSABLE.sub("", str(module)))
    module.link_in(c_wrapper(name, inner, machine))
    module.link_in(llvm.parse_assembly(python_wrapper(name, len(inner.arguments))))
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name not in (f"c_{name}", f"py_{name}"):
            symbol.linkage = "internal"
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = True, False
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    return module
