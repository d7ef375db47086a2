// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment records with base modification tags, made up from a seed, and the bytes of their column bam_record.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace modbam {

struct Record {
  std::string name, contig, bases;  // bases as the record stores them
  std::int64_t position = 0;
  std::uint16_t flag = 0;
  std::vector<std::pair<char, std::uint32_t>> cigar;
  std::optional<std::string> mm;
  std::optional<std::vector<std::uint8_t>> ml;
  std::optional<std::int32_t> mn, haplotype;
  std::optional<std::string> read_group;

  bool is_reverse() const { return (flag & 16U) != 0; }
  bool is_hard_clipped() const {
    return std::any_of(cigar.begin(), cigar.end(), [](const auto& part) { return part.first == 'H'; });
  }
};

inline char complement(char base) {
  const std::size_t at = std::string("ACGT").find(base);
  return at == std::string::npos ? base : "TGCA"[at];
}
inline std::string reverse_complement(std::string bases) {
  std::reverse(bases.begin(), bases.end());
  for (char& base : bases) base = complement(base);
  return bases;
}
// In sequencing orientation.
inline std::string sequenced(const Record& record) { return record.is_reverse() ? reverse_complement(record.bases) : record.bases; }

template <class T>
void put(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

inline std::string tag_bytes(const Record& record) {
  std::string tags;
  if (record.mm) tags += "MMZ" + *record.mm + '\0';
  if (record.ml) {
    tags += "MLBC";
    put(tags, static_cast<std::uint32_t>(record.ml->size()));
    tags.append(record.ml->begin(), record.ml->end());
  }
  if (record.mn) tags += "MNi", put(tags, *record.mn);
  if (record.haplotype) tags += "HPc", put(tags, static_cast<std::int8_t>(*record.haplotype));
  if (record.read_group) tags += "RGZ" + *record.read_group + '\0';
  return tags;
}

// The cell of bam_record, with these tags.
inline std::string cell(const Record& record, const std::string& tags) {
  std::string data = record.name + '\0';
  while (data.size() % 4 != 0) data += '\0';
  const auto name_bytes = static_cast<std::uint16_t>(data.size());
  for (const auto& [operation, length] : record.cigar)
    put(data, static_cast<std::uint32_t>(length << 4U | static_cast<std::uint32_t>(std::string("MIDNSHP=X").find(operation))));
  for (std::size_t i = 0; i < record.bases.size(); i += 2) {
    const auto code = [&](std::size_t at) { return at < record.bases.size() ? std::string("=ACMGRSVTWYHKDBN").find(record.bases[at]) : 0; };
    data += static_cast<char>(code(i) << 4U | code(i + 1));
  }
  data.append(record.bases.size(), '\xff');
  data += tags;
  std::string bytes;
  put<std::int32_t>(bytes, 0);
  put<std::int64_t>(bytes, record.position);
  put<std::uint16_t>(bytes, 0);
  put<std::uint8_t>(bytes, 60);
  put<std::uint8_t>(bytes, static_cast<std::uint8_t>(name_bytes - record.name.size() - 1));
  put<std::uint16_t>(bytes, record.flag);
  put<std::uint16_t>(bytes, name_bytes);
  put<std::uint32_t>(bytes, static_cast<std::uint32_t>(record.cigar.size()));
  put<std::int32_t>(bytes, static_cast<std::int32_t>(record.bases.size()));
  put<std::int32_t>(bytes, -1);
  put<std::int64_t>(bytes, -1);
  put<std::int64_t>(bytes, 0);
  put<std::int32_t>(bytes, static_cast<std::int32_t>(data.size()));
  return bytes + data;
}
inline std::string cell(const Record& record) { return cell(record, tag_bytes(record)); }

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }

  // Rich in CpGs.
  std::string contig(std::size_t length) {
    std::string bases;
    while (bases.size() < length) bases += chance(0.1) ? "CG" : std::string(1, "ACGT"[below(4)]);
    return bases.substr(0, length);
  }

  Record record(const std::string& name, const std::string& contig, const std::string& reference) {
    Record record{.name = name, .contig = contig, .flag = static_cast<std::uint16_t>(chance(0.5) ? 16 : 0)};
    const std::size_t length = 20 + below(reference.size() / 2), start = below(reference.size() - length);
    record.position = static_cast<std::int64_t>(start);
    if (chance(0.15)) add(record, 'H', 1 + below(9));
    if (chance(0.3)) insert(record, 'S', 1 + below(9));
    for (std::size_t at = start; at < start + length; ++at) {
      // It begins and ends with a base.
      const bool inside = at > start && at + 1 < start + length;
      if (inside && chance(0.03)) insert(record, 'I', 1 + below(4));
      if (inside && chance(0.05)) {
        add(record, 'D', 1);
      } else if (inside && chance(0.003) && at + 40 < start + length) {
        const std::size_t skipped = 1 + below(39);
        add(record, 'N', skipped);
        at += skipped - 1;
      } else {
        const bool differs = chance(0.06);
        record.bases += differs ? "ACGTN"[below(5)] : reference[at];
        add(record, chance(0.9) ? 'M' : record.bases.back() == reference[at] ? '=' : 'X', 1);
      }
    }
    if (chance(0.3)) insert(record, 'S', 1 + below(9));
    if (chance(0.15)) add(record, 'H', 1 + below(9));
    if (record.is_hard_clipped()) record.flag |= 2048U;
    if (chance(0.7)) record.haplotype = 1 + static_cast<std::int32_t>(below(2));
    if (chance(0.9)) record.read_group = chance(0.5) ? "first" : "second";
    add_tags(record);
    return record;
  }

 private:
  void add(Record& record, char operation, std::size_t length) {
    if (!record.cigar.empty() && record.cigar.back().first == operation)
      record.cigar.back().second += static_cast<std::uint32_t>(length);
    else
      record.cigar.emplace_back(operation, static_cast<std::uint32_t>(length));
  }
  void insert(Record& record, char operation, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) record.bases += "ACGT"[below(4)];
    add(record, operation, length);
  }
  // As different programs write them.
  void add_tags(Record& record) {
    static const std::vector<std::vector<std::string>> programs = {{"C+m?"},
                                                                   {"C+mh?"},
                                                                   {"C+h?", "C+m?"},
                                                                   {"C+m"},
                                                                   {"C+m.", "A+a."},
                                                                   {"C+27551?", "C+76792?"},
                                                                   {"C+m?", "G-m?"},
                                                                   {"N+n?", "C+m."},
                                                                   {"T-a?"},
                                                                   {"U+17596?"},
                                                                   {"C+hm.", "A+a?", "C-m", "N-x?"},
                                                                   {"C+C?"},
                                                                   {},
                                                                   {"A+a?", "C+mh."}};
    const std::vector<std::string>& groups = programs[below(programs.size())];
    if (groups.empty()) return;
    const std::string bases = sequenced(record);
    record.mm.emplace();
    record.ml.emplace();
    for (const std::string& group : groups) {
      *record.mm += group;
      const std::string codes = group.substr(2, group.find_first_of("?.") - 2);
      const std::size_t probabilities = codes[0] <= '9' ? 1 : codes.size();
      const char counted = group[0] == 'U' ? 'T' : group[0];
      const double share = group[0] == 'N' ? 0.05 : 0.6;
      std::size_t skipped = 0;
      for (const char base : bases) {
        if (base != counted && counted != 'N') continue;
        if (!chance(share)) {
          ++skipped;
          continue;
        }
        *record.mm += "," + std::to_string(skipped);
        skipped = 0;
        for (std::size_t i = 0; i < probabilities; ++i) record.ml->push_back(static_cast<std::uint8_t>(below(256)));
      }
      *record.mm += ";";
    }
    if (record.ml->empty() && chance(0.5)) record.ml.reset();
    if (record.is_hard_clipped() ? chance(0.7) : chance(0.5)) record.mn = static_cast<std::int32_t>(record.bases.size());
  }
  std::mt19937_64 random_;
};

}  // namespace modbam
