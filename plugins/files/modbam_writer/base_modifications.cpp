// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modbam_writer/base_modifications.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sluice::modbam_writer {
namespace {

enum class Operation : std::uint32_t {
  match = 0,
  insertion = 1,
  deletion = 2,
  skip = 3,
  soft_clip = 4,
  hard_clip = 5,
  padding = 6,
  equal = 7,
  difference = 8
};

unsigned base_at(const RecordAlignment& alignment, std::int64_t position) {
  const unsigned pair = alignment.packed_bases[position / 2];
  return position % 2 == 0 ? pair >> 4 : pair & 15U;
}

void append_number(std::string& text, std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

// Has SEQ a site from `position` on? The codes of its bases are the bits of MotifSites.
bool shows_site(const RecordAlignment& alignment, const MotifSites& sites, std::int64_t position) {
  for (std::int32_t i = 0; i < sites.length; ++i) {
    const unsigned base = base_at(alignment, position + i);
    if ((base & (base - 1)) != 0 || (base & sites.bases[i]) == 0) return false;
  }
  return true;
}

}  // namespace

std::uint8_t probability_code(double log_lik_ratio) {
  const double probability = 1.0 / (1.0 + std::exp(-log_lik_ratio));
  if (!(probability > 0)) return 0;
  return static_cast<std::uint8_t>(std::min(255.0, std::floor(probability * 256.0)));
}

bool append_group(std::string_view contig_bases, const MotifSites& sites, const SiteGroup& group, std::uint8_t probability,
                  std::vector<SiteCall>& calls) {
  const auto length = static_cast<std::int64_t>(contig_bases.size());
  if (group.first_site < 0 || group.last_site < group.first_site || group.last_site > length - sites.length) return false;
  const auto is_site = [&](std::int64_t i) { return is_motif_site(contig_bases.data() + i, sites); };
  if (!is_site(group.first_site) || !is_site(group.last_site)) return false;
  const std::size_t before = calls.size();
  for (std::int64_t site = group.first_site; site <= group.last_site; ++site)
    if (is_site(site)) calls.push_back({site, probability});
  if (calls.size() - before == static_cast<std::size_t>(std::max(group.motifs, 0))) return true;
  calls.resize(before);
  return false;
}

bool place_calls(const RecordAlignment& alignment, const MotifSites& sites, std::span<const SiteCall> calls, std::vector<ReadCall>& placed) {
  placed.clear();
  const auto ascending = [](const SiteCall& a, const SiteCall& b) { return a.site >= b.site; };
  if (std::adjacent_find(calls.begin(), calls.end(), ascending) != calls.end()) return false;
  std::int64_t reference = alignment.reference_start;
  std::int64_t read = 0;
  std::size_t next = 0;
  const std::span<const std::uint32_t> cigar = alignment.cigar;
  for (std::size_t i = 0; i < cigar.size();) {
    const auto operation = static_cast<Operation>(cigar[i] & 15U);
    const std::int64_t length = cigar[i] >> 4;
    switch (operation) {
      case Operation::match:
      case Operation::equal:
      case Operation::difference: {
        // Neighbouring blocks ("=" and "X") are one run without gaps.
        std::int64_t run = 0;
        for (; i < cigar.size(); ++i) {
          const auto same = static_cast<Operation>(cigar[i] & 15U);
          if (same != Operation::match && same != Operation::equal && same != Operation::difference) break;
          run += cigar[i] >> 4;
        }
        if (run > alignment.base_count - read) return false;
        while (next < calls.size() && calls[next].site < reference) ++next;
        for (; next < calls.size() && calls[next].site - reference <= run - sites.length; ++next) {
          const std::int64_t at = read + (calls[next].site - reference);
          if (shows_site(alignment, sites, at)) placed.push_back({at + sites.modified, next});
        }
        reference += run;
        read += run;
        continue;
      }
      case Operation::insertion:
      case Operation::soft_clip:
        if (length > alignment.base_count - read) return false;
        read += length;
        break;
      case Operation::deletion:
      case Operation::skip:
        reference += length;
        break;
      case Operation::hard_clip:
      case Operation::padding:
        break;
      default:
        return false;
    }
    ++i;
  }
  return true;
}

bool make_tags(const RecordAlignment& alignment, const Motif& motif, std::span<const SiteCall> calls, ModificationTags& tags) {
  tags.positions.assign(1, motif.base).append("+").append(motif.code).append("?");
  tags.probabilities.clear();
  std::vector<ReadCall> placed;
  placed.reserve(calls.size());
  if (!place_calls(alignment, motif.sites(alignment.strand), calls, placed)) return false;
  // In sequencing orientation a reverse record reads from its last base to its first, and a C of it is stored as G.
  const bool forward = alignment.strand == Strand::forward;
  if (!forward) std::reverse(placed.begin(), placed.end());
  const unsigned counted = motif_bit(forward ? motif.base : complement_of(motif.base));
  const std::int64_t step = forward ? 1 : -1;
  std::int64_t position = forward ? 0 : alignment.base_count - 1;
  for (const ReadCall& call : placed) {
    std::int64_t skipped = 0;
    for (; position != call.position; position += step) skipped += base_at(alignment, position) == counted ? 1 : 0;
    position += step;
    tags.positions += ',';
    append_number(tags.positions, skipped);
    tags.probabilities.push_back(calls[call.call].probability);
  }
  tags.positions += ';';
  return true;
}

}  // namespace sluice::modbam_writer
