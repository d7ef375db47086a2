// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <sluice/stage.hpp>

#include "signal_reader/signal_batches.hpp"
#include "signal_reader/signal_beginning.hpp"
#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {
namespace {

// The resource that says which file the reads' signal is in, and what its header says.
class SignalFileResource {
 public:
  struct Parameters {
    Path path;
  };
  static void describe(Describe<SignalFileResource>& d) {
    d.id("signal_file").summary("a BLOW5 or SLOW5 file with raw nanopore signal: its path and what its header says").resource("signal_file");
    d.doc(
        "One row per read group. Attributes: path, format (blow5, slow5), record_compression (none, zlib, zstd), signal_compression (none, svb-zd), "
        "read_groups, chemistry (dna_r9, dna_r10, rna_r9, rna_004: from experiment_type and sequencing_kit of the first read group, as f5c reads "
        "them), "
        "sampling_rate (Hz, \"\" if neither header nor first record says), experiment_type, sequencing_kit.\n\n"
        "A BLOW5 file without its end-of-file mark is refused as truncated.");
    d.option("path", &Parameters::path, "BLOW5 or SLOW5 file").required().reads().beside(".idx");
    d.gives("run_id", "utf8", "sequencing run, \"\" if unknown");
    d.gives("experiment_type", "utf8", "genomic_dna, rna ...");
    d.gives("sequencing_kit", "utf8", "library preparation kit, e.g. sqk-lsk114");
    d.gives("flow_cell_id", "utf8", "flow cell, \"\" if unknown");
    d.gives("chemistry", "utf8", "dna_r9, dna_r10, rna_r9 or rna_004");
  }
  SignalFileResource(const Setup&, const Parameters& p) : path_(p.path) {}

  void process(const Call& call, Output& out) {
    const SignalFile file(path_);
    const Slow5Header& header = file.header();
    const auto groups = header.read_groups;
    out.set_rows(groups);
    std::vector<std::string> chemistries;
    for (std::uint32_t g = 0; g < groups; ++g)
      chemistries.emplace_back(chemistry(header.attribute("experiment_type", g), header.attribute("sequencing_kit", g)));
    for (const char* column : {"run_id", "experiment_type", "sequencing_kit", "flow_cell_id"}) {
      std::vector<std::string> values;
      for (std::uint32_t g = 0; g < groups; ++g) values.emplace_back(header.attribute(column, g));
      out.text_rows(column, values);
    }
    out.text_rows("chemistry", chemistries);
    for (std::uint32_t g = 1; g < groups; ++g) {
      if (chemistries[g] == chemistries[0]) continue;
      call.warn("signal file '" + path_ + "': read group " + std::to_string(g) + " is " + chemistries[g] + ", the first one " + chemistries[0] +
                "; all reads are treated as " + chemistries[0]);
      break;
    }
    out.set_attribute("path", path_);
    out.set_attribute("format", name(header.records.format));
    out.set_attribute("record_compression", name(header.records.record_compression));
    out.set_attribute("signal_compression", name(header.records.signal_compression));
    out.set_attribute("read_groups", std::to_string(groups));
    out.set_attribute("chemistry", chemistries[0]);
    out.set_attribute("experiment_type", std::string(header.attribute("experiment_type")));
    out.set_attribute("sequencing_kit", std::string(header.attribute("sequencing_kit")));
    out.set_attribute("sampling_rate", sampling_rate(file));
  }

