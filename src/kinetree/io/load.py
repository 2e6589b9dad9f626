"""Loading: `kt.load` makes a Model from MJCF, URDF, MJB, an XML string, or a MuJoCo model; MuJoCo parses and compiles.

Also `kt.set_const`, which recomputes the constants that follow from others by MuJoCo's mj_setConst.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from .. import models
from ..derived.shared import MIN_MASS, without_mass
from ..errors import ModelError, UnsupportedFeatureError, nearest
from ..model import COUNTS, LAYOUT, Model, Pickled
from ..model_fields import MODEL_FIELDS, OPTION_FIELDS, SIZES, STATISTIC_FIELDS
from ..named import KINDS
from .binary import wild_address
from .features import unsupported
from .hostile import refuse_hostile
from .plugins import configuration, plugin_names, refuse_misplaced, with_slots
from .urdf import warn_if_nothing_moves
from .validate import validate
from .validate.table import finite

SUPPORTED_MUJOCO = "4.0"  # the fields and their order belong to this version
MUJOCO_ERRORS = (ValueError, RuntimeError, TypeError, mujoco.FatalError, mujoco.UnexpectedError)
SUFFIXES = (".xml", ".mjcf", ".urdf", ".mjb")
_ONE_AT_A_TIME = threading.RLock()  # MuJoCo has one handler of warnings for all threads


class ModelFileNotFoundError(ModelError, FileNotFoundError):
    """There is no such model file."""


def load(source: Any, assets: Mapping[str, bytes] | None = None) -> Model:
    """A Model from whatever describes it.

    source: a path to MJCF, URDF or MJB, an XML string, a `mujoco.MjModel`, a `mujoco.MjSpec`, or the name of a bundled
    model (`kt.models.names()`). assets: files that an XML string refers to, by name.
    Raises ModelError for a missing, malformed or damaged model and UnsupportedFeatureError, naming every feature, for one
    that needs what kinetree lacks. Warns of a URDF in which nothing moves: its root link is fixed to the world.
    """
    if not mujoco.__version__.startswith(SUPPORTED_MUJOCO + "."):
        raise ModelError(
            f"kinetree reads models of MuJoCo {SUPPORTED_MUJOCO}, but mujoco {mujoco.__version__} is installed"
        )
    if assets is not None:
        _check_assets(source, assets)
    mj, where = _compile(source, assets)
    _check_sound(mj, where)
    if mj is source:
        mj = _from_binary(_binary(mj), where)
    return _model_of(mj, where)


def _check_sound(mj: mujoco.MjModel, where: str) -> None:
    """Raise ModelError for a compiled model that kinetree lacks something for, or that leads compiled code astray."""
    _names(mj, where)
    lacking = unsupported(mj)
    if lacking:
        raise UnsupportedFeatureError(lacking, where)
    validate(mj, where)


def _model_of(mj: mujoco.MjModel, where: str) -> Model:
    """The Model of a sound compiled model."""
    sizes = {name: int(getattr(mj, name)) for name, _ in SIZES}
    return Model._made(sizes, *_values(mj), _names(mj, where), _title(mj, where), mj)


def _compile(source: Any, assets: Mapping[str, bytes] | None) -> tuple[mujoco.MjModel, str]:
    """MuJoCo's compiled model, and how messages call it."""
    if isinstance(source, mujoco.MjModel):
        return source, "MjModel"
    if isinstance(source, mujoco.MjSpec):
        refuse_hostile(_named_files(source), "MjSpec", Path(source.modelfiledir), source.assets)
        return _guarded(lambda: _compile_spec(source), "MjSpec"), "MjSpec"
    if _is_xml(source):
        refuse_hostile(source, "XML string", Path(), assets)
        mj = _guarded(lambda: mujoco.MjModel.from_xml_string(source, dict(assets or {})), "XML string")
        warn_if_nothing_moves(mj, source, "XML string")
        return mj, "XML string"
    if isinstance(source, str) and source in models.names():
        return _read(models.path(source))
    if isinstance(source, (str, os.PathLike)) and isinstance(os.fspath(source), str):
        if isinstance(source, str) and not source.strip():
            raise ModelError(f"the name of the model is empty: {_shortened(repr(source))}")
        return _read(Path(source))
    raise TypeError(
        "kt.load takes a path, an XML string, a mujoco.MjModel, a mujoco.MjSpec or the name of a bundled model, "
        f"not {type(source).__name__}"
    )


def _named_files(spec: mujoco.MjSpec) -> bytes:
    """A text that names the files that a spec names."""
    root = ET.Element("mujoco", meshdir=spec.meshdir, texturedir=spec.texturedir)
    for element in (*spec.meshes, *spec.hfields, *spec.skins, *spec.textures):
        for file in (element.file, *getattr(element, "cubefiles", ())):
            ET.SubElement(root, type(element).__name__.removeprefix("Mjs").lower(), file=file)
    return ET.tostring(root, "utf-8")


