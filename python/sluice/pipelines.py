# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The shipped pipelines as functions: sluice.pipelines.methylation(signal=..., ...) is sluice.run("methylation", signal=..., ...).

Signatures and documentation come from the pipelines themselves: help(sluice.pipelines.methylation).
"""

from __future__ import annotations

import inspect
import os
import textwrap
from functools import lru_cache
from typing import Any, Callable, List, Optional, Union

from ._engine import Engine
from ._run import Report, run

_Path = Union[str, os.PathLike]
_TYPES = {"bool": bool, "int": int, "float": float, "string": str, "path": _Path, "size": Union[str, int], "choice": str}
_VALUES = {"bool": lambda text: text == "true", "int": int, "float": float}


@lru_cache(maxsize=1)
def _known() -> dict[str, dict[str, Any]]:
    return {pipeline["name"]: pipeline for pipeline in Engine.of().describe()["pipelines"]}


def _parameter(said: dict[str, Any]) -> inspect.Parameter:
    kind = _TYPES[said["type"]]
    kind = Union[kind, List[kind]] if said["several"] else kind  # type: ignore[valid-type]
    default: Any = None
    if said["required"]:
        default = inspect.Parameter.empty
    elif said["default"] is not None and "${" not in said["default"]:
        default = _VALUES.get(said["type"], str)(said["default"])
    if default is None:
        kind = Optional[kind]
    return inspect.Parameter(said["name"], inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _range(said: dict[str, Any]) -> str:
    least, most = (None if said.get(key) is None else f"{said[key]:.12g}" for key in ("minimum", "maximum"))
    return f"{least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}"


def _help_of(said: dict[str, Any]) -> str:
    facts = [said["type"]]
    if said.get("choices"):
        facts.append(" | ".join(said["choices"]))
    if "minimum" in said or "maximum" in said:
        facts.append(_range(said))
    if said.get("unit"):
        facts.append(said["unit"])
    if said["required"]:
        facts.append("required")
    elif said["default"] is not None:
        facts.append(f"default {said['default']}")
    head = f"{said['name']} ({', '.join(facts)})"
    return head + "\n" + textwrap.indent(textwrap.fill(said["help"], 100), "    ")


def _documentation(said: dict[str, Any]) -> str:
    parts = [said["summary"], said["doc"].strip(), "Parameters\n----------\n" + "\n".join(_help_of(p) for p in said["parameters"])]
    parts.append("Stages, for sluice.stream(): " + ", ".join(stage["name"] for stage in said["stages"]))
    parts.append("Options of the run (threads, device, ...), progress and what is returned: see sluice.run().")
    return "\n\n".join(part for part in parts if part)


@lru_cache(maxsize=None)
def _function(name: str) -> Callable[..., Report]:
    said = _known()[name]

    def pipeline(**arguments: Any) -> Report:
        return run(name, **arguments)

    ordered = sorted(said["parameters"], key=lambda p: not p["required"])
    signature = [_parameter(p) for p in ordered if p["name"].isidentifier()]
    signature.append(inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation=Any))
    pipeline.__name__ = pipeline.__qualname__ = name
    pipeline.__module__ = __name__
    pipeline.__doc__ = _documentation(said)
    pipeline.__signature__ = inspect.Signature(signature, return_annotation=Report)  # type: ignore[attr-defined]
    pipeline.__annotations__ = {p.name: p.annotation for p in signature}
    return pipeline


def __getattr__(name: str) -> Callable[..., Report]:
    if not name.startswith("_") and name in _known():
        return _function(name)
    raise AttributeError(f"there is no pipeline '{name}': sluice.pipelines has {', '.join(sorted(_known()))}")


def __dir__() -> list[str]:
    return sorted(_known())
