// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <sluice/input_files.hpp>
#include <sluice/input_turns.hpp>
#include <sluice/stage.hpp>
#include <thread>

#include "signal_reader/metadata_stage.hpp"
#include "signal_reader/pod5_file.hpp"
#include "signal_reader/signal_beginning.hpp"
#include "signal_reader/signal_files.hpp"
#include "signal_reader/signal_kind.hpp"
#include "signal_reader/signal_lookup.hpp"
#include "signal_reader/signal_reads.hpp"

namespace sluice::signal_reader {
namespace {

// The resource that says which files the reads' signal is in, and what their headers say.
class SignalFileResource {
 public:
  struct Parameters : FollowEnding {
    Path path;
  };
  static void describe(Describe<SignalFileResource>& d) {
    d.id("signal_file")
        .summary("BLOW5, SLOW5 or POD5 files with raw nanopore signal: their paths and what their headers say")
        .resource("signal_file");
    d.doc(
        "One row per read group. Attributes: path (of several files: one a line), format (blow5, slow5, pod5), record_compression (none, zlib, "
        "zstd), "
        "signal_compression (none, svb-zd, ex-zd, vbz), "
        "read_groups, chemistry (dna_r9, dna_r10, rna_r9, rna_004: from experiment_type and sequencing_kit of the first read group, as f5c reads "
        "them), "
        "sampling_rate (Hz, \"\" if neither header nor first record says), experiment_type, sequencing_kit.\n\n"
        "A BLOW5 or POD5 file without its end-of-file mark is refused as truncated. A read group of POD5 is a run. Several files must agree in "
        "format, compression and chemistry.\n\n"
        "With `follow` the first file that comes speaks for all (`path` is its name, `inputs` where they come from), and is waited for.");
    d.option("path", &Parameters::path, "BLOW5, SLOW5 or POD5 files or folders").required().reads().several(signal_endings).beside(".idx");
    describe_follow_ending(d);
    d.gives("run_id", "utf8", "sequencing run, \"\" if unknown");
    d.gives("experiment_type", "utf8", "genomic_dna, rna ...");
    d.gives("sequencing_kit", "utf8", "library preparation kit, e.g. sqk-lsk114");
    d.gives("flow_cell_id", "utf8", "flow cell, \"\" if unknown");
    d.gives("chemistry", "utf8", "dna_r9, dna_r10, rna_r9 or rna_004");
  }
  SignalFileResource(const Setup&, const Parameters& p) : parameters_(p) {
    if (!p.follow) paths_ = input_files(p.path, signal_endings);
  }

  void process(const Call& call, Output& out) {
    std::map<std::string, std::vector<std::string>> columns;
    std::map<std::string, std::string> first;
    if (parameters_.follow) paths_ = {first_to_come(call)};
    for (const std::string& path : paths_) {
      const SignalFile file(path, parameters_.follow ? SignalFile::Growth::possible : SignalFile::Growth::none);
      add_read_groups(call, file, columns);
      const std::map<std::string, std::string> attributes = attributes_of(file);
      if (first.empty()) first = attributes;
      refuse_difference(file, paths_.front(), [&](const char* attribute) { return first.at(attribute); });
    }
    out.set_rows(static_cast<std::int64_t>(columns["chemistry"].size()));
    for (const auto& [name, values] : columns) out.text_rows(name.c_str(), values);
    for (const auto& [name, value] : first) out.set_attribute(name, value);
    std::string all;
    for (const std::string& path : paths_) all += (all.empty() ? "" : "\n") + path;
    out.set_attribute("path", all);
    out.set_attribute("inputs", parameters_.follow ? parameters_.path : all);
    out.set_attribute("followed", parameters_.follow ? "true" : "false");
    out.set_attribute("read_groups", std::to_string(columns["chemistry"].size()));
  }

