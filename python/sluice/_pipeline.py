# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""Pipelines as objects: what a TOML file says, checked the same way."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, Mapping

from . import _run, _stream
from ._engine import plain, value_text
from ._errors import Problem
from ._stage import Stage


def _toml(value: Any) -> str:
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        text = value_text(value)
        if not text.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ValueError(f"{value!r} is no text of UTF-8, which pipelines are: give it to run() as a parameter")
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    return "[" + ", ".join(_toml(item) for item in value) + "]"


def _key(name: str) -> str:
    return name if name.replace("_", "a").replace("-", "a").isalnum() and name.isascii() else json.dumps(name)


def _entry(kind: str, name: str, values: Mapping[str, Any], name_of: Callable[[Stage], str]) -> str:
    lines = [f"[{kind}.{_key(name)}]"]
    for key, value in values.items():
        if value is not None:
            lines.append(f"{key} = {_toml(name_of(value) if isinstance(value, Stage) else value)}")
    return "\n".join(lines)


class Pipeline:
    """A pipeline that is put together by calls; each returns the pipeline, so that they can be chained.

    >>> pipeline = (sluice.Pipeline("lengths")
    ...     .parameter("reads", "path", required=True)
    ...     .stage("reads", use="read_reader", path="${reads}")
    ...     .stage("share", use=gc_share)
    ...     .stage("table", use="table_writer", output="gc.tsv", columns="name,gc"))
    >>> pipeline.run(reads="reads.fq")
    """

    def __init__(self, name: str, *, summary: str | None = None, doc: str | None = None, extends: str | None = None, include: Iterable[str] = ()):
        self.name = name
        self.place = f"pipeline '{name}'"  # what places in error messages begin with
        included = list(include)
        self._head = {"name": name, "extends": extends, "include": included or None, "summary": summary, "doc": doc}
        self._entries: list[tuple[str, str, dict[str, Any]]] = []
        self._stages: list[Stage] = []

    def parameter(self, name: str, type: str, **said: Any) -> "Pipeline":
        """[parameters.NAME]: type is bool, int, float, string, path, size or choice; further keys as in the file: required, default, help, ..."""
        self._entries.append(("parameters", name, {"type": type, **said}))
        return self

    def resource(self, name: str, use: str, *, resources: Mapping[str, str] | None = None, enabled: Any = None, **params: Any) -> "Pipeline":
        """[resources.NAME] with its parameters."""
        return self._add("resources", name, use, params, resources=resources, enabled=enabled)

    def stage(
        self,
        name: str,
        use: "str | Stage",
        *,
        inputs: Iterable[str] | None = None,
        resources: Mapping[str, str] | None = None,
        enabled: Any = None,
        device: str | None = None,
        feedback: Iterable[str] | None = None,
        params: Mapping[str, Any] | None = None,
        **more_params: Any,
    ) -> "Pipeline":
        """[stages.NAME]: use is a stage's id, or a function that is decorated with @sluice.stage; further arguments are its parameters."""
        inputs = [inputs] if isinstance(inputs, str) else inputs
        listed = None if inputs is None else list(inputs)
        back = None if feedback is None else list(feedback)
        values = {**(params or {}), **more_params}
        return self._add("stages", name, use, values, inputs=listed, resources=resources, enabled=enabled, device=device, feedback=back)

    def _add(self, kind: str, name: str, use: "str | Stage", params: Mapping[str, Any], **keys: Any) -> "Pipeline":
        if isinstance(use, Stage):
            self._stages.append(use)
        given = {key: value for key, value in params.items() if value is not None}
        self._entries.append((kind, name, {"use": use, **keys, "params": given or None}))
        return self

    def to_toml(self) -> str:
        """The file. Stages in Python are named by their id, which this program knows."""
        return self._text(lambda stage: stage.id)

    def _text(self, name_of: Callable[[Stage], str]) -> str:
        head = "\n".join(["[pipeline]"] + [f"{key} = {_toml(value)}" for key, value in self._head.items() if value is not None])
        return "\n\n".join([head, *(_entry(*entry, name_of) for entry in self._entries)]) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, for `sluice run`. Stages in Python are named by their file and function: "/home/you/gc.py:gc_share"."""
        text = self._text(Stage.reference)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def check(self, **arguments: Any) -> list[Problem]:
        """See sluice.check()."""
        return _run.check(self, **arguments)

    def run(self, **arguments: Any) -> "_run.Report":
        """See sluice.run()."""
        return _run.run(self, **arguments)

    def stream(self, **arguments: Any) -> "_stream.Stream":
        """See sluice.stream()."""
        return _stream.stream(self, **arguments)

    def __repr__(self) -> str:
        return f"<sluice.Pipeline '{self.name}'>"

    def _register_stages(self) -> None:
        for stage in self._stages:
            stage.register()
