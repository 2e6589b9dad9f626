"""A process of the pool: reads jobs, one line of JSON each, and answers with object files."""

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import time

from ..build import Code
from ..machine import machine_named
from ..registry import ENTRIES
from .emit import objects_of


def main():
    """Until there are no more jobs. What is printed on the way must not get among the answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent, who is interrupted too, ends it
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        job, mark, contents = json.loads(line), "", []
        with contextlib.suppress(Exception):  # the parent compiles it again, where the error is seen
            importlib.import_module(job["module"])
            code = Code(ENTRIES[job["entry"]], machine_named(job["machine"]))
            contents = objects_of(code, job["levels"])
            mark = code.mark
        reply = {"mark": mark, "sizes": [len(content) for content in contents]}
        answers.write(json.dumps(reply).encode() + b"\n" + b"".join(contents))
        answers.flush()


def _end_with(parent):
    """Leave at once when the parent is gone: LLVM may take minutes for what nobody waits for any more."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
