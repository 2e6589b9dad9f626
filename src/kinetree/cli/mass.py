"""`kinetree mass`: a table of components as one body: its total, its inertia about a point, its principal axes."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from typer import BadParameter

from ..mass import Budget, BudgetError, MassProperties
from ..mass.budget import read_budget
from .common import complain, output

ELEMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")
COLUMNS = ("mass [kg]", "x [m]", "y [m]", "z [m]", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz [kg·m²]")
TABLES = (".toml", ".csv")


Point = tuple[float, float, float]


def mass(
    file: Path,
    picture: Path | None,
    about: Point | None,
    plot: bool,
    form: str,
    regularise: float | None,
) -> int:
    """Print what was asked for; exit status 0, or 1 if the table is broken or the result cannot be written so."""
    if picture is not None and not plot:
        raise BadParameter(f"{picture}: a picture is drawn with --plot")
    if picture is not None and picture.suffix.lower() in TABLES and file.suffix.lower() not in TABLES:
        file, picture = picture, file  # as in `--plot out.png budget.toml`
    if regularise is not None and form not in ("mjcf", "urdf"):
        raise BadParameter("--regularise is for --mjcf and --urdf")
    if regularise is not None and not 0 < regularise < math.inf:
        raise BadParameter(f"--regularise must be a positive moment in kg·m², got {regularise}")
    try:
        budget = read_budget(file)
    except BudgetError as error:
        for problem in error.problems:
            complain(str(problem))
        return 1
    for line in budget.problems():
        complain(f"warning: {line}")
    try:
        window = plot and not _draw(budget, file, picture)  # first, so that nothing is printed if it cannot be written
        _print(budget, file, form, about or (0.0, 0.0, 0.0), regularise)
    except _Failure as failure:
        complain(str(failure))
        return 1
    if window:
        from . import mass_figure

        mass_figure.show(budget)
    return 0


class _Failure(Exception):
    """Why the result cannot be written so."""


def as_json(budget: Budget, about: Point) -> dict[str, object]:
    """Everything for other programs; tensors are standard ones, with Ixy = -∫xy dm."""
    total = budget.total
    return {
        "title": budget.title,
        "components": {
            name: {
                **c.to_dict(),
                "hole": name in budget.holes,
                "possible": not (-c if name in budget.holes else c).problems(),
            }
            for name, c in budget.components.items()
        },
        "total": total.to_dict(),
        "possible": not total.problems(),
        "principal_moments": total.principal_moments().tolist(),
        "principal_axes": total.principal_axes().tolist(),
        "about": {"point": list(about), "inertia": (total.inertia_about_point(about) + 0.0).tolist()},
    }


def _print(budget: Budget, file: Path, form: str, about: Point, regularise: float | None) -> None:
    if form == "json":
        print(json.dumps(as_json(budget, about), indent=1))
    elif form == "table":
        _show(budget, about)
    else:
        try:
            print(budget.total.to_mjcf(regularise) if form == "mjcf" else budget.total.to_urdf(regularise))
        except ValueError as problem:
            raise _Failure(f"{file}: {str(problem).replace('regularise=', '--regularise ')}") from None


def _show(budget: Budget, about: Point) -> None:
    """The table, in two parts where the terminal is narrow; and the total in lines, which are never cut."""
    total = budget.total
    wide = _table(budget, 0, len(COLUMNS))
    if Measurement.get(output, output.options.update(width=1000), wide).maximum <= output.width:
        output.print(wide)
    else:
        output.print(_table(budget, 0, 4), _table(budget, 4, len(COLUMNS)), sep="\n")
    _line("inertia about the own cg, tensor elements: Ixy = -∫xy dm")
    _line(f"total mass: {_number(total.mass)} kg")
    _line(f"total cg: ({', '.join(_number(x) for x in total.cg)}) m")
    _line(f"total inertia about its cg: {_elements('I', total.inertia_components_about_point(total.cg))}")
    point = ", ".join(f"{x:g}" for x in about)
    _line(f"inertia about ({point}) m: {_elements('J', total.inertia_components_about_point(about))}")
    axes = total.principal_axes()
    for i, moment in enumerate(total.principal_moments()):
        _line(f"principal moment {_number(moment)} kg·m² about ({', '.join(_number(x) for x in axes[:, i])})")


def _table(budget: Budget, first: int, last: int) -> Table:
    """Some of the columns; what does not fit is folded."""
    table = Table(title=Text(budget.title), title_justify="left")
    table.add_column("component", style="cyan", overflow="fold")
    for column in COLUMNS[first:last]:
        table.add_column(Text(column), justify="right", overflow="fold")
    for name, component in budget.components.items():
        label = f"{name} (hole)" if name in budget.holes else name
        table.add_row(Text(label), *_cells(component)[first:last])
    table.add_section()
    table.add_row("total", *_cells(budget.total)[first:last], style="bold")
    return table


def _cells(properties: MassProperties) -> list[str]:
    return [_number(value) for value in properties._scalars]


def _elements(letter: str, values: tuple[float, ...]) -> str:
    words = (f"{letter}{name} {_number(value)}" for name, value in zip(ELEMENTS, values, strict=True))
    return f"{', '.join(words)} kg·m²"


def _number(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-12 else value:.5g}"


def _line(text: str) -> None:
    output.print(text, soft_wrap=True, markup=False, highlight=False)


def _draw(budget: Budget, file: Path, picture: Path | None) -> bool:
    """Draw to a file and say so; False where there is a screen for it instead. Without a name, to a file beside us."""
    from . import mass_figure  # matplotlib takes its time to load

    if picture is None and mass_figure.screen():
        return False
    path = picture or Path(f"{file.stem}.png")
    if path.is_dir():
        raise _Failure(f"cannot write to {path}: it is a folder")
    path = path if path.suffix else Path(f"{path}.png")
    try:
        mass_figure.draw(path, budget)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise _Failure(f"cannot write to {path}: {reason}") from None
    print(f"picture: {path}", file=sys.stderr)
    return True
