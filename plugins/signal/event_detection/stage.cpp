// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <array>
#include <sluice/rna_adapter.hpp>
#include <sluice/stage.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>

#include "event_detection/cuda.hpp"
#endif

#include "event_detection/events.hpp"

namespace sluice::event_detection {
namespace {

class EventDetection {
 public:
  struct Parameters {
    std::string preset = "auto";
    std::string adapter = "keep", compat = "none";
    std::optional<std::int64_t> window_short, window_long;
    std::optional<double> threshold_short, threshold_long, peak_height;
  };
  // In the order of DetectionStatus, without ok.
  enum class Reason : std::uint32_t {};

  static void describe(Describe<EventDetection>& d) {
    d.id("event_detection").summary("cuts a raw signal into events, stretches of samples on one level").map("read").work_unit("sample");
    d.doc(
        "The two-window t-statistic detector of scrappie, with the constants and the rounding of f5c 1.6. The whole signal is used: f5c computes a "
        "trim and then ignores it.\n\n"
        "The preset is `dna` or `rna`, or the pore (rna_r9 and rna004 are RNA's). `auto` takes it from the resource `signal`: from what its header "
        "says "
        "of the chemistry; without that resource it is `dna`. Direct RNA passes the pore with its 3' end first, so its events are given last in time "
        "first: event 0 ends the signal and belongs to the first bases of the read. event_start and event_length stay samples of the signal as it "
        "was "
        "written.\n\n"
        "With adapter = find, events of the adapter of direct RNA (RNA004) are left out: the first event begins where the current rises for good. "
        "Nothing is looked for where the basecaller has cut it off (signal_begin above 0), and where moves say in which samples the bases lie.");
    d.needs("raw_signal", "list<i16>", "samples as the sequencer wrote them");
    d.needs("digitisation", "f64", "number of raw levels").needs("range", "f64", "pA").needs("offset", "f64", "raw units");
    d.needs("signal_begin", "i64", "samples in front of the signal that were left out", Needed::optional);
    d.needs("moves", "list<i8>", "where the basecaller says that bases lie; empty: unknown", Needed::optional);
    d.uses("signal", "signal_file", "the file whose header says the chemistry, for preset = auto", Needed::optional);
    d.gives("event_mean", "list<f32>", "pA; of RNA the last event in time comes first, in all lists of events");
    d.gives("event_start", "list<i32>", "first sample", Needed::optional);
    d.gives("event_length", "list<i32>", "samples", Needed::optional);
    d.gives("event_stdv", "list<f32>", "pA, of the population", Needed::optional);
    d.option("preset", &Parameters::preset, "the constants, and which way events run: DNA's or direct RNA's, or those of the pore")
        .choices({"auto", "dna", "rna", "r9", "r10", "rna_r9", "rna004"});
    d.option("adapter", &Parameters::adapter, "find: leave out the events of the adapter of RNA004").choices({"keep", "find"});
    d.option("compat", &Parameters::compat, "f5c: keep the adapter, as f5c 1.6 does").choices({"none", "f5c"});
    d.option("window_short", &Parameters::window_short, "short window; the preset's if left out").range(2, max_window).unit("samples");
    d.option("window_long", &Parameters::window_long, "long window; the preset's if left out").range(2, max_window).unit("samples");
    d.option("threshold_short", &Parameters::threshold_short, "least t-statistic of a boundary in the short window; the preset's if left out")
        .range(0, 1e6);
    d.option("threshold_long", &Parameters::threshold_long, "least t-statistic of a boundary in the long window; the preset's if left out")
        .range(0, 1e6);
    d.option("peak_height", &Parameters::peak_height, "least height of a peak of the t-statistic; the preset's if left out").range(0, 1e6);
#ifdef SLUICE_WITH_CUDA
    d.implementation<&EventDetection::process_cuda>("cuda",
                                                    "one thread a chunk of a read, which guesses the state it begins in; guesses are checked");
#endif
    d.reason("empty_signal", "the read has no samples");
    d.reason("no_boundary", "the detector found no step in the signal");
    d.reason("bad_calibration", "range, offset or digitisation is zero or not a number");
    d.reason("bad_parameters", "a parameter is out of range");
    d.reason("sample_out_of_range", "a sample is not finite in pA");
    d.reason("signal_too_long", "more than 2^31 samples");
  }

