# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests write gzip files.
find_package(ZLIB REQUIRED)
target_link_libraries(unit_read_bases PRIVATE ZLIB::ZLIB)
smaller_where_slow(unit/files/read_bases/read_batches_test.cpp)  # threads for every block, and qemu 7.2 keeps 280 kB of each
