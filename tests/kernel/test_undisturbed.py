"""Work that signals do not break off: the main thread stops waiting for it, and it comes to its end."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from kinetree.kernel.undisturbed import undisturbed


def test_answers_and_errors_come_through():
    assert undisturbed(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 / 0)


def test_other_threads_work_by_themselves():
    found = []
    thread = threading.Thread(target=lambda: found.append(undisturbed(threading.get_ident)))
    thread.start()
    ident = thread.ident
    thread.join()
    assert found == [ident]
    assert undisturbed(threading.get_ident) != threading.get_ident()


def test_ctrl_c_ends_the_waiting_and_not_the_work():
    done = threading.Event()

    def work():
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.5)
        done.set()

    with pytest.raises(KeyboardInterrupt):
        undisturbed(work)
    assert not done.is_set()
    assert done.wait(10.0)


def test_a_process_ends_though_there_is_work_left():
    program = """
        import signal, time
        from kinetree.kernel.undisturbed import undisturbed
        def work():
            while True:
                time.sleep(0.01)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        undisturbed(work)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGINT and done.stderr.strip().endswith("KeyboardInterrupt")
