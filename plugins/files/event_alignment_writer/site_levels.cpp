// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/site_levels.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <sluice/number_text.hpp>
#include <string_view>

namespace sluice::event_alignment_writer {
namespace {

// Kahan's sum, as pandas has it.
class Sum {
 public:
  void add(double value) {
    const double corrected = value - lost_, next = sum_ + corrected;
    lost_ = next - sum_ - corrected;
    if (std::isnan(lost_)) lost_ = 0;
    sum_ = next;
  }
  double value() const { return sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// The number that is read back from the table.
template <int decimals>
double printed(float value) {
  std::array<char, fixed_text_bytes<float>> text;
  const char* const end = put_fixed<decimals>(text.data(), value);
  double read = std::nan("");
  std::from_chars(text.data(), end, read);
  return read;
}

bool is_spelled(std::string_view bases) { return bases.find_first_not_of("ACGT") == std::string_view::npos; }

}  // namespace

void append_site_levels(const Alignment& alignment, std::vector<SiteLevel>& levels) {
  if (alignment.strand == Strand::reverse) return;
  const EventPath& path = alignment.path;
  const Events& events = alignment.events;
  for (std::size_t row = 0, next = 0; row < path.rows(); row = next) {
    next = end_of_run(path.position, row);
    if (!is_spelled(alignment.contig_bases.substr(static_cast<std::size_t>(path.position[row]), site_kmer))) continue;
    Sum means, stdvs, seconds, samples;
    for (std::size_t i = row; i < next; ++i) {
      if (path.state[i] == 0) continue;
      const auto e = static_cast<std::size_t>(path.event[i]);
      const double weight = events.length[e];
      means.add(printed<2>((events.mean[e] - alignment.scaling.shift) / alignment.scaling.scale) * weight);
      stdvs.add(printed<3>(events.stdv[e]) * weight);
      seconds.add(printed<5>(static_cast<float>(events.length[e]) / alignment.samples_per_second) * weight);
      samples.add(weight);
    }
    const double weight = samples.value();
    if (weight <= 0) continue;
    levels.push_back({path.position[row], std::nearbyint(means.value() / weight * 10) / 10, stdvs.value() / weight, seconds.value() / weight});
  }
}

}  // namespace sluice::event_alignment_writer
