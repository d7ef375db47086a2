# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The test includes the stage itself.
target_link_libraries(unit_summary_writer PRIVATE sluice::arrow sluice::sequence)
