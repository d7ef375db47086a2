// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From the tags MM and ML to one state for each base of a read: what has been called there.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "modification_pileup/modification_tags.hpp"

namespace sluice::modification_pileup {

// Probabilities are whole numbers of 1/512: an ML of q stands for the middle of [q/256, (q+1)/256).
inline constexpr std::uint32_t certain = 512;

// A call counts if the most probable of canonical and modified is at least this probable, by canonical base.
struct FilterThresholds {
  std::array<std::uint32_t, base_count> least{};
};
// "0.8", "0.75,A:0.9" or "C:0.7,A:0.9": a value for all bases, values for single ones, in any order; 0 for those without one. Nothing: it can't be
// that.
std::optional<FilterThresholds> parse_thresholds(std::string_view text);

// Which calls of a read count.
struct CallRules {
  FilterThresholds thresholds = {};
  // Codes that are not looked at: their probability goes to the other options in equal parts, the canonical base among them.
  std::vector<ModificationCode> ignored = {};
  // So many bases at the read's ends have no calls.
  std::uint32_t edge_start = 0, edge_end = 0;
};
// "h", "h,76792": codes as MM has them, "" for none; "50" or "4,8": bases at the start and at the end. False: it can't be that.
bool parse_ignored(std::string_view text, CallRules& rules);
bool parse_edges(std::string_view text, CallRules& rules);

// Numbers of calls by canonical base and by how probable they are, in 1/512.
using LevelCounts = std::array<std::array<std::uint64_t, certain + 1>, base_count>;
// For each base the highest threshold below which at most `percent` of its calls are.
FilterThresholds thresholds_at_percentile(const LevelCounts& counts, double percent);

// What is seen of a read at one base, or at one position of the reference.
enum State : std::uint8_t {
  state_outside,  // nothing
  state_deleted,
  state_other,                              // a letter that is none of A, C, G, T
  state_no_call,                            // A; C, G and T follow
  state_call = state_no_call + base_count,  // the first of CallKinds
};

// The kinds of calls in one read, as numbers one after the other: canonical base, outcome, number of codes, the codes that had been looked for in
// ascending order. Outcome: canonical, failed, or which of the codes it is.
struct CallKinds {
  static constexpr std::int32_t canonical = -1, failed = -2;
  static constexpr std::size_t most = 200;
  std::vector<std::int32_t> numbers;
  std::size_t count = 0;
};

enum class DecodeStatus : std::uint8_t { fine, bad_positions, bad_probabilities, too_many_kinds };

// Reusable memory.
class BaseCallDecoder {
 public:
  // `bases` by number, in sequencing orientation; anything else than 0 to 3 is no base. After `fine`: the states below.
  DecodeStatus decode(std::span<const std::uint8_t> bases, std::string_view mm, std::optional<std::span<const std::uint8_t>> ml,
                      const CallRules& rules);
  // As if the read had no tags.
  void without_tags(std::span<const std::uint8_t> bases);

  const CallKinds& kinds() const { return kinds_; }
  // A state for each base, in sequencing orientation, of the base itself ...
  std::span<const std::uint8_t> sequenced() const { return states_[0]; }
  // ... and of what pairs with it; empty if nothing has been called there.
  std::span<const std::uint8_t> opposite() const { return states_[1]; }
  // From here on: how probable each listed call of a read is, canonical or modified, in 1/512, rounded down.
  struct Level {
    std::uint32_t position;  // in sequencing orientation
    MoleculeStrand strand;
    std::uint8_t base;  // on that strand
    std::uint16_t probability;
  };
  void collect_levels() { collects_levels_ = true; }
  const std::vector<Level>& levels() const { return levels_; }
  // From here on: what has been said of each base and code, by strand and position; one entry for each code that was looked for.
  struct Said {
    std::uint32_t position;  // in sequencing orientation
    MoleculeStrand strand;
    std::uint8_t base;  // on that strand
    ModificationCode code;
    double probability;
    bool is_inferred;  // canonical, because it is not listed
    std::uint8_t state;
  };
  void collect_said() { collects_said_ = true; }
  const std::vector<Said>& said() const { return said_; }

 private:
  struct Listed {
    std::uint32_t position;
    ModificationCode code;
    std::uint8_t probability;  // of ML
    bool operator<(const Listed& other) const { return position != other.position ? position < other.position : code < other.code; }
  };
  // States of calls that had the same codes to choose from.
  struct Choice {
    std::uint8_t base = 0;
    std::vector<ModificationCode> codes;
    std::vector<std::uint8_t> states;  // canonical, failed, then by code; 0: not met yet
  };
  // The places of a base in the read; any_base: all.
  std::span<const std::uint32_t> places_of(std::span<const std::uint8_t> bases, std::uint8_t base);
  bool list_group(std::span<const std::uint8_t> bases, const ModificationGroup& group, std::span<const std::uint8_t> ml);
  DecodeStatus decode_strand(std::span<const std::uint8_t> bases, MoleculeStrand strand, const CallRules& rules);
  DecodeStatus call(std::size_t position, MoleculeStrand strand, std::span<const Listed> listed, std::uint8_t base, const CallRules& rules);
  Choice& choice_of(std::uint8_t base, std::span<const Listed> listed, const CallRules& rules);
  // 0: there are too many.
  std::uint8_t state_of(Choice& choice, std::int32_t outcome);

  ModificationTags tags_;
  CallKinds kinds_;
  std::array<std::vector<std::uint8_t>, 2> states_;
  std::vector<Listed> listed_;  // of a strand, ascending
  std::vector<std::size_t> by_code_;
  std::array<std::vector<std::uint32_t>, base_count + 1> places_;   // made where asked for
  std::array<std::vector<ModificationCode>, base_count> implicit_;  // codes whose unlisted bases are canonical, by canonical base
  std::vector<Choice> choices_;
  std::array<std::size_t, base_count> latest_choice_{};
  std::vector<ModificationCode> wanted_;
  std::vector<Level> levels_;
  std::vector<Said> said_;
  bool collects_levels_ = false, collects_said_ = false;
};

}  // namespace sluice::modification_pileup