 private:
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
  std::string path_;
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

// Random access: the record of each read of the batch, by read id.
class SignalLookup {
 public:
  using Parameters = NoParameters;
  enum class Reason : std::uint32_t { no_signal };
  static void describe(Describe<SignalLookup>& d) {
    d.id("signal_lookup").summary("fetches each read's signal record from a BLOW5 or SLOW5 file by read id").map("read").blocking();
    d.doc(
        "Uses the index FILE.idx of slow5tools. When it is missing, older than the file, or made from another file, it is made anew and kept beside "
        "the file, "
        "or only in memory when that folder cannot be written to. The records of a batch are read in file order.");
    d.needs("read_id", "utf8", "name of the read");
    d.gives("signal_record", "binary", "the record as stored in the file (compressed)");
    d.uses("signal", "signal_file", "the file");
    d.reason("no_signal", "the signal file has no record with this read id");
    d.work_unit("byte");
  }
  SignalLookup(const Setup& setup, const Parameters&) : file_(std::string(setup.resource("signal").attribute("path"))) {
    IndexSource source;
    index_ = load_or_build_index(
        file_, [&setup](std::size_t count, std::size_t grain, const auto& body) { setup.parallel_for(count, grain, body); }, source);
    if (source.action == IndexSource::Action::loaded) return;
    setup.info((source.action == IndexSource::Action::made ? "made the index '" : "made in memory the index '") + file_.path() + ".idx' of " +
               std::to_string(index_.size()) + " reads: " + source.reason);
    if (source.duplicates != 0)
      setup.warn("signal file '" + file_.path() + "' has " + std::to_string(source.duplicates) +
                 " records whose read id an earlier record has: the first is used");
  }

  Estimate estimate(const Batch& in) const {
    const TextView read_ids = in.text("read_id");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const auto place = in.ok(row) ? index_.find(read_ids[row]) : std::nullopt;
      if (!place) continue;
      e.work += static_cast<double>(place->bytes);
      e.largest_row_work = std::max(e.largest_row_work, static_cast<double>(place->bytes));
      e.output_bytes += place->bytes;
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView read_ids = in.text("read_id");
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<RecordPlace> places(rows);  // bytes = 0: nothing to read
    std::vector<std::size_t> order;
    order.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::int64_t>(row);
      if (!in.ok(r)) continue;
      if (const auto place = index_.find(read_ids[r])) {
        places[row] = *place;
        order.push_back(row);
      } else {
        out.fail(r, Reason::no_signal);
      }
    }
    const Buffer offsets = out.offsets([&](std::int64_t r) {
      const RecordPlace& place = places[static_cast<std::size_t>(r)];
      return place.bytes == 0 ? std::size_t{0} : SignalFile::stored_bytes(file_.header(), place);
    });
    const std::span<char> bytes = out.text("signal_record", offsets, "binary");
    const std::span<const std::int64_t> begin = offsets.as<std::int64_t>();
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return places[a].offset < places[b].offset; });
    for (const std::size_t row : order) {
      if (call.cancelled()) return;
      file_.read(places[row], bytes.data() + begin[row]);
    }
  }

 private:
  SignalFile file_;
  SignalIndex index_;
};

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
    d.needs("record_offset", "i64", "where it begins in the file", Needed::optional);
    d.needs("record_bytes", "i64", "all bytes of the record, when signal_record may be its beginning", Needed::optional);
    d.gives("raw_signal", "list<i16>", "samples as the sequencer's converter gave them; with prefix_bases: the first of them");
    d.gives("sample_count", "i64", "samples of the whole read", Needed::optional);
    d.gives("digitisation", "f64", "number of levels of the converter");
    d.gives("range", "f64", "range of the converter, pA");
    d.gives("offset", "f64", "added to a sample before scaling, levels");
    d.gives("sampling_rate", "f64", "samples per second, Hz");
    describe_beginning(d);
    d.option("stall_stdv", &Parameters::stall_stdv, "signal is at rest while the standard deviation of 50 samples is below this")
        .range(0, 1000)
        .unit("pA");
    d.uses("signal", "signal_file", "the file the records come from");
    d.reason("corrupt_signal", "the record cannot be decompressed, or is that of another read");
    d.reason("bad_calibration", "digitisation, range, offset or sampling rate is missing, zero, negative or not finite");
    d.work_unit("byte");
  }
  SignalDecode(const Setup& setup, const Parameters& parameters)
      : format_(record_format(setup.resource("signal"))),
        path_(setup.resource("signal").attribute("path")),
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
    std::call_once(opened_, [this] { file_.emplace(path_); });
    const std::uint64_t around = format_.format == FileFormat::blow5 ? 8 : 1;
    return offset >= 0 && bytes < file_->extent().end && file_->read_if_there({static_cast<std::uint64_t>(offset), bytes + around}, stored);
  }
  static bool calibrated(const SignalRecord& r) {
    return std::isfinite(r.digitisation) && r.digitisation > 0 && std::isfinite(r.range) && r.range > 0 && std::isfinite(r.offset) &&
           std::isfinite(r.sampling_rate) && r.sampling_rate > 0;
  }
  RecordFormat format_;
  std::string path_;
  BeginningParameters parameters_;
  bool wants_sample_count_;
  std::once_flag opened_;
  std::optional<SignalFile> file_;
  Workspaces<Workspace> workspaces_;
};

