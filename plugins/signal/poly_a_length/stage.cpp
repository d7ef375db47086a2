// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <cmath>
#include <cstdint>
#include <sluice/stage.hpp>
#include <string_view>
#include <vector>

#include "poly_a_length/tail_length.hpp"

namespace sluice::poly_a_length {
namespace {

class PolyALength {
 public:
  using Parameters = NoParameters;
  enum class Reason : std::uint32_t { bad_calibration };

  static void describe(Describe<PolyALength>& d) {
    d.id("poly_a_length").summary("length of the poly(A) tail of direct RNA, from the basecaller's tags or from the signal").map("read");
    d.doc(
        "What the basecaller said (tag pt) is taken; of other reads the tail is looked for in the signal: the flat stretch behind the adapter "
        "(RNA004), "
        "12 bases or more, in bases of the speed of the rest of the read.");
    d.uses("signal", "signal_file", "whose header says the chemistry");
    d.needs("raw_signal", "list<i16>", "samples as the sequencer wrote them").needs("digitisation", "f64", "number of raw levels");
    d.needs("range", "f64", "pA").needs("offset", "f64", "raw units").needs("sampling_rate", "f64", "Hz");
    d.needs("bases", "utf8", "the whole read, whose length tells its speed");
    d.needs("signal_begin", "i64", "samples in front of the signal that were left out", Needed::optional);
    d.needs("basecaller_poly_a", "i32", "what the basecaller said; -2: nothing", Needed::optional);
    d.gives("poly_a_bases", "i32", "bases of the tail; 0: none of 12 bases or more, -1: no adapter in front of it was found");
    d.gives("poly_a_begin", "i64", "first sample of the tail in raw_signal; -1: not found in the signal");
    d.gives("poly_a_end", "i64", "its end, exclusive; -1: not found in the signal");
    d.gives("poly_a_source", "utf8", "basecaller or signal");
    d.reason("bad_calibration", "digitisation, range, offset or sampling rate is zero, negative or not a number");
    d.work_unit("sample");
  }

  PolyALength(const Setup& setup, const Parameters&)
      : has_begin_(setup.available("signal_begin")), has_basecallers_(setup.available("basecaller_poly_a")) {
    const std::string_view chemistry = setup.resource("signal").attribute("chemistry");
    if (chemistry != "rna_004")
      throw Failure::usage("poly(A) tails are measured in direct RNA of RNA004, and the signal is of " + std::string(chemistry),
                           "if it is RNA004, its header lacks the kit: give a file that has it");
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto signal = in.list<std::int16_t>("raw_signal");
    const auto digitisation = in.column<double>("digitisation"), range = in.column<double>("range"), offset = in.column<double>("offset"),
               rate = in.column<double>("sampling_rate");
    const TextView bases = in.text("bases");
    const auto begins = has_begin_ ? in.column<std::int64_t>("signal_begin") : std::span<const std::int64_t>();
    const auto said = has_basecallers_ ? in.column<std::int32_t>("basecaller_poly_a") : std::span<const std::int32_t>();
    const auto lengths = out.column<std::int32_t>("poly_a_bases");
    const auto begin_samples = out.column<std::int64_t>("poly_a_begin"), end_samples = out.column<std::int64_t>("poly_a_end");
    std::vector<std::string_view> sources(static_cast<std::size_t>(in.rows()));
    call.parallel_for(sources.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        const auto is_positive = [](double value) { return std::isfinite(value) && value > 0; };
        if (!is_positive(digitisation[i]) || !is_positive(range[i]) || !is_positive(rate[i]) || !std::isfinite(offset[i])) {
          out.fail(row, Reason::bad_calibration);
          continue;
        }
        const Front front = has_begin_ && begins[i] > 0 ? Front::cut : Front::whole;
        TailLength found = tail_length(signal[row], digitisation[i], range[i], offset[i], rate[i], std::ssize(bases[row]), front);
        const bool is_said = has_basecallers_ && said[i] > -2;
        if (is_said) found.bases = said[i];
        lengths[i] = found.bases;
        begin_samples[i] = found.begin;
        end_samples[i] = found.end;
        sources[i] = is_said ? "basecaller" : "signal";
      }
    });
    out.text_rows("poly_a_source", sources);
  }

 private:
  bool has_begin_, has_basecallers_;
};

}  // namespace
}  // namespace sluice::poly_a_length

SLUICE_PLUGIN("poly_a_length", "0.1.0", "MIT", sluice::poly_a_length::PolyALength);
