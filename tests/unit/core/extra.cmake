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

if(SLUICE_SANITIZE OR CMAKE_CROSSCOMPILING_EMULATOR)  # each makes a hop from stage to stage some fifty times slower
  target_compile_definitions(unit_core PRIVATE SLUICE_SLOW_HOPS)
endif()
