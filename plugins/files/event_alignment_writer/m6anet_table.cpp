// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/m6anet_table.hpp"

#include <limits>
#include <sluice/number_text.hpp>

#include "event_alignment_writer/kmer_window.hpp"

namespace sluice::event_alignment_writer {
namespace {

// Weighted by the events' lengths; the mean scaled to the model.
struct Means {
  float mean = 0, stdv = 0, seconds = 0;
};

Means means_of(const Alignment& alignment, std::size_t first_row, std::size_t end_row) {
  Means sums;
  float samples = 0;
  for (std::size_t row = first_row; row < end_row; ++row) {
    if (alignment.path.state[row] == 0) continue;
    const auto e = static_cast<std::size_t>(alignment.path.event[row]);
    const auto length = static_cast<float>(alignment.events.length[e]);
    sums.mean += (alignment.events.mean[e] - alignment.scaling.shift) / alignment.scaling.scale * length;
    sums.stdv += alignment.events.stdv[e] * length;
    sums.seconds += length / alignment.samples_per_second * length;
    samples += length;
  }
  constexpr float not_a_number = -std::numeric_limits<float>::quiet_NaN();  // 0 / 0 on x86, printed as -nan
  if (samples == 0) return {not_a_number, not_a_number, not_a_number};
  return {sums.mean / samples, sums.stdv / samples, sums.seconds / samples};
}

}  // namespace

std::string_view m6anet_header(ReadColumn column) {
  return column == ReadColumn::name ? "contig\tposition\treference_kmer\tread_name\tevent_level_mean\tevent_stdv\tevent_length\t\n"
                                    : "contig\tposition\treference_kmer\tread_index\tevent_level_mean\tevent_stdv\tevent_length\t\n";
}

void append_m6anet(const Alignment& alignment, std::uint32_t k, ReadColumn column, TextBuffer& text) {
  const std::span<const std::int32_t> position = alignment.path.position;
  KmerWindow window(alignment.contig_bases, k);
  for (std::size_t row = 0, next = 0; row < position.size(); row = next) {
    next = end_of_run(position, row);
    window.move_to(position[row]);
    const bool may_match = alignment.strand == Strand::forward || window.rank() == window.complement_rank();
    const Means means = means_of(alignment, row, may_match ? next : row);

    constexpr std::size_t separators = 8;
    char* at = text.room(alignment.contig.size() + alignment.read_id.size() + k + 2 * integer_text_bytes + 3 * fixed_text_bytes<float> + separators);
    at = put(at, alignment.contig);
    *at++ = '\t';
    at = put_integer(at, position[row]);
    *at++ = '\t';
    at = put(at, window.bases());
    *at++ = '\t';
    at = column == ReadColumn::name ? put(at, alignment.read_id) : put_integer(at, alignment.record_index);
    *at++ = '\t';
    at = put_fixed<2>(at, means.mean);
    *at++ = '\t';
    at = put_fixed<3>(at, means.stdv);
    *at++ = '\t';
    at = put_fixed<5>(at, means.seconds);
    text.end_at(put(at, "\t\n"));
  }
}

}  // namespace sluice::event_alignment_writer
