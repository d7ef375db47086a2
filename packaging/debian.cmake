# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Debian packages: `cpack -G DEB` in the build folder makes them of what `program` has built.
#
# Kernels for CUDA are inside the plugins of `sluice` where the build has them: without a provider of devices they are not asked for. The provider,
# which talks to NVIDIA's driver, is `sluice-cuda`: who installs it chooses to use the GPU, and no file is in two packages.
# The packages of a cross build are for the other machine: packaging/arm64/cpack.cmake.
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/arm64/cpack.cmake)
  set(CPACK_SLUICE_SYSROOT ${CMAKE_SYSROOT})
endif()
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The sluice authors")
set(CPACK_PACKAGE_CONTACT "The sluice authors <sluice@invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "pipelines for nanopore and other long-read data")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL program development)
if(SLUICE_WITH_CUDA)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
if(TARGET fast5_reader)
  list(APPEND CPACK_COMPONENTS_ALL fast5)
endif()

get_property(abi GLOBAL PROPERTY SLUICE_ABI_VERSION)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_layout.cmake)
set(CPACK_SLUICE_LICENCES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/THIRD_PARTY_LICENCES.md)  # for debian_layout.cmake

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME sluice)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_PROVIDES "sluice-abi (= ${abi})")  # what a package of plugins depends on
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The program, its plugins and pipelines: mapping, methylation calling, event
 alignment, polishing, correction and Read Until, from the raw signal on.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME sluice-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "sluice (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "cmake, g++ | c++-compiler, ninja-build | make, pkg-config, libhts-dev, libxxhash-dev, libzstd-dev, libdeflate-dev, libflatbuffers-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, the testing library and find_package(sluice) for plugins of one's own.")

set(CPACK_DEBIAN_CUDA_PACKAGE_NAME sluice-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "sluice (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS "libcuda1")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "Offers NVIDIA GPUs to sluice; the driver has to be there.")

set(CPACK_DEBIAN_FAST5_PACKAGE_NAME sluice-fast5)
set(CPACK_DEBIAN_FAST5_PACKAGE_DEPENDS "sluice (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_FAST5_DESCRIPTION "Lets sluice read FAST5 files, by HDF5.")
include(CPack)
