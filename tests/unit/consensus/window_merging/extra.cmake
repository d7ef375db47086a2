# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests run the stages as the program would.
add_dependencies(unit_window_merging window_merging sequence_store)
