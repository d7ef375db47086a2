# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests choose the instruction set through Highway, and run the stages as the program would.
target_link_libraries(unit_read_correction PRIVATE PkgConfig::HIGHWAY)
add_dependencies(unit_read_correction read_correction window_cutting sequence_store minimizer_index)
