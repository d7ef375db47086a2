// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors

#include "methylation_hmm/profile_hmm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::methylation_hmm {
namespace {

struct alignas(64) LogSumTable {
  std::array<float, kLogSumLast + 1> entries;

  LogSumTable() {
    for (std::int32_t i = 0; i < kLogSumLast; ++i) {
      entries[static_cast<std::size_t>(i)] = static_cast<float>(std::log(1.0 + std::exp(-static_cast<double>(i) / 1000.0)));
    }
    entries[kLogSumLast] = 0.0F;
  }
};

constexpr double kBackgroundEmission = -3.0;  // per clipped event
constexpr double kStartToClip = 0.5;
constexpr double kClipSelf = 0.9;

constexpr std::array<std::uint8_t, 256> rank_codes(std::string_view letters, std::string_view counted_as) {
  std::array<std::uint8_t, 256> codes{};  // any other letter counts as A, as in f5c
  for (std::size_t i = 0; i < letters.size(); ++i) codes[static_cast<unsigned char>(letters[i])] = base_code(Alphabet::methylation, counted_as[i]);
  return codes;
}
constexpr std::array<std::uint8_t, 256> kCodes = rank_codes("ACGT", "ACGT");
constexpr std::array<std::uint8_t, 256> kComplementCodes = rank_codes("ACGT", "TGCA");

}  // namespace

const float* log_sum_table() {
  static const LogSumTable table;
  return table.entries.data();
}

void extend_clipping(std::vector<float>& clipping, std::size_t count) {
  clipping.reserve(count);
  while (clipping.size() < count) {
    switch (clipping.size()) {
      case 0:
        clipping.push_back(static_cast<float>(std::log(1.0 - kStartToClip)));
        break;
      case 1:
        clipping.push_back(static_cast<float>(std::log(kStartToClip) + kBackgroundEmission + std::log(1.0 - kClipSelf)));
        break;
      default:
        clipping.push_back(static_cast<float>(std::log(kClipSelf) + kBackgroundEmission + static_cast<double>(clipping.back())));
    }
  }
}

void hypothesis_ranks(std::string_view sequence, std::uint32_t k, Strand strand, const MotifSites& sites, std::uint32_t* unmethylated,
                      std::uint32_t* methylated) {
  constexpr std::uint32_t kBase = alphabet_size(Alphabet::methylation);
  constexpr std::uint32_t kMethylated = base_code(Alphabet::methylation, 'M');
  const bool reverse = strand == Strand::reverse;
  const std::array<std::uint8_t, 256>& codes = reverse ? kComplementCodes : kCodes;

  std::array<std::uint32_t, kMaximumSequenceLength> plain;
  std::array<std::uint32_t, kMaximumSequenceLength> modified;
  const std::size_t length = std::min(sequence.size(), kMaximumSequenceLength);
  for (std::size_t i = 0; i < length; ++i) plain[i] = modified[i] = codes[static_cast<unsigned char>(sequence[i])];
  const std::string_view bases = sequence.substr(0, length);
  const auto site_length = static_cast<std::size_t>(sites.length), modified_in_site = static_cast<std::size_t>(sites.modified);
  for (std::size_t at = find_motif(bases, sites); at != std::string_view::npos; at = find_motif(bases, sites, at + site_length))
    modified[at + modified_in_site] = kMethylated;

  std::uint32_t top = 1;  // weight of the first base of a k-mer
  for (std::uint32_t i = 1; i < k; ++i) top *= kBase;
  const auto roll = [&](const std::array<std::uint32_t, kMaximumSequenceLength>& code, std::uint32_t* ranks) {
    std::uint32_t rank = 0;
    if (reverse) {
      // The base that enters on the right of the forward strand is the first of the reverse complement.
      for (std::size_t i = 0; i < length; ++i) {
        rank = rank / kBase + code[i] * top;
        if (i + 1 >= k) ranks[i + 1 - k] = rank;
      }
    } else {
      for (std::size_t i = 0; i < length; ++i) {
        if (i >= k) rank -= code[i - k] * top;
        rank = rank * kBase + code[i];
        if (i + 1 >= k) ranks[i + 1 - k] = rank;
      }
    }
  };
  roll(plain, unmethylated);
  roll(modified, methylated);
}

ScoreStatus check_problem(std::span<const ReadSignal> reads, const GroupProblem& problem, std::uint32_t k) {
  if (problem.read >= reads.size()) return ScoreStatus::no_such_read;
  const ReadSignal& read = reads[problem.read];
  const auto lowest = std::min(problem.first_event, problem.last_event);
  const auto highest = std::max(problem.first_event, problem.last_event);
  // The number of rows must fit 32 bits as well.
  if (lowest < 0 || highest == std::numeric_limits<std::int32_t>::max() || static_cast<std::size_t>(highest) >= read.event_mean.size())
    return ScoreStatus::no_such_event;
  if (problem.sequence.size() < k) return ScoreStatus::sequence_too_short;
  if (problem.sequence.size() > kMaximumSequenceLength) return ScoreStatus::sequence_too_long;
  bool usable = true;
  for (const float mean : read.event_mean.subspan(static_cast<std::size_t>(lowest), static_cast<std::size_t>(event_count(problem)))) {
    usable = usable && is_usable(mean);
  }
  return usable ? ScoreStatus::ok : ScoreStatus::not_finite;
}

bool is_usable(const KmerModelView& model) {
  constexpr std::uint32_t kLargestK = 12;
  if (model.alphabet != Alphabet::methylation || model.k == 0 || model.k > kLargestK) return false;
  const std::size_t size = kmer_count(model.alphabet, model.k);
  return model.level_mean.size() == size && model.level_stdv.size() == size && model.log_level_stdv.size() == size;
}

}  // namespace sluice::methylation_hmm
