# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests write gzip files.
find_package(ZLIB REQUIRED)
target_link_libraries(unit_read_bases PRIVATE ZLIB::ZLIB)
