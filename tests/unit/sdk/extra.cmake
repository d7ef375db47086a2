# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
target_link_libraries(unit_sdk PRIVATE PkgConfig::LIBDEFLATE sluice::hts sluice::index_file sluice::overlap sluice::sequence)
