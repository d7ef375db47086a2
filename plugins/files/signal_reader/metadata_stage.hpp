// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where and when reads were sequenced, from their signal files.

#include <filesystem>
#include <memory>
#include <optional>
#include <sluice/descriptor_path.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "signal_reader/read_metadata.hpp"
#include "signal_reader/signal_files.hpp"

namespace sluice::signal_reader {

class SignalMetadata {
 public:
  using Parameters = NoParameters;
  enum class Reason : std::uint32_t { no_signal, corrupt_signal };
  static void describe(Describe<SignalMetadata>& d) {
    d.id("signal_metadata").summary("what signal files say of each read beside its signal: channel, start, length, run").map("read");
    d.doc(
        "Behind signal_stream the records are taken as they come, else they are looked up by read id, with an index as signal_lookup has it. Samples "
        "are "
        "not decoded; records of BLOW5 are decompressed, as these fields stand behind the signal. Of POD5 and FAST5 only what is said of the reads "
        "is "
        "read.");
    d.needs("read_id", "utf8", "name of the read");
    d.needs("signal_record", "binary", "the whole record as signal_stream gives it", Needed::optional);
    d.needs("record_offset", "i64", "where it begins in the files, one after the other", Needed::optional);
    d.needs("record_bytes", "i64", "all bytes of the record", Needed::optional);
    d.gives("sample_count", "i64", "samples of the read", Needed::optional);
    d.gives("sampling_rate", "f64", "samples per second, Hz", Needed::optional);
    d.gives("sequencer_channel", "i32", "channel of the flow cell, from 1; -1: unknown");
    d.gives("mux", "i32", "well of the channel; -1: unknown");
    d.gives("start_sample", "i64", "first sample of the read since the run began; -1: unknown");
    d.gives("read_number", "i64", "the sequencer's number of the read on its channel; -1: unknown", Needed::optional);
    d.gives("median_before", "f64", "median current before the read, pA; NaN: unknown", Needed::optional);
    d.gives("run_id", "utf8", "sequencing run, \"\" if unknown");
    d.gives("end_reason", "utf8", "why the read ended, \"\" if unknown", Needed::optional);
    d.gives("signal_file_name", "utf8", "name of its file, without folders; - if it came through a pipe");
    d.uses("signal", "signal_file", "the files");
    d.reason("no_signal", "the signal files have no record with this read id");
    d.reason("corrupt_signal", "the record cannot be decompressed, or its fields are not those that the header says");
    d.work_unit("row");
  }

