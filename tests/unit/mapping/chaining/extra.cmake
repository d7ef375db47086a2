# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests choose the instruction set through Highway, and run the stage of the plugin.
target_link_libraries(unit_chaining PRIVATE PkgConfig::HIGHWAY)
add_dependencies(unit_chaining chaining)
