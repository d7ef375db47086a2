# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
target_link_libraries(unit_fast5_reader PRIVATE signal_reader_kernels)  # what the program is asked by
add_dependencies(unit_fast5_reader fast5_reader)
