"""Workspaces: the work memory of a thread, which all its worlds of one kind borrow while compiled code runs on them.

A world points to a workspace. Compiled code looks on the way in whether it is one of its thread, and free; if not, it comes
back and is given another (`World.borrow`). It is not free where Python runs in the middle of a stage: in callbacks and handlers
of signals, which may run stages on other worlds, or on the same one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from .data_fields import DATA_FIELDS, MAX_STAGES
from .fields import Field
from .layout import Layout
from .memory import CAPACITIES, Memory
from .occupancy import PROCESS, SELF, new_guard
from .work_fields import WORK_FIELDS

# What a driver adds to the table: addresses of compiled stages, and of the tables that see one lane each; see `occupancy`.
DRIVER_FIELDS = {
    "stages": Field("stages", "nstage", "int64", "1", "addresses of the compiled stages", "driver"),
    "views": Field("views", "nlane", "int64", "1", "addresses of the tables of single lanes", "driver"),
    "guard": Field("guard", "nguard", "int64", "1", "who is inside, and what happened there", "driver"),
    "process": Field("process", "nprocess", "int64", "1", "the main thread and functions of Python", "driver"),
    "desk": Field("desk", "ndesk", "int64", "1", "whose the workspace is, and who works there", "driver"),
}
WORK_LAYOUT = Layout("workspace", WORK_FIELDS, {})
LAYOUT = Layout("data", DATA_FIELDS, {}, DRIVER_FIELDS, WORK_LAYOUT)

# Words of a desk: the thread that the workspace belongs to, and the address of the world that compiled code is inside of, or 0.
THREAD, HOLDER = 0, 1
NOBODYS = np.array([-1, 0])

# Addresses of the stages compiled for one world on floats, filled in by `kernel.stage`.
FLOAT_STAGES = np.zeros(MAX_STAGES, np.int64)


class Workspace(Memory):
    """Work memory of this thread for worlds of one kind."""

    def __init__(self, sizes: Mapping[str, int], lanes: int | None, real: str):
        super().__init__(WORK_LAYOUT, sizes, lanes, real)
        self.desk = np.array([threading.get_ident(), 0])

    __hash__ = object.__hash__  # a mapping compares by its contents, but these are kept apart
    __eq__ = object.__eq__

    @property
    def is_free(self) -> bool:
        """Whether this thread may work there."""
        return bool(self.desk[THREAD] == threading.get_ident() and self.desk[HOLDER] == 0)

    def at_least(self, capacity: Mapping[str, int]) -> None:
        """Room for that much."""
        if any(capacity[name] > self.capacity[name] for name in CAPACITIES):
            self.make_room({name: max(self.capacity[name], capacity[name]) for name in CAPACITIES})
            self["H_pattern"][0] = 0  # so that the pattern of the Hessian is made anew


_OF_THREAD = threading.local()


def _workspace(kind: Any, sizes: Mapping[str, int], lanes: int | None, real: str) -> Workspace:
    """A free workspace of this thread, for worlds of models of one content."""
    shelf: dict[Any, weakref.WeakSet[Workspace]] = _OF_THREAD.__dict__.setdefault("shelf", {})
    key = kind, lanes, real
    for workspace in list(shelf.get(key, ())):  # handlers of signals may put more there
        if workspace.is_free:
            return workspace
    for empty in [each for each, kept in list(shelf.items()) if not kept]:
        shelf.pop(empty, None)
    workspace = Workspace(sizes, lanes, real)
    shelf.setdefault(key, weakref.WeakSet()).add(workspace)
    return workspace


class World(Memory):
    """Memory of a Data, or of worlds on lanes, with the workspace that it has borrowed.

    kind: tells worlds apart whose workspaces must not be mixed up: the content of their model.
    """

    def __init__(self, kind: Any, sizes: Mapping[str, int], stages: np.ndarray, lanes: int | None = None,
                 real: str = "float64"):  # fmt: skip
        super().__init__(LAYOUT, sizes, lanes, real)
        self.kind = kind
        self.guard = new_guard()
        self.guard[SELF] = self.address
        self.workspace: Workspace | None = None
        self._pointing = False  # whether the tables do
        # Of a stage in the middle of which Python runs: its workspace, and the one that is used meanwhile.
        self._held: Workspace | None = None
        self._spare: Workspace | None = None
        self._views_of_lanes = np.array([*(table.ctypes.data for table in self.tables[1:]), 0])  # ends with a zero
        for table in self.tables:
            for name, array in (("stages", stages), ("views", self._views_of_lanes), ("guard", self.guard),
                                ("process", PROCESS), ("desk", NOBODYS)):  # fmt: skip
                LAYOUT.point(table, name, array)
        self.note_capacity()
        self.borrow()

    def __getitem__(self, key: str) -> np.ndarray:
        if key in WORK_FIELDS:
            return self.borrow()[key]
        return super().__getitem__(key)

    def note_capacity(self) -> None:
        """Tell kernels how much room there is."""
        self["needed"][:] = 0
        self["capacity"][:] = [self.capacity[name] for name in CAPACITIES]

    def use(self, workspace: Workspace | None) -> None:
        """Point to a workspace, or to none. Until all words are written nobody is let in, should an interrupt come between."""
        self._pointing = False
        for table in self.tables:
            LAYOUT.point(table, "desk", NOBODYS)
        self.workspace = workspace
        for k, table in enumerate(self.tables):
            table[LAYOUT.word[WORK_LAYOUT.name]] = 0 if workspace is None else workspace.tables[k].ctypes.data
        if workspace is not None:
            for table in self.tables:
                LAYOUT.point(table, "desk", workspace.desk)
        self._pointing = True

    def be_of(self, kind: Any) -> None:
        """Belong to models of another content."""
        if self.kind != kind:
            self.use(None)
            self.kind = kind

    def borrow(self) -> Workspace:
        """A workspace that is free for this thread, with room for as much as there is in this world."""
        workspace = self.workspace
        if workspace is None or not workspace.is_free or not self._pointing:
            workspace = _workspace(self.kind, self.sizes, self.lanes, self.real)
            workspace.at_least(self.capacity)
            self.use(workspace)
        return workspace

    @property
    def at_hand(self) -> Workspace | None:
        """The workspace that may be changed: it is free, or compiled code is inside with this very world, and asks for room."""
        desk = NOBODYS if self.workspace is None else self.workspace.desk
        mine = desk[THREAD] == threading.get_ident() and desk[HOLDER] in (0, self.address)
        return self.workspace if mine else None

    def forget_pattern(self) -> None:
        """After a pass that lacked room: what the pattern of the Hessian describes was not written to the end."""
        workspace = self.at_hand
        if workspace is not None:
            workspace["H_pattern"][0] = 0

    def make_room(self, capacity: Mapping[str, int]) -> None:
        """Give growing fields another capacity, with what they held, and the workspace at least that much.

        Kernels are told that there is less room before, and that there is more after the tables have changed: an error or
        interrupt in between must not leave a capacity that the memory does not have.
        """
        self["capacity"][:] = np.minimum(self["capacity"], [capacity[name] for name in CAPACITIES])
        workspace = self.at_hand
        if workspace is not None:
            workspace.at_least(capacity)
        else:  # it is another's to change
            self.use(None)
        super().make_room(capacity)
        self.note_capacity()

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Keep what lies in the workspace while Python runs in the middle of a stage: all else must use another one."""
        workspace = self._held = self.at_hand or self.borrow()
        before = int(workspace.desk[HOLDER])
        workspace.desk[HOLDER] = self.address
        try:
            yield
        finally:
            self._spare = self.workspace  # that the next callback finds it, and need not make one
            workspace.at_least(self.capacity)
            workspace.desk[HOLDER] = before
            self.use(workspace)
