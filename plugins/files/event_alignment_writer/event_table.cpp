// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/event_table.hpp"

#include <algorithm>
#include <cmath>
#include <sluice/number_text.hpp>

namespace sluice::event_alignment_writer {

std::string table_header(const TableOptions& options) {
  std::string header = "contig\tposition\treference_kmer\t";
  header += options.read_names ? "read_name" : "read_index";
  header += "\tstrand\tevent_index\tevent_level_mean\tevent_stdv\tevent_length\tmodel_kmer\tmodel_mean\tmodel_stdv\tstandardized_level";
  if (options.signal_index) header += "\tstart_idx\tend_idx";
  if (options.samples) header += "\tsamples";
  return header + "\n";
}

void TableWriter::append(const Alignment& alignment, const RawSignal& signal, TextBuffer& text) {
  const EventPath& path = alignment.path;
  const float stdv_factor = std::sqrt(alignment.scaling.var);
  KmerWindow window(alignment.contig_bases, model_.k);
  if (options_.samples) sample_texts_.begin(signal, alignment.scaling);
  text.room(path.rows() * usual_line_bytes(alignment));
  std::int32_t position = -1;
  bool is_match = false;
  for (std::size_t row = 0, next = 0; row < path.rows(); row = next) {
    next = options_.collapse_events ? end_of_run(path.position, row) : row + 1;
    const bool moves = path.position[row] != position;
    if (moves) begin_position(alignment, position = path.position[row], window);
    if (moves || is_match != (path.state[row] != 0)) choose_model(alignment, is_match = path.state[row] != 0, window);
    Event event = event_of(alignment, signal, row, next - 1);
    if (options_.scale_events) event.mean = (event.mean - alignment.scaling.shift) / alignment.scaling.scale;

    char* at = text.room(room_of_line());
    at = put_blocks(at, before_event_.view());
    at = put_integer(at, path.event[row]);
    *at++ = '\t';
    at = put_fixed<2>(at, event.mean);
    *at++ = '\t';
    at = put_fixed<3>(at, event.stdv);
    *at++ = '\t';
    at = put_fixed<5>(at, event.seconds);
    at = put_blocks(at, model_columns_.view());
    at = put_fixed<2>(at, (event.mean - model_of_line_.mean) / (stdv_factor * model_of_line_.stdv));
    if (options_.signal_index) {
      *at++ = '\t';
      at = put_integer(at, alignment.signal_begin + event.start);
      *at++ = '\t';
      at = put_integer(at, alignment.signal_begin + event.end);
    }
    text.end_at(at);
    if (options_.samples) append_samples(signal, event, text);
    text.add("\n");
  }
}

// So that the text need not move as it grows.
std::size_t TableWriter::usual_line_bytes(const Alignment& alignment) const {
  constexpr std::size_t numbers = 76, index = 16, samples = 72;
  return alignment.contig.size() + (options_.read_names ? alignment.read_id.size() : 0) + 2 * model_.k + numbers +
         (options_.signal_index ? index : 0) + (options_.samples ? samples : 0);
}

std::size_t TableWriter::room_of_line() const {
  constexpr std::size_t separators = 16;
  return before_event_.size() + model_columns_.size() + 3 * integer_text_bytes + 4 * fixed_text_bytes<float> + separators + block_bytes;
}

TableWriter::Event TableWriter::event_of(const Alignment& alignment, const RawSignal& signal, std::size_t first_row, std::size_t last_row) const {
  const std::int32_t first = alignment.path.event[first_row], last = alignment.path.event[last_row];
  const auto e = static_cast<std::size_t>(first);
  const Events& events = alignment.events;
  if (first_row == last_row)
    return {events.mean[e], events.stdv[e], static_cast<float>(events.length[e]) / alignment.samples_per_second, events.start[e], events.end(first)};
  const auto start = std::min<std::int64_t>(events.start[e], events.start[static_cast<std::size_t>(last)]);
  const std::int64_t end = std::max(events.end(first), events.end(last));
  const Level level = level_of(signal, static_cast<std::size_t>(start), static_cast<std::size_t>(end));
  return {level.mean, level.stdv, static_cast<float>(end - start) / alignment.samples_per_second, start, end};
}

void TableWriter::begin_position(const Alignment& alignment, std::int32_t position, KmerWindow& window) {
  window.move_to(position);
  before_event_.clear();
  char* at = before_event_.room(alignment.contig.size() + alignment.read_id.size() + model_.k + 2 * integer_text_bytes + 8 + block_bytes);
  at = put(at, alignment.contig);
  *at++ = '\t';
  at = put_integer(at, position);
  *at++ = '\t';
  at = put(at, window.bases());
  *at++ = '\t';
  at = options_.read_names ? put(at, alignment.read_id) : put_integer(at, alignment.record_index);
  before_event_.end_at(put(at, "\tt\t"));  // t: the template strand, which all reads are
}

void TableWriter::choose_model(const Alignment& alignment, bool is_match, const KmerWindow& window) {
  model_columns_.clear();
  char* at = model_columns_.room(model_.k + 2 * fixed_text_bytes<float> + 4 + block_bytes);
  *at++ = '\t';
  if (is_match) {
    const std::uint32_t rank = alignment.strand == Strand::reverse ? window.complement_rank() : window.rank();
    model_of_line_ = {model_.level_mean[rank], model_.level_stdv[rank]};
    if (!options_.scale_events) {
      const Scaling& scaling = alignment.scaling;
      model_of_line_ = {scaling.scale * model_of_line_.mean + scaling.shift, model_of_line_.stdv * scaling.var};
    }
    at = put_kmer(at, rank, model_.k);
  } else {
    model_of_line_ = {};
    at = std::fill_n(at, model_.k, 'N');
  }
  *at++ = '\t';
  at = put_fixed<2>(at, model_of_line_.mean);
  *at++ = '\t';
  at = put_fixed<2>(at, model_of_line_.stdv);
  *at++ = '\t';
  model_columns_.end_at(at);
}

void TableWriter::append_samples(const RawSignal& signal, const Event& event, TextBuffer& text) {
  const auto samples = signal.samples.subspan(static_cast<std::size_t>(event.start), static_cast<std::size_t>(event.end - event.start));
  char* at = text.room(1 + samples.size() * SampleTexts::bytes + SampleTexts::bytes);
  *at++ = '\t';
  for (const std::int16_t raw : samples) at = sample_texts_.put(at, raw);
  text.end_at(samples.empty() ? at : at - 1);  // without the last comma
}

}  // namespace sluice::event_alignment_writer
