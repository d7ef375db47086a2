// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <sluice/empty_inputs.hpp>
#include <sluice/hts/basecall_model.hpp>
#include <sluice/input_files.hpp>
#include <sluice/input_text.hpp>
#include <sluice/input_turns.hpp>
#include <sluice/stage.hpp>
#include <thread>

#include "signal_reader/decode_stage.hpp"
#include "signal_reader/metadata_stage.hpp"
#include "signal_reader/pod5_file.hpp"
#include "signal_reader/signal_beginning.hpp"
#include "signal_reader/signal_files.hpp"
#include "signal_reader/signal_kind.hpp"
#include "signal_reader/signal_lookup.hpp"
#include "signal_reader/signal_reads.hpp"

namespace sluice::signal_reader {
namespace {

constexpr const char* basecall_endings = ".bam .sam .cram .fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz";

// The resource that says which files the reads' signal is in, and what their headers say.
class SignalFileResource {
 public:
  struct Parameters : FollowEnding {
    Path path;
    std::string basecalls;
  };
  static void describe(Describe<SignalFileResource>& d) {
    d.id("signal_file")
        .summary("BLOW5, SLOW5, POD5 or FAST5 files with raw nanopore signal: their paths and what their headers say")
        .resource("signal_file");
    d.doc(
        "One row per read group. Attributes: path (of several files: one a line), format (blow5, slow5, pod5, fast5), record_compression (none, "
        "zlib, "
        "zstd), "
        "signal_compression (none, svb-zd, ex-zd, vbz; hdf5: each signal of FAST5 says its own), "
        "read_groups, chemistry (dna_r9: R9.4.1, dna_r9_5, dna_r10_0, dna_r10_3, dna_r10_4, dna_r10: R10.4.1, rna_r9, rna_004: from flow cell, kit, "
        "experiment type, sampling rate and basecaller's configuration of the first read group, and from what `basecalls` say), header_chemistry "
        "(without those), chemistry_doubt (why it may be another one, \"\" if nothing says so), "
        "sampling_rate (Hz, \"\" if neither header nor first record says), experiment_type, sequencing_kit.\n\n"
        "A BLOW5 or POD5 file without its end-of-file mark is refused as truncated. A read group of POD5 and FAST5 is a run. Of FAST5 files the "
        "first one is opened here, and each of the others when its turn comes. "
        "Several files must agree in "
        "format, compression and chemistry.\n\n"
        "With `follow` the first file that comes speaks for all (`path` is its name, `inputs` where they come from), and is waited for.");
    d.option("path", &Parameters::path, "BLOW5, SLOW5, POD5 or FAST5 files or folders").required().reads().several(signal_endings).beside(".idx");
    d.option("basecalls", &Parameters::basecalls,
             "files of the reads or their alignments, or folders, of which the first file is taken, each on a line: the first that names the "
             "basecaller's model, in a line @RG or in the first line of FASTQ, says it of all");
    describe_follow_ending(d);
    d.gives("run_id", "utf8", "sequencing run, \"\" if unknown");
    d.gives("experiment_type", "utf8", "genomic_dna, rna ...");
    d.gives("sequencing_kit", "utf8", "library preparation kit, e.g. sqk-lsk114");
    d.gives("flow_cell_id", "utf8", "flow cell, \"\" if unknown");
    d.gives("chemistry", "utf8", "dna_r9, dna_r10, rna_r9, rna_004 ...");
  }
  SignalFileResource(const Setup&, const Parameters& p) : parameters_(p) {
    if (!p.follow) paths_ = input_files(p.path, signal_endings);
  }

