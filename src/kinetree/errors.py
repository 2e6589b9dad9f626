"""Exceptions and warnings of kinetree, and how an unknown name is reported."""

from __future__ import annotations

from collections.abc import Iterable


class ModelError(ValueError):
    """A model that cannot be loaded, built or simulated; the message says what and where."""


class UnsupportedFeatureError(ModelError):
    """A model that asks for features kinetree lacks; `features` lists them all, each with its element."""

    def __init__(self, features: Iterable[str], where: str = "model"):
        self.features = tuple(features)
        self.where = where
        hint = (
            ". Sensors can be taken out: see docs/guide/sensors.md" if any("sensor" in f for f in self.features) else ""
        )
        super().__init__(f"{where} needs what kinetree does not support: {'; '.join(self.features)}{hint}")

    def __reduce__(self):
        return type(self), (self.features, self.where)


class UnknownNameError(KeyError):
    """A name that no element has; the message suggests the nearest. Printed as it is: KeyError would quote it."""

    __str__ = Exception.__str__


class BusyError(RuntimeError):
    """A Data that is in use: by another thread, or by the step in which a handler of a signal runs."""


class SettingError(ValueError):
    """An environment variable with a value that it cannot have."""


class SimulationWarning(UserWarning):
    """A simulation went on although something went wrong numerically or is done otherwise than asked; the message says what."""


def nearest(name: object, known: Iterable[str]) -> str:
    """The end of an error message: names close to an unknown one, or a few of those that exist."""
    import difflib  # seldom needed

    names = [n for n in known if n]
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(n) for n in close)}?"
    if not names:
        return "there are none with a name"
    return f"known: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"
