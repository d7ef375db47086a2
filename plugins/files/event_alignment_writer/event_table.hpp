// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The table of aligned events as f5c 1.6 and nanopolish 0.14 write it (eventalign): tab-separated text, byte for byte.

#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <string>

#include "event_alignment_writer/event_path.hpp"
#include "event_alignment_writer/kmer_window.hpp"
#include "event_alignment_writer/raw_signal.hpp"
#include "event_alignment_writer/sample_texts.hpp"
#include "event_alignment_writer/text_buffer.hpp"

namespace sluice::event_alignment_writer {

struct TableOptions {
  bool read_names = false;       // instead of the record's index
  bool scale_events = false;     // events to the model, rather than the model to the read
  bool signal_index = false;     // where the event lies in the raw signal
  bool samples = false;          // its samples, scaled to the model
  bool collapse_events = false;  // consecutive events of a position as one

  bool need_signal() const { return samples || collapse_events; }
};

// With its newline.
std::string table_header(const TableOptions& options);

// Makes the lines of one alignment after another. One for each thread.
class TableWriter {
 public:
  TableWriter(const KmerModelView& model, const TableOptions& options) : model_(model), options_(options) {}

  // The path must be sound; with options that need the signal, its events must be inside of it, else `signal` is not looked at.
  void append(const Alignment& alignment, const RawSignal& signal, TextBuffer& text);

 private:
  // What an event's columns say of it.
  struct Event {
    float mean, stdv, seconds;
    std::int64_t start, end;  // samples
  };
  struct Model {
    float mean = 0, stdv = 0;
  };

  Event event_of(const Alignment& alignment, const RawSignal& signal, std::size_t first_row, std::size_t last_row) const;
  void begin_position(const Alignment& alignment, std::int32_t position, KmerWindow& window);
  void choose_model(const Alignment& alignment, bool is_match, const KmerWindow& window);
  void append_samples(const RawSignal& signal, const Event& event, TextBuffer& text);
  std::size_t usual_line_bytes(const Alignment& alignment) const;
  std::size_t room_of_line() const;

  KmerModelView model_;
  TableOptions options_;
  // The columns that lines on one position, or of one k-mer of the model, share.
  TextBuffer before_event_, model_columns_;
  Model model_of_line_;
  SampleTexts sample_texts_;
};

}  // namespace sluice::event_alignment_writer
