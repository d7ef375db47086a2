# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The searches need an index; the tests choose the instruction set through Highway, and run the stages as the program would.
target_link_libraries(unit_mem_seeding PRIVATE fm_index_kernels PkgConfig::HIGHWAY)
add_dependencies(unit_mem_seeding mem_seeding fm_index match_writer)
