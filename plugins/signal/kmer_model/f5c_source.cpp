// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/f5c_source.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "kmer_model/builtin_models.hpp"

namespace sluice::kmer_model {
namespace {

constexpr std::size_t longest_shown = 40;  // letters of the file in a message

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::string quoted(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, longest_shown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return "'" + shown + (text.size() > longest_shown ? "..." : "") + "'";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Alphabet alphabet_of(std::string_view array) { return array.find("cpg") == std::string_view::npos ? Alphabet::nucleotide : Alphabet::methylation; }

// r10_4_400bps_cpg_9mer_...: "" for what is no pore of ours.
std::string_view pore_of(std::string_view array) {
  const bool is_rna = array.find("u_to_t_rna") != std::string_view::npos;
  if (array.starts_with("rna004_")) return "rna004";
  if (array.starts_with("r9_")) return is_rna ? "rna_r9" : "r9";
  if (array.starts_with("r10_")) return is_rna ? "" : "r10";
  return {};
}

// The number in front of "mer_", 0 if there is none.
std::uint32_t kmer_size_in(std::string_view array) {
  const std::size_t end = array.find("mer_");
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && is_digit(array[begin - 1])) --begin;
  std::uint32_t k = 0;
  std::from_chars(array.data() + begin, array.data() + end, k);
  return k;
}

// Nothing but letters of a k-mer: a note in words is none.
bool may_be_kmer(std::string_view comment) {
  return !comment.empty() && std::all_of(comment.begin(), comment.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

bool is_c_source(std::string_view path, std::string_view begin) {
  for (const std::string_view packed : {".gz", ".bgz", ".xz"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  for (const std::string_view ending : {".c", ".h", ".cpp", ".hpp", ".cc"})
    if (path.ends_with(ending)) return true;
  const std::string_view text = trimmed(begin);
  if (text.starts_with("/*") || text.starts_with("//")) return true;
  for (const std::string_view word : {"#include", "#ifndef", "#ifdef", "#if", "#define", "#pragma", "static", "const", "extern", "float"})
    if (text.starts_with(word) && (text.size() == word.size() || is_blank(text[word.size()]))) return true;
  return false;
}

bool F5cSource::take(std::string_view text) {
  for (const char c : text) {
    take_character(c);
    if (c == '\n') ++line_;
    if (has_failed()) return false;
  }
  return true;
}

void F5cSource::take_character(char c) {
  switch (lexer_) {
    case Lexer::block_comment:
      if (c == '*') lexer_ = Lexer::block_star;
      return;
    case Lexer::block_star:
      if (c != '*') lexer_ = c == '/' ? lexer_before_ : Lexer::block_comment;
      return;
    case Lexer::line_comment:
      if (c != '\n') {
        is_escaped_ = c == '\\' || (is_escaped_ && c == '\r');
        if (place_ == Place::array && comment_.size() <= longest_shown) comment_ += c;
        return;
      }
      if (std::exchange(is_escaped_, false)) return;  // the comment has another line
      lexer_ = Lexer::code;
      line_has_code_ = false;
      return take_comment();
    case Lexer::string:
    case Lexer::character:
      if (!is_escaped_ && (c == (lexer_ == Lexer::string ? '"' : '\'') || c == '\n')) lexer_ = Lexer::code;
      is_escaped_ = c == '\\' && !is_escaped_;
      return;
    case Lexer::slash:
      lexer_ = lexer_before_;
      if (c == '*') {
        lexer_ = Lexer::block_comment;
        return;
      }
      if (c == '/') {
        lexer_ = Lexer::line_comment;
        is_escaped_ = false;
        comment_.clear();
        return;
      }
      if (lexer_ == Lexer::code) take_punctuation('/');
      return take_character(c);
    case Lexer::directive:
      if (c == '/') {
        lexer_before_ = Lexer::directive;
        lexer_ = Lexer::slash;
        return;
      }
      if (c == '\n' && !is_escaped_) {
        lexer_ = Lexer::code;
        line_has_code_ = false;
      }
      is_escaped_ = c == '\\' || (is_escaped_ && c == '\r');
      return;
    case Lexer::code:
      break;
  }
  const bool is_number_sign = place_ == Place::array && (c == '+' || c == '-');
  if (is_letter(c) || is_digit(c) || c == '.' || is_number_sign) {
    line_has_code_ = true;
    if (token_.size() <= 256) token_ += c;
    return;
  }
  end_token();
  if (c == '\n') line_has_code_ = false;
  if (is_blank(c) || has_failed()) return;
  if (c == '/') {
    lexer_before_ = Lexer::code;
    lexer_ = Lexer::slash;
    return;
  }
  if (c == '#' && !line_has_code_) {
    lexer_ = Lexer::directive;
    is_escaped_ = false;
    return;
  }
  line_has_code_ = true;
  if (place_ != Place::array && (c == '"' || c == '\'')) {
    lexer_ = c == '"' ? Lexer::string : Lexer::character;
    is_escaped_ = false;
    return;
  }
  take_punctuation(c);
}

void F5cSource::end_token() {
  if (token_.empty()) return;
  take_token(token_);
  token_.clear();
}

void F5cSource::take_token(std::string_view token) {
  if (place_ == Place::in_brackets) return;
  if (place_ == Place::array) return take_number(token);
  if (place_ == Place::after_array) return fail("the array " + array_ + " is not closed by '};': expected ';', found " + quoted(token));
  if (token == "float") {
    place_ = Place::after_float;
  } else if (place_ == Place::after_float && token != "const" && token != "static") {
    array_ = token;
    place_ = Place::after_name;
  } else if (place_ != Place::after_float) {
    place_ = Place::outside;
  }
}

void F5cSource::take_punctuation(char c) {
  switch (place_) {
    case Place::after_name:
      place_ = c == '[' ? Place::in_brackets : Place::outside;
      return;
    case Place::in_brackets:
      if (c == ']') place_ = Place::after_brackets;
      return;
    case Place::after_brackets:
      place_ = c == '=' ? Place::after_equals : Place::outside;
      return;
    case Place::after_equals:
      if (c == '{') return begin_array();
      place_ = Place::outside;
      return;
    case Place::array:
      if (c == '}') {
        place_ = Place::after_array;
      } else if (is_wanted_ && (c != ',' || number_expected_)) {
        fail("in the array " + array_ + ": expected " + (number_expected_ ? "a number" : "','") + ", found " + quoted({&c, 1}));
      }
      number_expected_ = true;
      return;
    case Place::after_array:
      if (c != ';' && is_wanted_) fail("the array " + array_ + " is not closed by '};': expected ';', found " + quoted({&c, 1}));
      place_ = Place::outside;
      return;
    case Place::outside:
    case Place::after_float:
      place_ = Place::outside;
  }
}

void F5cSource::begin_array() {
  place_ = Place::array;
  number_expected_ = true;
  found_.push_back(array_);
  is_wanted_ = alphabet_of(array_) == use_.alphabet && (use_.pore.empty() ? !pore_of(array_).empty() : pore_of(array_) == use_.pore);
  if (!is_wanted_) return;
  fit_.push_back(array_);
  if (fit_.size() > 1) {
    is_wanted_ = false;  // finish() names them
    return;
  }
  array_line_ = line_;
  k_ = kmer_size_in(array_);
  if (k_ == 0) k_ = kmer_size_of_pore(pore_of(array_));
  if (k_ > max_k) fail("the array " + array_ + " is of " + std::to_string(k_) + "-mers: k may be " + std::to_string(max_k) + " at most");
}

void F5cSource::take_number(std::string_view token) {
  if (!is_wanted_) return;
  if (!number_expected_) return fail("in the array " + array_ + ": expected ',', found " + quoted(token));
  number_expected_ = false;
  std::string_view digits = token;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const bool is_float = digits.ends_with('f') || digits.ends_with('F');
  if (is_float) digits.remove_suffix(1);
  // A constant without the suffix is a double, which the array's type rounds once more, as a compiler does it.
  double wide = 0;
  float value = 0;
  const auto parsed = is_float ? std::from_chars(digits.data(), digits.data() + digits.size(), value)
                               : std::from_chars(digits.data(), digits.data() + digits.size(), wide);
  if (!is_float) value = static_cast<float>(wide);
  const bool is_number = parsed.ptr == digits.data() + digits.size() && parsed.ec != std::errc::invalid_argument;
  if (!is_number || parsed.ec != std::errc() || !std::isfinite(value))
    return fail("in the array " + array_ + ": expected a finite number, found " + quoted(token));
  for (Layout& layout : layouts_)
    if (numbers_ % layout.columns == 1 && !(value > 0))
      note(layout,
           "the level_stdv of " + spelling(numbers_ / layout.columns) + " in the array " + array_ + ": expected more than 0, found " + quoted(token));
  const std::size_t most = 4 * kmer_count(use_.alphabet, k_);
  if (numbers_ < most) values_.push_back(value);
  ++numbers_;
}

// At the end of a line: the k-mer of the numbers in front of it.
void F5cSource::take_comment() {
  if (place_ != Place::array || !is_wanted_) return;
  std::string kmer(trimmed(comment_));
  if (!may_be_kmer(kmer)) return;
  for (char& letter : kmer) letter = letter == 'U' ? 'T' : letter;
  if (numbers_at_first_comment_ == 0) numbers_at_first_comment_ = numbers_;
  for (Layout& layout : layouts_) {
    if (!layout.problem.what.empty()) continue;
    const bool is_whole = numbers_ > 0 && numbers_ % layout.columns == 0;
    const std::string expected = is_whole ? spelling(numbers_ / layout.columns - 1) : "";
    if (kmer != expected)
      note(layout,
           "a k-mer of the array " + array_ + ": expected " + (is_whole ? expected : "no end of a k-mer's numbers") + ", found " + quoted(kmer));
  }
}

std::string F5cSource::spelling(std::size_t rank) const {
  return rank < kmer_count(use_.alphabet, k_) ? spell(rank, use_.alphabet, k_) : "the end of the array";
}

void F5cSource::note(Layout& layout, const std::string& what) const {
  if (layout.problem.what.empty()) layout.problem = {line_, what};
}

void F5cSource::fail(const std::string& what) {
  if (!has_failed()) failure_ = {line_, what};
}

std::string F5cSource::names() const {
  std::string text;
  for (const std::string& name : found_) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool F5cSource::finish(KmerModel& model, ModelProblem& problem) {
  const auto refuse = [&](std::uint64_t line, std::string what) {
    problem = {line, std::move(what)};
    return false;
  };
  end_token();
  if (has_failed()) return refuse(failure_.line, failure_.what);
  if (lexer_ == Lexer::block_comment || lexer_ == Lexer::block_star) return refuse(line_, "the file ends inside a comment");
  if (place_ == Place::array || place_ == Place::after_array) return refuse(line_, "the file ends inside the array " + array_ + ": expected '};'");
  const std::string wanted = (use_.pore.empty() ? "" : use_.pore + ", ") + (use_.alphabet == Alphabet::methylation ? "cpg" : "nucleotide");
  if (fit_.size() != 1)
    return refuse(0, (fit_.empty() ? "no array of it is that of a model of " : "several arrays of it are models of ") + wanted + "; it has " +
                         (found_.empty() ? "no float array with numbers" : names()));

  const std::size_t rows = kmer_count(use_.alphabet, k_);
  const bool is_complete = numbers_ == 2 * rows || numbers_ == 4 * rows;
  const std::size_t columns = is_complete ? numbers_ / rows : numbers_at_first_comment_ == 4 ? 4 : 2;
  const ModelProblem& seen = layouts_[columns == 2 ? 0 : 1].problem;
  const std::string count = "the array " + fit_[0] + " has " + std::to_string(numbers_) + " numbers, and " + std::to_string(rows) + " " +
                            std::to_string(k_) + "-mers of " + std::to_string(alphabet_size(use_.alphabet)) + " letters need " +
                            std::to_string(2 * rows) + " or " + std::to_string(4 * rows);
  if (!seen.what.empty()) return refuse(seen.line, seen.what + (is_complete ? "" : "; " + count));
  if (!is_complete) return refuse(array_line_, count);

  model = {};
  model.k = k_;
  model.alphabet = use_.alphabet;
  model.name = fit_[0];
  model.alphabet_name = use_.alphabet == Alphabet::methylation ? "cpg" : "";
  model.level_mean.resize(rows);
  model.level_stdv.resize(rows);
  model.log_level_stdv.resize(rows);
  for (std::size_t rank = 0; rank < rows; ++rank) {
    model.level_mean[rank] = values_[rank * columns];
    model.level_stdv[rank] = values_[rank * columns + 1];
    model.log_level_stdv[rank] = static_cast<float>(std::log(static_cast<double>(model.level_stdv[rank])));
  }
  return true;
}

}  // namespace sluice::kmer_model
