# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests choose the instruction set through Highway, run the stage as the program would, and compare with edlib where it is installed.
target_link_libraries(unit_pair_alignment PRIVATE PkgConfig::HIGHWAY)
add_dependencies(unit_pair_alignment pair_alignment)
find_path(EDLIB_INCLUDE_DIR edlib.h)
find_library(EDLIB_LIBRARY edlib)
if(EDLIB_INCLUDE_DIR AND EDLIB_LIBRARY)
  target_include_directories(unit_pair_alignment SYSTEM PRIVATE ${EDLIB_INCLUDE_DIR})
  target_link_libraries(unit_pair_alignment PRIVATE ${EDLIB_LIBRARY})
  target_compile_definitions(unit_pair_alignment PRIVATE SLUICE_WITH_EDLIB)
endif()
