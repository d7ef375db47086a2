// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "kmer_model/model_text.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <sluice/byte_order_mark.hpp>

namespace sluice::kmer_model {
namespace {

// Tables up to this size are made whatever the text's size; larger ones only if the text can hold that many rows.
constexpr std::size_t always_made_rows = std::size_t{1} << 16;

const char* alphabet_name(Alphabet alphabet) { return alphabet == Alphabet::nucleotide ? "nucleotide" : "methylation"; }

// The word at the start of `line`, after blanks; takes both off.
std::string_view take_word(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && (line[begin] == ' ' || line[begin] == '\t')) ++begin;
  std::size_t end = begin;
  while (end < line.size() && line[end] != ' ' && line[end] != '\t') ++end;
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

bool parse_finite(std::string_view word, float& value) {
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() && std::isfinite(value);
}

}  // namespace

std::string spell(std::size_t rank, Alphabet alphabet, std::uint32_t k) {
  const std::string_view letters = alphabet == Alphabet::nucleotide ? "ACGT" : "ACGMT";
  std::string kmer(k, 'A');
  for (std::uint32_t i = k; i-- > 0; rank /= letters.size()) kmer[i] = letters[rank % letters.size()];
  return kmer;
}

bool parse_kmer_model(std::string_view text, Alphabet alphabet, KmerModel& model, ModelProblem& problem) {
  model = {};
  model.alphabet = alphabet;
  const std::uint32_t letters = alphabet_size(alphabet);
  std::uint32_t codes[256];
  for (std::uint32_t c = 0; c < 256; ++c) codes[c] = base_code(alphabet, static_cast<char>(c));
  codes[static_cast<unsigned char>('U')] = codes[static_cast<unsigned char>('T')];

  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::size_t text_bytes = text.size();
  std::size_t rows = 0;
  std::size_t expected = 0;
  std::uint64_t number = 0;
  bool header_allowed = true;
  float last_stdv = 0;
  float last_log = 0;
  const auto fail = [&](const std::string& what) {
    problem = {number, what};
    return false;
  };
  while (!text.empty()) {
    const void* newline = std::memchr(text.data(), '\n', text.size());
    const std::size_t length = newline == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(newline == nullptr ? length : length + 1);
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string_view kmer = take_word(line);
    if (kmer.empty()) continue;
    if (kmer.front() == '#') {
      if (kmer == "#name" || kmer == "#ont_model_name") model.name = take_word(line);
      if (kmer == "#kit") model.kit = take_word(line);
      if (kmer == "#alphabet") model.alphabet_name = take_word(line);
      continue;
    }
    if (header_allowed && kmer == "kmer") {
      header_allowed = false;
      continue;
    }
    header_allowed = false;
    if (model.k == 0) {
      if (kmer.size() > max_k) return fail("a k-mer of " + std::to_string(kmer.size()) + " letters: k may be " + std::to_string(max_k) + " at most");
      model.k = static_cast<std::uint32_t>(kmer.size());
      expected = kmer_count(alphabet, model.k);
      if (expected > always_made_rows && text_bytes / (model.k + 4) < expected)
        return fail("the file is too short for the " + std::to_string(expected) + " " + std::to_string(model.k) + "-mers of the " +
                    alphabet_name(alphabet) + " alphabet");
      model.level_mean.assign(expected, std::numeric_limits<float>::quiet_NaN());  // NaN: not seen yet
      model.level_stdv.resize(expected);
      model.log_level_stdv.resize(expected);
    }
    if (kmer.size() != model.k)
      return fail("k-mer '" + std::string(kmer.substr(0, 32)) + "' has " + std::to_string(kmer.size()) + " letters, the first one " +
                  std::to_string(model.k));
    std::size_t rank = 0;
    for (const char c : kmer) {
      const std::uint32_t code = codes[static_cast<unsigned char>(c)];
      if (code >= letters)
        return fail("k-mer '" + std::string(kmer) + "' has a letter outside the " + alphabet_name(alphabet) + " alphabet" +
                    (c == 'M' && alphabet == Alphabet::nucleotide ? " (M is for methylation models)" : ""));
      rank = rank * letters + code;
    }
    float mean = 0, stdv = 0;
    if (!parse_finite(take_word(line), mean)) return fail("k-mer '" + std::string(kmer) + "': the second column is not a finite level_mean");
    if (!parse_finite(take_word(line), stdv) || stdv <= 0)
      return fail("k-mer '" + std::string(kmer) + "': the third column is not a positive level_stdv");
    if (!std::isnan(model.level_mean[rank])) return fail("k-mer '" + std::string(kmer) + "' comes twice");
    if (stdv != last_stdv) {  // many k-mers of a model share their standard deviation
      last_stdv = stdv;
      last_log = static_cast<float>(std::log(static_cast<double>(stdv)));
    }
    model.level_mean[rank] = mean;
    model.level_stdv[rank] = stdv;
    model.log_level_stdv[rank] = last_log;
    ++rows;
  }
  number = 0;
  if (rows == 0) return fail("there is no k-mer in it");
  if (rows == expected) return true;
  std::size_t missing = 0;
  while (!std::isnan(model.level_mean[missing])) ++missing;
  return fail(std::to_string(expected - rows) + " of the " + std::to_string(expected) + " " + std::to_string(model.k) + "-mers of the " +
              alphabet_name(alphabet) + " alphabet are missing, first '" + spell(missing, alphabet, model.k) + "'");
}

}  // namespace sluice::kmer_model
