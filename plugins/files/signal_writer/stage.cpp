// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "signal_writer/blow5_bytes.hpp"

namespace sluice::signal_writer {
namespace {

enum class Reason { cannot_encode };

class Blow5Writer {
 public:
  struct Parameters {
    Path output;
    std::string record_compression = "zlib";
    std::string signal_compression = "svb-zd";
    std::string pore = "r9";
    std::optional<std::string> experiment_type;
    std::optional<std::string> sequencing_kit;
    std::string run_id = "sluice";
    bool index = true;
  };

  static void describe(Describe<Blow5Writer>& d) {
    d.id("blow5_writer")
        .sink("read")
        .summary("writes raw signals to a BLOW5 file, and its index")
        .doc(
            "One read group. The auxiliary fields that MinKNOW's files have are there, without information. The index OUTPUT.idx is what slow5lib "
            "would make; it is built while the records are written.")
        .work_unit("sample");
    d.needs("read_id", "utf8", "identifier")
        .needs("raw_signal", "list<i16>", "samples")
        .needs("digitisation", "f64", "steps of the converter")
        .needs("range", "f64", "pA over all steps")
        .needs("offset", "f64", "pA = (raw + offset) * range / digitisation")
        .needs("sampling_rate", "f64", "Hz");
    d.option("output", &Parameters::output, "BLOW5 file to write; - is standard output, without an index").required().writes().beside(".idx");
    d.option("record_compression", &Parameters::record_compression, "compression of whole records").choices({"none", "zlib", "zstd"});
    d.option("signal_compression", &Parameters::signal_compression,
             "compression of the samples inside a record; Debian's nanopolish 0.14 can't read svb-zd")
        .choices({"none", "svb-zd"});
    d.option("pore", &Parameters::pore, "what the header says was sequenced").choices({"r9", "r10", "rna_r9", "rna004"});
    d.option("experiment_type", &Parameters::experiment_type, "header attribute; without it, that of the pore");
    d.option("sequencing_kit", &Parameters::sequencing_kit, "header attribute; without it, that of the pore");
    d.option("run_id", &Parameters::run_id, "header attribute");
    d.option("index", &Parameters::index, "write OUTPUT.idx");
    d.reason("cannot_encode", "the identifier is empty or longer than 65,535 characters, or the signal has 2^32 samples");
  }

  static void check_parameters(const Parameters& parameters) {
    for (const auto& [name, value] : attributes_of(parameters))
      if (value.find_first_of("\t\n") != std::string::npos)
        throw Failure::usage("header attribute '" + name + "' holds a tab or a line break", "write it without");
  }

  Blow5Writer(const Setup& setup, const Parameters& parameters)
      : record_(parameters.record_compression == "none"   ? RecordCompression::none
                : parameters.record_compression == "zlib" ? RecordCompression::zlib
                                                          : RecordCompression::zstd),
        signal_(parameters.signal_compression == "none" ? SignalCompression::none : SignalCompression::svb_zd),
        file_(setup, parameters.output) {
    const std::string header = blow5_header(attributes_of(parameters), record_, signal_);
    if (setup.saved().empty()) file_.write(header);
    if (parameters.index && parameters.output != "-") {
      index_.emplace(header.size());
      index_file_ = OutputFile(setup, parameters.output + ".idx");
    }
    resume(setup, [this](StateReader& from) {
      if (index_) index_->restore(from);
    });
  }

  Estimate estimate(const Batch& in) const {
    const auto samples = in.list<std::int16_t>("raw_signal");
    Estimate result;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const auto size = static_cast<double>(samples[row].size());
      result.work += size;
      result.largest_row_work = std::max(result.largest_row_work, size);
    }
    result.output_bytes = static_cast<std::uint64_t>(2 * result.work);
    return result;
  }

  void process(const Call&, const Batch& in, Output& out) {
    const TextView ids = in.text("read_id");
    const auto samples = in.list<std::int16_t>("raw_signal");
    const auto digitisation = in.column<double>("digitisation"), range = in.column<double>("range"), offset = in.column<double>("offset"),
               rate = in.column<double>("sampling_rate");
    auto encoder = encoders_.take();
    if (!encoder->encoder) encoder->encoder.emplace(record_, signal_);
    std::string& bytes = encoder->bytes;
    bytes.clear();
    std::vector<std::size_t> sizes(static_cast<std::size_t>(in.rows()));
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto i = static_cast<std::size_t>(row);
      const std::size_t before = bytes.size();
      if (!encoder->encoder->encode({ids[row], digitisation[i], offset[i], range[i], rate[i], samples[row]}, bytes))
        out.fail(row, Reason::cannot_encode);
      sizes[i] = bytes.size() - before;
    }
    const Buffer ends = out.offsets([&](std::int64_t row) { return sizes[static_cast<std::size_t>(row)]; });
    const std::span<char> records = out.text("_record", ends, "binary");
    std::copy(bytes.begin(), bytes.end(), records.begin());
  }

  void commit(const Call& call, const Batch& in) {
    std::uint64_t written = 0;
    const TextView ids = in.text("read_id"), records = in.text("_record");
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
  using Attributes = std::array<std::pair<std::string, std::string>, 3>;
  static Attributes attributes_of(const Parameters& parameters) {
    const bool is_rna = parameters.pore.starts_with("rna");
    const char* kit = parameters.pore == "r9"       ? "sqk-lsk109"
                      : parameters.pore == "r10"    ? "sqk-lsk114"
                      : parameters.pore == "rna_r9" ? "sqk-rna002"
                                                    : "sqk-rna004";
    return {{{"experiment_type", parameters.experiment_type.value_or(is_rna ? "rna" : "genomic_dna")},
             {"run_id", parameters.run_id},
             {"sequencing_kit", parameters.sequencing_kit.value_or(kit)}}};
  }
  struct Encoder {
    std::optional<Blow5Encoder> encoder;
    std::string bytes;
  };
  RecordCompression record_;
  SignalCompression signal_;
  OutputFile file_, index_file_;
  std::optional<Blow5Index> index_;
  Workspaces<Encoder> encoders_;
};

}  // namespace
}  // namespace sluice::signal_writer

SLUICE_PLUGIN("signal_writer", "0.1.0", "MIT", sluice::signal_writer::Blow5Writer);
