// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <functional>
#include <sluice/aligned_events.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/region.hpp>
#include <sluice/stage.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event_alignment/event_alignment.hpp"

#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>

#include "event_alignment/cuda.hpp"
#endif

namespace sluice::event_alignment {
namespace {

// A read whose traces need more than this gives its memory back at once: one stalled read would else pin it for the whole run.
constexpr std::size_t kept_workspace_bytes = std::size_t{8} << 20;
constexpr std::uint64_t path_bytes_per_event = 2 * sizeof(std::int32_t) + 1;

class EventAlignment {
 public:
  struct Parameters {
    std::string region;
    std::string compat = "none";
  };
  // From outside_contig on in the order of RecordStatus.
  enum class Reason : std::uint32_t {
    contig_not_in_reference,
    outside_contig,
    bad_cigar,
    bad_base_to_event_map,
    not_finite,
    bad_events_per_base,
    stalled,
    no_aligned_events
  };

  static void describe(Describe<EventAlignment>& d) {
    d.id("event_alignment").summary("aligns the events of a read to the k-mers of the reference (eventalign)").map("read").work_unit("event");
    d.doc(
        "nanopolish eventalign in the arithmetic and order of f5c 1.6: the best path of the profile hidden Markov model over events (Simpson et al. "
        "2017), in overlapping segments of 101 bases of the reference, of which the first 50 events are kept. Where f5c has a flaw (hard-clipped "
        "records, fewer than one event per base) the default does the right thing; compat = \"f5c\" keeps it.");
    d.uses("reference", "contig", "the reference that the reads are aligned to").uses("model", "kmer", "the nucleotide k-mer model of the pore");
    needs_aligned_events(d);
    d.gives("path_event", "list<i32>", "index of each aligned event, along the reference");
    d.gives("path_position", "list<i32>", "the first base of its k-mer on the forward strand of the contig, 0-based");
    d.gives("path_state", "list<u8>", "1: the event matches the k-mer, 0: a bad event there");
    d.option("region", &Parameters::region,
             "only bases of this region: contig or contig:first-last, from 1, both inclusive; one base more before it");
    d.option("compat", &Parameters::compat, "keep the flaws of another program").choices({"none", "f5c"});
    d.reason("contig_not_in_reference", "the reference has no contig of this name").reason("outside_contig", "the alignment ends behind its contig");
    d.reason("bad_cigar", "the CIGAR has an operation that BAM does not define").reason("bad_base_to_event_map", "internal");
    d.reason("not_finite", "an event or a scaled level of the model is no number, or beyond 1e15")
        .reason("bad_events_per_base", "so many events per base that no probability is left to move on");
    d.reason("stalled", "more than 65,536 events lie within 101 bases of the reference");
    d.reason("no_aligned_events", "no event of the read lies on the reference (of the region): too few of its bases are aligned");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&EventAlignment::process_cuda>("cuda", "a warp a chunk of a read, from where its path is expected; another joins them");
#endif
  }

  static void check_parameters(const Parameters& p) { RegionText{p.region}; }

  EventAlignment(const Setup& setup, const Parameters& p)
      : model_(kmer_model_view(setup.resource("model"))), reference_(setup.resource("reference")) {
    if (model_.view().alphabet != Alphabet::nucleotide)
      throw Failure::usage("the model is a methylation model", "give event_alignment the nucleotide model");
    for (std::int64_t i = 0; i < reference_.contigs(); ++i)
      contigs_.emplace(reference_.name(i), Contig{reference_.bases(i), static_cast<std::int32_t>(i)});
    if (!p.region.empty()) {
      const Region region = resolve_region(
          p.region,
          [this](std::string_view name) {
            const auto found = contigs_.find(name);
            return found == contigs_.end() ? std::nullopt : std::optional(static_cast<std::int64_t>(found->second.bases.size()));
          },
          "the reference");
      region_contig_ = region.contig;
      // As f5c clips: both inclusive, the end of the region counted from 1.
      settings_.clip_start = region.start;
      settings_.clip_end = region.end;
    }
    if (p.compat == "f5c") {
      settings_.hard_clips = HardClips::compat;
      settings_.events_per_base = event_hmm::EventsPerBase::compat;
    }
  }

