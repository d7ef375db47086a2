// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From methylation calls on the reference to places in the sequence of one alignment record.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sluice/motif.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::methylation {

// One site of the reference (a CpG, or another motif's) with a call.
struct SiteCall {
  std::int64_t site = 0;         // its first base on the forward strand, 0-based: C of a CpG
  std::uint8_t probability = 0;  // that it is methylated, see modbam_writer
};

// A group of sites that share one call, as methylation_hmm makes them.
struct SiteGroup {
  std::int64_t first_site = 0;
  std::int64_t last_site = 0;
  std::int32_t motifs = 0;
};

// The alignment of a record, in the orientation of the reference, as BAM stores it.
struct RecordAlignment {
  std::int64_t reference_start = 0;            // 0-based
  std::span<const std::uint32_t> cigar;        // length << 4 | operation
  const std::uint8_t* packed_bases = nullptr;  // two bases a byte, high half first; A 1, C 2, G 4, T 8
  std::int64_t base_count = 0;                 // of SEQ: hard-clipped bases don't count
  Strand strand = Strand::forward;
};

// A call that the read's own sequence shows.
struct ReadCall {
  std::int64_t position;  // of the modified base (forward) or its partner (reverse) in SEQ
  std::size_t call;       // which one it is
};

namespace detail {

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

inline unsigned base_at(const RecordAlignment& alignment, std::int64_t position) {
  const unsigned pair = alignment.packed_bases[position / 2];
  return position % 2 == 0 ? pair >> 4 : pair & 15U;
}

// Has SEQ a site from `position` on? The codes of its bases are the bits of MotifSites.
inline bool shows_site(const RecordAlignment& alignment, const MotifSites& sites, std::int64_t position) {
  for (std::int32_t i = 0; i < sites.length; ++i) {
    const unsigned base = base_at(alignment, position + i);
    if ((base & (base - 1)) != 0 || (base & sites.bases[i]) == 0) return false;
  }
  return true;
}

}  // namespace detail

// Appends every site of the group with the group's probability; `sites`: of the motif under reads of that strand. False, with nothing appended, when
// the reference has other than `motifs` sites between the first and the last site, or when one of these is none: then the group was called on another
// reference.
inline bool append_group(std::string_view contig_bases, const MotifSites& sites, const SiteGroup& group, std::uint8_t probability,
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

// Replaces `placed` by the calls that count, ascending in SEQ. A call counts where the read itself has the motif in neighbouring bases aligned to
// those of the site (no insertion between them); other calls say nothing about this read's sequence and are left out. False when the calls do not
// ascend or the CIGAR does not fit.
inline bool place_calls(const RecordAlignment& alignment, const MotifSites& sites, std::span<const SiteCall> calls, std::vector<ReadCall>& placed) {
  using detail::Operation;
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
          if (detail::shows_site(alignment, sites, at)) placed.push_back({at + sites.modified, next});
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

}  // namespace sluice::methylation
