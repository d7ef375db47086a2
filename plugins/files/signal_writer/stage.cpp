// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <optional>
#include <sluice/resume.hpp>
#include <sluice/sequencing_run.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "signal_writer/blow5_bytes.hpp"
#include "signal_writer/pod5_stage.hpp"
#include "signal_writer/signal_rows.hpp"

namespace sluice::signal_writer {
namespace {

enum class Reason { cannot_encode };

class Blow5Writer {
 public:
  struct Parameters {
    Path output;
    std::string record_compression = "zlib";
    std::string signal_compression = "svb-zd";
    bool index = true;
  };

  static void describe(Describe<Blow5Writer>& d) {
    d.id("blow5_writer")
        .sink("read")
        .summary("writes raw signals to a BLOW5 file, and its index")
        .doc(
            "One read group. The auxiliary fields that MinKNOW's files have are there, without information where the rows have none. The index "
            "OUTPUT.idx is what slow5lib "
            "would make; it is built while the records are written.")
        .work_unit("sample");
    describe_signal_columns(d);
    d.uses("run", "sequencing_run", "what the header says of the run", Needed::optional);
    d.option("output", &Parameters::output, "BLOW5 file to write; - is standard output, without an index").required().writes().beside(".idx");
    d.option("record_compression", &Parameters::record_compression, "compression of whole records").choices({"none", "zlib", "zstd"});
    d.option("signal_compression", &Parameters::signal_compression,
             "compression of the samples inside a record; Debian's nanopolish 0.14 can't read svb-zd")
        .choices({"none", "svb-zd"});
    d.option("index", &Parameters::index, "write OUTPUT.idx");
    d.reason("cannot_encode", "the identifier is empty or longer than 65,535 characters, or the signal has 2^32 samples");
  }

  Blow5Writer(const Setup& setup, const Parameters& parameters)
      : record_(parameters.record_compression == "none"   ? RecordCompression::none
                : parameters.record_compression == "zlib" ? RecordCompression::zlib
                                                          : RecordCompression::zstd),
        signal_(parameters.signal_compression == "none" ? SignalCompression::none : SignalCompression::svb_zd),
        columns_(setup),
        file_(setup, parameters.output) {
    const std::string header = blow5_header(attributes_of(setup), record_, signal_);
    if (setup.saved().empty()) file_.write(header);
    if (parameters.index && parameters.output != "-") {
      index_.emplace(header.size());
      index_file_ = OutputFile(setup, parameters.output + ".idx");
    }
    resume(setup, [this](StateReader& from) {
      if (index_) index_->restore(from);
    });
  }

  Estimate estimate(const Batch& in) const { return estimate_of_signal(in); }

  void process(const Call&, const Batch& in, Output& out) {
    const SignalRows rows(in, columns_);
    auto encoder = encoders_.take();
    if (!encoder->encoder) encoder->encoder.emplace(record_, signal_);
    std::string& bytes = encoder->bytes;
    bytes.clear();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(in.rows()));
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row) || !rows.has_signal(row)) continue;
      const std::size_t before = bytes.size();
      if (!encoder->encoder->encode(rows[row], bytes)) out.fail(row, Reason::cannot_encode);
      sizes[static_cast<std::size_t>(row)] = bytes.size() - before;
    }
    const Buffer ends = out.offsets([&](std::int64_t row) { return sizes[static_cast<std::size_t>(row)]; });
    const std::span<char> records = out.text("_record", ends, "binary");
    std::copy(bytes.begin(), bytes.end(), records.begin());
  }

  void commit(const Call& call, const Batch& in) {
    std::uint64_t written = 0;
    const TextView ids = in.text(columns_.signal_read_id ? "signal_read_id" : "read_id"), records = in.text("_record");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row) || records[row].empty()) continue;
      file_.write(records[row]);
      if (index_) index_->add(ids[row], records[row].size());
      ++written;
    }
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call&, Output&) {
    file_.write(blow5_end_marker());
    file_.close();
    if (!index_) return;
    index_file_.write(index_->take());
    index_file_.close();
  }
  void save(const Call&, StateWriter& to) const {
    if (index_) index_->save(to);
  }

 private:
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  static Attributes attributes_of(const Setup& setup) {
    if (!setup.has_resource("run")) return {{"run_id", ""}};
    const SequencingRun run(setup.resource("run"));
    return {{"acquisition_start_time", utc_text(run.acquisition_start)},
            {"exp_start_time", utc_text(run.acquisition_start)},
            {"experiment_type", std::string(run.experiment_type)},
            {"flow_cell_id", std::string(run.flow_cell_id)},
            {"flow_cell_product_code", std::string(run.flow_cell_product)},
            {"run_id", std::string(run.run_id)},
            {"sample_frequency", std::to_string(static_cast<std::int64_t>(run.sampling_rate + 0.5))},
            {"sequencing_kit", std::string(run.sequencing_kit)}};
  }
  struct Encoder {
    std::optional<Blow5Encoder> encoder;
    std::string bytes;
  };
  RecordCompression record_;
  SignalCompression signal_;
  SignalColumns columns_;
  OutputFile file_, index_file_;
  std::optional<Blow5Index> index_;
  Workspaces<Encoder> encoders_;
};

}  // namespace
}  // namespace sluice::signal_writer

SLUICE_PLUGIN("signal_writer", "0.1.0", "MIT", sluice::signal_writer::Blow5Writer, sluice::signal_writer::Pod5Writer);
