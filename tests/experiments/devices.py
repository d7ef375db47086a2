#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What the experiments take from `sluice doctor --json`: is there a CUDA device, and if not, why.
#   devices.py SOURCE_DIR
import os
import sys

sys.path.insert(0, os.path.join(os.path.realpath(sys.argv[1]), "experiments"))
from framework.experiment import reason_without_device  # noqa: E402


def finding(what, found):
    return {"what": what, "found": found}


assert reason_without_device([finding("cuda", "cuda:0 NVIDIA H200, 139 GiB"), finding("cuda:0", "NVIDIA H200")]) is None
assert reason_without_device([finding("cuda", "no CUDA: this machine has no NVIDIA driver")]) == "this machine has no NVIDIA driver"
assert reason_without_device([finding("gpu", "none: no plugin is there that knows devices")]) == "no plugin is there that knows devices"
assert reason_without_device([]) == "sluice doctor says nothing of it"