  Estimate estimate(const Batch& in) const {
    const auto offsets = in.list<float>("event_mean").offsets();
    Estimate e;
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      const auto events = static_cast<std::uint64_t>(offsets[row + 1] - offsets[row]);
      e.work += static_cast<double>(events);
      e.largest_row_work = std::max(e.largest_row_work, static_cast<double>(events));
      e.output_bytes += events * path_bytes_per_event;
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<EventPath> paths(rows);
    call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the event alignment was cancelled");
        if (!in.ok(static_cast<std::int64_t>(row))) continue;
        auto workspace = workspaces_.take();
        align(call, in, row, *workspace, paths[row], out);
        if (workspace->bytes() > kept_workspace_bytes) workspace.discard();
      }
    });

    const Buffer offsets = out.offsets([&](std::int64_t row) { return paths[static_cast<std::size_t>(row)].event.size(); });
    const auto at = offsets.as<std::int64_t>();
    const auto events = out.list<std::int32_t>("path_event", offsets), positions = out.list<std::int32_t>("path_position", offsets);
    const auto states = out.list<std::uint8_t>("path_state", offsets);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto to = static_cast<std::size_t>(at[row]);
      std::ranges::copy(paths[row].event, events.begin() + static_cast<std::ptrdiff_t>(to));
      std::ranges::copy(paths[row].position, positions.begin() + static_cast<std::ptrdiff_t>(to));
      std::ranges::copy(paths[row].state, states.begin() + static_cast<std::ptrdiff_t>(to));
    }
    call.count("events_aligned", static_cast<double>(events.size()));
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    using sluice::cuda::Memory;
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<std::int32_t> contigs;
    const std::vector<std::int64_t> event_offsets = device.download(device.list<float>(in, "event_mean").offsets, rows + 1);
    std::vector<std::uint32_t> order = rows_to_align(device, in, event_offsets, contigs, out);
    const Memory contig = device.upload(contigs);
    const cuda::Rows columns = columns_of(device, in, contig.as<std::int32_t>());
    const auto events = static_cast<std::size_t>(device.list<float>(in, "event_mean").count);
    const Memory found[] = {device.allocate_array<std::int32_t>(events), device.allocate_array<std::int32_t>(events),
                            device.allocate_array<std::uint8_t>(events), device.allocate_array<std::int64_t>(rows),
                            device.allocate_array<RecordStatus>(rows)};
    const cuda::Paths paths{found[0].as<std::int32_t>(), found[1].as<std::int32_t>(), found[2].as<std::uint8_t>(), found[3].as<std::int64_t>(),
                            found[4].as<RecordStatus>()};
    sluice::cuda::check(cudaMemsetAsync(found[3].get(), 0, found[3].bytes(), device.stream()), "no events");
    sluice::cuda::check(cudaMemsetAsync(found[4].get(), 0, found[4].bytes(), device.stream()), "no statuses");
    const std::vector<std::uint32_t> chunks = cuda::chunks_of(order, event_offsets);
    align_rows(call, device, columns, order, chunks, cuda::plan_usual(chunks), paths);
    std::vector<RecordStatus> statuses = device.download(paths.status, rows);
    const std::vector<std::uint32_t> tried = order;
    std::erase_if(order, [&](std::uint32_t row) { return statuses[row] != RecordStatus::stalled; });
    if (!order.empty()) {
      align_rows(call, device, columns, order, {}, cuda::plan_stalled(static_cast<std::uint32_t>(order.size())), paths);
      statuses = device.download(paths.status, rows);
    }
    for (std::size_t row = 0; row < rows; ++row)
      if (statuses[row] != RecordStatus::ok) out.fail(static_cast<std::int64_t>(row), static_cast<std::uint32_t>(statuses[row]));
    const std::vector<std::int64_t> counts = device.download(paths.count, rows);
    for (const std::uint32_t row : tried)
      if (statuses[row] == RecordStatus::ok && counts[row] == 0) out.filter(row, Reason::no_aligned_events);
    give(call, device, columns, paths, out);
  }
