# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_signal_seeding signal_seeding)