 private:
  static void add_read_groups(const Call& call, const SignalFile& file, std::map<std::string, std::vector<std::string>>& columns) {
    const Slow5Header& header = file.header();
    const std::string first(chemistry(header.attribute("experiment_type"), header.attribute("sequencing_kit")));
    bool warned = false;
    for (std::uint32_t group = 0; group < header.read_groups; ++group) {
      for (const char* column : {"run_id", "experiment_type", "sequencing_kit", "flow_cell_id"})
        columns[column].emplace_back(header.attribute(column, group));
      const std::string& own =
          columns["chemistry"].emplace_back(chemistry(header.attribute("experiment_type", group), header.attribute("sequencing_kit", group)));
      if (own == first || warned) continue;
      warned = true;
      call.warn("signal file '" + file.path() + "': read group " + std::to_string(group) + " is " + own + ", the first one " + first +
                "; all reads are treated as " + first);
    }
  }
  static std::map<std::string, std::string> attributes_of(const SignalFile& file) {
    std::map<std::string, std::string> attributes = kind_of(file);
    for (const char* attribute : {"experiment_type", "sequencing_kit"}) attributes[attribute] = file.header().attribute(attribute);
    attributes["sampling_rate"] = sampling_rate(file);
    return attributes;
  }
  static std::string sampling_rate(const SignalFile& file) {
    for (const char* attribute : {"sample_frequency", "sample_rate"})
      if (const std::string_view value = file.header().attribute(attribute); !value.empty()) return std::string(value);
    RecordCursor cursor(file);
    RecordDecoder decoder;
    std::span<const char> stored;
    RecordPlace place;
    SignalRecord record;
    if (!cursor.next(stored, place) || decoder.decode_fields(stored, file.header().records, record) != RecordStatus::ok) return {};
    return std::isfinite(record.sampling_rate) ? std::to_string(record.sampling_rate) : std::string();
  }
  // A file whose header is there, and a record if the header does not say all.
  std::string first_to_come(const Call& call) const {
    FollowedFiles files(parameters_.rules(parameters_.path, signal_endings));
    const auto start = std::chrono::steady_clock::now();
    for (bool said = false, ended = false; !ended;) {
      ended = call.cancelled();
      files.look(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      ended = ended || !files.end().empty();
      for (FollowedFiles::File& file : files.files()) {
        try {
          if (file.bytes > 0 && (!sampling_rate(SignalFile(file.path, SignalFile::Growth::possible)).empty() || file.mark == EndMark::there || ended))
            return file.path;
        } catch (const Failure&) {  // no header yet, or never: signal_stream will say
        }
        file.offered = file.bytes;  // looked at: else what can't be read would be news for ever
      }
      if (!std::exchange(said, true)) call.info("waits for the first file in " + parameters_.path);
      for (int nap = 0; nap < 10 && !call.cancelled() && !ended; ++nap) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    throw Failure::input("no BLOW5, SLOW5 or POD5 file that can be read has come in '" + parameters_.path + "'", "check the path of the signal");
  }
  Parameters parameters_;
  std::vector<std::string> paths_;
};

RecordFormat record_format(const Batch& signal) {
  RecordFormat format;
  if (!parse_names(signal.attribute("format"), signal.attribute("record_compression"), signal.attribute("signal_compression"), format))
    throw Failure::usage("the resource in slot 'signal' does not say its format and compression", "use the resource stage signal_file");
  return format;
}

template <class Stage>
void describe_beginning(Describe<Stage>& d) {
  using Parameters = BeginningParameters;
  d.option("prefix_bases", &Parameters::prefix_bases, "signal that is wanted of a read, behind the adapter; 0: all").range(0, 1e6).unit("bases");
  d.option("adapter_bases", &Parameters::adapter_bases, "signal of the adapter, which comes before that; at least 150 samples")
      .range(0, 1e6)
      .unit("bases");
  d.option("bases_per_second", &Parameters::bases_per_second, "speed of strands through the pore").range(1, 1e5).unit("bases/s");
}

// Decompression: parallel, apart from the disk.
class SignalDecode {
 public:
  using Parameters = BeginningParameters;
  enum class Reason : std::uint32_t { corrupt_signal, bad_calibration };
  static void describe(Describe<SignalDecode>& d) {
    d.id("signal_decode").summary("decompresses signal records into raw samples and their calibration").map("read");
    d.doc(
        "zlib records are decompressed by libdeflate, their beginnings by sluice, zstd records by libzstd, svb-zd signals (StreamVByte of zigzag "
        "deltas) by sluice. "
        "pA = (raw + offset) * range / digitisation.\n\n"
        "With prefix_bases only the first samples of a read are decoded: all that signal_normalization looks at with the same options. Damage behind "
        "them is not noticed. What is missing of a record that signal_stream gave the beginning of is read from the file.");
    d.needs("read_id", "utf8", "name of the read, which the record must carry, too");
    d.needs("signal_record", "binary", "the record as stored in the file");
    d.needs("record_offset", "i64", "where it begins in the files, one after the other", Needed::optional);
    d.needs("record_bytes", "i64", "all bytes of the record, when signal_record may be its beginning", Needed::optional);
    d.gives("raw_signal", "list<i16>", "samples as the sequencer's converter gave them; with prefix_bases: the first of them");
    d.row_length("raw_signal", "decoded sample");
    d.gives("sample_count", "i64", "samples of the whole read", Needed::optional);
    d.gives("digitisation", "f64", "number of levels of the converter");
    d.gives("range", "f64", "range of the converter, pA");
    d.gives("offset", "f64", "added to a sample before scaling, levels");
    d.gives("sampling_rate", "f64", "samples per second, Hz");
    describe_beginning(d);
    d.option("stall_stdv", &Parameters::stall_stdv, "signal is at rest while the standard deviation of 50 samples is below this")
        .range(0, 1000)
        .unit("pA");
    d.uses("signal", "signal_file", "the files the records come from");
    d.reason("corrupt_signal", "the record cannot be decompressed, or is that of another read");
    d.reason("bad_calibration", "digitisation, range, offset or sampling rate is missing, zero, negative or not finite");
    d.work_unit("byte");
  }
  SignalDecode(const Setup& setup, const Parameters& parameters)
      : format_(record_format(setup.resource("signal"))),
        files_(setup.resource("signal").attribute("path")),
        parameters_(parameters),
        wants_sample_count_(setup.wanted("sample_count")) {}

  Estimate estimate(const Batch& in) const {
    const TextView records = in.text("signal_record");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto bytes = static_cast<double>(records[row].size());
      e.work += bytes;
      e.largest_row_work = std::max(e.largest_row_work, bytes);
    }
    // Stored signals take 6 (svb-zd and zstd) to 10 (zlib) bits a sample.
    e.output_bytes = static_cast<std::uint64_t>(2.5 * e.work) + static_cast<std::uint64_t>(in.rows()) * 40;
    e.scratch_bytes = static_cast<std::uint64_t>(2.5 * (e.work + e.largest_row_work));
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    auto scratch = workspaces_.take();
    scratch->samples.clear();
    const TextView read_ids = in.text("read_id");
    const TextView records = in.text("signal_record");
    const bool beginnings = in.has("record_offset") && in.has("record_bytes");
    const auto record_offset = beginnings ? in.column<std::int64_t>("record_offset") : std::span<const std::int64_t>();
    const auto record_bytes = beginnings ? in.column<std::int64_t>("record_bytes") : std::span<const std::int64_t>();
    const auto sample_count = wants_sample_count_ ? out.column<std::int64_t>("sample_count") : std::span<std::int64_t>();
    const auto digitisation = out.column<double>("digitisation");
    const auto range = out.column<double>("range");
    const auto offset = out.column<double>("offset");
    const auto sampling_rate = out.column<double>("sampling_rate");
    const Buffer offsets = out.offsets([&](std::int64_t row) -> std::size_t {
      if (!in.ok(row) || call.cancelled()) return 0;
      const std::size_t before = scratch->samples.size();
      const auto r = static_cast<std::size_t>(row);
      const std::string_view bytes = records[row];
      StoredRecord stored{{bytes.data(), bytes.size()}, bytes.size()};
      if (beginnings && record_bytes[r] > 0) stored.whole_bytes = std::max(stored.whole_bytes, static_cast<std::uint64_t>(record_bytes[r]));
      SignalRecord record;
      RecordStatus status = decode(*scratch, stored, record);
      if (status == RecordStatus::incomplete && read_whole(record_offset[r], stored.whole_bytes, scratch->stored)) {
        call.count("records_read_again", 1);
        status = decode(*scratch, {scratch->stored, scratch->stored.size()}, record);
      }
      if (status != RecordStatus::ok || record.read_id != read_ids[row]) {
        scratch->samples.resize(before);
        out.fail(row, Reason::corrupt_signal);
        return 0;
      }
      if (!calibrated(record)) {
        scratch->samples.resize(before);
        out.fail(row, Reason::bad_calibration);
        return 0;
      }
      if (wants_sample_count_) sample_count[r] = static_cast<std::int64_t>(record.sample_count);
      digitisation[r] = record.digitisation;
      range[r] = record.range;
      offset[r] = record.offset;
      sampling_rate[r] = record.sampling_rate;
      return scratch->samples.size() - before;
    });
    const std::span<std::int16_t> raw = out.list<std::int16_t>("raw_signal", offsets);
    if (!raw.empty()) std::memcpy(raw.data(), scratch->samples.data(), raw.size_bytes());
    // A workspace that one huge batch has grown is not kept.
    if (scratch->samples.capacity() * 2 + scratch->stored.capacity() + scratch->decoder.capacity() > kept_workspace_bytes) scratch.discard();
  }

 private:
  static constexpr std::size_t kept_workspace_bytes = std::size_t{256} << 20;
  struct Workspace {
    RecordDecoder decoder;
    std::vector<std::int16_t> samples;
    std::vector<char> stored;  // a record that was read again
  };
  RecordStatus decode(Workspace& scratch, StoredRecord stored, SignalRecord& record) const {
    if (parameters_.prefix_bases == 0)
      return stored.is_whole() ? scratch.decoder.decode(stored.bytes, format_, record, scratch.samples) : RecordStatus::incomplete;
    return scratch.decoder.decode_beginning(stored, format_, BeginningWanted(parameters_), record, scratch.samples);
  }
  // The few records whose beginning was not enough: their strand begins late.
  bool read_whole(std::int64_t offset, std::uint64_t bytes, std::vector<char>& stored) {
    const auto place = static_cast<std::uint64_t>(offset);
    if (offset < 0 || place >= files_.begin(files_.size())) return false;
    const std::size_t number = files_.file_at(place);
    const SignalFile& file = files_.file(number);
    const std::uint64_t around = SignalFile::bytes_around(format_.format);
    return bytes <= file.extent().end && file.read_if_there({place - files_.begin(number), bytes + around}, stored);
  }
  static bool calibrated(const SignalRecord& r) {
    return std::isfinite(r.digitisation) && r.digitisation > 0 && std::isfinite(r.range) && r.range > 0 && std::isfinite(r.offset) &&
           std::isfinite(r.sampling_rate) && r.sampling_rate > 0;
  }
  RecordFormat format_;
  SignalFiles files_;
  BeginningParameters parameters_;
  bool wants_sample_count_;
  Workspaces<Workspace> workspaces_;
};

// Streaming: every record of the files, in file order.
class SignalStream {
 public:
  struct Parameters : BeginningParameters, FollowParameters {};
  enum class Reason : std::uint32_t { incomplete_file, repeated_read };
  static void describe(Describe<SignalStream>& d) {
    d.id("signal_stream")
        .summary("streams all reads of BLOW5, SLOW5 or POD5 files in file order")
        .source("read")
        .rows_named_by("read_id")
        .positions()
        .parts();
    d.doc(
        "Needs no index. A record that cannot be decompressed ends the run: in a stream nothing tells where reads would go missing. Reads that come "
        "more than once are all given, counted, and named in the account.\n\n"
        "With prefix_bases no more is read of a record than is likely to hold the signal that is wanted; signal_decode reads the rest where it is "
        "needed.\n\n"
        "With `follow`, which the resource must have too, files are read as they are written, whole records only; see the README of read_bases for "
        "their order and for what ends it. A file that can't be read on is then named, and the run goes on with the others.");
    d.gives("read_id", "utf8", "name of the read");
    d.gives("signal_record", "binary", "the record as stored in the file (compressed); with prefix_bases: its beginning");
    d.gives("record_offset", "i64", "where the record begins in the files, one after the other", Needed::optional);
    d.gives("record_bytes", "i64", "all bytes of the record as stored", Needed::optional);
    describe_beginning(d);
    describe_follow(d);
    d.uses("signal", "signal_file", "the files");
    d.reason("incomplete_file", "a followed file that could be read in part only, or not: truncated, damaged, replaced, gone or of another kind");
    d.reason("repeated_read", "an earlier record is of the same read; both are given, and no row is lost");
    d.work_unit("sample");
  }
  SignalStream(const Setup& setup, const Parameters& parameters) : signal_(setup.resource("signal")) {
    SignalReadsWishes wishes;
    wishes.beginning = parameters;
    wishes.places = setup.wanted("record_offset") && setup.wanted("record_bytes");
    wishes.beginnings = wishes.places && parameters.prefix_bases > 0 && !parameters.follow;
    wishes.follows = parameters.follow;
    wishes.repeats = &repeats_;
    if (!parameters.follow) places_.emplace(signal_.attribute("path"));
    const std::string inputs(signal_.attribute(parameters.follow ? "inputs" : "path"));
    turns_.emplace(setup, inputs, signal_endings, parameters, static_cast<std::uint32_t>(Reason::incomplete_file),
                   [this, wishes](const InputTurns::File& file) { return open(file, wishes); });
  }

