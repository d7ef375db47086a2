# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests choose the instruction set through Highway, run the stages as the program would, and compare with spoa where it is installed.
target_link_libraries(unit_poa_consensus PRIVATE PkgConfig::HIGHWAY)
add_dependencies(unit_poa_consensus poa_consensus)
find_path(SPOA_INCLUDE_DIR spoa/spoa.hpp)
find_library(SPOA_LIBRARY spoa)
if(SPOA_INCLUDE_DIR AND SPOA_LIBRARY)
  target_include_directories(unit_poa_consensus SYSTEM PRIVATE ${SPOA_INCLUDE_DIR})
  target_link_libraries(unit_poa_consensus PRIVATE ${SPOA_LIBRARY})
  target_compile_definitions(unit_poa_consensus PRIVATE SLUICE_WITH_SPOA)
endif()
