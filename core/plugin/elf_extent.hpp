// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Is a shared library whole? The loader maps what the headers promise, and a file that was cut off ends the process with SIGBUS as soon as a
// missing page is touched.

#include <filesystem>
#include <string>

namespace sluice {

// "", or what is wrong: shorter than its segments and section headers say. What is no ELF file of this machine's word size is left to the
// loader, which has words for it.
std::string elf_problem(const std::filesystem::path& file);

}  // namespace sluice
