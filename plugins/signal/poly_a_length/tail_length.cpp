// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poly_a_length/tail_length.hpp"

#include <cstddef>
#include <optional>
#include <sluice/rna_adapter.hpp>

#include "poly_a_length/flat_stretch.hpp"

namespace sluice::poly_a_length {
namespace {

constexpr double usual_bases_per_second = 130;  // RNA004
// A tail begins so near to the adapter's end: between them lies what is ligated, and the rise of the current.
constexpr double most_bases_between = 25;

}  // namespace

TailLength tail_length(std::span<const std::int16_t> raw, double digitisation, double range, double offset, double sampling_rate, std::int64_t bases,
                       Front front) {
  const std::int64_t adapter = front == Front::cut ? 0 : find_rna_adapter(raw, digitisation, range, offset);
  TailLength found;
  if (adapter == 0 && front == Front::whole) return found;
  found.bases = TailLength::no_tail;
  found.anchor = adapter;
  const double usual = sampling_rate / usual_bases_per_second;
  const std::optional<Stretch> stretch = flat_stretch(raw.subspan(static_cast<std::size_t>(adapter)), usual, range / digitisation);
  if (!stretch || static_cast<double>(stretch->begin) > most_bases_between * usual) return found;
  found.begin = adapter + stretch->begin;
  found.end = adapter + stretch->end;
  found.bases = bases_of_stretch(found.end - found.begin, std::ssize(raw) - found.end, bases, usual);
  return found;
}

}  // namespace sluice::poly_a_length
