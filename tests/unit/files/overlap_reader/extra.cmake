# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the stages as the program would.
add_dependencies(unit_overlap_reader overlap_reader sequence_store minimizer_index)
