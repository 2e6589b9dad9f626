"""Loading: `kt.load` makes a Model from MJCF, URDF, MJB, an XML string, or a MuJoCo model; MuJoCo parses and compiles.

Also `kt.set_const`, which recomputes the constants that follow from others by MuJoCo's mj_setConst.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from .. import models
from ..errors import ModelError, UnsupportedFeatureError, nearest
from ..model import Model
from ..model_fields import MODEL_FIELDS, OPTION_FIELDS, SIZES, STATISTIC_FIELDS
from ..named import KINDS
from .features import unsupported

SUPPORTED_MUJOCO = "4.0"  # the fields and their order belong to this version
MUJOCO_ERRORS = (ValueError, RuntimeError, TypeError, mujoco.FatalError, mujoco.UnexpectedError)


class ModelFileNotFoundError(ModelError, FileNotFoundError):
    """There is no such model file."""


def load(source: Any, assets: Mapping[str, bytes] | None = None) -> Model:
    """A Model from whatever describes it.

    source: a path to MJCF, URDF or MJB, an XML string, a `mujoco.MjModel`, a `mujoco.MjSpec`, or the name of a bundled
    model (`kt.models.names()`). assets: files that an XML string refers to, by name.
    Raises ModelError for a missing or malformed file and UnsupportedFeatureError, naming every feature, for a model that
    needs what kinetree lacks.
    """
    if not mujoco.__version__.startswith(SUPPORTED_MUJOCO + "."):
        raise ModelError(f"kinetree reads models of MuJoCo {SUPPORTED_MUJOCO}, but mujoco {mujoco.__version__} is installed")
    if assets is not None and not isinstance(source, str):
        raise TypeError("assets belong to an XML string")
    mj, where = _compile(source, assets)
    lacking = unsupported(mj)
    if lacking:
        raise UnsupportedFeatureError(lacking, where)
    arrays, constants = _values(mj)
    sizes = {name: int(getattr(mj, name)) for name, _ in SIZES}
    return Model(sizes, arrays, constants, _names(mj), _title(mj, where), mj)


def _compile(source: Any, assets: Mapping[str, bytes] | None) -> tuple[mujoco.MjModel, str]:
    """MuJoCo's compiled model, and how messages call it."""
    if isinstance(source, mujoco.MjModel):
        return _checked_copy(source), "MjModel"
    if isinstance(source, mujoco.MjSpec):
        return _guarded(source.copy().compile, "MjSpec"), "MjSpec"
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return _guarded(lambda: mujoco.MjModel.from_xml_string(source, dict(assets or {})), "XML string"), "XML string"
    if isinstance(source, (str, os.PathLike)):
        if isinstance(source, str) and source in models.names():
            return _read(models.path(source))
        return _read(Path(source))
    raise TypeError(
        "kt.load takes a path, an XML string, a mujoco.MjModel, a mujoco.MjSpec or the name of a bundled model, "
        f"not {type(source).__name__}"
    )


def _read(path: Path) -> tuple[mujoco.MjModel, str]:
    text = str(path)
    if not text.strip() or "\0" in text:
        raise ModelError(f"{text!r} is not a path to a model")
    if path.is_dir():
        raise ModelError(f"{text} is a folder, not a model file")
    if not path.exists():
        raise ModelFileNotFoundError(f"no model file {text}; bundled models: {nearest(path.name, models.names())}")
    if path.suffix.lower() == ".mjb":
        return _guarded(lambda: mujoco.MjModel.from_binary_path(text), text), text
    if path.suffix.lower() not in (".xml", ".urdf", ".mjcf"):
        raise ModelError(f"{text}: kinetree reads .xml, .mjcf, .urdf and .mjb, not {path.suffix or 'a file without suffix'}")
    return _guarded(lambda: mujoco.MjModel.from_xml_path(text), text), text


def _guarded(compile_model: Any, where: str) -> mujoco.MjModel:
    try:
        return compile_model()
    except MUJOCO_ERRORS as error:
        raise ModelError(f"{where}: {str(error).strip() or type(error).__name__}") from None


def _checked_copy(mj: mujoco.MjModel) -> mujoco.MjModel:
    """A copy that went through MuJoCo's binary form, whose reader checks every address: the user may have edited them."""
    contents = np.zeros(mujoco.mj_sizeModel(mj), np.uint8)
    mujoco.mj_saveModel(mj, None, contents)
    name = "model.mjb"
    return _guarded(lambda: mujoco.MjModel.from_binary_path(name, {name: contents.tobytes()}), "MjModel")


def _values(mj: mujoco.MjModel) -> tuple[dict[str, Any], dict[str, float]]:
    """Arrays and scalars of a compiled model, under the names that kernels use."""
    arrays: dict[str, Any] = {}
    constants: dict[str, float] = {}
    parts = ((mj, "", MODEL_FIELDS), (mj.opt, "opt_", OPTION_FIELDS), (mj.stat, "stat_", STATISTIC_FIELDS))
    for owner, prefix, declared in parts:
        for name, field in declared.items():
            (arrays if field.dims else constants)[prefix + name] = getattr(owner, name)
    return arrays, constants


def _names(mj: mujoco.MjModel) -> dict[str, list[str]]:
    text = mj.names.decode() if isinstance(mj.names, bytes) else bytes(mj.names).decode()
    out = {}
    for kind, entry in KINDS.items():
        prefix = "jnt" if kind == "joint" else entry.prefixes[0].rstrip("_")
        starts = getattr(mj, f"name_{prefix}adr")
        out[kind] = [text[a : text.index("\0", a)] for a in starts]
    return out


def _title(mj: mujoco.MjModel, where: str) -> str:
    text = bytes(mj.names)
    own = text[: text.index(b"\0")].decode()
    return own if own and own != "MuJoCo Model" else Path(where).stem


def set_const(model: Model) -> None:
    """Recompute the constants that follow from others, after edits in place. MuJoCo's mj_setConst.

    Writes body_subtreemass, dof_M0, the invweight0 fields, tendon_length0, actuator_acc0 and actuator_length0, camera and
    light reference poses, the flags of coinciding frames, stat and all else that MuJoCo derives. On error nothing changes.
    """
    if not isinstance(model, Model):
        raise TypeError(f"set_const needs a kinetree Model, got {type(model).__name__}")
    for name, array in model._arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            at = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            raise ModelError(f"set_const: model.{name}{list(at)} is {array[at]}")
    mj = model.to_mujoco()
    try:
        mujoco.mj_setConst(mj, mujoco.MjData(mj))
    except MUJOCO_ERRORS as error:
        raise ModelError(f"set_const: {str(error).strip()}") from None
    model.update_from(*_values(mj))


Model._derive = staticmethod(set_const)