  void process(const Call& call, Output& out) {
    std::map<std::string, std::vector<std::string>> columns;
    std::map<std::string, std::string> first;
    if (parameters_.follow) paths_ = {first_to_come(call)};
    const std::string model = basecall_model();
    for (const std::string& path : take_empty_files(paths_)) call.warn(empty_text("signal file '" + path + "'"));
    std::vector<std::string> with_reads;
    for (const std::string& path : paths_) {
      // One of what may be a million.
      if (!first.empty() && first.at("format") == name(FileFormat::fast5) && path.ends_with(".fast5")) {
        with_reads.push_back(path);
        continue;
      }
      const SignalFile file(path, parameters_.follow ? SignalFile::Growth::possible : SignalFile::Growth::none);
      const bool is_empty = !parameters_.follow && file.extent().begin == file.extent().end;
      if (is_empty) call.warn(empty_text("signal file '" + path + "'"));
      // The only one stands for what there is, else it says nothing of the others.
      if (is_empty && (!with_reads.empty() || path != paths_.back())) continue;
      with_reads.push_back(path);
      add_read_groups(call, file, columns);
      const std::map<std::string, std::string> attributes = attributes_of(file, model);
      if (first.empty()) first = attributes;
      refuse_difference(file, with_reads.front(), [&](const char* attribute) { return first.at(attribute); });
    }
    paths_ = std::move(with_reads);
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
    const std::uint32_t telling = telling_read_group(header);
    const std::string first = chemistry_of(header, telling).name;
    bool warned = false;
    for (std::uint32_t group = 0; group < header.read_groups; ++group) {
      for (const char* column : {"run_id", "experiment_type", "sequencing_kit", "flow_cell_id"})
        columns[column].emplace_back(header.attribute(column, group));
      const bool is_silent = tells_chemistry(header, telling) && !tells_chemistry(header, group);
      const std::string& own = columns["chemistry"].emplace_back(is_silent ? first : chemistry_of(header, group).name);
      if ((own == first && !is_silent) || warned) continue;
      warned = true;
      const std::string place = "signal file '" + file.path() + "': read group " + std::to_string(group);
      const std::string teller = "read group " + std::to_string(telling);
      if (is_silent)
        call.warn(place + " does not say its sequencing kit or its flow cell: it is taken for " + first + ", as " + teller + " is");
      else
        call.warn(place + " is " + own + ", " + teller + " " + first + "; all reads are treated as " + first);
    }
  }
  // What the reads say, as far as their files are there already.
  std::string basecall_model() const {
    for (const std::string& path : input_files_detail::words(parameters_.basecalls, "\n")) {
      try {
        const std::vector<std::string> files = input_files(path, basecall_endings);
        if (std::string model = files.empty() ? std::string() : hts::basecall_model_of(files.front()); !model.empty()) return model;
      } catch (const Failure&) {  // who reads them says so
      }
    }
    return {};
  }
  static std::map<std::string, std::string> attributes_of(const SignalFile& file, const std::string& basecall_model) {
    std::map<std::string, std::string> attributes = kind_of(file);
    const std::uint32_t telling = telling_read_group(file.header());
    const Chemistry chemistry = chemistry_of(file.header(), telling, basecall_model);
    attributes["chemistry"] = chemistry.name;
    attributes["chemistry_doubt"] = chemistry.doubt;
    for (const char* attribute : {"experiment_type", "sequencing_kit"}) attributes[attribute] = file.header().attribute(attribute, telling);
    attributes["sampling_rate"] = sampling_rate(file);
    return attributes;
  }
  static std::string sampling_rate(const SignalFile& file) {
    for (const char* attribute : {"sample_frequency", "sample_rate"})
      if (const std::string_view value = file.header().attribute(attribute); !value.empty() && value != ".") return std::string(value);
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
    throw Failure::input("no BLOW5, SLOW5, POD5 or FAST5 file that can be read has come in '" + parameters_.path + "'",
                         "check the path of the signal");
  }
  Parameters parameters_;
  std::vector<std::string> paths_;
};

// Streaming: every record of the files, in file order.
class SignalStream {
 public:
  struct Parameters : BeginningParameters, FollowParameters {};
  enum class Reason : std::uint32_t { incomplete_file, repeated_read };
  static void describe(Describe<SignalStream>& d) {
    d.id("signal_stream")
        .summary("streams all reads of BLOW5, SLOW5, POD5 or FAST5 files in file order")
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
        "their order and for what ends it. A file that can't be read on is then named, and the run continues with the others.");
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
    // What such a file holds is known at its end: no record can be read before.
    if (file.growth == InputTurns::Growth::possible && has_table(file.path)) return nullptr;
    if (places_) wishes.places_at = places_->begin(file.number);
    auto reads = std::make_unique<SignalReads>(file, wishes);
    refuse_difference(reads->file(), std::string(signal_.attribute("path")), signal_);
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
