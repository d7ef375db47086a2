# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the resource as the program would.
add_dependencies(unit_fm_index fm_index)
