# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Batches are laid out for the device on the host.
if(SLUICE_WITH_CUDA)
  target_link_libraries(unit_abea PRIVATE abea_cuda)
  target_compile_definitions(unit_abea PRIVATE SLUICE_WITH_CUDA)
endif()
# The stage runs as the program would run it.
add_dependencies(unit_abea abea)
