// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plugin/elf_extent.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

#include "machine/checksum.hpp"

namespace sluice {
namespace {

constexpr unsigned char word_size = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr std::uint64_t most_note_bytes = std::uint64_t{64} << 10;

bool is_own_kind(const ElfW(Ehdr) & header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == word_size && header.e_phentsize == sizeof(ElfW(Phdr));
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) text += {digits[static_cast<unsigned char>(byte) >> 4], digits[static_cast<unsigned char>(byte) & 15]};
  return text;
}

// The build id among the notes of a segment; "": there is none.
std::string build_id_in(std::string_view notes) {
  const auto padded = [](std::uint64_t bytes) { return (bytes + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::uint64_t name = padded(note.n_namesz);
    if (name > notes.size() || note.n_descsz > notes.size() - name) break;
    const std::string_view owner = notes.substr(0, note.n_namesz), text = notes.substr(static_cast<std::size_t>(name), note.n_descsz);
    if (note.n_type == NT_GNU_BUILD_ID && owner == std::string_view(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU)) return hexadecimal(text);
    notes.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(name + padded(note.n_descsz), notes.size())));
  }
  return {};
}

}  // namespace

std::string elf_problem(const std::filesystem::path& file) {
  std::error_code error;
  if (const auto status = std::filesystem::status(file, error); std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return "is not a regular file";  // reading a pipe would wait for ever
  const std::uint64_t size = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) return std::string("cannot be read: ") + (error ? error.message() : std::strerror(errno));
  ElfW(Ehdr) header{};
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  const bool is_elf = stream.gcount() >= SELFMAG && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!is_elf) return size == 0 ? "is empty" : "";
  const std::string cut = "is truncated: it has " + std::to_string(size) + " bytes, ";
  if (stream.gcount() < static_cast<std::streamsize>(sizeof header)) return cut + "less than its header";
  if (!is_own_kind(header)) return "";
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

std::string build_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  ElfW(Ehdr) header{};
  if (stream.read(reinterpret_cast<char*>(&header), sizeof header) && is_own_kind(header)) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      ElfW(Phdr) segment{};
      stream.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * sizeof segment));
      if (!stream.read(reinterpret_cast<char*>(&segment), sizeof segment)) break;
      if (segment.p_type != PT_NOTE) continue;
      std::string notes(static_cast<std::size_t>(std::min<std::uint64_t>(segment.p_filesz, most_note_bytes)), '\0');
      stream.seekg(static_cast<std::streamoff>(segment.p_offset));
      if (!stream.read(notes.data(), static_cast<std::streamsize>(notes.size()))) break;
      if (std::string id = build_id_in(notes); !id.empty()) return id;
    }
  }
  stream.clear();
  stream.seekg(0);
  if (!stream) return {};
  Checksum sum;
  std::string piece(std::size_t{1} << 20, '\0');
  do {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    sum.add(std::string_view(piece).substr(0, static_cast<std::size_t>(stream.gcount())));
  } while (stream);
  return sum.text();
}

}  // namespace sluice
