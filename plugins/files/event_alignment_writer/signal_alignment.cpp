// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "event_alignment_writer/signal_alignment.hpp"

#include <algorithm>
#include <sluice/number_text.hpp>

namespace sluice::event_alignment_writer {
namespace {

// The events on one k-mer.
struct Run {
  std::int64_t position = 0;
  std::int64_t start = 0, end = 0;  // samples
};

class RunText {
 public:
  explicit RunText(TextBuffer& text) : text_(text) {}

  void add(const Run& run) {
    constexpr std::size_t letters = 3;
    char* at = text_.room(3 * integer_text_bytes + letters);
    if (count_ > 0) {
      const std::int64_t skipped = std::max(run.position - last_.position, last_.position - run.position) - 1;
      const std::int64_t left_out = run.start - last_.end;
      if (skipped > 0) *(at = put_integer(at, skipped))++ = 'D';
      if (left_out > 0) *(at = put_integer(at, left_out))++ = 'I';
    } else {
      first_ = run;
    }
    *(at = put_integer(at, run.end - run.start))++ = ',';
    text_.end_at(at);
    last_ = run;
    ++count_;
  }
  const Run& first() const { return first_; }
  const Run& last() const { return last_; }
  std::int64_t count() const { return count_; }

 private:
  TextBuffer& text_;
  Run first_, last_;
  std::int64_t count_ = 0;
};

Run run_of(const EventPath& path, const Events& events, std::size_t first_row, std::size_t last_row) {
  const std::int32_t first = path.event[first_row], last = path.event[last_row];
  return {path.position[first_row], std::min(events.start[static_cast<std::size_t>(first)], events.start[static_cast<std::size_t>(last)]),
          std::max(events.end(first), events.end(last))};
}

}  // namespace

SignalAlignment append_signal_alignment(const EventPath& path, const Events& events, TextBuffer& ss) {
  const auto start_of = [&](std::size_t row) { return events.start[static_cast<std::size_t>(path.event[row])]; };
  RunText runs(ss);
  if (start_of(0) <= start_of(path.rows() - 1)) {
    for (std::size_t row = 0, next = 0; row < path.rows(); row = next) {
      next = end_of_run(path.position, row);
      runs.add(run_of(path, events, row, next - 1));
    }
  } else {
    for (std::size_t end = path.rows(), row = 0; end > 0; end = row) {
      for (row = end - 1; row > 0 && path.position[row - 1] == path.position[end - 1];) --row;
      runs.add(run_of(path, events, row, end - 1));
    }
  }
  SignalAlignment result;
  result.start_sample = runs.first().start;
  result.end_sample = runs.last().end;
  result.start_kmer = std::min(runs.first().position, runs.last().position);
  result.end_kmer = std::max(runs.first().position, runs.last().position) + 1;
  if (are_last_first(events.start)) std::swap(result.start_kmer, result.end_kmer);
  result.matched_kmers = runs.count();
  return result;
}

void append_paf(const Alignment& alignment, std::int64_t samples, std::uint32_t k, TextBuffer& text) {
  TextBuffer ss;
  const SignalAlignment aligned = append_signal_alignment(alignment.path, alignment.events, ss);
  constexpr std::size_t letters = 64;
  char* at =
      text.room(alignment.read_id.size() + alignment.contig.size() + 8 * integer_text_bytes + 2 * fixed_text_bytes<float> + letters + ss.size());
  const auto number = [&at](std::int64_t value) {
    at = put_integer(at, value);
    *at++ = '\t';
  };
  at = put(at, alignment.read_id);
  *at++ = '\t';
  number(samples);
  number(alignment.signal_begin + aligned.start_sample);
  number(alignment.signal_begin + aligned.end_sample);
  at = put(at, alignment.strand == Strand::reverse ? "-\t" : "+\t");
  at = put(at, alignment.contig);
  *at++ = '\t';
  number(static_cast<std::int64_t>(alignment.contig_bases.size()) - k + 1);
  number(aligned.start_kmer);
  number(aligned.end_kmer);
  number(aligned.matched_kmers);
  number(aligned.kmers());
  at = put(at, "255\tsc:f:");  // a mapping quality that is not known
  at = put_fixed<2>(at, alignment.scaling.scale);
  at = put(at, "\tsh:f:");
  at = put_fixed<2>(at, alignment.scaling.shift);
  at = put(at, "\tss:Z:");
  at = put(at, ss.view());
  *at++ = '\n';
  text.end_at(at);
}

}  // namespace sluice::event_alignment_writer
