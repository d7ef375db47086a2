// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Writes alignments in no order, as BAM, to try sorting: reads of both strands on a made-up genome, with errors and qualities; some on no contig,
// some secondary without bases, many at one place if the contigs are short.
//   make_alignments OUTPUT.bam RECORDS MEAN_BASES CONTIGS CONTIG_BASES SEED

#include <htslib/sam.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// Steele, Lea and Flood 2014.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
    z = (z ^ z >> 27) * 0x94D049BB133111EBU;
    return z ^ z >> 31;
  }
  std::uint64_t below(std::uint64_t limit) { return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * limit) >> 64); }

 private:
  std::uint64_t state_;
};

struct Read {
  std::string bases, qualities;
  std::vector<std::uint32_t> cigar;
};

void add_operation(std::vector<std::uint32_t>& cigar, std::uint32_t code) {
  if (!cigar.empty() && bam_cigar_op(cigar.back()) == code)
    cigar.back() += 1U << BAM_CIGAR_SHIFT;
  else
    cigar.push_back(1U << BAM_CIGAR_SHIFT | code);
}

// A walk along the genome with 2 % substitutions and as many insertions and deletions. Qualities wander, as those of basecallers do.
void walk(const std::string& genome, std::size_t from, std::size_t length, SplitMix& random, Read& read) {
  read.bases.clear();
  read.qualities.clear();
  read.cigar.clear();
  int quality = 20;
  const auto give = [&](char base, std::uint64_t draw) {
    read.bases.push_back(base);
    quality = std::clamp(quality + static_cast<int>(draw >> 20 & 15) - 7, 2, 40);
    read.qualities.push_back(static_cast<char>(quality));
  };
  for (std::size_t at = from; at < from + length && at < genome.size(); ++at) {
    const std::uint64_t draw = random.next();
    const std::uint64_t kind = draw & 1023, last = from + length - 1;
    if (kind < 20 && at > from && at < last) {
      add_operation(read.cigar, BAM_CDEL);
      continue;
    }
    if (kind < 40 && at > from) {
      give("ACGT"[draw >> 10 & 3], draw >> 3);
      add_operation(read.cigar, BAM_CINS);
    }
    give(kind >= 40 && kind < 60 ? "ACGT"[draw >> 10 & 3] : genome[at], draw);
    add_operation(read.cigar, BAM_CMATCH);
  }
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "make_alignments: %s\n", what);
  std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 7) fail("OUTPUT.bam RECORDS MEAN_BASES CONTIGS CONTIG_BASES SEED");
  const auto number = [&](int i) { return std::strtoull(arguments[i], nullptr, 10); };
  const std::uint64_t records = number(2), mean = number(3), contigs = number(4), contig_bases = number(5);
  SplitMix random(number(6));

  std::string text = "@HD\tVN:1.6\tSO:unsorted\n";
  for (std::uint64_t contig = 0; contig < contigs; ++contig)
    text += "@SQ\tSN:contig_" + std::to_string(contig) + "\tLN:" + std::to_string(contig_bases) + "\n";
  // One genome for all contigs, and no more of it than makes neighbours alike.
  std::string genome(std::min<std::uint64_t>(contig_bases, 20'000'000), 'A');
  for (char& base : genome) base = "ACGT"[random.below(4)];

  samFile* file = hts_open(arguments[1], "wb");
  sam_hdr_t* header = sam_hdr_parse(text.size(), text.data());
  bam1_t* record = bam_init1();
  if (file == nullptr || header == nullptr || record == nullptr) fail("can't write");
  hts_set_threads(file, 2);
  if (sam_hdr_write(file, header) != 0) fail("can't write the header");
  Read read;
  for (std::uint64_t i = 0; i < records; ++i) {
    const double share = (static_cast<double>(random.next() >> 11) + 1) / 0x1p53;
    const auto length = static_cast<std::size_t>(std::max(50.0, -std::log(share) * static_cast<double>(mean)));
    const std::uint64_t kind = random.below(100);
    const bool is_unmapped = kind < 4, is_secondary = kind >= 4 && kind < 10;
    const std::uint64_t start = random.below(contig_bases);
    walk(genome, start % genome.size(), std::min<std::size_t>(length, contig_bases - start), random, read);
    if (read.bases.empty()) fail("contigs are too short");
    const std::string name = "read_" + std::to_string(i) + "_" + std::to_string(random.next());
    const std::int32_t contig = is_unmapped ? -1 : static_cast<std::int32_t>(random.below(contigs));
    std::uint16_t flag = random.below(2) == 0 ? 0 : BAM_FREVERSE;
    if (is_unmapped) flag |= BAM_FUNMAP;
    if (is_secondary) flag |= BAM_FSECONDARY;
    const std::size_t bases = is_secondary ? 0 : read.bases.size();
    const int made = bam_set1(record, name.size(), name.c_str(), flag, contig, is_unmapped ? -1 : static_cast<hts_pos_t>(start),
                              is_unmapped ? 0 : static_cast<std::uint8_t>(random.below(61)), is_unmapped ? 0 : read.cigar.size(), read.cigar.data(),
                              -1, -1, 0, bases, read.bases.data(), read.qualities.data(), 64);
    if (made < 0 || bam_aux_update_int(record, "NM", static_cast<std::int64_t>(length / 17)) != 0 ||
        bam_aux_update_int(record, "AS", static_cast<std::int64_t>(random.below(20000))) != 0 || sam_write1(file, header, record) < 0)
      fail("can't write a record");
  }
  if (hts_close(file) != 0) fail("can't close the file");
  bam_destroy1(record);
  sam_hdr_destroy(header);
}
