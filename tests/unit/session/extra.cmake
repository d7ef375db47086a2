# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# What the command line does with signals.
target_sources(unit_session PRIVATE ${CMAKE_SOURCE_DIR}/core/cli/run_ending.cpp)
