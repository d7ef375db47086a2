# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
#   cmake -DCMAKE_CUDA_ARCHITECTURES=75 -P cuda_architectures.cmake
include(${CMAKE_CURRENT_LIST_DIR}/../../sdk/cmake/SluicePlugin.cmake)
sluice_check_cuda_architectures()
