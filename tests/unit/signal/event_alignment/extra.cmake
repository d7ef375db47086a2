# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests choose the instruction set through Highway, run the stage of the plugin, and compare whole runs with f5c's rows.
target_link_libraries(unit_event_alignment PRIVATE PkgConfig::HIGHWAY)
add_dependencies(unit_event_alignment event_alignment)
if(SLUICE_WITH_CUDA)
  target_sources(unit_event_alignment PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit/signal/event_alignment/cuda_lane_test.cu)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/unit/signal/event_alignment/cuda_lane_test.cu PROPERTIES
                              COMPILE_OPTIONS "-fmad=false;--expt-relaxed-constexpr;-diag-suppress;20011,20014;-Xcompiler=-ffp-contract=off")
  # Device code as plain C++, which does not know how to unroll.
  set(emulated ${CMAKE_CURRENT_SOURCE_DIR}/unit/signal/event_alignment/cuda_record_emulated.cpp)
  target_sources(unit_event_alignment PRIVATE ${emulated})
  set_source_files_properties(${emulated} PROPERTIES COMPILE_OPTIONS "-Wno-unknown-pragmas;-ffp-contract=off")
  target_link_libraries(unit_event_alignment PRIVATE event_alignment_cuda CUDA::cudart_static)
endif()
