# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the stages as the program would.
add_dependencies(unit_event_alignment_writer event_alignment_writer)
target_link_libraries(unit_event_alignment_writer PRIVATE PkgConfig::HTSLIB)
