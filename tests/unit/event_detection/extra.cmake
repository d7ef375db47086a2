# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The real reads are BLOW5; the tests choose the instruction set through Highway.
target_link_libraries(unit_event_detection PRIVATE signal_reader_kernels PkgConfig::HIGHWAY)
