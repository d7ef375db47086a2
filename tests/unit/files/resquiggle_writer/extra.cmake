# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# The tests include the stage, which compresses.
target_link_libraries(unit_resquiggle_writer PRIVATE sluice::arrow)
