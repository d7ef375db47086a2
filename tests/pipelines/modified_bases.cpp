// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Do aligned records (SAM or BAM) have the base modifications of the reads that they are of? MM and ML are read base by base, in another way than
// sluice does, and compared at each base of the read that a record has.
//   modified_bases READS RECORDS [verbatim]
// Prints what was compared. verbatim: supplementary records have the tags of the whole read although bases are missing, as minimap2 -y leaves them.

#include <htslib/sam.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// By position in sequencing orientation: what each list of MM says, as "C+m?=200".
using Calls = std::multimap<std::size_t, std::string>;

struct Record {
  std::string name, bases;  // in sequencing orientation
  std::uint16_t flag = 0;
  std::size_t clipped_before = 0, clipped_behind = 0;  // hard, in sequencing orientation
  bool is_modified = false;
  std::string positions, others;  // others: further tags, but MN
  std::vector<int> probabilities;
  std::int64_t length_tag = -1;
};

std::string reverse_complement(const std::string& bases) {
  const std::string from = "ACGTRYSWKMBDHVN", to = "TGCAYRSWMKVHDBN";
  std::string turned;
  for (auto base = bases.rbegin(); base != bases.rend(); ++base) turned += to[from.find(*base)];
  return turned;
}

Record read_record(const sam_hdr_t* header, const bam1_t* from) {
  Record record{.name = bam_get_qname(from), .bases = {}, .flag = from->core.flag, .positions = {}, .others = {}, .probabilities = {}};
  for (int i = 0; i < from->core.l_qseq; ++i) record.bases += seq_nt16_str[bam_seqi(bam_get_seq(from), i)];
  const std::uint32_t* const cigar = bam_get_cigar(from);
  const std::uint32_t operations = from->core.n_cigar;
  const auto hard = [&](std::uint32_t i) { return bam_cigar_op(cigar[i]) == BAM_CHARD_CLIP ? bam_cigar_oplen(cigar[i]) : 0; };
  if (operations > 0) record.clipped_before = hard(0), record.clipped_behind = operations > 1 ? hard(operations - 1) : 0;
  if (bam_is_rev(from)) {
    record.bases = reverse_complement(record.bases);
    std::swap(record.clipped_before, record.clipped_behind);
  }
  kstring_t line = KS_INITIALIZE;
  if (sam_format1(header, from, &line) < 0) throw std::runtime_error("a record that is no line of SAM");
  std::istringstream fields(std::string(line.s, line.l));
  ks_free(&line);
  std::string field;
  for (int i = 0; std::getline(fields, field, '\t'); ++i) {
    if (i < 11) continue;
    const std::string tag = field.substr(0, 5), value = field.substr(5);
    if (tag == "MM:Z:") {
      record.is_modified = true;
      record.positions = value;
    } else if (tag == "ML:B:") {
      std::istringstream numbers(value);
      std::string number;
      std::getline(numbers, number, ',');
      while (std::getline(numbers, number, ',')) record.probabilities.push_back(std::stoi(number));
    } else if (tag == "MN:i:") {
      record.length_tag = std::stoll(value);
    } else if (tag == "RG:Z:" || tag == "qs:f:" || tag == "mv:B:") {
      record.others += field + ' ';
    }
  }
  return record;
}

Calls expand(const Record& record, const std::string& bases) {
  Calls calls;
  std::size_t used = 0;
  std::istringstream lists(record.positions);
  for (std::string list; std::getline(lists, list, ';');) {
    std::istringstream counts(list);
    std::string head, count;
    std::getline(counts, head, ',');
    std::size_t at = 0;
    while (std::getline(counts, count, ',')) {
      for (int left = std::stoi(count);; ++at) {
        if (at >= bases.size()) throw std::runtime_error(record.name + ": MM speaks of more bases than there are");
        if (bases[at] == head[0] && left-- == 0) break;
      }
      for (const char code : head.substr(2)) {
        if (code == '?' || code == '.') continue;
        if (used >= record.probabilities.size()) throw std::runtime_error(record.name + ": ML is too short");
        calls.emplace(at, head + code + '=' + std::to_string(record.probabilities[used++]));
      }
      ++at;
    }
  }
  if (used != record.probabilities.size()) throw std::runtime_error(record.name + ": ML is too long");
  return calls;
}

std::vector<Record> read_file(const char* path) {
  htsFile* const file = hts_open(path, "r");
  sam_hdr_t* const header = file != nullptr ? sam_hdr_read(file) : nullptr;
  if (header == nullptr) throw std::runtime_error(std::string("cannot read ") + path);
  bam1_t* const record = bam_init1();
  std::vector<Record> records;
  int status = 0;
  while ((status = sam_read1(file, header, record)) >= 0) records.push_back(read_record(header, record));
  if (status < -1) throw std::runtime_error(std::string(path) + " is damaged");
  bam_destroy1(record);
  sam_hdr_destroy(header);
  hts_close(file);
  return records;
}

// What was compared, by kind of record.
struct Compared {
  std::size_t records = 0, calls = 0;
};

void compare(const Record& record, const Record& read, bool verbatim, std::map<std::string, Compared>& compared) {
  const auto check = [&](bool holds, const char* what) {
    if (!holds) throw std::runtime_error(record.name + ", flag " + std::to_string(record.flag) + ": " + what);
  };
  check(record.others == read.others, "other tags than the read has");
  if (record.bases.empty()) {
    check(verbatim || !record.is_modified, "modifications without bases");
    ++compared["without bases"].records;
    return;
  }
  const std::size_t begin = record.clipped_before, end = begin + record.bases.size();
  check(end + record.clipped_behind == read.bases.size() && read.bases.substr(begin, end - begin) == record.bases, "not the bases of the read");
  check(record.is_modified == read.is_modified, "modifications are lost or made up");
  if (!read.is_modified) return;
  const bool is_part = record.bases.size() < read.bases.size();
  if (is_part && !verbatim) check(record.length_tag == static_cast<std::int64_t>(record.bases.size()), "MN is not the length of SEQ");
  Calls expected;
  for (const auto& [at, call] : expand(read, read.bases))
    if (verbatim || (at >= begin && at < end)) expected.emplace(verbatim ? at : at - begin, call);
  check(expand(record, verbatim ? read.bases : record.bases) == expected, "other modifications than the read has at these bases");
  const std::string kind = (record.flag & BAM_FUNMAP) != 0 ? "unmapped" : (record.flag & BAM_FREVERSE) != 0 ? "reverse" : "forward";
  Compared& of_kind = compared[kind + (is_part ? " part" : "")];
  ++of_kind.records;
  of_kind.calls += expected.size();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  try {
    std::map<std::string, Record> reads;
    for (Record& read : read_file(argv[1])) reads.emplace(read.name, read);
    std::map<std::string, Compared> compared;
    for (const Record& record : read_file(argv[2])) {
      const auto read = reads.find(record.name);
      if (read == reads.end()) throw std::runtime_error(record.name + " is no read");
      compare(record, read->second, argc == 4, compared);
    }
    for (const auto& [kind, counts] : compared) std::cout << kind << ": " << counts.records << " records, " << counts.calls << " calls\n";
  } catch (const std::exception& error) {
    std::cerr << "FAILED: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
