// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <sluice/calibration.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "poly_a_length/cdna_tail.hpp"
#include "poly_a_length/tail_length.hpp"

namespace sluice::poly_a_length {
namespace {

class PolyALength {
 public:
  using Parameters = NoParameters;
  enum class Reason : std::uint32_t { bad_calibration };

  static void describe(Describe<PolyALength>& d) {
    d.id("poly_a_length").summary("length of the poly(A) tail of direct RNA and cDNA, from the basecaller's tags or from the signal").map("read");
    d.doc(
        "What the basecaller said (tag pt) is taken; of other reads the tail is looked for in the signal, a flat stretch of 12 bases or more, in "
        "bases of the speed of the rest of the read. Of direct RNA (RNA004) it lies behind the adapter; of cDNA (R10.4.1) where the bases have a run "
        "of T "
        "near their begin or of A near their end.");
    d.uses("signal", "signal_file", "whose header says the chemistry");
    d.needs("raw_signal", "list<i16>", "samples as the sequencer wrote them").needs("digitisation", "f64", "number of raw levels");
    d.needs("range", "f64", "pA").needs("offset", "f64", "raw units").needs("sampling_rate", "f64", "Hz");
    d.needs("bases", "utf8", "the whole read, whose length tells its speed; of cDNA also where the tail lies");
    d.needs("signal_begin", "i64", "samples in front of the signal that were left out", Needed::optional);
    d.needs("moves", "list<i8>", "where the basecaller says that bases lie, to find the tail of cDNA; empty: unknown", Needed::optional);
    d.needs("signal_part", "list<i64>", "which part of the sequencer's read is the read's own", Needed::optional);
    d.needs("basecaller_poly_a", "i32", "what the basecaller said; -2: nothing", Needed::optional);
    d.needs("basecaller_poly_a_place", "list<i32>", "where it says that the tail lies, in samples of the read's part; empty: unknown",
            Needed::optional);
    d.gives("poly_a_bases", "i32",
            "bases of the tail; 0: none of 12 bases or more, -1: direct RNA without an adapter in front, cDNA without a run of A or T");
    d.gives("poly_a_begin", "i64", "first sample of the tail in the signal of the sequencer's read; -1: unknown");
    d.gives("poly_a_end", "i64", "its end, exclusive; -1: unknown");
    d.gives("poly_a_source", "utf8", "basecaller or signal");
    d.gives("added_tags", "binary", "pt and pa as dorado writes them, of reads that lack pt; \"\": the basecaller has said it", Needed::optional);
    d.reason("bad_calibration",
             "digitisation, range or offset is zero, negative or not a number, or the sampling rate is none from 100 to 1000000 Hz");
    d.work_unit("sample");
  }

  PolyALength(const Setup& setup, const Parameters&)
      : has_begin_(setup.available("signal_begin")),
        has_part_(setup.available("signal_part")),
        has_basecallers_(setup.available("basecaller_poly_a")),
        has_basecallers_place_(setup.available("basecaller_poly_a_place")),
        has_moves_(setup.available("moves")),
        wants_tags_(setup.wanted("added_tags")) {
    const std::string_view chemistry = setup.resource("signal").attribute("chemistry");
    is_rna_ = chemistry == "rna_004";
    if (!is_rna_ && chemistry != "dna_r10")
      throw Failure::usage(
          "poly(A) tails are measured in direct RNA of RNA004 and in cDNA of R10.4.1, and the signal is of " + std::string(chemistry),
          "if it is one of them, its header lacks the kit: give a file that has it");
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
    std::optional<ListView<std::int64_t>> parts;
    if (has_part_) parts.emplace(in.list<std::int64_t>("signal_part"));
    std::optional<ListView<std::int32_t>> said_places;
    if (has_basecallers_place_) said_places.emplace(in.list<std::int32_t>("basecaller_poly_a_place"));
    std::optional<ListView<std::int8_t>> moves;
    if (has_moves_) moves.emplace(in.list<std::int8_t>("moves"));
    std::vector<std::string_view> sources(static_cast<std::size_t>(in.rows()));
    std::vector<std::string> tags(sources.size());
    call.parallel_for(sources.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        if (!is_calibrated(digitisation[i], range[i], offset[i], rate[i])) {
          out.fail(row, Reason::bad_calibration);
          continue;
        }
        const std::int64_t cut = has_begin_ ? begins[i] : 0;
        // pa counts from where the read's part of the sequencer's read begins, the cut front included.
        const std::int64_t part = parts && (*parts)[row].size() > 2 ? cut - std::max<std::int64_t>((*parts)[row][0], 0) : 0;
        const bool is_said = has_basecallers_ && said[i] > -2;
        const bool is_placed = is_said && said_places && (*said_places)[row].size() >= 3;
        TailLength found;
        if (!is_placed) {
          found = is_rna_ ? tail_length(signal[row], digitisation[i], range[i], offset[i], rate[i], std::ssize(bases[row]),
                                        cut > part ? Front::cut : Front::whole)
                          : cdna_tail_length(signal[row], digitisation[i], range[i], rate[i], bases[row],
                                             moves ? (*moves)[row] : std::span<const std::int8_t>());
          for (std::int64_t* sample : {&found.anchor, &found.begin, &found.end})
            if (*sample >= 0) *sample += cut;
        } else if (said[i] > 0) {
          const auto place = (*said_places)[row];
          found.begin = place[1] >= 0 ? part + place[1] : -1;
          found.end = place[2] >= 0 ? part + place[2] : -1;
        }
        if (is_said) {
          found.bases = said[i];
          if (said[i] <= 0) found.begin = found.end = -1;
        } else if (wants_tags_) {
          tags[i] = tags_of(found, part);
        }
        lengths[i] = found.bases;
        begin_samples[i] = found.begin;
        end_samples[i] = found.end;
        sources[i] = is_said ? "basecaller" : "signal";
      }
    });
    out.text_rows("poly_a_source", sources);
    if (wants_tags_) out.text_rows("added_tags", tags, "binary");
  }

 private:
  // pt:i and pa:B:i as in BAM: anchor, begin and end of the tail, and no second part, in samples of the read's part.
  static std::string tags_of(const TailLength& tail, std::int64_t part) {
    const auto append = [](std::string& tags, std::int64_t value) {
      const auto number = static_cast<std::int32_t>(value);
      tags.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    std::string tags = "pti";
    append(tags, tail.bases);
    tags += "paBi";
    append(tags, 5);
    for (const std::int64_t sample : {tail.anchor, tail.begin, tail.end}) append(tags, sample >= 0 ? sample - part : -1);
    append(tags, -1);
    append(tags, -1);
    return tags;
  }

  bool has_begin_, has_part_, has_basecallers_, has_basecallers_place_, has_moves_, wants_tags_, is_rna_ = false;
};

}  // namespace
}  // namespace sluice::poly_a_length

SLUICE_PLUGIN("poly_a_length", "0.1.0", "MIT", sluice::poly_a_length::PolyALength);
