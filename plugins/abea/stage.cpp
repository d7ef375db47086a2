// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/kmer_model.hpp>
#include <sluice/stage.hpp>
#include <vector>

#include "abea/abea.hpp"

namespace sluice::abea {
namespace {

// A read whose traces need more than this gives its memory back at once: one ultra-long read would else pin it for the whole run.
constexpr std::size_t kept_workspace_bytes = std::size_t{16} << 20;

class Abea {
 public:
  struct Parameters {
    double max_events_per_base = 15.0;
    double min_average_emission = -5.0;
    std::int64_t max_skipped_kmers = 50;
  };

  static void describe(Describe<Abea>& d) {
    d.id("abea")
        .summary("aligns the events of a read to the k-mers of its own sequence (adaptive banded event alignment)")
        .map("read")
        .work_unit("band cell");
    d.doc(
        "Algorithm 1 of Gamaarachchi et al. 2020 (f5c): a band of 100 cells that moves by the Suzuki-Kasahara rule, with the transitions, the "
        "rounding and the tie rules of f5c 1.6.");
    d.uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.needs("event_mean", "list<f32>", "pA").needs("kmer_rank", "list<u32>", "ranks of the read's k-mers in the model");
    d.needs("moment_shift", "f32", "pA").needs("moment_scale", "f32", "pA per model unit");
    d.gives("first_event", "list<i32>", "first event of each k-mer of the read, -1: none");
    d.gives("last_event", "list<i32>", "last event of each k-mer of the read, -1: none");
    d.gives("events_per_base", "f64", "aligned events per k-mer");
    d.option("max_events_per_base", &Parameters::max_events_per_base, "a read with more events per base has stalled and is not aligned")
        .range(1, 1000);
    d.option("min_average_emission", &Parameters::min_average_emission, "least mean log-likelihood of the path").range(-1000, 0);
    d.option("max_skipped_kmers", &Parameters::max_skipped_kmers, "most k-mers in a row without an event of their own").range(0, 1e6);
    // In the order of AlignmentStatus, without ok.
    d.reason("too_few_kmers", "the read is shorter than k").reason("no_events", "the read has no events");
    d.reason("too_many_events_per_base", "the read has stalled: too many events for its bases");
    d.reason("read_too_long", "events and k-mers do not fit 31 bits")
        .reason("output_size_mismatch", "internal")
        .reason("invalid_model", "the model's columns differ in length");
    d.reason("kmer_outside_model", "a k-mer rank is beyond the model");
    d.reason("no_end_cell_in_band", "the alignment lost its way: the band never reached the end of the read");
    d.reason("low_average_emission", "the events do not fit the bases: often the wrong chemistry");
    d.reason("not_spanning", "the alignment does not begin at the first base");
    d.reason("too_many_skipped_kmers", "a stretch of bases has no events");
  }

  Abea(const Setup& setup, const Parameters& p) : model_(kmer_model_view(setup.resource("model"))) {
    if (model_.alphabet != Alphabet::nucleotide) throw Failure::usage("the model is a methylation model", "give abea the nucleotide model");
    limits_.max_events_per_base = static_cast<float>(p.max_events_per_base);
    limits_.min_average_emission = p.min_average_emission;
    limits_.max_skipped_kmers = static_cast<std::int32_t>(p.max_skipped_kmers);
  }

  Estimate estimate(const Batch& in) const {
    const auto events = in.list<float>("event_mean").offsets();
    const auto kmers = in.list<std::uint32_t>("kmer_rank").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < events.size(); ++row) {
      const auto n = static_cast<std::size_t>(events[row + 1] - events[row]), k = static_cast<std::size_t>(kmers[row + 1] - kmers[row]);
      const double cells = static_cast<double>(n + k + 2) * band_width;
      e.work += cells;
      e.largest_row_work = std::max(e.largest_row_work, cells);
      e.output_bytes += k * 8;
      e.scratch_bytes = std::max<std::uint64_t>(e.scratch_bytes, abea_workspace_bytes(n, k));
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto events = in.list<float>("event_mean");
    const auto kmers = in.list<std::uint32_t>("kmer_rank");
    const auto shift = in.column<float>("moment_shift"), scale = in.column<float>("moment_scale");
    const Buffer offsets = out.offsets([&](std::int64_t row) { return kmers[row].size(); });
    const auto at = offsets.as<std::int64_t>();
    const auto first = out.list<std::int32_t>("first_event", offsets), last = out.list<std::int32_t>("last_event", offsets);
    const auto events_per_base = out.column<double>("events_per_base");
    call.parallel_for(static_cast<std::size_t>(in.rows()), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        const auto from = static_cast<std::size_t>(at[i]), count = static_cast<std::size_t>(at[i + 1] - at[i]);
        const auto first_event = first.subspan(from, count), last_event = last.subspan(from, count);
        if (!in.ok(row)) {
          std::fill(first_event.begin(), first_event.end(), -1);
          std::fill(last_event.begin(), last_event.end(), -1);
          continue;
        }
        const AlignmentInput input{events[row], kmers[row], model_, {scale[i], shift[i]}, limits_};
        const AlignmentResult result = align_events(input, *workspace, first_event, last_event);
        if (result.status != AlignmentStatus::ok)
          out.fail(row, static_cast<std::uint32_t>(result.status) - 1);
        else
          events_per_base[i] = result.events_per_base;
        if (workspace->bytes() > kept_workspace_bytes) workspace->release();
      }
    });
  }

 private:
  KmerModelView model_;
  AlignmentLimits limits_;
  Workspaces<AlignmentWorkspace> workspaces_;
};

}  // namespace
}  // namespace sluice::abea

SLUICE_PLUGIN("abea", "0.1.0", "MIT", sluice::abea::Abea);
