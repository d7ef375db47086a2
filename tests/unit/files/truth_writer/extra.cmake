# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_truth_writer truth_writer)
