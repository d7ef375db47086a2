# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the stages as the program would.
add_dependencies(unit_splice_junctions splice_junctions)
