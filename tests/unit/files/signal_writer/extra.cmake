# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_signal_writer signal_writer)
# What is written must be read back: by the reader's own functions.
target_link_libraries(unit_signal_writer PRIVATE signal_reader_kernels)
