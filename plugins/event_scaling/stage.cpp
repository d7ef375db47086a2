// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/kmer_model.hpp>
#include <sluice/stage.hpp>

#include "event_scaling/scaling.hpp"

namespace sluice::event_scaling {
namespace {

KmerModelView nucleotide_model(const Setup& setup) {
  const KmerModelView model = kmer_model_view(setup.resource("model"));
  if (model.alphabet != Alphabet::nucleotide)
    throw Failure::usage("the model is a methylation model", std::string("give ") + setup.instance() + " the nucleotide model");
  return model;
}

class EventScaling {
 public:
  using Parameters = NoParameters;
  enum class Reason : std::uint32_t { no_events, read_too_short, singular };

  static void describe(Describe<EventScaling>& d) {
    d.id("event_scaling").summary("first fit of the k-mer model to a read, before any alignment (method of moments)").map("read").work_unit("base");
    d.doc("Shift and scale from the first two moments of the events and of the levels of the read's own k-mers, as nanopolish and f5c take them.");
    d.uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.needs("event_mean", "list<f32>", "pA").needs("bases", "utf8", "the whole read in sequencing orientation");
    d.gives("kmer_rank", "list<u32>", "rank of each k-mer of the read in the model")
        .gives("moment_shift", "f32", "pA")
        .gives("moment_scale", "f32", "pA per model unit");
    d.reason("no_events", "the read has no events")
        .reason("read_too_short", "the read is shorter than one k-mer")
        .reason("singular", "the moments are not finite");
  }
  EventScaling(const Setup& setup, const Parameters&) : model_(nucleotide_model(setup)) {}

  void process(const Call& call, const Batch& in, Output& out) {
    const auto events = in.list<float>("event_mean");
    const auto bases = in.text("bases");
    const Buffer offsets = out.offsets([&](std::int64_t row) { return in.ok(row) ? read_kmer_count(bases[row].size(), model_.k) : 0; });
    const auto at = offsets.as<std::int64_t>();
    const auto ranks = out.list<std::uint32_t>("kmer_rank", offsets);
    const auto shift = out.column<float>("moment_shift"), scale = out.column<float>("moment_scale");
    call.parallel_for(static_cast<std::size_t>(in.rows()), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        const auto read_ranks = ranks.subspan(static_cast<std::size_t>(at[i]), static_cast<std::size_t>(at[i + 1] - at[i]));
        ScalingStatus status = kmer_ranks(bases[row], model_.alphabet, model_.k, read_ranks);
        MomentScaling scaling;
        if (status == ScalingStatus::ok) status = moments(events[row], read_ranks, model_, scaling);
        if (status == ScalingStatus::no_events)
          out.fail(row, Reason::no_events);
        else if (status == ScalingStatus::read_too_short)
          out.fail(row, Reason::read_too_short);
        else if (status != ScalingStatus::ok)
          out.fail(row, Reason::singular);
        shift[i] = scaling.shift;
        scale[i] = scaling.scale;
      }
    });
  }

 private:
  KmerModelView model_;
};

class EventRecalibration {
 public:
  struct Parameters {
    std::int64_t min_recalibration_events = 200;
    double max_var = 2.5;
    double max_events_per_base = 5.0;
  };
  enum class Reason : std::uint32_t { too_few_events, singular, var_too_large, too_many_events_per_base };

  static void describe(Describe<EventRecalibration>& d) {
    d.id("event_recalibration")
        .summary("second fit of the k-mer model to a read, from its aligned events (weighted least squares)")
        .map("read")
        .work_unit("base");
    d.doc(
        "Shift, scale and spread by weighted least squares over the first event of every k-mer, as nanopolish and f5c do. Reads that do not follow "
        "the model end here.");
    d.uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.needs("event_mean", "list<f32>", "pA")
        .needs("kmer_rank", "list<u32>", "rank of each k-mer of the read in the model")
        .needs("first_event", "list<i32>", "per k-mer, -1: none")
        .needs("last_event", "list<i32>", "per k-mer, -1: none")
        .needs("events_per_base", "f64", "aligned events per k-mer");
    d.gives("shift", "f32", "pA")
        .gives("scale", "f32", "pA per model unit")
        .gives("var", "f32", "factor on level_stdv")
        .gives("log_var", "f32", "natural logarithm of var");
    d.option("min_recalib_events", &Parameters::min_recalibration_events, "least aligned k-mers to go by; lower it for short reads").range(1, 1e6);
    d.option("max_var", &Parameters::max_var, "reads whose events spread more than this do not follow the model").range(0, 1000);
    d.option("max_events_per_base", &Parameters::max_events_per_base, "reads with more aligned events per base are over-segmented").range(0, 1000);
    d.reason("too_few_events", "fewer aligned k-mers than min_recalib_events")
        .reason("singular", "all aligned events lie on one level: there is no fit");
    d.reason("var_too_large", "the events spread more than max_var")
        .reason("too_many_events_per_base", "more aligned events per base than max_events_per_base");
  }
  EventRecalibration(const Setup& setup, const Parameters& p) : model_(nucleotide_model(setup)), max_events_per_base_(p.max_events_per_base) {
    params_.min_recalibration_events = static_cast<std::uint32_t>(p.min_recalibration_events);
    params_.max_var = static_cast<float>(p.max_var);
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto events = in.list<float>("event_mean");
    const auto ranks = in.list<std::uint32_t>("kmer_rank");
    const auto first = in.list<std::int32_t>("first_event"), last = in.list<std::int32_t>("last_event");
    const auto events_per_base = in.column<double>("events_per_base");
    const auto shift = out.column<float>("shift"), scale = out.column<float>("scale"), var = out.column<float>("var"),
               log_var = out.column<float>("log_var");
    call.parallel_for(static_cast<std::size_t>(in.rows()), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (!in.ok(row)) continue;
        Recalibration fit;
        const ScalingStatus status = recalibrate(events[row], ranks[row], first[row], last[row], model_, params_, fit);
        if (status == ScalingStatus::too_few_events)
          out.fail(row, Reason::too_few_events);
        else if (status == ScalingStatus::var_too_large)
          out.fail(row, Reason::var_too_large);
        else if (status != ScalingStatus::ok)
          out.fail(row, Reason::singular);
        else if (events_per_base[i] > max_events_per_base_)
          out.fail(row, Reason::too_many_events_per_base);
        shift[i] = fit.shift;
        scale[i] = fit.scale;
        var[i] = fit.var;
        log_var[i] = fit.log_var;
      }
    });
  }

 private:
  KmerModelView model_;
  RecalibrationParams params_;
  double max_events_per_base_;
};

}  // namespace
}  // namespace sluice::event_scaling

SLUICE_PLUGIN("event_scaling", "0.1.0", "MIT", sluice::event_scaling::EventScaling, sluice::event_scaling::EventRecalibration);
