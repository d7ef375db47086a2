// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The k-mer models that f5c compiles in, read from its C source as text: float arrays of src/model.h (nucleotide models; up to f5c 1.4 CpG, too) and
// src/methmodel.c (CpG, f5c 1.5 and later). Nothing is compiled or run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kmer_model/model_text.hpp"
#include "kmer_model/model_use.hpp"

namespace sluice::kmer_model {

// Whether a file is C source and not a model's text: by its name (.c or .h, perhaps compressed) or by its first word.
bool is_c_source(std::string_view path, std::string_view begin);

// Takes the source in pieces of any size, and keeps the numbers of the one array whose name is that of the model: r10_..._cpg_9mer_... for r10-5mc.
//
// What it reads: `float NAME[...] = { numbers };` with or without static, const or extern, in any layout; numbers may have exponents and the suffix
// f, the last one a comma. Comments, strings and preprocessor lines are skipped. Two numbers a k-mer (level_mean, level_stdv; f5c 1.2 and later), or
// four (sd_mean and sd_stdv behind them), k-mers in rank order. A comment `// ACGT...` behind the numbers of a k-mer has to be that k-mer.
class F5cSource {
 public:
  // An empty pore fits every array of the alphabet.
  explicit F5cSource(ModelUse use) : use_(std::move(use)) {}

  // False: the array that is wanted has what no model has; finish() says what.
  bool take(std::string_view text);
  // False with `problem` set: no array of this model or several, not closed, a count of numbers that fits neither layout, a k-mer in a comment that
  // is not the one of its place, a mean that is not finite, a standard deviation that is not finite and positive.
  bool finish(KmerModel& model, ModelProblem& problem);

 private:
  enum class Lexer : std::uint8_t { code, slash, line_comment, block_comment, block_star, string, character, directive };
  enum class Place : std::uint8_t { outside, after_float, after_name, in_brackets, after_brackets, after_equals, array, after_array };
  // The layouts cannot be told apart before the last number, so both are checked.
  struct Layout {
    std::size_t columns;
    ModelProblem problem;  // the first one; none while `what` is empty
  };

  void take_character(char c);
  void end_token();
  void take_token(std::string_view token);
  void take_punctuation(char c);
  void take_number(std::string_view token);
  void take_comment();
  void begin_array();
  void note(Layout& layout, const std::string& what) const;
  void fail(const std::string& what);
  bool has_failed() const { return !failure_.what.empty(); }
  std::string names() const;
  std::string spelling(std::size_t rank) const;

  ModelUse use_;
  Lexer lexer_ = Lexer::code, lexer_before_ = Lexer::code;
  Place place_ = Place::outside;
  bool is_escaped_ = false, line_has_code_ = false;
  std::string token_, comment_;
  std::uint64_t line_ = 1;
  ModelProblem failure_;

  std::string array_;               // name of the array that is read or declared
  std::vector<std::string> found_;  // arrays that there are
  std::vector<std::string> fit_;    // those that are of this model
  bool is_wanted_ = false, number_expected_ = true;
  std::uint64_t array_line_ = 0;
  std::uint32_t k_ = 0;
  std::uint64_t numbers_ = 0, numbers_at_first_comment_ = 0;
  std::vector<float> values_;
  std::array<Layout, 2> layouts_{Layout{2, {}}, Layout{4, {}}};
};

}  // namespace sluice::kmer_model
