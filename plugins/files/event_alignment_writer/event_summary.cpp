// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/event_summary.hpp"

#include <sluice/number_text.hpp>

namespace sluice::event_alignment_writer {
namespace {

struct Steps {
  std::int64_t steps = 0, skips = 0, stays = 0;
  double seconds = 0;
};

Steps steps_of(const Alignment& alignment) {
  const EventPath& path = alignment.path;
  Steps result;
  for (std::size_t row = 0; row < path.rows(); ++row) {
    result.seconds += static_cast<float>(alignment.events.length[static_cast<std::size_t>(path.event[row])]) / alignment.samples_per_second;
    if (row == 0) continue;
    const std::int64_t moved = std::int64_t{path.position[row]} - path.position[row - 1];
    ++(moved == 0 ? result.stays : moved == 1 ? result.steps : result.skips);
  }
  return result;
}

}  // namespace

std::string_view summary_header() {
  return "read_index\tread_name\tfast5_path\tmodel_name\tstrand\tnum_events\tnum_steps\tnum_skips\tnum_stays\ttotal_duration\tshift\tscale\tdrift\t"
         "var\n";
}

void append_summary(const Alignment& alignment, TextBuffer& text) {
  const Steps steps = steps_of(alignment);
  constexpr std::size_t letters = 64;
  char* at = text.room(alignment.read_id.size() + 5 * integer_text_bytes + 3 * fixed_text_bytes<float> + fixed_text_bytes<double> + letters);
  at = put_integer(at, alignment.record_index);
  *at++ = '\t';
  at = put(at, alignment.read_id);
  at = put(at, are_last_first(alignment.events.start) ? "\tslow5\trna\ttemplate\t" : "\tslow5\tdna\ttemplate\t");
  for (const std::int64_t count : {static_cast<std::int64_t>(alignment.path.rows()), steps.steps, steps.skips, steps.stays}) {
    at = put_integer(at, count);
    *at++ = '\t';
  }
  at = put_fixed<2>(at, steps.seconds);
  *at++ = '\t';
  at = put_fixed<3>(at, alignment.scaling.shift);
  *at++ = '\t';
  at = put_fixed<3>(at, alignment.scaling.scale);
  at = put(at, "\t0.000\t");  // drift
  at = put_fixed<3>(at, alignment.scaling.var);
  *at++ = '\n';
  text.end_at(at);
}

}  // namespace sluice::event_alignment_writer
