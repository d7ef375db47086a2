# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Made-up records.
target_sources(unit_alignment_reader PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/generators/odd_alignments.cpp)
