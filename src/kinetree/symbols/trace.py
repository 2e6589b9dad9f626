"""One pass of symbols through the stages: records of a model and its data, in which some fields are symbols.

A stage runs when its results are first asked for, as plain Python on CasADi's SX. What functions share is traced once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import casadi
import numpy as np

from .. import pipeline
from ..data import Data
from ..dynamics.armature import tendon_armature
from ..kernel import symbolic_record
from ..kernel.ops import needs
from ..kernel.order import order_of
from ..makers import chain
from ..mass.algebra import linear_parameters, turned
from ..math.spatial import set10
from ..math.vec3 import add, get3, get9, mul_mat_t_vec, mul_mat_vec, set3
from ..model import Model
from ..model_fields import MODEL_FIELDS
from ..types import Integrator
from .parameters import DIRECTIONS, open_frames

ORDER = {stage: k for k, stage in enumerate(order_of(pipeline.forward))}
# Sets of stages that functions ask for, with all that comes before them; they run in the order of the pipeline.
POSITION = frozenset(chain(["com_pos"]))
INERTIA = frozenset(chain(["make_m"]))
VELOCITY = frozenset(chain(["com_vel"]))
RATES = VELOCITY | {*chain(["fwd_velocity"]), pipeline.actuator_velocities}
BIAS = frozenset(chain(["rne"])) | {pipeline.tendon_bias}
PASSIVE = RATES | {*chain(["passive"])}


class Trace:
    """Records with symbols in them. `symbols`: fields of the model or of the data; `bodies`: ten symbols by body id.

    The ten are mass, centre of mass and the tensor about it (xx, yy, zz, xy, xz, yz), in the frame of the body.
    """

    def __init__(self, model: Model, symbols: Mapping[str, Any], bodies: Mapping[int, Any] | None = None):
        self.bodies = dict(bodies or {})
        fields = {k: by_rows(v if k not in DIRECTIONS else unit_rows(v)) for k, v in symbols.items()}
        of_model = {k: v for k, v in fields.items() if k in MODEL_FIELDS or k.startswith("opt_")}
        self.m = symbolic_record(model, **of_model)
        self.d = symbolic_record(roomy_data(model), **{k: v for k, v in fields.items() if k not in of_model})
        open_frames(self.m, of_model, self.bodies)
        self.d.time[0] = 1.0  # no function reads it but to see that the first step, which no rate limits, is over
        for b, ten in self.bodies.items():
            self.m.body_mass[b], self.m.body_ipos[b] = ten[0], (ten[1], ten[2], ten[3])
            self.m.body_inertia[b] = ten[4], ten[5], ten[6]
        self.d.after = {pipeline.com_pos: self._place_bodies, pipeline.subtree_vel: self._spin_bodies}
        # Tendon armature couples joints that no body connects, which recursions along the tree do not see.
        self.coupled = any(needs(tendon_armature(self.m, t) != 0.0) for t in range(model.ntendon))
        self._done: set[Callable[..., Any]] = set()

    def run(self, stages: Iterable[Callable[..., Any]]) -> Trace:
        """Run those of the stages that have not run yet: those of a forward pass in its order, then others as given."""
        for stage in sorted(stages, key=lambda each: ORDER.get(each, len(ORDER))):
            if stage not in self._done:
                stage(self.m, self.d)
                self._done.add(stage)
        return self

    def _place_bodies(self, m: SimpleNamespace, d: SimpleNamespace) -> None:
        """Inertias of the bodies whose ten symbols were given: their tensor has products, which body_inertia has not."""
        for b, ten in self.bodies.items():
            put_inertia(d, b, linear_parameters(tuple(ten[i] for i in range(10))))

    def _spin_bodies(self, m: SimpleNamespace, d: SimpleNamespace) -> None:
        """What products of inertia add to the spin of those bodies, and so to the angular momentum of all they belong to."""
        for b, ten in self.bodies.items():
            turn, (xy, xz, yz) = get9(d.xmat, b), (ten[7], ten[8], ten[9])
            x, y, z = mul_mat_t_vec(turn, get3(d.cvel, b))  # the angular part stands first
            momentum = mul_mat_vec(turn, (xy * y + xz * z, xy * x + yz * z, xz * x + yz * y))
            a = b
            while a > 0:
                set3(d.subtree_angmom, a, add(get3(d.subtree_angmom, a), momentum))
                a = m.body_parentid[a]
            set3(d.subtree_angmom, 0, add(get3(d.subtree_angmom, 0), momentum))

    def vector(self, name: str) -> Any:
        """A field of the data as a CasADi vector."""
        return column(getattr(self.d, name).ravel())


def roomy_data(model: Model) -> Data:
    """A Data with room for the metric of the discrete integrator: no trace makes room and runs again."""
    data = Data(model)
    if model.opt.integrator == Integrator.DISCRETE:
        sizes, capacity = model.sizes, data._arrays.capacity
        needed = {
            "maxefc": sizes["ntendon"] + sizes["nout"] + 2, "maxJ": sizes["nJten"] + sizes["nJmom"], "maxmetric": sizes["nC"],
            "maxH": model.nv * model.nv, "maxlink": sizes["ntree"] ** 2,
        }  # fmt: skip
        data._make_room({name: max(n, needed.get(name, 0)) for name, n in capacity.items()})
    return data


def unit_rows(symbol: Any) -> Any:
    """Quaternions and axes of length one: kernels take those of a model for such."""
    rows = [symbol[i, :] / casadi.norm_2(symbol[i, :]) for i in range(symbol.shape[0])]
    return casadi.vertcat(*rows)


def by_rows(symbol: Any) -> np.ndarray:
    """A CasADi vector or matrix as an array of its entries, row by row."""
    if isinstance(symbol, np.ndarray):
        return symbol
    out = np.empty(symbol.numel(), object)
    out[:] = [symbol[i, j] for i in range(symbol.shape[0]) for j in range(symbol.shape[1])]
    return out


def column(entries: Iterable[Any]) -> Any:
    """A CasADi vector of scalars."""
    return casadi.vertcat(*map(casadi.SX, entries))


def matrix(rows: np.ndarray) -> Any:
    """A CasADi matrix from an array of scalars."""
    return casadi.vertcat(*(casadi.horzcat(*map(casadi.SX, row)) for row in rows))


def put_inertia(d: SimpleNamespace, b: int, parameters: Any) -> None:
    """Write cinert of a body from its inertial parameters, which are in the body's own axes about its origin."""
    mass, hx, hy, hz, *tensor = turned(tuple(parameters), get9(d.xmat, b))
    set10(d.cinert, b, (*tensor, hx, hy, hz, mass))