  SignalMetadata(const Setup& setup, const Parameters&)
      : files_(setup.resource("signal").attribute("path")),
        has_records_(setup.available("signal_record") && setup.available("record_offset") && setup.available("record_bytes")),
        wants_sample_count_(setup.wanted("sample_count")),
        wants_sampling_rate_(setup.wanted("sampling_rate")),
        wants_read_number_(setup.wanted("read_number")),
        wants_median_before_(setup.wanted("median_before")),
        wants_end_reason_(setup.wanted("end_reason")) {
    if (setup.resource("signal").attribute("followed") == "true")
      throw Failure::usage("signal_metadata can't follow signal files", "leave --follow out");
    for (std::size_t i = 0; i < files_.size(); ++i)
      names_.push_back(names_descriptor(files_.path(i)) ? "-" : std::filesystem::path(files_.path(i)).filename().string());
    if (has_records_) return;
    const ParallelLoop parallel = [&setup](std::size_t count, std::size_t grain, const auto& body) { setup.parallel_for(count, grain, body); };
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_.goes_through(i, parallel);
      IndexSource source;
      const SignalIndex index = load_or_build_index(*files_.file(i), parallel, source);
      for (std::size_t read = 0; read < index.size(); ++read)
        index_.add(index.read_id(read), {files_.begin(i) + index.place(read).offset, index.place(read).bytes});
      if (source.action != IndexSource::Action::loaded) setup.info("made an index of '" + files_.path(i) + "': " + source.reason);
    }
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<Row> made(rows);
    call.parallel_for(rows, 16, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t row = begin; row < end && !call.cancelled(); ++row) {
        const auto r = static_cast<std::int64_t>(row);
        if (!in.ok(r)) continue;
        const std::optional<Reason> failed = look_at(in, r, *workspace, made[row]);
        if (failed) out.fail(r, *failed);
      }
    });
    give(made, out);
  }

 private:
  struct Row {
    ReadMetadata metadata;
    std::size_t file = 0;
    std::shared_ptr<const SignalFile> opened;
  };
  struct Workspace {
    RecordDecoder decoder;
    std::vector<char> stored;
  };

  std::optional<Reason> look_at(const Batch& in, std::int64_t row, Workspace& workspace, Row& made) {
    RecordPlace place;
    if (has_records_) {
      place.offset = static_cast<std::uint64_t>(in.column<std::int64_t>("record_offset")[static_cast<std::size_t>(row)]);
      if (place.offset >= files_.begin(files_.size())) return Reason::corrupt_signal;
    } else {
      const auto found = index_.find(in.text("read_id")[row]);
      if (!found) return Reason::no_signal;
      place = *found;
    }
    made.file = files_.file_at(place.offset);
    made.opened = files_.file(made.file);
    const SignalFile& file = *made.opened;
    place.offset -= files_.begin(made.file);
    if (file.table() != nullptr) return look_at_table(file, place, made.metadata);
    std::span<const char> stored;
    if (has_records_) {
      const std::string_view record = in.text("signal_record")[row];
      if (static_cast<std::int64_t>(record.size()) < in.column<std::int64_t>("record_bytes")[static_cast<std::size_t>(row)])
        return Reason::corrupt_signal;
      stored = {record.data(), record.size()};
    } else {
      workspace.stored.resize(SignalFile::stored_bytes(file.header(), place));
      file.read(place, workspace.stored.data());
      stored = workspace.stored;
    }
    if (!read_metadata(stored, file.header(), workspace.decoder, made.metadata)) return Reason::corrupt_signal;
    return std::nullopt;
  }
  static std::optional<Reason> look_at_table(const SignalFile& file, RecordPlace place, ReadMetadata& metadata) {
    if (file.table()->place_at(place.offset).bytes == 0) return Reason::corrupt_signal;
    try {
      metadata = read_metadata(file, place);
    } catch (const FormatProblem& problem) {
      throw Failure::input("signal file '" + file.path() + "' is damaged: " + problem.what(), "copy the file again and compare checksums");
    }
    return std::nullopt;
  }

  void give(const std::vector<Row>& made, Output& out) {
    const auto fill = [&]<class T>(const char* name, T, const auto& value) {
      const std::span<T> column = out.column<T>(name);
      for (std::size_t row = 0; row < made.size(); ++row) column[row] = static_cast<T>(value(made[row].metadata));
    };
    if (wants_sample_count_) fill("sample_count", std::int64_t{}, [](const ReadMetadata& m) { return m.sample_count; });
    if (wants_sampling_rate_) fill("sampling_rate", double{}, [](const ReadMetadata& m) { return m.sampling_rate; });
    fill("sequencer_channel", std::int32_t{}, [](const ReadMetadata& m) { return m.channel; });
    fill("mux", std::int32_t{}, [](const ReadMetadata& m) { return m.mux; });
    fill("start_sample", std::int64_t{}, [](const ReadMetadata& m) { return m.start_sample; });
    if (wants_read_number_) fill("read_number", std::int64_t{}, [](const ReadMetadata& m) { return m.read_number; });
    if (wants_median_before_) fill("median_before", double{}, [](const ReadMetadata& m) { return m.median_before; });
    std::vector<std::string_view> runs, reasons, names;
    for (const Row& row : made) {
      runs.push_back(row.opened == nullptr ? std::string_view() : row.opened->header().attribute("run_id", row.metadata.read_group));
      reasons.emplace_back(row.metadata.end_reason);
      names.emplace_back(names_[row.file]);
    }
    out.text_rows("run_id", runs);
    if (wants_end_reason_) out.text_rows("end_reason", reasons);
    out.text_rows("signal_file_name", names);
  }

  SignalFiles files_;
  std::vector<std::string> names_;
  bool has_records_, wants_sample_count_, wants_sampling_rate_, wants_read_number_, wants_median_before_, wants_end_reason_;
  SignalIndex index_;  // of all files: places among the bytes of all
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::signal_reader
