// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sam_writer/modification_cut.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace sluice::sam_writer {
namespace {

// What stands in front of the counts: "C+mh?".
struct ListHead {
  char base;          // that is counted; N: any
  std::size_t codes;  // probabilities of each call
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

std::optional<ListHead> parse_head(std::string_view head) {
  if (head.size() < 3 || std::string_view("ACGTUN").find(head[0]) == std::string_view::npos || (head[1] != '+' && head[1] != '-'))
    return std::nullopt;
  std::string_view code = head.substr(2);
  if (code.ends_with('?') || code.ends_with('.')) code.remove_suffix(1);
  const bool is_number = std::all_of(code.begin(), code.end(), is_digit);  // a ChEBI number is one code
  if (code.empty() || (!is_number && !std::all_of(code.begin(), code.end(), is_letter))) return std::nullopt;
  return ListHead{head[0] == 'U' ? 'T' : head[0], is_number ? 1 : code.size()};
}

std::uint64_t count(std::string_view bases, char base) {
  return base == 'N' ? bases.size() : static_cast<std::uint64_t>(std::count(bases.begin(), bases.end(), base));
}

class Cut {
 public:
  Cut(std::optional<std::span<const std::uint8_t>> probabilities, std::string_view bases, ReadPart part)
      : probabilities_(probabilities), bases_(bases), part_(part) {
    if (probabilities_) result_.probabilities.emplace();
  }

  // One list, without its semicolon. False: it does not fit.
  bool add(std::string_view list) {
    const std::size_t comma = list.find(',');
    const std::optional<ListHead> head = parse_head(list.substr(0, comma));
    if (!head) return false;
    result_.positions += list.substr(0, comma);
    const std::uint64_t before = count(bases_.substr(0, part_.begin), head->base);
    const std::uint64_t until = before + count(bases_.substr(part_.begin, part_.end - part_.begin), head->base);
    const std::uint64_t all = until + count(bases_.substr(part_.end), head->base);
    std::uint64_t next = 0;  // the base that a count of 0 would mean
    bool is_first = true;
    for (std::string_view counts = comma == std::string_view::npos ? std::string_view() : list.substr(comma); !counts.empty();) {
      std::uint64_t skipped = 0;
      const char* const end = counts.data() + counts.size();
      const auto [at, error] = std::from_chars(counts.data() + 1, end, skipped);
      if (error != std::errc() || (at != end && *at != ',') || next >= all || skipped >= all - next) return false;
      counts.remove_prefix(static_cast<std::size_t>(at - counts.data()));
      const std::uint64_t called = next + skipped;
      const bool remains = called >= before && called < until;
      if (!take_probabilities(head->codes, remains)) return false;
      if (remains) append(std::exchange(is_first, false) ? called - before : skipped);
      next = called + 1;
    }
    result_.positions += ';';
    return true;
  }
  std::optional<Modifications> take() {
    if (probabilities_ && used_ != probabilities_->size()) return std::nullopt;
    return std::move(result_);
  }

 private:
  bool take_probabilities(std::size_t codes, bool remain) {
    if (!probabilities_) return true;
    if (codes > probabilities_->size() - used_) return false;
    const std::span<const std::uint8_t> values = probabilities_->subspan(used_, codes);
    if (remain) result_.probabilities->insert(result_.probabilities->end(), values.begin(), values.end());
    used_ += codes;
    return true;
  }
  void append(std::uint64_t skipped) {
    char digits[24];
    result_.positions += ',';
    result_.positions.append(digits, std::to_chars(digits, digits + sizeof digits, skipped).ptr);
  }

  std::optional<std::span<const std::uint8_t>> probabilities_;
  std::string_view bases_;
  ReadPart part_;
  std::size_t used_ = 0;
  Modifications result_;
};

}  // namespace

std::optional<Modifications> cut_modifications(std::string_view positions, std::optional<std::span<const std::uint8_t>> probabilities,
                                               std::string_view bases, ReadPart part) {
  Cut cut(probabilities, bases, part);
  while (!positions.empty()) {
    const std::size_t end = positions.find(';');
    if (end == std::string_view::npos || !cut.add(positions.substr(0, end))) return std::nullopt;
    positions.remove_prefix(end + 1);
  }
  return cut.take();
}

}  // namespace sluice::sam_writer
