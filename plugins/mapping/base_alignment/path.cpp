// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/path.hpp"

#include <algorithm>
#include <utility>

namespace sluice::base_alignment {
namespace {

bool is_match(std::uint32_t code) { return code == match_or_mismatch || code == equal || code == different; }
char lower(char base) { return base >= 'A' && base <= 'Z' ? static_cast<char>(base - 'A' + 'a') : base; }

}  // namespace

void left_align(Path& path, std::string_view query, std::string_view target) {
  std::vector<std::uint32_t>& operations = path.operations();
  for (std::uint32_t& operation : operations)
    if (is_match(operation & 15U)) operation = (operation & ~15U) | match_or_mismatch;
  std::size_t q = 0, t = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const std::uint32_t code = operations[i] & 15U, bases = operations[i] >> 4;
    if ((code == insertion || code == deletion) && i > 0 && i + 1 < operations.size() && (operations[i - 1] & 15U) == match_or_mismatch &&
        (operations[i + 1] & 15U) == match_or_mismatch) {
      // The gap may move by one when the base in front of it equals its own last base; at most over the matches in front of it.
      const std::string_view text = code == insertion ? query : target;
      const std::size_t begin = code == insertion ? q : t;
      const std::uint32_t room = operations[i - 1] >> 4;
      std::uint32_t moved = 0;
      while (moved < room && text[begin - 1 - moved] == text[begin + bases - 1 - moved] && query[q - 1 - moved] == target[t - 1 - moved]) ++moved;
      operations[i - 1] -= moved << 4;
      operations[i + 1] += moved << 4;
      q -= moved;
      t -= moved;
    }
    if (code != deletion) q += operations[i] >> 4;
    if (code != insertion) t += operations[i] >> 4;
  }
  Path merged;
  for (const std::uint32_t operation : operations) merged.add(static_cast<Operation>(operation & 15U), operation >> 4);
  operations.swap(merged.operations());
}

void split_matches(Path& path, std::string_view query, std::string_view target) {
  Path split;
  std::size_t q = 0, t = 0;
  for (const std::uint32_t operation : std::as_const(path).operations()) {
    const std::uint32_t code = operation & 15U, bases = operation >> 4;
    if (is_match(code)) {
      for (std::uint32_t i = 0; i < bases; ++i) split.add(query[q + i] == target[t + i] ? equal : different, 1);
    } else {
      split.add(static_cast<Operation>(code), bases);
    }
    if (code != deletion) q += bases;
    if (code != insertion) t += bases;
  }
  path.operations().swap(split.operations());
}

Summary summarize(const Path& path, std::string_view query, std::string_view target, const Scoring& scoring) {
  Summary result;
  std::size_t q = 0, t = 0;
  for (const std::uint32_t operation : path.operations()) {
    const std::uint32_t code = operation & 15U;
    const auto bases = static_cast<std::int32_t>(operation >> 4);
    result.columns += bases;
    if (is_match(code)) {
      std::int32_t same = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(bases); ++i) same += query[q + i] == target[t + i] ? 1 : 0;
      result.matches += same;
      result.edit_distance += bases - same;
      result.score += same * scoring.match - (bases - same) * scoring.mismatch;
    } else {
      result.edit_distance += bases;
      result.score -= scoring.gap(bases);
    }
    if (code != deletion) q += static_cast<std::size_t>(bases);
    if (code != insertion) t += static_cast<std::size_t>(bases);
  }
  return result;
}

void append_difference(std::string& text, const Path& path, std::string_view query, std::string_view target) {
  std::size_t q = 0, t = 0, same = 0;
  const auto end_run = [&] {
    if (same > 0) text += ':' + std::to_string(same);
    same = 0;
  };
  for (const std::uint32_t operation : path.operations()) {
    const std::uint32_t code = operation & 15U;
    const std::size_t bases = operation >> 4;
    if (is_match(code)) {
      for (std::size_t i = 0; i < bases; ++i) {
        if (query[q + i] == target[t + i]) {
          ++same;
        } else {
          end_run();
          text += {'*', lower(target[t + i]), lower(query[q + i])};
        }
      }
    } else {
      end_run();
      text += code == insertion ? '+' : '-';
      for (std::size_t i = 0; i < bases; ++i) text += lower(code == insertion ? query[q + i] : target[t + i]);
    }
    if (code != deletion) q += bases;
    if (code != insertion) t += bases;
  }
  end_run();
}

void append_mismatched_reference(std::string& text, const Path& path, std::string_view query, std::string_view target) {
  std::size_t q = 0, t = 0, same = 0;
  for (const std::uint32_t operation : path.operations()) {
    const std::uint32_t code = operation & 15U;
    const std::size_t bases = operation >> 4;
    if (is_match(code)) {
      for (std::size_t i = 0; i < bases; ++i) {
        if (query[q + i] == target[t + i]) {
          ++same;
        } else {
          text += std::to_string(same) + target[t + i];
          same = 0;
        }
      }
    } else if (code == deletion) {
      text += std::to_string(same) + '^';
      same = 0;
      text += target.substr(t, bases);
    }
    if (code != deletion) q += bases;
    if (code != insertion) t += bases;
  }
  text += std::to_string(same);
}

}  // namespace sluice::base_alignment
