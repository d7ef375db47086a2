// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The stage pod5_writer.

#include <algorithm>
#include <optional>
#include <sluice/sequencing_run.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "signal_writer/pod5_bytes.hpp"
#include "signal_writer/signal_rows.hpp"

namespace sluice::signal_writer {

class Pod5Writer {
 public:
  struct Parameters {
    Path output;
  };
  enum class Reason : std::uint32_t { no_uuid, bad_calibration };

  static void describe(Describe<Pod5Writer>& d) {
    d.id("pod5_writer")
        .sink("read")
        .summary("writes raw signals to a POD5 file")
        .doc(
            "The tables of lib-pod5 0.3.49 (version 7), signal with VBZ. Calibration is stored as f32, as the format has it. What there is no column "
            "of is "
            "unknown (NaN), or 0 where the format has no such value. The table of reads is written at the end: 150 bytes of memory a read.")
        .work_unit("sample");
    describe_signal_columns(d);
    d.uses("run", "sequencing_run", "what the file says of the run", Needed::optional);
    d.option("output", &Parameters::output, "POD5 file to write; - is standard output").required().writes();
    d.reason("no_uuid", "the identifier is no UUID, and POD5 has no others");
    d.reason("bad_calibration",
             "digitisation, range, offset or sampling rate is missing, zero, negative or not finite, or none that POD5 has: digitisations are whole "
             "numbers to 65536, sampling rates whole numbers from 100 to 65535 Hz");
  }

  Pod5Writer(const Setup& setup, const Parameters& p) : columns_(setup), file_(run_of(setup)), output_(setup, p.output) {
    output_.write(file_.begin());
  }

  Estimate estimate(const Batch& in) const { return estimate_of_signal(in); }

  void process(const Call& call, const Batch& in, Output& out) {
    const SignalRows rows(in, columns_);
    std::vector<std::string> encoded(static_cast<std::size_t>(in.rows()));
    call.parallel_for(encoded.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto encoder = encoders_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row) || !rows.has_signal(row)) continue;
        const SignalRecord record = rows[row];
        if (!parse_uuid(record.read_id))
          out.fail(row, Reason::no_uuid);
        else if (!is_held_by_pod5(record))
          out.fail(row, Reason::bad_calibration);
        else
          encoder->encode(record.raw_signal, encoded[i]);
      }
    });
    out.text_rows("_pieces", encoded, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    const SignalRows rows(in, columns_);
    const TextView pieces = in.text("_pieces");
    std::uint64_t written = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row) || !rows.has_signal(row)) continue;
      const SignalRecord record = rows[row];
      output_.write(file_.add(record, *parse_uuid(record.read_id), pieces[row]));
      ++written;
    }
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call&, Output&) {
    output_.write(file_.end());
    output_.close();
  }

 private:
  static Pod5Run run_of(const Setup& setup) {
    if (!setup.has_resource("run")) return {"unknown", "", "", "", "", 0};
    const SequencingRun run(setup.resource("run"));
    return {std::string(run.run_id),       std::string(run.experiment_type),   std::string(run.sequencing_kit),
            std::string(run.flow_cell_id), std::string(run.flow_cell_product), run.acquisition_start};
  }
  SignalColumns columns_;
  Pod5File file_;
  OutputFile output_;
  Workspaces<VbzEncoder> encoders_;
};

}  // namespace sluice::signal_writer
