# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Writes pipelines.pyi: the signatures and documentation of sluice.pipelines for type checkers and editors, made from the pipelines themselves.

    python -m sluice._hints pipelines.pyi
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

from . import pipelines
from ._engine import RUN_OPTION_TYPES

_HEAD = '''# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Made from the pipelines by sluice._hints.
import os
from typing import Any, Callable, Iterable, Literal, Mapping, Union

from ._run import Progress, Report

_Path = Union[str, os.PathLike[str]]
'''

_TYPES = {"bool": "bool", "int": "int", "float": "float", "string": "str", "path": "_Path", "size": "int | str", "choice": "str"}


def _type_of(said: dict[str, Any]) -> str:
    kind = _TYPES[said["type"]]
    if said.get("choices"):
        kind = f"Literal[{', '.join(map(repr, said['choices']))}]"
    return f"{kind} | list[{kind}]" if said["several"] else kind


def _parameter(said: dict[str, Any], default: Any) -> str:
    kind = _type_of(said)
    if default is inspect.Parameter.empty:
        return f"{said['name']}: {kind}"
    return f"{said['name']}: {kind}{' | None' if default is None else ''} = {default!r}"


def _function(name: str) -> str:
    function = getattr(pipelines, name)
    said = {parameter["name"]: parameter for parameter in pipelines._known()[name]["parameters"]}
    lines = [_parameter(said[p.name], p.default) for p in inspect.signature(function).parameters.values() if p.name in said]
    lines += [f"{option}: {kind} | None = None" for option, kind in RUN_OPTION_TYPES.items() if option not in said]
    lines += ["progress: Callable[[Progress], Any] | None = None", "progress_interval: float = 0.5", "set: Iterable[str] = ()",
              "parameters: Mapping[str, Any] | None = None", "plugin_dir: Any = None"]
    documentation = inspect.getdoc(function).replace("\\", "\\\\").replace('"""', "'''")
    body = "\n".join(f"    {line}".rstrip() for line in documentation.splitlines())
    arguments = "".join(f"    {line},\n" for line in lines)
    return f'def {name}(\n    *,\n{arguments}) -> Report:\n    """\n{body}\n    """\n'


def hints() -> str:
    return "\n\n".join([_HEAD, *(_function(name) for name in dir(pipelines) if name.isidentifier())])


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(hints())
