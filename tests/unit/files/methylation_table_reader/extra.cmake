# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the stage as the program would.
add_dependencies(unit_methylation_table_reader methylation_table_reader)