def _compile_spec(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """The model of a copy: the spec stays as it is. The copy lacks what refers to nothing; of that the spec itself tells."""
    copy = spec.copy()
    referring = ("equalities", "tendons", "actuators", "sensors", "pairs", "excludes", "tuples", "keys")
    whole = all(len(getattr(copy, name)) == len(getattr(spec, name)) for name in referring)
    return (copy if whole else spec).compile()


def _is_xml(source: Any) -> bool:
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def _check_assets(source: Any, assets: Mapping[str, bytes]) -> None:
    if not _is_xml(source):
        raise TypeError("assets belong to an XML string")
    if not isinstance(assets, Mapping):
        raise TypeError(f"assets: expected a mapping from names to contents, got {type(assets).__name__}")
    for name, contents in assets.items():
        if not isinstance(name, str) or not isinstance(contents, bytes):
            raise TypeError(f"assets: expected a name with bytes, got {name!r} with {type(contents).__name__}")


def _read(path: Path) -> tuple[mujoco.MjModel, str]:
    text = str(path)
    if text == "." or "\0" in text:
        raise ModelError(f"{text!r} is not a path to a model")
    try:
        there, folder, file = path.exists(), path.is_dir(), path.is_file()
    except OSError as error:  # too long for a name, or not to be looked at
        raise ModelError(f"{_shortened(text)}: {error.strerror}") from None
    if folder:
        raise ModelError(f"{text} is a folder, not a model file")
    if not there:
        hint = "an XML string starts with '<'; " if "<" in text else ""
        close = nearest(path.name, models.names())
        suggestion = f"{close} " if close.startswith("did you mean") else ""
        known = ", ".join(models.names())
        raise ModelFileNotFoundError(
            f"{_shortened(text)} is neither a file nor a bundled model; {hint}{suggestion}bundled models: {known}"
        )
    if not file:
        raise ModelError(f"{text} is not a regular file")
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ModelError(f"{text}: kinetree reads {', '.join(SUFFIXES)}, not {suffix or 'a file without suffix'}")
    if suffix != ".mjb":
        refuse_hostile(path.read_bytes(), text, path.parent)
        mj = _guarded(lambda: mujoco.MjModel.from_xml_path(text), text)
        warn_if_nothing_moves(mj, path, text)
        return mj, text
    return _from_binary(path.read_bytes(), text), text


def _shortened(text: str) -> str:
    return text if len(text) <= 100 and "\n" not in text else f"{text[:60]!r}…"


def _guarded(action: Callable[[], mujoco.MjModel], where: str) -> mujoco.MjModel:
    """What MuJoCo makes; its errors become ModelErrors, which carry its warnings too."""
    with mujoco_warnings() as told:
        try:
            return action()
        except MUJOCO_ERRORS as error:
            reasons = [str(error), *told]
            told.clear()
            lines = [line.strip() for reason in reasons for line in reason.splitlines()]
            once = dict.fromkeys(filter(None, lines))  # plugins say what is wrong as a warning and as an error
            raise ModelError(f"{where}: {'; '.join(once) or type(error).__name__}") from None


@contextmanager
def mujoco_warnings() -> Iterator[list[str]]:
    """MuJoCo's warnings as a list, instead of lines on the console and a file MUJOCO_LOG.TXT in the working folder.

    Those left in the list go on to the handler that was set before, or else become Python warnings.
    """
    told: list[str] = []
    with _ONE_AT_A_TIME:
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(told.append)
        try:
            yield told
        finally:
            mujoco.set_mju_user_warning(before)
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in ("kinetree", "contextlib"):
        level, frame = level + 1, frame.f_back  # the line to name is the user's
    for message in told:
        if before is None:
            warnings.warn(f"MuJoCo: {message.strip()}", stacklevel=level)
        else:
            _tell(before, message)


def _tell(handler: Any, message: str) -> None:
    """Pass a warning on; a handler made with ctypes, as dm_control sets, takes bytes."""
    try:
        handler(message)
    except (TypeError, ctypes.ArgumentError):
        handler(message.encode())


def _binary(mj: mujoco.MjModel) -> bytes:
    """MuJoCo's binary form of a model, as in an MJB file."""
    contents = np.zeros(mujoco.mj_sizeModel(mj), np.uint8)
    mujoco.mj_saveModel(mj, None, contents)
    return contents.tobytes()


def _from_binary(contents: bytes, where: str) -> mujoco.MjModel:
    """The model of a binary form. MuJoCo's reader also checks what kinetree leaves out: textures, skins, texts."""
    wild, name = wild_address(contents), "model.mjb"
    if wild:
        raise ModelError(f"{where}: {wild}")
    refuse_misplaced(contents, where)
    return _guarded(lambda: mujoco.MjModel.from_binary_path(name, {name: contents}), where)


def pickled(model: Model) -> Pickled:
    """What a pickle of a model holds: MuJoCo's binary form of it, and what that lacks."""
    later = {name: model._constant(name) for name in ("ngravcomp", "edition")}
    mj = model.to_mujoco()
    return _restore, (LAYOUT.fingerprint, _binary(mj), later, model.title, plugin_names(mj))


def _restore(fingerprint: str, contents: bytes, later: dict[str, int], title: str, plugins: list[str]) -> Model:
    """The model of a pickle, checked like one from a file; its plugins may have other slots here."""
    if fingerprint != LAYOUT.fingerprint:
        raise ValueError("this Model was saved with another version of kinetree: its fields differ")
    if not isinstance(contents, bytes) or not isinstance(later, dict) or not isinstance(title, str):
        raise TypeError("this Model is damaged: it is not made of bytes, numbers and a title")
    if not isinstance(plugins, list) or not all(isinstance(name, str) for name in plugins):
        raise TypeError("this Model is damaged: it has no list of plugins")
    where = "a saved Model"
    mj = _from_binary(with_slots(contents, plugins, where), where)
    _check_sound(mj, where)
    for name, limit in (("ngravcomp", mj.nbody), ("edition", 2**62)):
        if type(later.get(name)) is not int or not 0 <= later[name] <= limit:
            raise ModelError(f"{where}: {name} is {later.get(name)!r}")
    values = _model_of(mj, where)._values()
    return Model._made(**{**values, "constants": {**values["constants"], **later}, "title": title})


def _values(mj: mujoco.MjModel) -> tuple[dict[str, Any], dict[str, float]]:
    """Arrays and scalars of a compiled model, under the names that kernels use."""
    arrays: dict[str, Any] = {}
    constants: dict[str, float] = {name: getattr(mj, name) for name in COUNTS}
    parts = ((mj, "", MODEL_FIELDS), (mj.opt, "opt_", OPTION_FIELDS), (mj.stat, "stat_", STATISTIC_FIELDS))
    for owner, prefix, declared in parts:
        for name, field in declared.items():
            (arrays if field.dims else constants)[prefix + name] = getattr(owner, name)
    return arrays | configuration(mj), constants


def _names(mj: mujoco.MjModel, where: str) -> dict[str, list[str]]:
    """Names of all elements; their places in MuJoCo's text are counted in bytes."""
    text, out = bytes(mj.names), {}
    for kind, entry in KINDS.items():
        field = f"name_{'jnt' if kind == 'joint' else entry.prefixes[0].rstrip('_')}adr"
        out[kind] = [_text(text, int(at), f"{where}: {field}[{i}]") for i, at in enumerate(getattr(mj, field))]
    return out


def _text(text: bytes, at: int, where: str) -> str:
    end = text.find(b"\0", at)
    if not 0 <= at <= end:
        raise ModelError(f"{where} is {at}, where no name begins")
    try:
        return text[at:end].decode()
    except UnicodeDecodeError:
        raise ModelError(f"{where} points to a name that is not UTF-8: {text[at:end]!r}") from None


def _title(mj: mujoco.MjModel, where: str) -> str:
    own = _text(bytes(mj.names), 0, f"{where}: names")
    return own if own and own != "MuJoCo Model" else Path(where).stem


def set_const(model: Model, data: Any = None) -> None:
    """Recompute the constants that follow from others, after edits in place. MuJoCo's mj_setConst.

    Writes body_subtreemass, dof_M0, the invweight0 fields, tendon_length0, actuator_acc0 and actuator_length0, camera and
    light reference poses, the flags of coinciding frames, stat and all else that MuJoCo derives. On error nothing changes.
    Trees that sleep wake, as in MuJoCo, whichever data they are in. data: accepted for MuJoCo's sake and not needed.
    """
    if not isinstance(model, Model):
        raise TypeError(f"set_const needs a kinetree Model, got {type(model).__name__}")
    mj = model.to_mujoco()
    _check_finite(mj, "set_const: model.")
    _check_moving_mass(model)

    def derive() -> mujoco.MjModel:
        mujoco.mj_setConst(mj, mujoco.MjData(mj))
        return mj

    try:
        _guarded(derive, "set_const")
    except ModelError as error:
        raise ModelError(_with_names(str(error), model)) from None
    _check_finite(mj, "set_const gives model.")
    model._update_from(*_values(mj))


def _check_moving_mass(model: Model) -> None:
    """A body with joints needs mass and inertia, of its own or of what is welded to it: MuJoCo's compiler says the same."""
    b = without_mass(model, model.body_mass, model.body_inertia)
    if b >= 0:
        name = repr(model.name("body", b)) if model.name("body", b) else b
        raise ModelError(f"set_const: mass and inertia of moving bodies must be larger than {MIN_MASS}: body {name}")


def _with_names(message: str, model: Model) -> str:
    """MuJoCo's message with the names of the elements that it calls by number."""

    def named(found: re.Match[str]) -> str:
        kind, index = found[1], int(found[2])
        known = index < len(model.names(kind)) and model.name(kind, index)
        return f"{kind} {index} ({known!r})" if known else found[0]

    return re.sub(r"\b(body|geom|joint|tendon|actuator) (\d+)\b", named, message)


def _check_finite(mj: mujoco.MjModel, prefix: str) -> None:
    for problem in finite(mj):
        raise ModelError(prefix + problem)
