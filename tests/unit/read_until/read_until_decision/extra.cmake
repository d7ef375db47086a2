# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_read_until_decision read_until_decision)