  bool process(const Call& call, Output& out) {
    const bool more = turns_->process(call, out);
    turns_->keep_beside(call, repeats_.bytes());
    if (!more) repeats_.say(call);
    return more;
  }
  std::string position() { return turns_->position(); }

 private:
  std::unique_ptr<InputReader> open(const InputTurns::File& file, SignalReadsWishes wishes) {
    // What POD5 holds stands at its end: no record can be read before.
    if (file.growth == InputTurns::Growth::possible && is_pod5(file.path)) return nullptr;
    if (places_) wishes.places_at = places_->begin(file.number);
    auto reads = std::make_unique<SignalReads>(file, wishes);
    refuse_difference(reads->file(), std::string(signal_.attribute("path")), [this](const char* attribute) { return signal_.attribute(attribute); });
    return reads;
  }
  Batch signal_;
  std::optional<SignalFiles> places_;
  RepeatsInStream repeats_{static_cast<std::uint32_t>(Reason::repeated_read), "the signal has"};
  std::optional<InputTurns> turns_;
};

}  // namespace
}  // namespace sluice::signal_reader

SLUICE_PLUGIN("signal_reader", "0.1.0", "MIT", sluice::signal_reader::SignalFileResource, sluice::signal_reader::SignalLookup,
              sluice::signal_reader::SignalMetadata, sluice::signal_reader::SignalDecode, sluice::signal_reader::SignalStream);
