"""The compiler in a thread of its own: what a handler of a signal raises would leave it in pieces, for the whole process.

The main thread, the only one in which handlers run, waits; Ctrl-C ends the waiting at once, while the work goes on.
"""

import atexit
import ctypes
import queue
import sys
import threading

_AT_WORK = set()


def _is_importing():
    """Whether some module is just being imported: another thread that needs it would wait for this one for ever."""
    specs = (getattr(module, "__spec__", None) for module in list(sys.modules.values()))
    return any(getattr(spec, "_initializing", False) for spec in specs)


def undisturbed(work):
    """What a function without arguments returns or raises."""
    if threading.current_thread() is not threading.main_thread() or _is_importing():
        return work()
    answers = queue.SimpleQueue()  # unlike the end of a thread it may be waited for and not be met

    def run():
        _AT_WORK.add(threading.get_ident())
        try:
            answers.put((work(), None))
        except BaseException as error:
            answers.put((None, error))
        finally:
            _AT_WORK.discard(threading.get_ident())

    threading.Thread(target=run, name="kinetree's compiler", daemon=True).start()
    result, error = answers.get()
    if error is not None:
        raise error
    return result


def _finish():
    """At the end of the process: whoever still works must stop before LLVM is taken down."""
    for thread in threading.enumerate():
        if thread.ident in _AT_WORK:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))
            thread.join()


atexit.register(_finish)
