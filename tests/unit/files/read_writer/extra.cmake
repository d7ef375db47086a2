# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_read_writer read_writer)
target_link_libraries(unit_read_writer PRIVATE PkgConfig::HTSLIB)
