# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
if(SLUICE_SANITIZE OR CMAKE_CROSSCOMPILING_EMULATOR)  # a start of the program loads all plugins: a second or so
  set_source_files_properties(unit/cli/file_conflicts_test.cpp PROPERTIES COMPILE_DEFINITIONS SLUICE_SLOW_STARTS)
endif()
