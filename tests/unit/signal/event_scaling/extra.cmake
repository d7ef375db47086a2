# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The expected scalings start from the events of real reads, which are BLOW5.
target_link_libraries(unit_event_scaling PRIVATE event_detection_kernels signal_reader_kernels PkgConfig::HIGHWAY)
