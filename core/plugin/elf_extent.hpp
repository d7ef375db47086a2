// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is read of a shared library before it is loaded. Is it whole? The loader maps what the headers promise, and a file that was cut off ends the
// process with SIGBUS as soon as a missing page is touched.

#include <filesystem>
#include <string>

namespace sluice {

// "", or what is wrong: shorter than its segments and section headers say. What is no ELF file of this machine's word size is left to the
// loader, which has words for it.
std::string elf_problem(const std::filesystem::path& file);

// What tells two builds of a library apart: the linker's note (.note.gnu.build-id) in hexadecimal digits; of a file without one, a checksum of its
// bytes. "": it can't be read.
std::string build_of(const std::filesystem::path& file);

}  // namespace sluice
