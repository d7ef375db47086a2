// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Files that tests of readers make: plain, compressed, and as alignments.

#include <doctest/doctest.h>
#include <htslib/bgzf.h>
#include <htslib/sam.h>
#include <zlib.h>

#include <cstdint>
#include <sluice/hts/handles.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unit/fresh_file.hpp"

namespace sluice::written_files {

enum class Packing : std::uint8_t { plain, bgzf, gzip };

// block_bytes: of the text, in one block of BGZF.
inline const std::string& write_packed(const std::string& path, std::string_view text, Packing packing, std::size_t block_bytes = 1 << 20) {
  if (packing == Packing::plain) {
    write_file(path, text);
  } else if (packing == Packing::bgzf) {
    BGZF* file = bgzf_open(fresh(path).c_str(), "w1");
    for (std::size_t at = 0; at < text.size(); at += block_bytes) {
      const std::string_view piece = text.substr(at, block_bytes);
      REQUIRE(bgzf_write(file, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()));
      if (at + block_bytes < text.size()) REQUIRE(bgzf_flush(file) == 0);
    }
    REQUIRE(bgzf_close(file) == 0);
  } else {
    gzFile file = gzopen(fresh(path).c_str(), "wb1");
    REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
    REQUIRE(gzclose(file) == Z_OK);
  }
  return path;
}

// Of these letters, a power of two of them.
inline std::string made_sequence(std::size_t length, std::size_t number, std::string_view letters) {
  auto seed = static_cast<std::uint32_t>(number + 1);
  std::string bases(length, 'A');
  for (char& base : bases) {
    seed = seed * 1664525U + 1013904223U;
    base = letters[(std::uint64_t{seed} * letters.size()) >> 32];
  }
  return bases;
}

// A record of alignments; contig < 0: it lies nowhere, and has no CIGAR, else it matches from one end to the other.
struct MadeRecord {
  std::string name, bases, qualities;
  std::uint16_t flag = 0;
  int contig = -1;
  std::int64_t position = -1;
  std::uint8_t quality = 0;
  std::string text_tag = "";  // XX:Z
};

// mode: as of hts_open. BAM has blocks of a few records.
inline const std::string& write_records(const std::string& path, const std::string& mode, const std::string& header_lines,
                                        const std::vector<MadeRecord>& records) {
  hts::silence();
  const hts::Header header(sam_hdr_init());
  REQUIRE(sam_hdr_add_lines(header.get(), header_lines.data(), header_lines.size()) == 0);
  const hts::File file(hts_open(fresh(path).c_str(), mode.c_str()));
  REQUIRE(sam_hdr_write(file.get(), header.get()) == 0);
  const hts::Record record(bam_init1());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const MadeRecord& made = records[i];
    const std::uint32_t cigar = static_cast<std::uint32_t>(made.bases.size()) << 4 | BAM_CMATCH;
    REQUIRE(bam_set1(record.get(), made.name.size(), made.name.c_str(), made.flag, made.contig, made.position, made.quality, made.contig < 0 ? 0 : 1,
                     &cigar, -1, -1, 0, made.bases.size(), made.bases.data(), made.qualities.data(), 64) >= 0);
    if (!made.text_tag.empty())
      REQUIRE(bam_aux_append(record.get(), "XX", 'Z', static_cast<int>(made.text_tag.size()) + 1,
                             reinterpret_cast<const std::uint8_t*>(made.text_tag.c_str())) == 0);
    REQUIRE(sam_write1(file.get(), header.get(), record.get()) >= 0);
    if (i % 5 == 4 && mode == "wb") REQUIRE(bgzf_flush(file->fp.bgzf) == 0);
  }
  return path;
}

}  // namespace sluice::written_files