#endif

 private:
  struct Contig {
    std::string_view bases;
    std::int32_t index;  // row of the reference
  };

  bool is_in_region(std::string_view contig) const { return region_contig_.empty() || contig == region_contig_; }

  void align(const Call& call, const Batch& in, std::size_t row, Workspace& workspace, EventPath& path, Output& out) const {
    const auto r = static_cast<std::int64_t>(row);
    const auto contig = contigs_.find(in.text("contig")[r]);
    if (contig == contigs_.end()) return out.fail(r, Reason::contig_not_in_reference);
    if (!is_in_region(contig->first)) return;
    const std::int64_t start = in.column<std::int64_t>("ref_start")[row], end = in.column<std::int64_t>("ref_end")[row];
    if (start < 0 || end < start || end > static_cast<std::int64_t>(contig->second.bases.size())) return out.fail(r, Reason::outside_contig);
    // A region takes one base more before it; a segment ends 101 bases behind its beginning.
    reference_.read_near(contig->second.bases, start - 1, end + kSegmentReach + 1, call);
    const Record record{
        contig->second.bases,
        start,
        in.list<std::uint32_t>("cigar")[r],
        in.text("bases")[r].size(),
        in.column<std::uint8_t>("is_reverse")[row] != 0 ? Strand::reverse : Strand::forward,
        in.list<float>("event_mean")[r],
        in.list<std::int32_t>("first_event")[r],
        {in.column<float>("scale")[row], in.column<float>("shift")[row], in.column<float>("var")[row], in.column<float>("log_var")[row]},
        in.column<double>("events_per_base")[row]};
    const RecordStatus status = align_events(record, model_, settings_, segment_path, workspace, path);
    if (status != RecordStatus::ok) return out.fail(r, static_cast<std::uint32_t>(status));  // Reason has one more in front, RecordStatus ok
    if (path.event.empty()) out.filter(r, Reason::no_aligned_events);
  }

