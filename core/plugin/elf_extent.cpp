// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plugin/elf_extent.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace sluice {

std::string elf_problem(const std::filesystem::path& file) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) return "cannot be read";
  ElfW(Ehdr) header{};
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_elf = stream.gcount() >= SELFMAG && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!is_elf) return size == 0 ? "is empty" : "";
  const std::string cut = "is truncated: it has " + std::to_string(size) + " bytes, ";
  if (stream.gcount() < static_cast<std::streamsize>(sizeof header)) return cut + "less than its header";
  constexpr unsigned char word_size = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (header.e_ident[EI_CLASS] != word_size || header.e_phentsize != sizeof(ElfW(Phdr))) return "";
  // No sum can overflow: file offsets above 2^62 are cut first.
  const auto end_of = [](std::uint64_t offset, std::uint64_t bytes) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    return std::min(offset, most) + std::min(bytes, most);
  };
  std::uint64_t promised = std::max(end_of(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize),
                                    header.e_shoff == 0 ? 0 : end_of(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize));
  stream.seekg(static_cast<std::streamoff>(std::min<std::uint64_t>(header.e_phoff, size)));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!stream.read(reinterpret_cast<char*>(&segment), sizeof segment)) break;
    promised = std::max(promised, end_of(segment.p_offset, segment.p_filesz));
  }
  return promised > size ? cut + "its headers promise " + std::to_string(promised) + " (copy or build it again)" : "";
}

}  // namespace sluice
