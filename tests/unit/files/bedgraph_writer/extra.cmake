# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the stage as the program would.
target_link_libraries(unit_bedgraph_writer PRIVATE PkgConfig::LIBDEFLATE)
add_dependencies(unit_bedgraph_writer bedgraph_writer)
