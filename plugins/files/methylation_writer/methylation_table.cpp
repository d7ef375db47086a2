// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "methylation_writer/methylation_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace sluice::methylation_writer {
namespace {

void append_integer(std::string& text, std::int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

}  // namespace

std::string_view table_header(TableVersion version) {
  return version == TableVersion::v1
             ? "chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_cpgs\tsequence\n"
             : "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\tlog_lik_unmethylated\tnum_calling_strands\tnum_motifs\t"
               "sequence\n";
}

void append_two_decimals(std::string& text, double value) {
  constexpr int mantissa_bits = 52;
  constexpr int bias = 1023 + mantissa_bits;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int biased = static_cast<int>((bits >> mantissa_bits) & 0x7FF);
  const int shift = bias - biased;  // |value| = mantissa / 2^shift
  if (shift <= 0) {                 // from 2^53 on, and NaN and infinity
    if (std::signbit(value)) text += '-';
    if (std::isnan(value)) {
      text += "nan";
      return;
    }
    std::array<char, 320> digits;  // the largest double has 309 digits before the point
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::fabs(value), std::chars_format::fixed, 2).ptr;
    text.append(digits.data(), end);
    return;
  }
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
  const std::uint64_t mantissa = biased == 0 ? fraction : fraction | (std::uint64_t{1} << mantissa_bits);
  const std::uint64_t scaled = mantissa * 100;  // below 2^60
  std::uint64_t hundredths = 0;
  if (shift < 64) {  // else below 2^-4 hundredths: zero
    hundredths = scaled >> shift;
    const std::uint64_t rest = scaled & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (hundredths & 1) != 0)) ++hundredths;
  }
  std::array<char, 24> characters;
  char* const end = characters.data() + characters.size();
  char* at = end;
  *--at = static_cast<char>('0' + hundredths % 10);
  *--at = static_cast<char>('0' + hundredths / 10 % 10);
  *--at = '.';
  std::uint64_t whole = hundredths / 100;
  do {
    *--at = static_cast<char>('0' + whole % 10);
    whole /= 10;
  } while (whole != 0);
  if ((bits >> 63) != 0) *--at = '-';
  text.append(at, end);
}

void append_call(std::string& text, const Call& call, TableVersion version) {
  text += call.contig;
  if (version == TableVersion::v2) text += call.strand == Strand::reverse ? "\t-" : "\t+";
  text += '\t';
  append_integer(text, call.first_site);
  text += '\t';
  append_integer(text, call.last_site);
  text += '\t';
  text += call.read_id;
  text += '\t';
  append_two_decimals(text, static_cast<double>(call.log_lik_methylated) - static_cast<double>(call.log_lik_unmethylated));
  text += '\t';
  append_two_decimals(text, call.log_lik_methylated);
  text += '\t';
  append_two_decimals(text, call.log_lik_unmethylated);
  text += "\t1\t";  // strands that took part: 1, because 1D reads have one
  append_integer(text, call.motifs);
  text += '\t';
  text += call.sequence;
  text += '\n';
}

std::string_view group_sequence(std::string_view contig_bases, std::int64_t first_site, std::int64_t last_site, std::int64_t k) {
  const auto length = static_cast<std::int64_t>(contig_bases.size());
  if (first_site < 0 || last_site < first_site || last_site >= length || k < 1) return {};
  const std::int64_t begin = std::max<std::int64_t>(first_site - (k - 1), 0);
  const std::int64_t end = k > length - last_site ? length : last_site + k;
  return contig_bases.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

}  // namespace sluice::methylation_writer
