# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The test runs the stage as the program would, and looks into its Arrow files.
target_link_libraries(unit_table_writer PRIVATE sluice::arrow)
add_dependencies(unit_table_writer table_writer)
