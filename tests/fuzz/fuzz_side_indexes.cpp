// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as the index beside a file: .fai of FASTA, .gzi beside a right .fai, .bai. Reads are fetched, or the index is refused or made anew.
// The first byte says which. Run: build/fuzz/bin/fuzz_side_indexes -max_len=2000 CORPUS tests/fuzz/side_indexes_seeds
#include <htslib/bgzf.h>
#include <htslib/hts_log.h>
#include <htslib/sam.h>

#include "alignment_reader/alignment_file.hpp"
#include "fuzzed_file.hpp"
#include "read_bases/sequence_file.hpp"

using namespace fuzzing;

namespace {

const Folder& folder() {
  static const Folder own;
  return own;
}

const std::string& fasta() {
  static const std::string text = [] {
    std::string made;
    for (int read = 0; read < 40; ++read) {
      made += ">read" + std::to_string(read) + "\n";
      for (int line = 0; line <= read % 5; ++line) made += std::string(60, "ACGT"[(read + line) % 4]) + "\n";
    }
    return made;
  }();
  return text;
}

std::string packed_fasta() {
  const std::string path = folder().path("packed.fa.gz");
  BGZF* const file = bgzf_open(path.c_str(), "w");
  for (std::size_t at = 0; at < fasta().size(); at += 1000) {
    const std::string_view piece = std::string_view(fasta()).substr(at, 1000);
    require(bgzf_write(file, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()) && bgzf_flush(file) == 0);
  }
  require(bgzf_close(file) == 0);
  return path;
}

std::string alignments() {
  const std::string path = folder().path("a.bam"), text = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:100000\n";
  samFile* const file = sam_open(path.c_str(), "wb");
  sam_hdr_t* const header = sam_hdr_parse(text.size(), text.c_str());
  require(file != nullptr && header != nullptr && sam_hdr_write(file, header) == 0);
  bam1_t* const record = bam_init1();
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t cigar = 8 << BAM_CIGAR_SHIFT;
    require(bam_set1(record, 2, "r", 0, 0, 300 * i, 60, 1, &cigar, -1, -1, 0, 8, "ACGTACGT", nullptr, 0) >= 0 &&
            sam_write1(file, header, record) >= 0);
  }
  bam_destroy1(record);
  sam_hdr_destroy(header);
  require(sam_close(file) == 0);
  return path;
}

void fetch_all(const std::string& path) {
  using namespace sluice::read_bases;
  read_or_refuse([&] {
    OpenReport report;
    SequenceFile file(path, report);
    const auto here = [](std::size_t count, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) {
      if (count > 0) body(0, count);
    };
    for (std::size_t read = 0; read < file.index().size(); ++read) {
      const std::string_view id = file.index().id(read);
      const SequencePlace* const place = file.index().find(id);
      if (place == nullptr || place->bases > 1'000'000) continue;
      std::string bases(place->bases, '?');
      const SequenceFile::Wanted wanted{id, place, bases.data()};
      read_or_refuse([&] { file.fetch({&wanted, 1}, here); });
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = [] { return hts_set_log_level(HTS_LOG_OFF), true; }();
  static const std::string plain = folder().write("plain.fa", fasta()), packed = packed_fasta(), bam = alignments();
  static const std::string right_fai = [] {
    fetch_all(packed);  // makes it
    std::ifstream made(packed + ".fai");
    return std::string(std::istreambuf_iterator<char>(made), {});
  }();
  if (!quiet || size == 0) return 0;
  const std::string_view index = text_of(data + 1, size - 1);
  if (data[0] % 3 == 0) {
    folder().write("plain.fa.fai", index);
    fetch_all(plain);
  } else if (data[0] % 3 == 1) {
    folder().write("packed.fa.gz.fai", right_fai);
    folder().write("packed.fa.gz.gzi", index);
    fetch_all(packed);
  } else {
    folder().write("a.bam.bai", index);
    read_or_refuse([&] {
      sluice::alignment_reader::OpenOptions options;
      options.path = bam;
      options.region = "chr1:1000-20000";
      sluice::alignment_reader::AlignmentFile file(options);
      while (file.next() != nullptr) {
      }
    });
  }
  return 0;
}
