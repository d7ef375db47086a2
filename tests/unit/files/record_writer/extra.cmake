# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
add_dependencies(unit_record_writer record_writer alignment_reader)
target_link_libraries(unit_record_writer PRIVATE sluice::hts PkgConfig::HTSLIB)
