# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The formats need an index; the tests run the stages as the program would.
target_link_libraries(unit_match_writer PRIVATE fm_index_kernels)
add_dependencies(unit_match_writer match_writer fm_index mem_seeding)