  static void check_parameters(const Parameters& p) { check_windows(detector_params(p, p.preset)); }

  EventDetection(const Setup& setup, const Parameters& p)
      : preset_(p.preset == "auto" && setup.has_resource("signal") ? setup.resource("signal").attribute("chemistry") : std::string_view(p.preset)),
        params_(detector_params(p, preset_)),
        finds_adapter_(p.adapter == "find" && p.compat == "none" && (preset_ == "rna004" || preset_ == "rna_004")),
        has_begin_(setup.available("signal_begin")),
        has_moves_(setup.available("moves")),
        order_(is_rna(preset_) ? EventOrder::descending : EventOrder::ascending),
        starts_(setup.wanted("event_start")),
        lengths_(setup.wanted("event_length")),
        stdvs_(setup.wanted("event_stdv")) {
    check_windows(params_);
  }

  Estimate estimate(const Batch& in) const {
    const auto samples = in.list<std::int16_t>("raw_signal").offsets();
    const auto count = static_cast<std::uint64_t>(samples.back() - samples.front());
    return {.work = static_cast<double>(count), .output_bytes = count};
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto signal = in.list<std::int16_t>("raw_signal");
    const auto digitisation = in.column<double>("digitisation"), range = in.column<double>("range"), offset = in.column<double>("offset");
    const auto begins = has_begin_ ? in.column<std::int64_t>("signal_begin") : std::span<const std::int64_t>();
    const auto move_offsets = has_moves_ ? in.list<std::int8_t>("moves").offsets() : std::span<const std::int64_t>();
    std::vector<EventTable> tables(static_cast<std::size_t>(in.rows()));
    call.parallel_for(tables.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = workspaces_.take();
      for (std::size_t row = begin; row < end; ++row) {
        if (!in.ok(static_cast<std::int64_t>(row))) continue;
        const Calibration calibration{static_cast<float>(offset[row]), static_cast<float>(range[row]), static_cast<float>(digitisation[row])};
        const DetectionStatus status = detect_events(signal[static_cast<std::int64_t>(row)], calibration, params_, *workspace, tables[row]);
        if (status != DetectionStatus::ok) out.fail(static_cast<std::int64_t>(row), static_cast<std::uint32_t>(status) - 1);
        if (status == DetectionStatus::ok && finds_adapter_ && may_have_adapter(row, begins, move_offsets))
          tables[row].drop_before(find_rna_adapter(signal[static_cast<std::int64_t>(row)], digitisation[row], range[row], offset[row]));
      }
    });
    const Buffer offsets = out.offsets([&](std::int64_t row) { return tables[static_cast<std::size_t>(row)].size(); });
    give<float>(out, "event_mean", offsets, tables, &EventTable::mean);
    if (starts_) give<std::int32_t>(out, "event_start", offsets, tables, &EventTable::start_sample);
    if (lengths_) give<std::int32_t>(out, "event_length", offsets, tables, &EventTable::length_samples);
    if (stdvs_) give<float>(out, "event_stdv", offsets, tables, &EventTable::stdv);
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    using sluice::cuda::check, sluice::cuda::Memory;
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    const auto signal = device.list<std::int16_t>(in, "raw_signal");
    const Memory row_status = device.row_status(in);
    const cuda::Signals signals{in.rows(),
                                signal.offsets,
                                signal.values,
                                signal.count,
                                device.column<double>(in, "offset"),
                                device.column<double>(in, "range"),
                                device.column<double>(in, "digitisation"),
                                row_status.as<std::uint16_t>()};
    const cuda::Division division = cuda::division_for(params_);
    const Memory workspace = device.allocate(cuda::workspace_bytes(signals.rows, signals.sample_count, division));
    Memory offsets = device.allocate_array<std::int64_t>(rows + 1);
    const Memory status = device.allocate_array<DetectionStatus>(rows);
    check(
        cuda::find_boundaries(signals, params_, workspace.get(), offsets.as<std::int64_t>(), status.as<DetectionStatus>(), device.stream(), division),
        "find_boundaries");
    const auto events = static_cast<std::size_t>(device.download(offsets.as<std::int64_t>() + rows, 1).front());

