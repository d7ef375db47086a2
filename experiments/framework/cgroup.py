# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A control group of Linux in which a program has so much memory and no more, where this process may make one."""

import contextlib
import os


@contextlib.contextmanager
def of_memory(limit):
    """The file that takes up processes into the group; None where none may be made. It ends with the context, behind the processes in it."""
    group, joins = None, None
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            group = os.path.join(root, "sluice_experiment_%d" % os.getpid())
            try:
                os.mkdir(group)
            except OSError:
                group = None
                continue
            try:
                with open(os.path.join(group, name), "r+", encoding="ascii") as file:
                    file.write(str(limit))
                joins = os.path.join(group, "cgroup.procs")
                if may_join(joins):
                    break
            except OSError:
                pass
            os.rmdir(group)
            group, joins = None, None
        if joins:
            break
    try:
        yield joins
    finally:
        if group:
            os.rmdir(group)


def may_join(joins):
    child = os.fork()
    if child == 0:
        try:
            with open(joins, "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def inside(joins, command):
    """The command that runs `command` in the group of which `joins` is the file; the same process throughout."""
    return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', joins, *command] if joins else command
