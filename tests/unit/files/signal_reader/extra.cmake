# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
target_link_libraries(unit_signal_reader PRIVATE signal_normalization_kernels)  # record_beginning_test.cpp: what the beginnings of records are for
find_package(ZLIB REQUIRED)
target_link_libraries(unit_signal_reader PRIVATE ZLIB::ZLIB)  # what zlib_beginning.hpp is compared with
