# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Cross build for 64-bit ARM: Debian's g++-aarch64-linux-gnu, the libraries of packaging/arm64/libraries.sh, and qemu-user, which runs what is built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SLUICE_ARM64_SYSROOT)
if(NOT EXISTS "${SLUICE_ARM64_SYSROOT}/packages")
  message(FATAL_ERROR "there are no arm64 libraries in '${SLUICE_ARM64_SYSROOT}': './dev build arm64' fetches them")
endif()
set(CMAKE_SYSROOT ${SLUICE_ARM64_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${SLUICE_ARM64_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SLUICE_ARM64_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${SLUICE_ARM64_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SLUICE_ARM64_SYSROOT}/usr/share/pkgconfig)

find_program(QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static REQUIRED)  # Debian: qemu-user or qemu-user-static
set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU_AARCH64} -L ${SLUICE_ARM64_SYSROOT})
