// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/kmer_model.hpp>
#include <sluice/region.hpp>
#include <sluice/stage.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event_alignment/event_alignment.hpp"

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
    stalled
  };

  static void describe(Describe<EventAlignment>& d) {
    d.id("event_alignment").summary("aligns the events of a read to the k-mers of the reference (eventalign)").map("read").work_unit("event");
    d.doc(
        "nanopolish eventalign in the arithmetic and order of f5c 1.6: the best path of the profile hidden Markov model over events (Simpson et al. "
        "2017), in overlapping segments of 101 bases of the reference, of which the first 50 events are kept. Where f5c has a flaw (hard-clipped "
        "records, fewer than one event per base) the default does the right thing; compat = \"f5c\" keeps it.");
    d.uses("reference", "contig", "the reference that the reads are aligned to").uses("model", "kmer", "the nucleotide k-mer model of the pore");
    d.needs("contig", "utf8", "reference name")
        .needs("ref_start", "i64", "0-based")
        .needs("ref_end", "i64", "exclusive")
        .needs("is_reverse", "u8", "1: aligned to the reverse strand")
        .needs("cigar", "list<u32>", "BAM encoding");
    d.needs("bases", "utf8", "the whole read")
        .needs("event_mean", "list<f32>", "pA")
        .needs("first_event", "list<i32>", "per k-mer, -1: none")
        .needs("events_per_base", "f64", "aligned events per k-mer");
    d.needs("shift", "f32", "pA")
        .needs("scale", "f32", "pA per model unit")
        .needs("var", "f32", "factor on level_stdv")
        .needs("log_var", "f32", "natural logarithm of var");
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
  }

  static void check_parameters(const Parameters& p) {
    if (!p.region.empty()) parse_region(p.region);
  }

  EventAlignment(const Setup& setup, const Parameters& p) : model_(kmer_model_view(setup.resource("model"))) {
    if (model_.view().alphabet != Alphabet::nucleotide)
      throw Failure::usage("the model is a methylation model", "give event_alignment the nucleotide model");
    const Batch reference = setup.resource("reference");
    const auto names = reference.text("name"), bases = reference.text("bases");
    for (std::int64_t i = 0; i < reference.rows(); ++i) contigs_.emplace(names[i], bases[i]);
    if (!p.region.empty()) {
      const Region region = parse_region(p.region);
      if (!contigs_.contains(region.contig)) throw Failure::usage("the reference has no contig '" + region.contig + "' (region)");
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
      auto workspace = workspaces_.take();
      for (std::size_t row = begin; row < end; ++row) {
        if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the event alignment was cancelled");
        const auto r = static_cast<std::int64_t>(row);
        if (in.ok(r)) align(in, row, *workspace, paths[row], out);
        if (workspace->bytes() > kept_workspace_bytes) workspace->release();
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

 private:
  void align(const Batch& in, std::size_t row, Workspace& workspace, EventPath& path, Output& out) const {
    const auto r = static_cast<std::int64_t>(row);
    const auto contig = contigs_.find(in.text("contig")[r]);
    if (contig == contigs_.end()) return out.fail(r, Reason::contig_not_in_reference);
    const std::int64_t start = in.column<std::int64_t>("ref_start")[row], end = in.column<std::int64_t>("ref_end")[row];
    if (start < 0 || end < start || end > static_cast<std::int64_t>(contig->second.size())) return out.fail(r, Reason::outside_contig);
    if (!region_contig_.empty() && contig->first != region_contig_) return;
    const Record record{
        contig->second,
        start,
        in.list<std::uint32_t>("cigar")[r],
        in.text("bases")[r].size(),
        in.column<std::uint8_t>("is_reverse")[row] != 0 ? Strand::reverse : Strand::forward,
        in.list<float>("event_mean")[r],
        in.list<std::int32_t>("first_event")[r],
        {in.column<float>("scale")[row], in.column<float>("shift")[row], in.column<float>("var")[row], in.column<float>("log_var")[row]},
        in.column<double>("events_per_base")[row]};
    const RecordStatus status = align_events(record, model_, settings_, segment_path, workspace, path);
    if (status != RecordStatus::ok) out.fail(r, static_cast<std::uint32_t>(status));  // Reason has one more in front, RecordStatus ok
  }

  CheckedModel model_;
  std::unordered_map<std::string_view, std::string_view> contigs_;
  std::string region_contig_;
  Settings settings_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace
}  // namespace sluice::event_alignment

SLUICE_PLUGIN("event_alignment", "0.1.0", "MIT", sluice::event_alignment::EventAlignment);
