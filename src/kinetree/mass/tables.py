"""Tables of components as cells with line numbers, from TOML and CSV files; what the cells mean is up to `budget`."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import nearest

HEADER_UNIT = re.compile(r"(.*?)\s*[\[(](.*)[\])]\s*")  # "mass [g]"
TOP_LEVEL = ("title", "units", "component", "components")
OTHER_WORDS = {"weight": "mass", "part": "name", "item": "name", "component": "name"}


class Problem(NamedTuple):
    """One thing that is wrong with a table."""

    file: str
    line: int
    column: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {f'column {self.column!r}: ' if self.column else ''}{self.message}"


class BudgetError(ValueError):
    """A table that cannot be read; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self):
        return type(self), (self.problems,)


@dataclass
class Row:
    """Cells by column; None is a cell that is there and empty. sure: all columns are known, so what misses is missing."""

    cells: Mapping[str, Any]
    line: int
    lines: Mapping[str, int] = field(default_factory=dict)
    sure: bool = True

    def has(self, column: str) -> bool:
        """Whether the row says something in a column."""
        return self.cells.get(column) is not None

    def line_of(self, column: str) -> int:
        """Where a cell stands, or would."""
        return self.lines.get(column, self.line)


@dataclass
class Table:
    """Rows, and what holds for all of them. units: by column, or "[mass]" and "[length]" for all."""

    title: str
    rows: list[Row]
    units: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    units_line: int = 0


def read(path: Path, columns: Sequence[str]) -> Table:
    """The table in a file; a BudgetError if it cannot be taken apart."""
    readers = {".toml": _read_toml, ".csv": _read_csv}
    if path.suffix.lower() not in readers:
        raise BudgetError([Problem(str(path), 0, "", "a budget is a .toml or a .csv file")])
    if not path.is_file():
        raise BudgetError([Problem(str(path), 0, "", "no such file" if not path.exists() else "not a file")])
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BudgetError([Problem(str(path), 0, "", f"not a text in UTF-8 (byte {problem.start})")]) from None
    out = readers[path.suffix.lower()](str(path), text, columns)
    if not out.rows and not out.problems:
        out.problems.append(Problem(str(path), 0, "", "no components"))
    return out


class Columns:
    """Names of columns, in capitals or not; each unknown one is a problem once, in the first row that has it."""

    def __init__(self, path: str, known: Sequence[str], problems: list[Problem]):
        self.path, self.known, self.problems = path, known, problems
        self.by_lower = {name.lower(): name for name in known}
        self.reported: set[str] = set()

    def row(self, names: Sequence[str], lines: Sequence[int]) -> list[str]:
        """The names as they are known, "" for one that is not or that appears twice."""
        out: list[str] = []
        for name, line in zip(names, lines, strict=True):
            found = self.by_lower.get(name.lower(), "")
            if found in out and found:
                self.problems.append(Problem(self.path, line, found, "the column appears twice"))
                found = ""
            elif not found and name not in self.reported:
                self.reported.add(name)
                self.problems.append(Problem(self.path, line, name, f"unknown column: {self._suggestion(name)}"))
            out.append(found)
        return out

    def _suggestion(self, name: str) -> str:
        word = OTHER_WORDS.get(name.lower())
        return f"did you mean {word!r}?" if word else nearest(name.lower(), self.known)


# TOML


