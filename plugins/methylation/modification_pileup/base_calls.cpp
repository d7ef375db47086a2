// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/base_calls.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

namespace sluice::modification_pileup {
namespace {

// A base of the read as seen on a strand.
std::uint8_t on_strand(std::uint8_t base, MoleculeStrand strand) {
  return strand == MoleculeStrand::sequenced || base >= base_count ? base : static_cast<std::uint8_t>(base_count - 1 - base);
}
std::uint8_t uncalled(std::uint8_t base) { return static_cast<std::uint8_t>(base < base_count ? state_no_call + base : int{state_other}); }

}  // namespace

std::optional<FilterThresholds> parse_thresholds(std::string_view text) {
  FilterThresholds thresholds;
  std::array<bool, base_count + 1> has_own{};  // the last: the one for all
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    std::size_t base = base_count;
    if (part.size() > 2 && part[1] == ':') {
      base = std::string_view("ACGT").find(part[0]);
      if (base == std::string_view::npos) return std::nullopt;
      part.remove_prefix(2);
    }
    double value = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != part.data() + part.size() || !(value >= 0 && value <= 1)) return std::nullopt;
    const auto least = static_cast<std::uint32_t>(std::ceil(value * certain));
    // A base's own goes before the one for all, in whatever order they come.
    for (std::size_t i = 0; i < base_count; ++i)
      if (i == base || (base == base_count && !has_own[i])) thresholds.least[i] = least;
    if (std::exchange(has_own[base], true)) return std::nullopt;  // twice
    if (comma == std::string_view::npos) return thresholds;
    text.remove_prefix(comma + 1);
  }
}

bool parse_ignored(std::string_view text, CallRules& rules) {
  rules.ignored.clear();
  if (text.empty()) return true;
  while (true) {
    const std::string_view code = text.substr(0, text.find(','));
    std::int32_t number = 0;
    const auto parsed = std::from_chars(code.data(), code.data() + code.size(), number);
    const bool is_letter = code.size() == 1 && ((code[0] >= 'a' && code[0] <= 'z') || (code[0] >= 'A' && code[0] <= 'Z'));
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == code.data() + code.size() && number > 0;
    if (!is_letter && !is_number) return false;
    rules.ignored.push_back(is_letter ? ModificationCode{code[0]} : -number);
    if (code.size() == text.size()) break;
    text.remove_prefix(code.size() + 1);
  }
  std::sort(rules.ignored.begin(), rules.ignored.end());
  return true;
}

bool parse_edges(std::string_view text, CallRules& rules) {
  rules.edge_start = rules.edge_end = 0;
  if (text.empty()) return true;
  const auto number = [](std::string_view digits, std::uint32_t& value) {
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size();
  };
  const std::size_t comma = text.find(',');
  return number(text.substr(0, comma), rules.edge_start) && number(comma == std::string_view::npos ? text : text.substr(comma + 1), rules.edge_end);
}

FilterThresholds thresholds_at_percentile(const LevelCounts& counts, double percent) {
  FilterThresholds thresholds;
  for (std::size_t base = 0; base < base_count; ++base) {
    std::uint64_t all = 0, below = 0;
    for (const std::uint64_t count : counts[base]) all += count;
    std::uint32_t least = 0;
    for (std::uint32_t level = 0; level < certain && all > 0; ++level) {
      below += counts[base][level];
      if (static_cast<double>(below) * 100.0 > static_cast<double>(all) * percent) break;
      least = level + 1;
    }
    thresholds.least[base] = least;
  }
  return thresholds;
}

void BaseCallDecoder::without_tags(std::span<const std::uint8_t> bases) {
  kinds_ = {};
  levels_.clear();
  said_.clear();
  states_[0].resize(bases.size());
  std::transform(bases.begin(), bases.end(), states_[0].begin(), uncalled);
  states_[1].clear();
}

DecodeStatus BaseCallDecoder::decode(std::span<const std::uint8_t> bases, std::string_view mm, std::optional<std::span<const std::uint8_t>> ml,
                                     const CallRules& rules) {
  without_tags(bases);
  choices_.clear();
  for (std::vector<std::uint32_t>& places : places_) places.clear();
  if (!parse_modification_tags(mm, tags_)) return DecodeStatus::bad_positions;
  if (tags_.groups.size() > CallKinds::most) return DecodeStatus::too_many_kinds;
  if (tags_.probabilities() != (ml ? ml->size() : 0)) return DecodeStatus::bad_probabilities;
  for (const MoleculeStrand strand : {MoleculeStrand::sequenced, MoleculeStrand::opposite}) {
    listed_.clear();
    for (std::vector<ModificationCode>& codes : implicit_) codes.clear();
    bool has_groups = false;
    std::size_t probability = 0;
    for (const ModificationGroup& group : tags_.groups) {
      const std::size_t probabilities = group.codes * group.skips;
      if (group.strand == strand) {
        has_groups = true;
        if (!list_group(bases, group, ml ? ml->subspan(probability, probabilities) : std::span<const std::uint8_t>()))
          return DecodeStatus::bad_positions;
      }
      probability += probabilities;
    }
    if (!has_groups) continue;
    const DecodeStatus status = decode_strand(bases, strand, rules);
    if (status != DecodeStatus::fine) return status;
  }
  return DecodeStatus::fine;
}

