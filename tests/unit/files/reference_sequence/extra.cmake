# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests write gzip files.
find_package(ZLIB REQUIRED)
target_link_libraries(unit_reference_sequence PRIVATE ZLIB::ZLIB)
