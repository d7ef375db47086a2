// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "modification_pileup/modification_tags.hpp"

#include <algorithm>
#include <charconv>

namespace sluice::modification_pileup {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}
  bool empty() const { return rest_.empty(); }
  char front() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool take(char c) {
    if (front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view one_of, std::size_t& which) {
    which = empty() ? std::string_view::npos : one_of.find(front());
    if (which == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  template <class Number>
  bool take_number(Number& number) {
    if (!is_digit(front())) return false;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
    return parsed.ec == std::errc();
  }

 private:
  std::string_view rest_;
};

// A ChEBI number, or letters.
bool parse_codes(Text& text, std::vector<ModificationCode>& codes) {
  if (is_digit(text.front())) {
    ModificationCode number = 0;
    if (!text.take_number(number) || number == 0) return false;
    codes.push_back(-number);
    return true;
  }
  const std::size_t before = codes.size();
  for (; is_letter(text.front()); text.take(text.front())) codes.push_back(text.front());
  return codes.size() > before;
}

bool parse_group(Text& text, ModificationTags& tags) {
  ModificationGroup group{.first_code = tags.codes.size(), .first_skip = tags.skips.size()};
  std::size_t base = 0, strand = 0, unlisted = 0;
  if (!text.take("ACGTNU", base) || !text.take("+-", strand)) return false;
  group.base = static_cast<std::uint8_t>(base == 5 ? 3 : base);  // U is counted as T
  group.strand = strand == 0 ? MoleculeStrand::sequenced : MoleculeStrand::opposite;
  if (!parse_codes(text, tags.codes)) return false;
  group.codes = tags.codes.size() - group.first_code;
  if (text.take(".?", unlisted)) group.unlisted = unlisted == 0 ? Unlisted::canonical : Unlisted::not_called;
  while (text.take(',')) {
    std::uint32_t skip = 0;
    if (!text.take_number(skip)) return false;
    tags.skips.push_back(skip);
  }
  group.skips = tags.skips.size() - group.first_skip;
  tags.groups.push_back(group);
  return text.take(';');
}

}  // namespace

std::string code_text(ModificationCode code) {
  return code > 0 ? std::string(1, static_cast<char>(code)) : std::to_string(-static_cast<std::int64_t>(code));
}

std::size_t ModificationTags::probabilities() const {
  std::size_t count = 0;
  for (const ModificationGroup& group : groups) count += group.codes * group.skips;
  return count;
}

bool parse_modification_tags(std::string_view text, ModificationTags& tags) {
  tags.groups.clear();
  tags.codes.clear();
  tags.skips.clear();
  Text rest(text);
  while (!rest.empty())
    if (!parse_group(rest, tags)) return false;
  return true;
}

}  // namespace sluice::modification_pileup
