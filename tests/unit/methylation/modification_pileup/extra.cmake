# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# program_test.cpp runs whole pipelines and reads what they write.
target_link_libraries(unit_modification_pileup PRIVATE PkgConfig::HTSLIB)
add_dependencies(unit_modification_pileup sluice ${plugins})