std::span<const std::uint32_t> BaseCallDecoder::places_of(std::span<const std::uint8_t> bases, std::uint8_t base) {
  std::vector<std::uint32_t>& places = places_[base];
  if (!places.empty()) return places;
  places.resize(bases.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < bases.size(); ++i) {
    places[count] = static_cast<std::uint32_t>(i);
    count += base == any_base || bases[i] == base ? 1 : 0;
  }
  places.resize(count);
  return places;
}

bool BaseCallDecoder::list_group(std::span<const std::uint8_t> bases, const ModificationGroup& group, std::span<const std::uint8_t> ml) {
  const std::span<const std::uint32_t> places = group.skips > 0 ? places_of(bases, group.base) : std::span<const std::uint32_t>();
  // Codes in ascending order, so that few lists have to be sorted.
  by_code_.resize(group.codes);
  std::iota(by_code_.begin(), by_code_.end(), std::size_t{0});
  const auto code_at = [&](std::size_t which) { return tags_.codes[group.first_code + which]; };
  std::sort(by_code_.begin(), by_code_.end(), [&](std::size_t a, std::size_t b) { return code_at(a) < code_at(b); });
  const auto before = static_cast<std::ptrdiff_t>(listed_.size());
  std::size_t at = 0;
  for (std::size_t i = 0; i < group.skips; ++i, ++at) {
    at += tags_.skips[group.first_skip + i];
    if (at >= places.size()) return false;
    for (const std::size_t code : by_code_) listed_.push_back({places[at], code_at(code), ml[i * group.codes + code]});
  }
  std::inplace_merge(listed_.begin(), listed_.begin() + before, listed_.end());
  if (group.unlisted != Unlisted::canonical) return true;
  for (std::uint8_t base = 0; base < base_count; ++base)
    if (group.base == any_base || group.base == base) {
      std::vector<ModificationCode>& codes = implicit_[on_strand(base, group.strand)];
      codes.insert(codes.end(), tags_.codes.begin() + static_cast<std::ptrdiff_t>(group.first_code),
                   tags_.codes.begin() + static_cast<std::ptrdiff_t>(group.first_code + group.codes));
    }
  return true;
}

DecodeStatus BaseCallDecoder::decode_strand(std::span<const std::uint8_t> bases, MoleculeStrand strand, const CallRules& rules) {
  bool any_implicit = false;
  for (std::vector<ModificationCode>& codes : implicit_) {
    std::sort(codes.begin(), codes.end());
    if (std::adjacent_find(codes.begin(), codes.end()) != codes.end()) return DecodeStatus::bad_positions;
    any_implicit = any_implicit || !codes.empty();
  }
  latest_choice_.fill(0);
  std::vector<std::uint8_t>& states = states_[static_cast<std::size_t>(strand)];
  if (strand == MoleculeStrand::opposite) {
    states.resize(bases.size());
    std::transform(bases.begin(), bases.end(), states.begin(), [](std::uint8_t base) { return uncalled(on_strand(base, MoleculeStrand::opposite)); });
  }
  const auto call_at = [&](std::size_t position, std::span<const Listed> listed) {
    if (position < rules.edge_start || position + rules.edge_end >= bases.size()) return DecodeStatus::fine;
    const std::uint8_t base = on_strand(bases[position], strand);
    // An N, which only a group for any base counts.
    if (base >= base_count || (listed.empty() && implicit_[base].empty())) return DecodeStatus::fine;
    return call(position, strand, listed, base, rules);
  };
  std::size_t next_unlisted = 0;
  const auto call_unlisted_before = [&](std::size_t position) {
    for (; any_implicit && next_unlisted < position; ++next_unlisted)
      if (const DecodeStatus status = call_at(next_unlisted, {}); status != DecodeStatus::fine) return status;
    next_unlisted = position + 1;
    return DecodeStatus::fine;
  };
  for (std::size_t begin = 0, end = 0; begin < listed_.size(); begin = end) {
    const std::size_t position = listed_[begin].position;
    for (end = begin + 1; end < listed_.size() && listed_[end].position == position; ++end)
      if (listed_[end].code == listed_[end - 1].code) return DecodeStatus::bad_positions;
    if (const DecodeStatus status = call_unlisted_before(position); status != DecodeStatus::fine) return status;
    if (const DecodeStatus status = call_at(position, {listed_.data() + begin, end - begin}); status != DecodeStatus::fine) return status;
  }
  return call_unlisted_before(bases.size());
}

