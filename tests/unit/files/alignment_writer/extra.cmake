# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_alignment_writer alignment_writer)
target_link_libraries(unit_alignment_writer PRIVATE PkgConfig::HTSLIB)
