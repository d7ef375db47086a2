# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
target_link_libraries(unit_fast5_reader PRIVATE signal_reader_kernels)  # what the program is asked by
add_dependencies(unit_fast5_reader fast5_reader)
if(CMAKE_CROSSCOMPILING_EMULATOR)  # which starts no programs that it runs: this one is found first
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/bin/fast5_reader CONTENT "#!/bin/sh\nexec '${emulator}' '$<TARGET_FILE:fast5_reader>' \"$@\"\n"
       FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endif()