def _read_toml(path: str, text: str, columns: Sequence[str]) -> Table:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        found = re.search(r"\(at line (\d+), column \d+\)", str(problem))
        reason = re.sub(r"\s*\(at .*\)$", "", str(problem))
        raise BudgetError([Problem(path, int(found[1]) if found else 0, "", f"not TOML: {reason}")]) from None
    problems = [
        Problem(path, _line_of(text, rf"\s*\[*\s*{re.escape(key)}\b"), key, f"unknown key: {nearest(key, TOP_LEVEL)}")
        for key in document
        if key not in TOP_LEVEL
    ]
    units = document.get("units", {})
    if (
        not isinstance(units, dict)
        or not set(units) <= {"mass", "length"}
        or not all(isinstance(u, str) for u in units.values())
    ):
        problems.append(
            Problem(path, _line_of(text, r"\s*\[*\s*units\b"), "units", 'expected mass = "..." and length = "..."')
        )
        units = {}
    if "component" in document and "components" in document:
        line = _line_of(text, r"\s*\[*\s*components\b")
        problems.append(Problem(path, line, "components", "both [[component]] and [[components]]: write one of them"))
    key = "components" if "components" in document else "component"
    tables = document.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        problems.append(Problem(path, _line_of(text, rf"\s*\[*\s*{key}\b"), key, f"expected tables [[{key}]]"))
        tables = []
    known = Columns(path, columns, problems)
    rows = []
    for cells, lines in zip(tables, _places(text, key, tables), strict=True):
        line = lines.get("", 0)
        names = known.row(list(cells), [lines.get(name, line) for name in cells])
        places = {name: lines.get(given, line) for name, given in zip(names, cells, strict=True) if name}
        kept = {name: cell for name, cell in zip(names, cells.values(), strict=True) if name}
        rows.append(Row(kept, line, places, "" not in names))
    title, line = document.get("title", ""), _line_of(text, r"\s*\[*\s*units\b")
    return Table(str(title), rows, {f"[{name}]": unit for name, unit in units.items()}, problems, line)


def _line_of(text: str, pattern: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(pattern, line):
            return number
    return 0


def _places(text: str, key: str, tables: list[dict[str, Any]]) -> list[dict[str, int]]:
    """Line numbers of the keys of each table, "" for its beginning. The parser keeps none, so the text is looked through."""
    out: list[dict[str, int]] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        heading = re.match(r"\s*\[\[?\s*\"?([\w.-]+)", line)
        assignment = re.match(r"\s*\"?([\w-]+)\"?\s*=", line)
        if heading:
            inside = heading[1] == key
            if inside:
                out.append({"": number})
        elif assignment and inside:
            out[-1].setdefault(assignment[1], number)
    if len(out) == len(tables):
        return out
    named = [_line_of(text, rf".*\bname\s*=\s*[\"']{re.escape(str(table.get('name')))}[\"']") for table in tables]
    return [{"": line or _line_of(text, rf"\s*{key}\s*=")} for line in named]  # tables in one line each


# CSV


def _read_csv(path: str, text: str, columns: Sequence[str]) -> Table:
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
    names: list[str] = []
    out = Table("", [])
    try:
        for cells in reader:
            filled = [cell for cell in cells if cell.strip()]
            # above the header all that begins so is a comment; below it "#1 engine" may be a name
            if not filled or (filled[0].startswith("#") and (len(filled) == 1 or not names)):
                continue
            if not names:
                out.units_line = reader.line_num
                names = _header(path, reader.line_num, cells, columns, out)
            else:
                _add_row(path, reader.line_num, cells, names, out)
    except csv.Error as problem:
        out.problems.append(Problem(path, reader.line_num, "", f"not CSV: {problem}"))
    return out


def _header(path: str, line: int, cells: list[str], columns: Sequence[str], out: Table) -> list[str]:
    matches = [HEADER_UNIT.fullmatch(cell) for cell in cells]
    given = [(found[1] if found else cell).strip() for cell, found in zip(cells, matches, strict=True)]
    names = Columns(path, columns, out.problems).row(given, [line] * len(cells))
    out.units |= {name: found[2] for name, found in zip(names, matches, strict=True) if name and found}
    return names


def _add_row(path: str, line: int, cells: list[str], names: list[str], out: Table) -> None:
    if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
        out.problems.append(Problem(path, line, "", f"{len(cells)} cells, but the header has {len(names)}"))
    padded = [cell.strip() or None for cell in cells] + [None] * len(names)
    known = {name: cell for name, cell in zip(names, padded, strict=False) if name}
    out.rows.append(Row(known, line, sure="" not in names))
