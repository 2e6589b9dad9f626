"""A fork waits for the compiler: a process that began in its middle would wait for a thread that it does not have.

Not only for our lock: those of LLVM, and what they were writing, would be as that thread had left them.
"""

import os

from .kernel import ready

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=ready.ONE_AT_A_TIME.acquire,
        after_in_parent=ready.ONE_AT_A_TIME.release,
        after_in_child=ready.ONE_AT_A_TIME.release,
    )
