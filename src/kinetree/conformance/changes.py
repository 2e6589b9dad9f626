"""What versions of MuJoCo brought, as a section of the page: each change with its state and with what proves it.

The rows are kept by hand, where the tests are that look at every proof; here is what a row holds, and how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

TITLE = "## What MuJoCo added"
INTRODUCTION = """From 3.3.0 to {version}, everything in MuJoCo's list of changes that concerns rigid bodies: the engine, MJCF,
what the compiler makes of it. A change *works* if a model that has it agrees with MuJoCo in every layer above, or a test of its
own compares it: that model or test is named, and a test looks at every row. *Small model* is one in `tests/changes.py`. What is
*refused* is so by name. *Not applicable* says why."""
SECTION = re.compile(rf"{TITLE}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Change:
    """One change: since which version, what it is, and exactly one proof.

    model: a model of the corpus that has it, which `has` tells from the compiled model. xml: a small model, compared with
    MuJoCo in all layers. test: a test that compares it. refused: words of the refusal; with `model` or `xml`. reason: why it
    does not apply.
    """

    version: str
    what: str
    model: str = ""
    has: Callable[[Any], Any] | None = None
    xml: str = ""
    test: str = ""
    refused: str = ""
    reason: str = ""

    @property
    def state(self) -> str:
        """Works, refused, or not applicable."""
        return "refused" if self.refused else "not applicable" if self.reason else "works"

    @property
    def proof(self) -> str:
        """What the page names as proof."""
        if self.reason:
            return self.reason
        shown = f"`{self.model}`" if self.model else f"`{self.test}`" if self.test else "small model"
        return f"{shown}: {self.refused}" if self.refused else shown


def section(changes: Iterable[Change], version: str) -> str:
    """The section of the page, with its title."""
    changes = list(changes)
    counts = {
        state: sum(change.state == state for change in changes) for state in ("works", "refused", "not applicable")
    }
    total = ", ".join(f"{count} {state}" for state, count in counts.items())
    head = [TITLE, "", INTRODUCTION.format(version=version), "", f"{len(changes)} rows: {total}.", ""]
    rows = [f"| {c.version} | {c.what} | {c.state} | {c.proof} |" for c in changes]
    return "\n".join([*head, "| since | what | state | proof |", "|---|---|---|---|", *rows]) + "\n"


def with_section(page: str, changes: Iterable[Change], version: str) -> str:
    """A page with this section made anew: in its place, or at the end."""
    new = section(changes, version)
    if TITLE not in page:
        return f"{page.rstrip()}\n\n{new}"
    return SECTION.sub(lambda _: new + "\n", page, count=1).rstrip() + "\n"