    const auto allocate = [&](bool wanted) { return wanted ? device.allocate(events * 4) : Memory(); };
    Memory mean = allocate(true), start = allocate(starts_ || finds_adapter_), length = allocate(lengths_), stdv = allocate(stdvs_);
    const auto columns = [&] { return cuda::EventColumns{mean.as<float>(), start.as<std::int32_t>(), length.as<std::int32_t>(), stdv.as<float>()}; };
    check(cuda::emit_events(signals, params_, workspace.get(), offsets.as<std::int64_t>(), columns(), device.stream(), division), "emit_events");
    const std::vector<DetectionStatus> statuses = device.download(status.as<DetectionStatus>(), rows);
    for (std::size_t row = 0; row < rows; ++row) {
      if (statuses[row] != DetectionStatus::ok) out.fail(static_cast<std::int64_t>(row), static_cast<std::uint32_t>(statuses[row]) - 1);
    }
    auto count = static_cast<std::int64_t>(events);
    if (finds_adapter_) count = drop_adapters(device, in, statuses, offsets, {&mean, &start, &length, &stdv});
    if (order_ == EventOrder::descending)
      check(cuda::reverse_events(signals.rows, offsets.as<std::int64_t>(), count, columns(), device.stream()), "reverse_events");
    device.add_list<float>(out, "event_mean", offsets, std::move(mean), count);
    if (starts_) device.add_list<std::int32_t>(out, "event_start", offsets, std::move(start), count);
    if (lengths_) device.add_list<std::int32_t>(out, "event_length", offsets, std::move(length), count);
    if (stdvs_) device.add_list<float>(out, "event_stdv", offsets, std::move(stdv), count);
  }
#endif