DecodeStatus BaseCallDecoder::call(std::size_t position, MoleculeStrand strand, std::span<const Listed> listed, std::uint8_t base,
                                   const CallRules& rules) {
  Choice& choice = choice_of(base, listed, rules);
  if (choice.codes.empty()) return DecodeStatus::fine;  // all of them are ignored
  // What has no probability of its own is canonical for certain. Equally probable: canonical, then the lower code.
  std::uint32_t modified = 0, ignored = 0;
  for (const Listed& one : listed) {
    const std::uint32_t probability = 2U * one.probability + 1;
    modified += probability;
    if (!rules.ignored.empty() && std::binary_search(rules.ignored.begin(), rules.ignored.end(), one.code)) ignored += probability;
  }
  // In 1/512 of 1/options, so that equal parts of what is ignored are whole numbers.
  const auto options = ignored > 0 ? static_cast<std::uint32_t>(choice.codes.size() + 1) : 1U;
  const std::uint32_t most = certain * options;  // tags may say more than is certain
  const std::uint32_t canonical = std::min((modified < certain ? certain - modified : 0) * options + ignored, most);
  std::uint32_t best = 0;
  std::size_t best_code = 0;
  auto next = listed.begin();
  const auto said_before = said_.size();
  for (std::size_t which = 0; which < choice.codes.size(); ++which) {
    while (next != listed.end() && next->code < choice.codes[which]) ++next;
    const bool is_listed = next != listed.end() && next->code == choice.codes[which];
    const std::uint32_t probability = std::min((is_listed ? 2U * next->probability + 1 : 0U) * options + ignored, most);
    if (probability > best) best = probability, best_code = which;
    if (collects_said_)
      said_.push_back(
          {static_cast<std::uint32_t>(position), strand, base, choice.codes[which], static_cast<double>(probability) / most, !is_listed, 0});
  }
  const bool is_canonical = canonical >= best;
  best = std::max(best, canonical);
  if (collects_levels_ && !listed.empty())
    levels_.push_back({static_cast<std::uint32_t>(position), strand, base, static_cast<std::uint16_t>(best / options)});

  std::int32_t outcome = CallKinds::canonical;
  if (best < rules.thresholds.least[base] * options)
    outcome = CallKinds::failed;
  else if (!is_canonical)
    outcome = static_cast<std::int32_t>(best_code);
  std::uint8_t& state = states_[static_cast<std::size_t>(strand)][position];
  state = state_of(choice, outcome);
  for (std::size_t i = said_before; i < said_.size(); ++i) said_[i].state = state;
  return state == 0 ? DecodeStatus::too_many_kinds : DecodeStatus::fine;
}

BaseCallDecoder::Choice& BaseCallDecoder::choice_of(std::uint8_t base, std::span<const Listed> listed, const CallRules& rules) {
  const std::vector<ModificationCode>& implicit = implicit_[base];
  wanted_.clear();
  for (const Listed& one : listed) wanted_.push_back(one.code);
  if (!implicit.empty() && !std::equal(implicit.begin(), implicit.end(), wanted_.begin(), wanted_.end())) {
    wanted_.insert(wanted_.end(), implicit.begin(), implicit.end());
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  }
  if (!rules.ignored.empty())
    std::erase_if(wanted_, [&](ModificationCode code) { return std::binary_search(rules.ignored.begin(), rules.ignored.end(), code); });
  const auto is_wanted = [&](const Choice& choice) { return choice.base == base && choice.codes == wanted_; };
  // Nearly always the one before.
  std::size_t& latest = latest_choice_[base];
  if (latest < choices_.size() && is_wanted(choices_[latest])) return choices_[latest];
  latest = static_cast<std::size_t>(std::find_if(choices_.begin(), choices_.end(), is_wanted) - choices_.begin());
  if (latest == choices_.size()) choices_.push_back({base, wanted_, std::vector<std::uint8_t>(wanted_.size() + 2, 0)});
  return choices_[latest];
}

std::uint8_t BaseCallDecoder::state_of(Choice& choice, std::int32_t outcome) {
  std::uint8_t& state = choice.states[static_cast<std::size_t>(outcome + 2)];
  if (state != 0 || kinds_.count == CallKinds::most) return state;
  kinds_.numbers.insert(kinds_.numbers.end(), {choice.base, outcome, static_cast<std::int32_t>(choice.codes.size())});
  kinds_.numbers.insert(kinds_.numbers.end(), choice.codes.begin(), choice.codes.end());
  return state = static_cast<std::uint8_t>(state_call + kinds_.count++);
}

}  // namespace sluice::modification_pileup
