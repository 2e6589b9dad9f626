"""What compiled code does about threads and signals: who is inside a Data, and when Python must have a word.

* An entry takes the Data for its thread and gives it back when it leaves: another thread is refused, by a status word.
* Loops that may take long look at the clock (`time_is_up`). Steps then pause, between two of them: on the way through Python
  its handlers of signals run. A solve goes on until one of them has raised (`interrupted`): it is then broken off by the flag
  that says that room was missing, on which every pass is undone, and the driver raises what was kept.
* A stage that is yet to be compiled has `bring_in` in its place in the table, which asks Python for it.
Signals are handled in Python's main thread only; others wait for its lock where they ask for callbacks or stages to compile.
The words of a Data's guard and their meaning stand in `occupancy.py`.
"""

import os
import threading

from ..occupancy import BUSY, CALLED, HOOK, INSIDE, MAIN, PROCESS, SELF, SINCE
from ..workspace import HOLDER, THREAD
from .decorator import kernel

MILLISECOND = 10**6  # ns
STEPS, SOLVE = 20 * MILLISECOND, 25 * MILLISECOND  # longest time without a look at signals: between steps, in a solve
NEVER = 2**62
FREE, MINE, TAKEN = 0, 1, 2  # how a thread finds a Data: nobody's, its own already, or not to be entered


def call_stage(m, d, index):
    """Call the stage of that number through the data's table; what it returns."""


def clock():
    """Time in ns since whenever, roughly; 0 in plain Python, which sees to signals by itself."""
    return 0


def thread():
    """The number of the thread that this runs in."""
    return threading.get_ident()


def take_if_free(d, me):
    """Make a thread the owner of a Data that has none, in one step that no thread can come in between; the owner before."""


def give_up(d):
    """Let other threads have the Data, with all that was written to it."""


def ask_python(d, which):
    """Call a function of Python with the address of d; 1 if all is well, 0 if it raised, which is kept for the driver.

    In plain Python what it raises is simply raised.
    """
    _CALLED[which](d.address)
    d.renew()
    return 1


@kernel
def is_elsewhere(d):
    """Whether the workspace of a Data is none that this thread can work in: another thread's, or in use."""
    return d.desk[THREAD] != thread() or d.desk[HOLDER] != 0


@kernel
def enter(d):
    """Take a Data for this thread: FREE, or MINE if Python has it in this thread.

    TAKEN if compiled code is inside already, or if its workspace is none that this thread can work in.
    """
    me = thread()
    owner = take_if_free(d, me)
    if owner != 0 and (owner != me or d.guard[INSIDE] != 0):
        return TAKEN
    if is_elsewhere(d):
        if owner == 0:
            give_up(d)
        return TAKEN
    d.desk[HOLDER] = d.guard[SELF]
    d.guard[INSIDE] = 1
    d.guard[SINCE] = 0
    return FREE if owner == 0 else MINE


@kernel
def leave(d, found):
    """Leave it as it was found."""
    d.desk[HOLDER] = 0
    d.guard[INSIDE] = 0
    if found == FREE:
        give_up(d)


@kernel
def take(m, d):
    """Take a Data for Python in this thread; BUSY if another has it."""
    owner = take_if_free(d, thread())
    return 0 if owner == 0 else BUSY


@kernel
def through_table(m, d, index):
    """What Python calls to run a stage."""
    return call_stage(m, d, index)


@kernel
def ask(d, which):
    """The same; whoever runs stages on the way there finds the workspace in use."""
    before = 1 * d.desk[HOLDER]
    d.desk[HOLDER] = d.guard[SELF]
    well = ask_python(d, which)
    d.desk[HOLDER] = before
    return well


@kernel
def bring_in(m, d):
    """Stands in the table for stages that are yet to be compiled: has that done, and runs them."""
    index = d.guard[CALLED]
    if ask(d, COMPILE) == 0:
        d.overflow[0] = 1
        return 1
    return call_stage(m, d, index)


@kernel
def call_user(d, which):
    """Have Python call functions of the user, who may run stages on this very Data. What they raise ends the pass."""
    d.guard[HOOK], d.guard[INSIDE] = which, 0
    if ask(d, ANSWER) == 0:
        d.overflow[0] = 1
    d.guard[INSIDE] = 1


@kernel
def time_is_up(d, patience):
    """Whether there has been no look at signals for that long [ns], where they are handled: in Python's main thread."""
    now = clock()
    if now == 0:
        return False
    if d.guard[SINCE] == 0:
        d.guard[SINCE] = now
    return now - d.guard[SINCE] > patience and thread() == d.process[MAIN]


@kernel
def interrupted(d):
    """For loops that may take long: whether to leave, as the pass will be undone. A handler of a signal may have raised."""
    if time_is_up(d, SOLVE):
        if ask(d, LISTEN) == 0:
            d.overflow[0] = 1
        d.guard[SINCE] = clock()
    return d.overflow[0] != 0


@kernel
def hear_nothing(d):
    """No look at signals until `hear_again`: the state is on the move, and what is running must come to its end."""
    if clock() != 0:
        d.guard[SINCE] = NEVER


@kernel
def hear_again(d):
    """The opposite."""
    if clock() != 0:
        d.guard[SINCE] = clock()


# Functions of Python that compiled code calls, by their place among the words of the process; kept alive here.
COMPILE, LISTEN, ANSWER = MAIN + 1, MAIN + 2, MAIN + 3
_CALLED = {}


def answer_with(which, function):
    """The function of Python that `ask_python` calls."""
    _CALLED[which] = function
    PROCESS[which] = id(function)


def listen(address):
    """Nothing: on the way in here Python runs the handlers of signals that have come."""


def _note_main_thread():
    PROCESS[MAIN] = threading.main_thread().ident


answer_with(LISTEN, listen)
_note_main_thread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_main_thread)
