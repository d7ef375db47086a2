# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The real reads are BLOW5; the tests choose the instruction set through Highway.
target_link_libraries(unit_event_detection PRIVATE signal_reader_kernels PkgConfig::HIGHWAY)
# The device's walks over chunks, on the host: the functions of these headers are for both.
if(SLUICE_WITH_CUDA)
  target_sources(unit_event_detection PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/signal/event_detection/cuda_walk_test.cu)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/unit/signal/event_detection/cuda_walk_test.cu PROPERTIES
                              COMPILE_OPTIONS "-fmad=false;-diag-suppress;20011,20014;-Xcompiler=-ffp-contract=off,-Wno-unknown-pragmas")
  target_link_libraries(unit_event_detection PRIVATE CUDA::cudart_static)
endif()
# The tests run the stages as the program would.
add_dependencies(unit_event_detection event_detection)
