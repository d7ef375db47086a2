// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/kmer_model.hpp>
#include <sluice/methods/event_scaling/scaling.hpp>
#include <sluice/stage.hpp>

#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>

#include "event_scaling/cuda.hpp"
#endif

namespace sluice::event_scaling {
namespace {

KmerModelView nucleotide_model(const Setup& setup) {
  const KmerModelView model = kmer_model_view(setup.resource("model"));
  if (model.alphabet != Alphabet::nucleotide)
    throw Failure::usage("the model is a methylation model", std::string("give ") + setup.instance() + " the nucleotide model");
  return model;
}

#ifdef SLUICE_WITH_CUDA
// The model on every device that needs it.
class DeviceModels {
 public:
  const cuda::Model& on(const sluice::cuda::DeviceCall& device, const KmerModelView& model) {
    return models_
        .get(device.ordinal(),
             [&] {
               Uploaded uploaded{device.allocate(cuda::model_bytes(model)), {}};
               sluice::cuda::check(cuda::upload_model(model, uploaded.memory.get(), device.stream(), uploaded.model), "the k-mer model");
               return uploaded;
             })
        .model;
  }

 private:
  struct Uploaded {
    sluice::cuda::Memory memory;
    cuda::Model model;
  };
  sluice::cuda::PerDevice<Uploaded> models_;
};
#endif

class EventScaling {
 public:
  struct Parameters {
    std::string preset = "auto";
  };
  enum class Reason : std::uint32_t { no_events, read_too_short, singular };

  static void describe(Describe<EventScaling>& d) {
    d.id("event_scaling").summary("first fit of the k-mer model to a read, before any alignment (method of moments)").map("read").work_unit("base");
    d.doc(
        "Shift and scale from the first two moments of the events and of the levels of the read's own k-mers, as nanopolish and f5c take them.\n\n"
        "Sums over events are taken in order of time, and events of direct RNA come last in time first: give the preset that event_detection has. "
        "`auto` "
        "takes it from the resource `signal`, from what its header says of the chemistry; without that resource it is `dna`.");
    d.uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.uses("signal", "signal_file", "the file whose header says the chemistry, for preset = auto", Needed::optional);
    d.option("preset", &Parameters::preset, "which way events run: DNA's or direct RNA's, or those of the pore")
        .choices({"auto", "dna", "rna", "r9", "r10", "rna_r9", "rna004"});
    d.needs("event_mean", "list<f32>", "pA").needs("bases", "utf8", "the whole read in sequencing orientation");
    d.gives("kmer_rank", "list<u32>", "rank of each k-mer of the read in the model")
        .gives("moment_shift", "f32", "pA")
        .gives("moment_scale", "f32", "pA per model unit");
    d.reason("no_events", "the read has no events")
        .reason("read_too_short", "the read is shorter than one k-mer")
        .reason("singular", "the moments are not finite");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&EventScaling::process_cuda>("cuda", "the sums in the same order, one lane a sum, a few thousand reads beside each other");
#endif
  }
  EventScaling(const Setup& setup, const Parameters& p) : model_(nucleotide_model(setup)), order_(event_order(setup, p.preset)) {}

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
        if (status == ScalingStatus::ok) status = moments(events[row], order_, read_ranks, model_, scaling);
        fail(out, row, status);
        shift[i] = scaling.shift;
        scale[i] = scaling.scale;
      }
    });
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const auto count = static_cast<std::size_t>(in.rows());
    const auto events = device.list<float>(in, "event_mean");
    const auto bases = device.text(in, "bases");
    const sluice::cuda::Memory row_status = device.row_status(in);
    const cuda::Rows rows{static_cast<std::uint32_t>(count), row_status.as<std::uint16_t>()};
    const cuda::Model& model = models_.on(device, model_);

    sluice::cuda::Memory offsets = device.allocate_array<std::int64_t>(count + 1);
    sluice::cuda::check(cuda::kmer_offsets(rows, bases.offsets, model_.k, offsets.as<std::int64_t>(), device.stream()), "kmer_offsets");
    const std::int64_t kmers = device.download(offsets.as<std::int64_t>() + count, 1).front();
    sluice::cuda::Memory ranks = device.allocate_array<std::uint32_t>(static_cast<std::size_t>(kmers));
    sluice::cuda::check(cuda::kmer_ranks(rows, bases.offsets, bases.bytes, model_.alphabet, model_.k, offsets.as<std::int64_t>(), kmers,
                                         ranks.as<std::uint32_t>(), device.stream()),
                        "kmer_ranks");
    sluice::cuda::Memory shift = device.allocate_array<float>(count), scale = device.allocate_array<float>(count);
    const sluice::cuda::Memory status = device.allocate_array<ScalingStatus>(count);
    sluice::cuda::check(cuda::moments(rows, {events.offsets, events.values}, order_, {offsets.as<std::int64_t>(), ranks.as<std::uint32_t>()}, model,
                                      {shift.as<float>(), scale.as<float>(), status.as<ScalingStatus>()}, device.stream()),
                        "moments");
    const std::vector<ScalingStatus> statuses = device.download(status.as<ScalingStatus>(), count);
    for (std::size_t i = 0; i < count; ++i) fail(out, static_cast<std::int64_t>(i), statuses[i]);
    device.add_list<std::uint32_t>(out, "kmer_rank", std::move(offsets), std::move(ranks), kmers);
    device.add_column<float>(out, "moment_shift", std::move(shift));
    device.add_column<float>(out, "moment_scale", std::move(scale));
  }
