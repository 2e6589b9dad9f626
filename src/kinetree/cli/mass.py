"""`kinetree mass`: a table of components as one body: its total, its inertia about a point, its principal axes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.table import Table
from rich.text import Text
from typer import BadParameter

from ..mass import Budget, BudgetError, MassProperties, load_budget
from .common import complain, output

ELEMENTS = ("Jxx", "Jyy", "Jzz", "Jxy", "Jxz", "Jyz")


def mass(
    file: Path,
    picture: Path | None,
    about: tuple[float, float, float] | None,
    plot: bool,
    form: str,
    regularise: float | None,
) -> int:
    """Print what was asked for; exit status 0, or 1 if the table is broken or the result cannot be written so."""
    if picture is not None and not plot:
        raise BadParameter(f"{picture}: a picture is drawn with --plot")
    try:
        budget = load_budget(file)
    except BudgetError as error:
        for problem in error.problems:
            complain(str(problem))
        return 1
    for line in warnings_of(budget):
        complain(f"warning: {line}")
    if form in ("mjcf", "urdf"):
        try:
            print(budget.total.to_mjcf(regularise) if form == "mjcf" else budget.total.to_urdf(regularise))
        except ValueError as problem:
            complain(f"{file}: {problem}")
            return 1
    elif form == "json":
        print(json.dumps(as_json(budget, about), indent=1))
    else:
        _show(budget, about or (0.0, 0.0, 0.0))
    return _plot(budget, file, picture) if plot else 0


def warnings_of(budget: Budget) -> list[str]:
    """What cannot exist, by component; of a hole, the body that would fill it is looked at."""
    bodies = {name: -c if name in budget.holes else c for name, c in budget.components.items()}
    out = [f"{name!r} cannot exist: {'; '.join(body.problems())}" for name, body in bodies.items() if body.problems()]
    problems = budget.total.problems()
    return [*out, f"the total cannot exist: {'; '.join(problems)}"] if problems else out


def as_json(budget: Budget, about: tuple[float, float, float] | None) -> dict[str, object]:
    """Everything for other programs; tensors are standard ones, with Ixy = -∫xy dm."""
    total = budget.total
    out: dict[str, object] = {
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
    }
    if about is not None:
        out["about"] = {"point": list(about), "inertia": total.inertia_about_point(about).tolist()}
    return out


def _show(budget: Budget, about: tuple[float, float, float]) -> None:
    total = budget.total
    table = Table(title=Text(budget.title), title_justify="left")
    table.add_column("component", style="cyan")
    for column in ("mass [kg]", "x [m]", "y [m]", "z [m]", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz [kg·m²]"):
        table.add_column(Text(column), justify="right")
    for name, component in budget.components.items():
        label = f"{name} (hole)" if name in budget.holes else name
        table.add_row(Text(label), *_cells(component))
    table.add_section()
    table.add_row("total", *_cells(total), style="bold")
    output.print(table)
    _line("inertia about the own cg, tensor elements: Ixy = -∫xy dm")
    point = ", ".join(f"{x:g}" for x in about)
    values = total.inertia_components_about_point(about)
    elements = ", ".join(f"{name} {_number(value)}" for name, value in zip(ELEMENTS, values, strict=True))
    _line(f"inertia about ({point}) m: {elements} kg·m²")
    axes = total.principal_axes()
    for i, moment in enumerate(total.principal_moments()):
        _line(f"principal moment {_number(moment)} kg·m² about ({', '.join(_number(x) for x in axes[:, i])})")


def _cells(properties: MassProperties) -> list[str]:
    return [_number(value) for value in properties._scalars]


def _number(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-12 else value:.5g}"


def _line(text: str) -> None:
    output.print(text, soft_wrap=True, markup=False, highlight=False)


def _plot(budget: Budget, file: Path, picture: Path | None) -> int:
    """Into a file; without one, in a window where there is a screen, else into a file beside us."""
    from . import mass_figure  # matplotlib takes its time to load

    if picture is None and mass_figure.screen():
        mass_figure.show(budget)
        return 0
    path = picture or Path(f"{file.stem}.png")
    try:
        mass_figure.draw(path, budget)
    except (OSError, ValueError) as problem:
        complain(f"cannot write to {path}: {getattr(problem, 'strerror', None) or problem}")
        return 1
    print(f"picture: {path}", file=sys.stderr)
    return 0
