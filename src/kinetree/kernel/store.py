"""The cache as files: which folder can be trusted, and how machine code gets in and out of it.

What lies in the cache is run as it is, so nothing is used before it is known to be what kinetree wrote:

* The folder belongs to the user, or to root, and nobody else can write in it, and so does each file. That keeps out what
  others plant. Others may read both: there is nothing secret in them.
* Each file begins with a digest over its contents and over what they must be: the entry, its stamp and the level of
  processors. What is damaged, cut short or under the name of another entry is compiled anew and replaced. The digest needs no
  secret: who can write the user's own files can run code as the user anyway.

A file is written under a name of its own and then moved into place, so other processes find all of it or nothing. Where
nothing can be kept, code lives in memory, and one warning says so.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import stat
import tempfile
import time
import warnings

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # follow no link, wait for no pipe
DIGEST_SIZE = hashlib.sha256().digest_size
CODE = ".code"
PART = ".part"  # ending of files that are being written
ABANDONED = 3600.0  # seconds after which a part belongs to a process that was killed


def cache_folder():
    """The first folder that can be trusted of `KINETREE_CACHE`, the user's cache and one among temporary files, or None."""
    for path, chosen in _candidates():
        try:
            os.makedirs(path, mode=0o700, exist_ok=True)
            problem = _distrust(path)
        except FileExistsError:
            problem = "it is a link that leads nowhere" if not os.path.exists(path) else "it is not a folder"
        except OSError as error:
            problem = _reason(error)
        if problem is None:
            return path
        _warn(f"kinetree keeps no machine code in {path}{chosen}: {problem}")
    return None


def _candidates():
    """Folders in the order in which they are tried, each with what a message says of where its name comes from."""
    if chosen := os.environ.get("KINETREE_CACHE"):
        path = pathlib.Path(os.path.expanduser(chosen))  # without a slash at its end, behind which a link would hide
        if str(path).startswith("~"):
            _warn(f"kinetree keeps no machine code in {chosen}, which KINETREE_CACHE names: there is no such user")
        else:
            yield str(path), ", which KINETREE_CACHE names"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(home):  # it is not where there is no home
        yield os.path.join(home, "kinetree"), ""
    with contextlib.suppress(FileNotFoundError):  # no place for temporary files
        yield os.path.join(tempfile.gettempdir(), f"kinetree-{_user()}"), ""


def _user():
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _trusted():
    """Who may have written code: the user, and root, who could do anything: images are often made by root."""
    return {_user(), 0}


def _distrust(path):
    """Why a folder cannot be trusted, or None. Systems without owners and modes are taken at their word.

    A folder that others can write in is left as it is. Closing it would not do: they may have moved files of the user there.
    """
    if os.name != "posix":
        return None
    folder = os.stat(path)
    if not {os.lstat(path).st_uid, folder.st_uid} <= _trusted():  # a link counts as well as what it leads to
        return "it belongs to another user"
    if folder.st_mode & OTHERS_WRITE:
        return "other users can write in it; remove it, or, if what it holds can be trusted, chmod go-w it"
    return None


def _is_ours(file):
    """Whether an open file is a plain one that belongs to the user and that nobody else can write."""
    found = os.fstat(file.fileno())
    if os.name != "posix":
        return stat.S_ISREG(found.st_mode)
    return stat.S_ISREG(found.st_mode) and found.st_uid in _trusted() and not found.st_mode & OTHERS_WRITE


def _reason(error):
    return error.strerror or type(error).__name__


@functools.cache
def _warn(message):
    """Once for each message: a process looks for hundreds of entries."""
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def _digest(identity, payload=b""):
    return hashlib.sha256(hashlib.sha256(identity).digest() + payload)


def _path(folder, name, identity):
    return os.path.join(folder, f"{name}.{_digest(identity).hexdigest()[:24]}{CODE}")


def read(name, identity):
    """The payload written under this name and identity, or None. A file that is not what it must be is removed."""
    folder = cache_folder()
    if folder is None:
        return None
    path = _path(folder, name, identity)
    try:
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | PLAIN)) as file:
            if _is_ours(file):
                digest, payload = file.read(DIGEST_SIZE), file.read()
                if digest == _digest(identity, payload).digest():
                    return payload
        os.unlink(path)
    except IsADirectoryError:
        with contextlib.suppress(OSError):
            os.rmdir(path)
    except OSError:  # there is none, or none that can be read or removed: writing replaces it
        pass
    return None


def write(name, identity, payload):
    """Keep a payload; where that fails, warn and go on."""
    folder = cache_folder()
    if folder is None:
        return
    try:
        _sweep(folder)
        handle, part = tempfile.mkstemp(PART, dir=folder)
        try:
            with open(handle, "wb") as file:
                file.write(_digest(identity, payload).digest())
                file.write(payload)
            os.replace(part, _path(folder, name, identity))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
    except OSError as error:
        _warn(f"kinetree could not keep machine code in {folder}: {_reason(error)}")


def files():
    """Paths of all code that is kept, with their sizes in bytes."""
    folder = cache_folder()
    found = {}
    for path in pathlib.Path(folder).glob(f"*{CODE}") if folder else ():
        with contextlib.suppress(OSError):
            found[path] = path.lstat().st_size
    return found


def _sweep(folder):
    """Remove what processes left behind that were killed while they wrote."""
    for part in pathlib.Path(folder).glob(f"*{PART}"):
        with contextlib.suppress(OSError):
            if time.time() - part.lstat().st_mtime > ABANDONED:
                part.unlink()
