# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The policy that docs/scheduling.md shows is held to what every policy is held to.
set(page ${CMAKE_SOURCE_DIR}/docs/scheduling.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
file(READ ${page} text)
string(REGEX REPLACE "^.*```cpp\n([^`]*)```.*$" "\\1" text "${text}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/soonest.cpp CONTENT "${text}" @ONLY)
target_sources(unit_core PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/soonest.cpp)

target_link_libraries(unit_core PRIVATE frozen_layout layout_of_today)
smaller_where_slow(unit/core/executor_test.cpp)  # hops from stage to stage