// Streaming: every record of the file, in file order.
class SignalStream {
 public:
  using Parameters = BeginningParameters;
  static void describe(Describe<SignalStream>& d) {
    d.id("signal_stream").summary("streams all reads of a BLOW5 or SLOW5 file in file order").source("read").rows_named_by("read_id");
    d.doc(
        "Needs no index. A record that cannot be decompressed ends the run: in a stream nothing tells where reads would go missing.\n\n"
        "With prefix_bases no more is read of a record than is likely to hold the signal that is wanted; signal_decode reads the rest where it is "
        "needed.");
    d.gives("read_id", "utf8", "name of the read");
    d.gives("signal_record", "binary", "the record as stored in the file (compressed); with prefix_bases: its beginning");
    d.gives("record_offset", "i64", "where the record begins in the file", Needed::optional);
    d.gives("record_bytes", "i64", "all bytes of the record as stored", Needed::optional);
    describe_beginning(d);
    d.uses("signal", "signal_file", "the file");
    d.work_unit("sample");
  }
  SignalStream(const Setup& setup, const Parameters& parameters)
      : file_(std::string(setup.resource("signal").attribute("path"))),
        wants_place_(setup.wanted("record_offset") && setup.wanted("record_bytes")),
        batches_(file_, parameters, wants_place_ && parameters.prefix_bases > 0 ? SignalBatches::Give::beginnings : SignalBatches::Give::records) {}

  bool process(const Call& call, Output& out) {
    const ParallelLoop parallel = [&call](std::size_t count, std::size_t grain, const auto& body) { call.parallel_for(count, grain, body); };
    // A batch for each thread, then every thread has something to do behind it.
    const double bytes_at_a_time = static_cast<double>(call.target_bytes()) * std::max(call.threads(), 4);
    const SignalBatches::Sizes sizes{call.target_work(), call.target_bytes(),
                                     static_cast<std::uint64_t>(std::clamp(bytes_at_a_time, least_bytes_at_a_time, most_bytes_at_a_time))};
    const std::optional<SignalBatch> batch = batches_.next(sizes, call.memory(), parallel, [&call] { return call.cancelled(); });
    out.set_rows(batch ? batch->rows : 0);
    if (batch) give(*batch, out);
    call.progress(batches_.share_read());
    return !batches_.ended();
  }

 private:
  static constexpr double least_bytes_at_a_time = 1 << 20, most_bytes_at_a_time = 64 << 20;
  void give(const SignalBatch& batch, Output& out) const {
    out.add("read_id", text_column(batch.rows, batch.name_ends, batch.names));
    out.add("signal_record", text_column(batch.rows, batch.record_ends, batch.records, "binary"));
    out.set_work(batch.work);
    if (!wants_place_) return;
    const auto offset = out.column<std::int64_t>("record_offset");
    const auto stored = out.column<std::int64_t>("record_bytes");
    for (std::size_t row = 0; row < batch.places.size(); ++row) {
      offset[row] = static_cast<std::int64_t>(batch.places[row].offset);
      stored[row] = static_cast<std::int64_t>(SignalFile::stored_bytes(file_.header(), batch.places[row]));
    }
  }
  SignalFile file_;
  bool wants_place_;
  SignalBatches batches_;
};

}  // namespace
}  // namespace sluice::signal_reader

SLUICE_PLUGIN("signal_reader", "0.1.0", "MIT", sluice::signal_reader::SignalFileResource, sluice::signal_reader::SignalLookup,
              sluice::signal_reader::SignalDecode, sluice::signal_reader::SignalStream);
