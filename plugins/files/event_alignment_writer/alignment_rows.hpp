// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From the columns of a batch to alignments, and from their text to a file: what the sinks of all forms have in common.

#include <cstdint>
#include <optional>
#include <sluice/reference_text.hpp>
#include <sluice/stage.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/raw_signal.hpp"
#include "event_alignment_writer/text_buffer.hpp"

namespace sluice::event_alignment_writer {

// Of text in BGZF: 4 times as fast as the default (130 and 36 MB/s a core), for tables that are 12 % larger. There is more of it than of anything
// else in a run.
inline constexpr int fast_compression = 1;

// Whether the sink asks for the columns of...
struct Columns {
  bool levels = false;  // event_mean, event_stdv
  bool signal = false;  // raw_signal and its calibration
  bool rate = false;    // sampling_rate
  bool var = false;
  bool index = false;  // record_index
};

// Declares what every form needs, and what `columns` says.
template <class Stage>
void describe_rows(Describe<Stage>& d, const Columns& columns) {
  d.sink("read").work_unit("row");
  d.uses("reference", "contig", "the sequences that the reads are aligned to");
  d.needs("read_id", "utf8", "name of the read").needs("contig", "utf8", "name of the reference sequence");
  d.needs("is_reverse", "u8", "1 if the read aligned to the reverse strand");
  d.needs("path_event", "list<i32>", "event of each row").needs("path_position", "list<i32>", "k-mer of each row, 0-based position on the contig");
  d.needs("path_state", "list<u8>", "of each row: 1: the event matches, 0: a bad event");
  d.needs("event_start", "list<i32>", "first sample of each event").needs("event_length", "list<i32>", "samples of each event");
  d.needs("signal_begin", "i64", "sample of the sequencer's read that event_start counts from", Needed::optional);
  d.needs("shift", "f32", "pA").needs("scale", "f32", "pA per model unit");
  if (columns.levels) d.needs("event_mean", "list<f32>", "pA").needs("event_stdv", "list<f32>", "pA");
  if (columns.rate) d.needs("sampling_rate", "f64", "Hz");
  if (columns.var) d.needs("var", "f32", "factor on level_stdv");
  if (columns.index) d.needs("record_index", "i64", "ordinal of the record in its file");
  if (columns.signal)
    d.needs("raw_signal", "list<i16>", "samples as the sequencer wrote them")
        .needs("digitisation", "f64", "number of raw levels")
        .needs("range", "f64", "pA")
        .needs("offset", "f64", "raw units");
}

enum class Reason : std::uint32_t { unsound_path };
template <class Stage>
void describe_reasons(Describe<Stage>& d) {
  d.reason("unsound_path", "the aligned events do not fit the read's events, its signal or the reference");
}

// A reference of which contigs are found by name.
class Contigs {
 public:
  explicit Contigs(const Batch& reference) : reference_(reference) {
    for (std::int64_t row = 0; row < reference_.contigs(); ++row) bases_.emplace(reference_.name(row), reference_.bases(row));
  }
  const ReferenceText& reference() const { return reference_; }
  // Empty if there is none. What has not been read of it holds no bases yet.
  std::string_view find(std::string_view name) const {
    const auto found = bases_.find(name);
    return found == bases_.end() ? std::string_view() : found->second;
  }
  // The longest contig's name, and its length; "" and 0 where there is none.
  std::pair<std::string_view, std::size_t> longest() const {
    std::pair<std::string_view, std::size_t> found;
    for (const auto& [name, bases] : bases_)
      if (bases.size() > found.second) found = {name, bases.size()};
    return found;
  }

 private:
  ReferenceText reference_;
  std::unordered_map<std::string_view, std::string_view> bases_;  // both owned by the reference
};

// The alignments of a batch.
class AlignmentRows {
 public:
  AlignmentRows(const Host& host, const Batch& in, const Contigs& contigs, std::uint32_t k, const Columns& columns)
      : host_(host), in_(in), contigs_(contigs), k_(k), columns_(columns) {}

  // Nothing: its columns contradict each other. The bases under the alignment, and those beside a k-mer that sites show, have been read.
  std::optional<Alignment> alignment(std::int64_t row) const;
  RawSignal signal(std::int64_t row) const;

 private:
  template <class T>
  T value(const char* name, std::int64_t row) const {
    return in_.column<T>(name)[static_cast<std::size_t>(row)];
  }
  const Host& host_;
  const Batch& in_;
  const Contigs& contigs_;
  std::uint32_t k_;
  Columns columns_;
};

// The column "_lines": append(row, text) makes the text of each row that has not failed, in parallel; false: the row is unsound.
template <class Append>
void make_lines(const Call& call, const Batch& in, Output& out, Append&& append) {
  std::vector<TextBuffer> lines(static_cast<std::size_t>(in.rows()));
  call.parallel_for(lines.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = static_cast<std::int64_t>(i);
      if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the run ends");
      if (!in.ok(row) || append(row, lines[i])) continue;
      lines[i].clear();
      out.fail(row, Reason::unsound_path);
    }
  });
  out.text_rows("_lines", lines);
}

// Counts what the rows of a batch were.
void say_written(const Call& call, const Batch& in);

}  // namespace sluice::event_alignment_writer