#ifdef SLUICE_WITH_CUDA
  // What stays on a device for the whole run.
  struct OnDevice {
    sluice::cuda::Memory bases, levels;
    cuda::Reference reference;
    cuda::Model model;
  };
  OnDevice put_on(const sluice::cuda::DeviceCall& device) const {
    std::vector<std::string_view> contigs(contigs_.size());
    for (const auto& [name, contig] : contigs_) {
      if (static_cast<std::size_t>(contig.index) >= contigs.size()) contigs.resize(static_cast<std::size_t>(contig.index) + 1);
      contigs[static_cast<std::size_t>(contig.index)] = contig.bases;
    }
    OnDevice result;
    result.bases = device.allocate(cuda::reference_bytes(contigs));
    sluice::cuda::check(cuda::upload_reference(contigs, result.bases.get(), device.stream(), result.reference), "the reference");
    result.levels = device.allocate(cuda::model_bytes(model_));
    if (model_.extremes().is_model) {
      sluice::cuda::check(cuda::upload_model(model_, result.levels.get(), device.stream(), result.model), "the model");
    } else {
      result.model.k = model_.view().k;  // every row ends as not_finite
    }
    return result;
  }

  // The rows that are fine and on a contig (of the region), longest first, so that no long one begins when the others are done; and the contig of
  // each.
  std::vector<std::uint32_t> rows_to_align(const sluice::cuda::DeviceCall& device, const Batch& in, const std::vector<std::int64_t>& events,
                                           std::vector<std::int32_t>& contigs, Output& out) const {
    const auto names = device.text(in, "contig");
    const std::vector<std::int64_t> offsets = device.download(names.offsets, static_cast<std::size_t>(names.rows) + 1);
    const std::vector<char> bytes = device.download(names.bytes, static_cast<std::size_t>(offsets.back()));
    std::vector<std::uint32_t> order;
    contigs.assign(offsets.size() - 1, 0);
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      if (!in.ok(static_cast<std::int64_t>(row))) continue;
      const auto contig = contigs_.find(std::string_view(bytes.data() + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])));
      if (contig == contigs_.end()) {
        out.fail(static_cast<std::int64_t>(row), Reason::contig_not_in_reference);
        continue;
      }
      if (!is_in_region(contig->first)) continue;
      contigs[row] = contig->second.index;
      order.push_back(static_cast<std::uint32_t>(row));
    }
    std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t row) { return events[row + 1] - events[row]; });
    return order;
  }

  static cuda::Rows columns_of(const sluice::cuda::DeviceCall& device, const Batch& in, const std::int32_t* contig) {
    const auto cigar = device.list<std::uint32_t>(in, "cigar");
    const auto events = device.list<float>(in, "event_mean");
    const auto map = device.list<std::int32_t>(in, "first_event");
    return {.count = static_cast<std::uint32_t>(in.rows()),
            .contig = contig,
            .ref_start = device.column<std::int64_t>(in, "ref_start"),
            .ref_end = device.column<std::int64_t>(in, "ref_end"),
            .is_reverse = device.column<std::uint8_t>(in, "is_reverse"),
            .cigar_offsets = cigar.offsets,
            .cigar = cigar.values,
            .cigar_operations = cigar.count,
            .bases_offsets = device.text(in, "bases").offsets,
            .event_offsets = events.offsets,
            .event_mean = events.values,
            .map_offsets = map.offsets,
            .first_event = map.values,
            .scale = device.column<float>(in, "scale"),
            .shift = device.column<float>(in, "shift"),
            .var = device.column<float>(in, "var"),
            .log_var = device.column<float>(in, "log_var"),
            .events_per_base = device.column<double>(in, "events_per_base")};
  }

  void align_rows(const Call& call, const sluice::cuda::DeviceCall& device, const cuda::Rows& columns, const std::vector<std::uint32_t>& order,
                  const std::vector<std::uint32_t>& chunk_begin, const cuda::Plan& plan, const cuda::Paths& paths) {
    reference_.read_all(call);  // before put_on(), which has a lock
    const OnDevice& kept = on_device_.get(device.ordinal(), [&] { return put_on(device); });
    const auto count = static_cast<std::uint32_t>(order.size());
    const sluice::cuda::Memory on_device = device.upload(order), chunks = device.upload(chunk_begin),
                               workspace = device.allocate(cuda::workspace_bytes(columns, count, plan));
    sluice::cuda::check(cuda::align_rows(columns, on_device.as<std::uint32_t>(), count, chunks.as<std::uint32_t>(), kept.reference, kept.model,
                                         settings_, plan, workspace.get(), paths, device.stream()),
                        "align_rows");
  }

  void give(const Call& call, const sluice::cuda::DeviceCall& device, const cuda::Rows& columns, const cuda::Paths& paths, Output& out) const {
    std::vector<std::int64_t> ends{0};
    for (const std::int64_t count : device.download(paths.count, columns.count)) ends.push_back(ends.back() + count);
    const auto aligned = static_cast<std::size_t>(ends.back());
    const sluice::cuda::Memory offsets = device.upload(ends), events = device.allocate_array<std::int32_t>(aligned),
                               positions = device.allocate_array<std::int32_t>(aligned), states = device.allocate_array<std::uint8_t>(aligned);
    sluice::cuda::check(
        cuda::gather_paths(columns, paths, offsets.as<std::int64_t>(),
                           {events.as<std::int32_t>(), positions.as<std::int32_t>(), states.as<std::uint8_t>(), nullptr, nullptr}, device.stream()),
        "gather_paths");
    call.count("events_aligned", static_cast<double>(aligned));
    device.add_list<std::int32_t>(out, "path_event", offsets, events, ends.back());
    device.add_list<std::int32_t>(out, "path_position", offsets, positions, ends.back());
    device.add_list<std::uint8_t>(out, "path_state", offsets, states, ends.back());
  }

  sluice::cuda::PerDevice<OnDevice> on_device_;
#endif

  CheckedModel model_;
  ReferenceText reference_;
  std::unordered_map<std::string_view, Contig> contigs_;
  std::string region_contig_;
  Settings settings_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::event_alignment

SLUICE_PLUGIN("event_alignment", "0.1.0", "MIT", sluice::event_alignment::EventAlignment);
