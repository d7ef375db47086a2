// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/nanocompore.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sluice/number_text.hpp>

namespace sluice::event_alignment_writer {
namespace {

double printed_seconds(float seconds) {
  std::array<char, fixed_text_bytes<float>> text;
  const char* const end = put_fixed<5>(text.data(), seconds);
  double read = std::nan("");
  std::from_chars(text.data(), end, read);
  return read;
}

// Of an even number the mean of the two in the middle.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

bool is_spelled(std::string_view bases) { return bases.find_first_not_of("ACGT") == std::string_view::npos; }

}  // namespace

double EventCollapse::value_of(std::int16_t raw) {
  std::array<char, SampleTexts::bytes> text;
  const char* const end = texts_.put(text.data(), raw) - 1;  // without the comma
  double value = std::nan("");
  std::from_chars(text.data(), end, value);
  return value;
}

std::uint32_t EventCollapse::collapse(const Alignment& alignment, const RawSignal& signal, std::uint32_t k,
                                      std::vector<CollapsedPosition>& positions) {
  const EventPath& path = alignment.path;
  const Events& events = alignment.events;
  texts_.begin(signal, alignment.scaling);
  std::uint32_t valid = 0;
  for (std::size_t row = 0, next = 0; row < path.rows(); row = next) {
    next = end_of_run(path.position, row);
    const auto position = static_cast<std::size_t>(path.position[row]);
    // The model's k-mer of a reverse alignment is not the reference's.
    bool is_valid = alignment.strand == Strand::forward && is_spelled(alignment.contig_bases.substr(position, k));
    double seconds = 0;
    samples_.clear();
    for (std::size_t i = row; i < next; ++i) {
      const auto e = static_cast<std::size_t>(path.event[i]);
      is_valid = is_valid && path.state[i] != 0;
      seconds += printed_seconds(static_cast<float>(events.length[e]) / alignment.samples_per_second);
      for (const std::int16_t raw : signal.samples.subspan(static_cast<std::size_t>(events.start[e]), static_cast<std::size_t>(events.length[e])))
        samples_.push_back(value_of(raw));
    }
    if (samples_.empty()) continue;
    positions.push_back({path.position[row], static_cast<float>(median(samples_)), static_cast<float>(seconds)});
    valid += is_valid ? 1 : 0;
  }
  return valid;
}

}  // namespace sluice::event_alignment_writer
