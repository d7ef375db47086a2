# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_methylation_accuracy methylation_accuracy methylation_table_reader)
