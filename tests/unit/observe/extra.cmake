# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Reads accounts and traces that are gzip.
find_package(ZLIB REQUIRED)
target_link_libraries(unit_observe PRIVATE ZLIB::ZLIB)
