# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests choose the instruction set through Highway, run the stage of the plugin, and compare whole runs with f5c's rows.
target_link_libraries(unit_event_alignment PRIVATE PkgConfig::HIGHWAY)
add_dependencies(unit_event_alignment event_alignment)
