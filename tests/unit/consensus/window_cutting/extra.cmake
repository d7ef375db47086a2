# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests choose the instruction set through Highway, and run the stages as the program would.
target_link_libraries(unit_window_cutting PRIVATE PkgConfig::HIGHWAY)
add_dependencies(unit_window_cutting window_cutting sequence_store)
