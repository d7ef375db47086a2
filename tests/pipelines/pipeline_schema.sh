#!/bin/bash
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# `sluice schema` accepts every pipeline that is shipped or documented, and refuses one from which something required was taken.
#   pipeline_schema.sh SLUICE SOURCE_DIR
set -euo pipefail
sluice=$(realpath "$1") source=$(realpath "$2")
python3 -c 'import tomllib' 2>/dev/null || { echo "SKIPPED: there is no python3 with tomllib (3.11)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$sluice" schema >"$work/schema.json"
python3 - "$work/schema.json" "$source" <<'PYTHON'
import copy, glob, json, re, sys, tomllib

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def has_type(value, name):
    if name in ("integer", "number"):
        return isinstance(value, int if name == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(schema, value, path=""):
    """What of JSON Schema (draft 7) `sluice schema` uses; anything else is an error, so that nothing is silently ignored."""
    if isinstance(schema, bool):
        return [] if schema else [f"{path}: is not allowed here"]
    found = []
    for key, rule in schema.items():
        if key in ("description", "title", "$schema", "then", "else"):
            continue
        elif key == "type":
            if not any(has_type(value, name) for name in ([rule] if isinstance(rule, str) else rule)):
                found.append(f"{path}: not of type {rule}")
        elif key == "enum":
            found += [] if value in rule else [f"{path}: {value!r} is none of the choices"]
        elif key == "const":
            found += [] if value == rule else [f"{path}: {value!r} is not {rule!r}"]
        elif key == "pattern":
            found += [f"{path}: does not match"] if isinstance(value, str) and not re.search(rule, value) else []
        elif key in ("minimum", "maximum"):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            found += [f"{path}: beyond the {key}"] if number and (value < rule if key == "minimum" else value > rule) else []
        elif key == "required":
            found += [f"{path}: {name} is missing" for name in rule if name not in value]
        elif key == "properties":
            for name in rule.keys() & value.keys():
                found += problems(rule[name], value[name], f"{path}/{name}")
        elif key == "additionalProperties":
            for name in value.keys() - schema.get("properties", {}).keys():
                found += [f"{path}: unknown {name}"] if rule is False else problems(rule, value[name], f"{path}/{name}")
        elif key == "items":
            for i, item in enumerate(value):
                found += problems(rule, item, f"{path}/{i}")
        elif key == "anyOf":
            found += [] if any(not problems(option, value, path) for option in rule) else [f"{path}: fits nothing that is allowed"]
        elif key == "allOf":
            for part in rule:
                found += problems(part, value, path)
        elif key == "if":
            branch = "else" if problems(rule, value, path) else "then"
            found += problems(schema.get(branch, True), value, path)
        else:
            sys.exit(f"FAILED: the validator of this test does not know '{key}'")
    return found


schema, source = json.load(open(sys.argv[1])), sys.argv[2]
files = sorted(glob.glob(source + "/pipelines/*.toml") + glob.glob(source + "/pipelines/parts/*.toml")) + [
    source + "/examples/" + name for name in ("methylation_of_long_reads.toml", "map_chosen_reads.toml")
]
assert len(files) > 10, files
for file in files:
    found = problems(schema, tomllib.load(open(file, "rb")))
    if found:
        sys.exit(f"FAILED: {file} does not fit the schema: {found}")

pipeline = tomllib.load(open(source + "/pipelines/resquiggle.toml", "rb"))
del pipeline["pipeline"]["include"]  # what takes over others need not be whole


def refused(what, change):
    mutilated = copy.deepcopy(pipeline)
    change(mutilated)
    if not problems(schema, mutilated):
        sys.exit(f"FAILED: the schema accepts a pipeline {what}")


def first(test, tables="stages"):
    return lambda p: next(stage for stage in p[tables].values() if test(stage))


sink = first(lambda s: "output" in s.get("params", {}))
user = first(lambda s: s["use"] == "signal_decode")
refused("whose sink has no output", lambda p: sink(p)["params"].pop("output"))
refused("whose sink has no params", lambda p: sink(p).pop("params"))
refused("whose stage has an empty required slot", lambda p: user(p)["resources"].clear())
refused("whose stage has no resources", lambda p: user(p).pop("resources"))
refused("with an unknown stage type", lambda p: sink(p).update(use="no_such_stage"))
refused("with a misspelt parameter", lambda p: sink(p)["params"].update(ouptut="x"))
refused("that removes a stage and extends nothing", lambda p: sink(p).update(remove=True))
refused("whose stage has no type", lambda p: sink(p).pop("use"))
refused("with a stage of a file in no known language", lambda p: user(p).update(use="signal.pi:decode"))
refused("without stages", lambda p: p.pop("stages"))
python = copy.deepcopy(pipeline)
user(python).update(use="../stages/signal.py:decode")
if found := problems(schema, python):
    sys.exit(f"FAILED: a stage in Python does not fit the schema: {found}")
print(f"{len(files)} pipelines fit the schema, 10 mutilated ones do not")
PYTHON