#endif

 private:
  // Presets of RNA begin with "rna", as do its chemistries in signal_file.
  static EventOrder event_order(const Setup& setup, std::string_view preset) {
    if (preset == "auto" && setup.has_resource("signal")) preset = setup.resource("signal").attribute("chemistry");
    return preset.starts_with("rna") ? EventOrder::descending : EventOrder::ascending;
  }
  static void fail(Output& out, std::int64_t row, ScalingStatus status) {
    if (status == ScalingStatus::ok) return;
    if (status == ScalingStatus::no_events)
      out.fail(row, Reason::no_events);
    else if (status == ScalingStatus::read_too_short)
      out.fail(row, Reason::read_too_short);
    else
      out.fail(row, Reason::singular);
  }

  KmerModelView model_;
  EventOrder order_;
#ifdef SLUICE_WITH_CUDA
  DeviceModels models_;
#endif
};

class EventRecalibration {
 public:
  struct Parameters {
    std::int64_t min_recalibration_events = 0;
    std::string compat = "none";
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
    d.option("min_recalib_events", &Parameters::min_recalibration_events,
             "least aligned k-mers to go by; 0: 200, of RNA004, which has short reads, 50")
        .range(0, 1e6);
    d.option("compat", &Parameters::compat, "f5c: 0 is 200 for every pore, as in f5c 1.6").choices({"none", "f5c"});
    d.option("max_var", &Parameters::max_var, "reads whose events spread more than this do not follow the model").range(0, 1000);
    d.option("max_events_per_base", &Parameters::max_events_per_base, "reads with more aligned events per base are over-segmented").range(0, 1000);
    d.reason("too_few_events", "fewer aligned k-mers than min_recalib_events")
        .reason("singular", "all aligned events lie on one level: there is no fit");
    d.reason("var_too_large", "the events spread more than max_var")
        .reason("too_many_events_per_base", "more aligned events per base than max_events_per_base");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&EventRecalibration::process_cuda>("cuda", "the sums in the same order, one lane a sum, a few thousand reads beside each other");
#endif
  }
  EventRecalibration(const Setup& setup, const Parameters& p) : model_(nucleotide_model(setup)), max_events_per_base_(p.max_events_per_base) {
    constexpr std::uint32_t usual = 200, of_short_rna = 50;
    const bool is_short_rna = p.compat == "none" && setup.resource("model").attribute("pore") == "rna004";
    params_.min_recalibration_events = p.min_recalibration_events != 0 ? static_cast<std::uint32_t>(p.min_recalibration_events)
                                       : is_short_rna                  ? of_short_rna
                                                                       : usual;
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
        fail(out, row, status, events_per_base[i]);
        shift[i] = fit.shift;
        scale[i] = fit.scale;
        var[i] = fit.var;
        log_var[i] = fit.log_var;
      }
    });
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const auto count = static_cast<std::size_t>(in.rows());
    const auto events = device.list<float>(in, "event_mean");
    const auto ranks = device.list<std::uint32_t>(in, "kmer_rank");
    const auto first = device.list<std::int32_t>(in, "first_event"), last = device.list<std::int32_t>(in, "last_event");
    const sluice::cuda::Memory row_status = device.row_status(in);
    sluice::cuda::Memory shift = device.allocate_array<float>(count), scale = device.allocate_array<float>(count);
    sluice::cuda::Memory var = device.allocate_array<float>(count), log_var = device.allocate_array<float>(count);
    const sluice::cuda::Memory status = device.allocate_array<ScalingStatus>(count);
    sluice::cuda::check(
        cuda::recalibrate({static_cast<std::uint32_t>(count), row_status.as<std::uint16_t>()}, {events.offsets, events.values},
                          {ranks.offsets, ranks.values}, {first.offsets, first.values, last.offsets, last.values}, models_.on(device, model_),
                          params_, {shift.as<float>(), scale.as<float>(), var.as<float>(), log_var.as<float>(), status.as<ScalingStatus>()},
                          device.stream()),
        "recalibrate");
    const std::vector<double> events_per_base = device.download(device.column<double>(in, "events_per_base"), count);
    const std::vector<ScalingStatus> statuses = device.download(status.as<ScalingStatus>(), count);
    for (std::size_t i = 0; i < count; ++i)
      if (in.ok(static_cast<std::int64_t>(i))) fail(out, static_cast<std::int64_t>(i), statuses[i], events_per_base[i]);
    device.add_column<float>(out, "shift", std::move(shift));
    device.add_column<float>(out, "scale", std::move(scale));
    device.add_column<float>(out, "var", std::move(var));
    device.add_column<float>(out, "log_var", std::move(log_var));
  }
#endif

 private:
  void fail(Output& out, std::int64_t row, ScalingStatus status, double events_per_base) const {
    if (status == ScalingStatus::too_few_events)
      out.fail(row, Reason::too_few_events);
    else if (status == ScalingStatus::var_too_large)
      out.fail(row, Reason::var_too_large);
    else if (status != ScalingStatus::ok)
      out.fail(row, Reason::singular);
    else if (events_per_base > max_events_per_base_)
      out.fail(row, Reason::too_many_events_per_base);
  }

  KmerModelView model_;
  RecalibrationParams params_;
  double max_events_per_base_;
#ifdef SLUICE_WITH_CUDA
  DeviceModels models_;
#endif
};

}  // namespace
}  // namespace sluice::event_scaling

SLUICE_PLUGIN("event_scaling", "0.1.0", "MIT", sluice::event_scaling::EventScaling, sluice::event_scaling::EventRecalibration);
