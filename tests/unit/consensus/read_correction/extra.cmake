# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the stages as the program would.
add_dependencies(unit_read_correction read_correction window_cutting sequence_store minimizer_index)