 private:
#ifdef SLUICE_WITH_CUDA
  // Leaves the events behind the adapters, in order of time, and says how many they are. Columns that are not wanted are empty.
  std::int64_t drop_adapters(const sluice::cuda::DeviceCall& device, const Batch& in, const std::vector<DetectionStatus>& statuses,
                             sluice::cuda::Memory& offsets, std::array<sluice::cuda::Memory*, 4> columns) const {
    const auto rows = static_cast<std::size_t>(in.rows());
    const auto raw = device.list<std::int16_t>(in, "raw_signal");
    const std::vector<std::int64_t> raw_offsets = device.download(raw.offsets, rows + 1),
                                    old_offsets = device.download(offsets.as<std::int64_t>(), rows + 1);
    const std::vector<std::int16_t> samples =
        device.download(raw.values + raw_offsets.front(), static_cast<std::size_t>(raw_offsets.back() - raw_offsets.front()));
    const std::vector<std::int32_t> starts = device.download(columns[1]->as<std::int32_t>(), static_cast<std::size_t>(old_offsets[rows]));
    const std::vector<double> offset = device.download(device.column<double>(in, "offset"), rows),
                              range = device.download(device.column<double>(in, "range"), rows),
                              digitisation = device.download(device.column<double>(in, "digitisation"), rows);
    std::vector<std::int64_t> begins, move_offsets;
    if (has_begin_) begins = device.download(device.column<std::int64_t>(in, "signal_begin"), rows);
    if (has_moves_) move_offsets = device.download(device.list<std::int8_t>(in, "moves").offsets, rows + 1);
    std::vector<std::int64_t> firsts(rows), kept(rows + 1);
    for (std::size_t row = 0; row < rows; ++row) {
      firsts[row] = old_offsets[row];
      if (statuses[row] == DetectionStatus::ok && may_have_adapter(row, begins, move_offsets)) {
        const auto signal = std::span(samples).subspan(static_cast<std::size_t>(raw_offsets[row] - raw_offsets.front()),
                                                       static_cast<std::size_t>(raw_offsets[row + 1] - raw_offsets[row]));
        const std::int64_t adapter = find_rna_adapter(signal, digitisation[row], range[row], offset[row]);
        firsts[row] += events_before(
            std::span(starts).subspan(static_cast<std::size_t>(old_offsets[row]), static_cast<std::size_t>(old_offsets[row + 1] - old_offsets[row])),
            adapter);
      }
      kept[row + 1] = kept[row] + old_offsets[row + 1] - firsts[row];
    }
    for (sluice::cuda::Memory* column : columns) {
      if (column->get() == nullptr) continue;
      constexpr std::size_t bytes = 4;  // of a value of any column
      sluice::cuda::Memory part = device.allocate(static_cast<std::size_t>(kept[rows]) * bytes);
      for (std::size_t row = 0; row < rows; ++row)
        sluice::cuda::check(cudaMemcpyAsync(part.as<std::int32_t>() + kept[row], column->as<std::int32_t>() + firsts[row],
                                            static_cast<std::size_t>(kept[row + 1] - kept[row]) * bytes, cudaMemcpyDeviceToDevice, device.stream()),
                            "events behind adapters");
      *column = std::move(part);
    }
    offsets = device.upload(kept);
    return kept[rows];
  }
#endif
  // Columns that are not there are empty.
  static bool may_have_adapter(std::size_t row, std::span<const std::int64_t> begins, std::span<const std::int64_t> move_offsets) {
    return (begins.empty() || begins[row] == 0) && (move_offsets.empty() || move_offsets[row] == move_offsets[row + 1]);
  }
  static void check_windows(const DetectorParams& params) {
    if (params.window_short >= params.window_long)
      throw Failure::usage("window_short (" + std::to_string(params.window_short) + " samples) must be smaller than window_long (" +
                               std::to_string(params.window_long) + ")",
                           "set both, or leave both out");
  }

  // Of a preset, and of a chemistry as signal_file names it.
  static bool is_rna(std::string_view preset) { return preset.starts_with("rna"); }
  static DetectorParams detector_params(const Parameters& p, std::string_view preset) {
    DetectorParams params = is_rna(preset) ? DetectorParams::rna() : DetectorParams::dna();
    if (p.window_short) params.window_short = static_cast<std::uint32_t>(*p.window_short);
    if (p.window_long) params.window_long = static_cast<std::uint32_t>(*p.window_long);
    if (p.threshold_short) params.threshold_short = static_cast<float>(*p.threshold_short);
    if (p.threshold_long) params.threshold_long = static_cast<float>(*p.threshold_long);
    if (p.peak_height) params.peak_height = static_cast<float>(*p.peak_height);
    return params;
  }
  template <class T>
  void give(Output& out, const char* name, const Buffer& offsets, const std::vector<EventTable>& tables, std::vector<T> EventTable::*column) const {
    T* next = out.list<T>(name, offsets).data();
    for (const EventTable& table : tables)
      next = order_ == EventOrder::descending ? std::reverse_copy((table.*column).begin(), (table.*column).end(), next)
                                              : std::copy((table.*column).begin(), (table.*column).end(), next);
  }

  enum class EventOrder : std::uint8_t { ascending, descending };  // in time

  std::string preset_;
  DetectorParams params_;
  bool finds_adapter_, has_begin_, has_moves_;
  EventOrder order_;
  bool starts_, lengths_, stdvs_;
  Workspaces<DetectorWorkspace> workspaces_;
};

}  // namespace
}  // namespace sluice::event_detection

SLUICE_PLUGIN("event_detection", "0.1.0", "MIT", sluice::event_detection::EventDetection);
