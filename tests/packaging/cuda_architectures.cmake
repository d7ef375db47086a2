# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Which devices a build for CUDA is refused for, and the usual ones.
#   cmake [-DCMAKE_CUDA_ARCHITECTURES=75] -DCMAKE_SYSTEM_PROCESSOR=aarch64 -P cuda_architectures.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../../sdk/cmake/SluicePlugin.cmake)
if(NOT CMAKE_CUDA_ARCHITECTURES)
  sluice_usual_cuda_architectures(CMAKE_CUDA_ARCHITECTURES)
endif()
sluice_check_cuda_architectures()
message(STATUS "for ${CMAKE_CUDA_ARCHITECTURES}")
