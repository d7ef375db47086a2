# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
target_link_libraries(unit_sdk PRIVATE sluice::arrow sluice::hts sluice::index_file sluice::overlap sluice::sequence)
