# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
smaller_where_slow(unit/cli/file_conflicts_test.cpp)  # each start of the program loads all plugins
