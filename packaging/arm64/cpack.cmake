# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Read by cpack: dependencies are those of arm64 packages, of which this machine's dpkg-shlibdeps knows nothing.
set(SHLIBDEPS_EXECUTABLE ${CMAKE_CURRENT_LIST_DIR}/dependencies.sh ${CPACK_SLUICE_SYSROOT}/shlibs)
