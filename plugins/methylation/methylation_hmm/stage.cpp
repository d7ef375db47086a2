// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <limits>
#include <sluice/aligned_events.hpp>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/region.hpp>
#include <sluice/stage.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "methylation_hmm/methylation.hpp"

#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>

#include "methylation_hmm/cuda.hpp"
#include "methylation_hmm/profile_hmm.hpp"
#endif

namespace sluice::methylation_hmm {
namespace {

// Problems scored in one call of the kernel: from about 1,000 on few vector lanes idle, and a batch still spreads over the threads.
constexpr std::size_t problems_per_call = 2048;

class MethylationHmm {
 public:
  struct Parameters {
    std::string motif = "cpg";
    std::string region;
    std::string compat = "none";
  };
  enum class Reason : std::uint32_t {
    contig_not_in_reference,
    outside_contig,
    reference_skip,
    bad_cigar,
    bad_base_to_event_map,
    no_aligned_events,
    degenerate
  };

  static void describe(Describe<MethylationHmm>& d) {
    d.id("methylation_hmm")
        .summary("log-likelihood of modified and unmodified bases for every group of CpGs, or sites of another motif, under a read")
        .map("read")
        .work_unit("base");
    d.doc(
        "The profile hidden Markov model of nanopolish (Simpson et al. 2017) in the arithmetic of f5c 1.6: CpGs at most 10 bases apart form a group, "
        "and the events of the group and 10 bases on either "
        "side are scored under the reference as it is and with every CG methylated. Where f5c has a flaw (hard-clipped records, fewer than one event "
        "per base) the default does the right thing; compat = \"f5c\" keeps it.\n\n"
        "`motif` calls another modification, of which the model's M has to be the base: gpc, dam and dcm as nanopolish has them, or "
        "LETTERS:POSITION:CODE. A read's sites are where its own strand of the reference has the motif; their place is that of their first base on "
        "the forward strand.");
    d.uses("reference", "contig", "the reference that the reads are aligned to")
        .uses("model", "kmer", "the methylation k-mer model of the pore; its M is the modified base of the motif");
    needs_aligned_events(d);
    d.gives("site_start", "list<i64>", "first base of the first site of each group on the reference, 0-based: for CpG its C")
        .gives("site_end", "list<i64>", "first base of the last site of each group");
    d.gives("site_motifs", "list<i32>", "sites in each group");
    d.gives("log_lik_methylated", "list<f32>", "natural logarithm").gives("log_lik_unmethylated", "list<f32>", "natural logarithm");
    d.option("motif", &Parameters::motif, "cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE, for example GATC:1:a");
    d.option("region", &Parameters::region, "call sites of this region only: contig or contig:first-last, from 1, both inclusive");
    d.option("compat", &Parameters::compat, "keep the flaws of another program").choices({"none", "f5c"});
    d.reason("contig_not_in_reference", "the reference has no contig of this name").reason("outside_contig", "the alignment ends behind its contig");
    d.reason("reference_skip", "the alignment is spliced (CIGAR N), which methylation calling does not support")
        .reason("bad_cigar", "the CIGAR has an operation that BAM does not define");
    d.reason("bad_base_to_event_map", "internal").reason("no_aligned_events", "no aligned base is k bases away from both ends of the read");
    d.reason("degenerate", "all aligned bases have the same event");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&MethylationHmm::process_cuda>(
        "cuda", "groups, their events and both hypotheses of all reads at once; the reference stays on the device");
#endif
  }

  static void check_parameters(const Parameters& p) {
    RegionText{p.region};
    parse_motif(p.motif);
  }

  MethylationHmm(const Setup& setup, const Parameters& p)
      : model_(kmer_model_view(setup.resource("model"))), motif_(parse_motif(p.motif)), reference_(setup.resource("reference")) {
    if (model_.alphabet != Alphabet::methylation)
      throw Failure::usage("the model has no methylated bases (M)", "give methylation_hmm the methylation model: --methylation-model FILE");
    require_model_of(motif_, setup.resource("model").attribute("motif"));
    if (!tells_modified_bases(model_, motif_))
      throw Failure::input("the methylation model tells nothing: in every k-mer M has the level of the base that it modifies",
                           "train it on reads whose modified bases are M, or give another one: --methylation-model FILE");
    for (std::int64_t i = 0; i < reference_.contigs(); ++i)
      contigs_.emplace(reference_.name(i), Contig{reference_.bases(i), static_cast<std::int32_t>(i)});
    if (!p.region.empty())
      region_ = resolve_region(
          p.region,
          [this](std::string_view name) {
            const auto found = contigs_.find(name);
            return found == contigs_.end() ? std::nullopt : std::optional(static_cast<std::int64_t>(found->second.bases.size()));
          },
          "the reference");
    compat_ = p.compat == "f5c";
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<RowGroups> found(rows);
    std::vector<ReadSignal> reads(rows);
    const auto events = in.list<float>("event_mean");
    const auto shift = in.column<float>("shift"), scale = in.column<float>("scale"), var = in.column<float>("var"),
               log_var = in.column<float>("log_var");
    const auto events_per_base = in.column<double>("events_per_base");
    const auto is_reverse = in.column<std::uint8_t>("is_reverse");
    call.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
      auto workspace = locate_.take();
      for (std::size_t row = begin; row < end; ++row) {
        const auto r = static_cast<std::int64_t>(row);
        if (!in.ok(r)) continue;
        const Strand strand = is_reverse[row] != 0 ? Strand::reverse : Strand::forward;
        reads[row] = {events[r], scale[row], shift[row], var[row], log_var[row], events_per_base[row], strand};
        find_groups(call, in, row, strand, *workspace, found[row], out);
      }
    });

    std::vector<GroupProblem> problems;
    for (std::size_t row = 0; row < rows; ++row)
      for (const Called& called : found[row].called)
        problems.push_back({static_cast<std::uint32_t>(row), called.events.first_event, called.events.last_event,
                            calling_sequence(found[row].segment, called.group)});
    std::vector<GroupScore> scores(problems.size());
    call.parallel_for(problems.size(), problems_per_call, [&](std::size_t begin, std::size_t end) {
      auto workspace = scoring_.take();
      const std::size_t count = end - begin;
      score_groups(reads, std::span(problems).subspan(begin, count), model_, motif_, compat_ ? EventsPerBase::compat : EventsPerBase::raised,
                   *workspace, std::span(scores).subspan(begin, count));
    });
    give(call, in, out, found, scores);
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    using sluice::cuda::check, sluice::cuda::Memory;
    const sluice::cuda::DeviceCall device(call);
    const cudaStream_t stream = device.stream();
    reference_.read_all(call);  // before put_on(), which has a lock
    const OnDevice& kept = on_device_.get(device.ordinal(), [&] { return put_on(device); });
    const auto count = static_cast<std::size_t>(in.rows());
    const auto rows = static_cast<std::uint32_t>(count);
    const auto events = device.list<float>(in, "event_mean");
    const auto map = device.list<std::int32_t>(in, "first_event");
    const auto cigar = device.list<std::uint32_t>(in, "cigar");
    const Memory row_status = device.row_status(in), contig = device.upload(contig_indices(device, in));
    const auto* const is_reverse = device.column<std::uint8_t>(in, "is_reverse");
    const cuda::Alignments alignments{rows,
                                      row_status.as<std::uint16_t>(),
                                      contig.as<std::int32_t>(),
                                      device.column<std::int64_t>(in, "ref_start"),
                                      device.column<std::int64_t>(in, "ref_end"),
                                      is_reverse,
                                      cigar.offsets,
                                      cigar.values,
                                      device.text(in, "bases").offsets,
                                      events.offsets,
                                      map.offsets,
                                      map.values};

    const Memory row_results = device.allocate_array<cuda::RowStatus>(count), group_offsets = device.allocate_array<std::int64_t>(count + 1),
                 row_totals = device.allocate_array<cuda::RowTotals>(1);
    const Memory row_workspace = device.allocate(cuda::aligned_rows_workspace_bytes(rows, cigar.count));
    const cuda::AlignedRows aligned{row_results.as<cuda::RowStatus>(), group_offsets.as<std::int64_t>(), row_totals.as<cuda::RowTotals>(),
                                    row_workspace.get()};
    check(cuda::align_rows(alignments, cigar.count, kept.reference, model_.k, compat_ ? HardClips::compat : HardClips::count, aligned, stream),
          "align_rows");
    const cuda::RowTotals totals = device.download(aligned.totals, 1).front();
    if (totals.groups > std::numeric_limits<std::int32_t>::max())
      throw Failure(SLUICE_ERROR_DEVICE_MEMORY, "more groups of sites than one call takes");
    const auto group_count = static_cast<std::uint32_t>(totals.groups);
    const auto for_groups = [&]<class T>(T*& pointer) {
      const Memory memory = device.allocate_array<T>(group_count);
      pointer = memory.as<T>();
      return memory;
    };
    cuda::Groups groups;
    const Memory group_memory[] = {for_groups(groups.read),           for_groups(groups.first_event),     for_groups(groups.last_event),
                                   for_groups(groups.sequence_begin), for_groups(groups.sequence_length), for_groups(groups.site_span),
                                   for_groups(groups.site_count)};
    check(cuda::locate_groups(alignments, cigar.count, kept.reference, model_.k, site_region(), aligned, group_count, groups, stream),
          "locate_groups");

    cuda::Scores scores;
    const Memory score_memory[] = {for_groups(scores.log_lik_methylated), for_groups(scores.log_lik_unmethylated), for_groups(scores.status)};
    cuda::Tables tables = kept.tables;
    Memory long_clipping;
    if (totals.longest_read_events > tables.clipping_count) {
      std::vector<float> clipping;
      extend_clipping(clipping, static_cast<std::size_t>(totals.longest_read_events));
      long_clipping = device.upload(clipping);
      tables.clipping = long_clipping.as<float>();
      tables.clipping_count = totals.longest_read_events;
    }
    const cuda::Reads reads{rows,
                            events.offsets,
                            events.values,
                            device.column<float>(in, "scale"),
                            device.column<float>(in, "shift"),
                            device.column<float>(in, "var"),
                            device.column<float>(in, "log_var"),
                            device.column<double>(in, "events_per_base"),
                            is_reverse};
    const cuda::Problems problems{
        group_count, groups.read, groups.first_event, groups.last_event, groups.sequence_begin, groups.sequence_length, kept.reference.bases};
    const Memory workspace = device.allocate(cuda::score_workspace_bytes(rows, group_count));
    check(cuda::score_groups(reads, problems, tables, compat_ ? EventsPerBase::compat : EventsPerBase::raised, scores, workspace.get(), stream),
          "score_groups");

    const cuda::Unscored unscored = compat_ ? cuda::Unscored::kept : cuda::Unscored::left_out;
    const Memory offsets = device.allocate_array<std::int64_t>(count + 1), called_totals = device.allocate_array<cuda::CalledTotals>(1);
    check(
        cuda::count_called(alignments, aligned, groups, scores, unscored, offsets.as<std::int64_t>(), called_totals.as<cuda::CalledTotals>(), stream),
        "count_called");
    const cuda::CalledTotals called = device.download(called_totals.as<cuda::CalledTotals>(), 1).front();
    const auto calls = static_cast<std::size_t>(called.called);
    const Memory starts = device.allocate_array<std::int64_t>(calls), ends = device.allocate_array<std::int64_t>(calls),
                 motifs = device.allocate_array<std::int32_t>(calls);
    const Memory methylated = device.allocate_array<float>(calls), unmethylated = device.allocate_array<float>(calls);
    check(cuda::gather_called(
              alignments, kept.reference, aligned, groups, scores, unscored, offsets.as<std::int64_t>(),
              {starts.as<std::int64_t>(), ends.as<std::int64_t>(), motifs.as<std::int32_t>(), methylated.as<float>(), unmethylated.as<float>()},
              stream),
          "gather_called");
    const std::vector<cuda::RowStatus> statuses = device.download(aligned.status, count);
    for (std::size_t row = 0; row < count; ++row)
      if (statuses[row] != cuda::RowStatus::ok && statuses[row] != cuda::RowStatus::skipped)
        out.fail(static_cast<std::int64_t>(row), static_cast<std::uint32_t>(statuses[row]) - 1);  // both in the order of Reason
    if (called.not_scored > 0) call.count("groups_not_scored", static_cast<double>(called.not_scored));
    call.count("groups_called", static_cast<double>(called.called));
    device.add_list<std::int64_t>(out, "site_start", offsets, starts, called.called);
    device.add_list<std::int64_t>(out, "site_end", offsets, ends, called.called);
    device.add_list<std::int32_t>(out, "site_motifs", offsets, motifs, called.called);
    device.add_list<float>(out, "log_lik_methylated", offsets, methylated, called.called);
    device.add_list<float>(out, "log_lik_unmethylated", offsets, unmethylated, called.called);
  }
#endif

 private:
  struct Contig {
    std::string_view bases;
    std::int32_t index;  // row of the reference
  };
  struct Called {
    SiteGroup group;
    GroupEvents events;
  };
  struct RowGroups {
    std::string_view segment;
    std::vector<Called> called;
  };
  struct LocateScratch {
    LocateWorkspace workspace;
    std::vector<SiteGroup> groups;
    std::vector<GroupEvents> events;
  };

  void find_groups(const Call& call, const Batch& in, std::size_t row, Strand strand, LocateScratch& scratch, RowGroups& found, Output& out) const {
    const auto r = static_cast<std::int64_t>(row);
    const auto contig = contigs_.find(in.text("contig")[r]);
    if (contig == contigs_.end()) return out.fail(r, Reason::contig_not_in_reference);
    const std::int64_t start = in.column<std::int64_t>("ref_start")[row], end = in.column<std::int64_t>("ref_end")[row];
    if (start < 0 || end < start || end > static_cast<std::int64_t>(contig->second.bases.size())) return out.fail(r, Reason::outside_contig);
    // The end is inclusive, as in f5c: one base more than the alignment covers, so that a CpG whose G lies behind the alignment is seen.
    found.segment = reference_.read(contig->second.bases.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start) + 1), call);
    find_site_groups(found.segment, motif_.sites(strand), scratch.groups);
    scratch.events.resize(scratch.groups.size());
    const RecordAlignment alignment{in.list<std::uint32_t>("cigar")[r], in.text("bases")[r].size(), strand};
    const RecordStatus status =
        locate_group_events(alignment, in.list<std::int32_t>("first_event")[r], model_.k, compat_ ? HardClips::compat : HardClips::count,
                            scratch.groups, scratch.workspace, scratch.events);
    if (status != RecordStatus::ok) return out.fail(r, static_cast<std::uint32_t>(Reason::reference_skip) + static_cast<std::uint32_t>(status) - 1);
    for (std::size_t g = 0; g < scratch.groups.size(); ++g) {
      if (scratch.events[g].status != GroupStatus::ok) continue;
      const std::int64_t first = start + scratch.groups[g].first_site, last = start + scratch.groups[g].last_site;
      if (!region_.contig.empty() && (contig->first != region_.contig || first < region_.start || last >= region_.end)) continue;
      found.called.push_back({scratch.groups[g], scratch.events[g]});
    }
  }

  void give(const Call& call, const Batch& in, Output& out, std::vector<RowGroups>& found, const std::vector<GroupScore>& scores) const {
    // A group that could not be scored (a level that is not finite, say) is no call; f5c prints nonsense there, and so does compat.
    std::uint64_t unscored = 0;
    std::vector<std::vector<std::size_t>> kept(found.size());
    std::size_t next = 0;
    for (std::size_t row = 0; row < found.size(); ++row)
      for (std::size_t g = 0; g < found[row].called.size(); ++g, ++next) {
        if (compat_ || scores[next].status == ScoreStatus::ok)
          kept[row].push_back(next);
        else
          ++unscored;
      }
    if (unscored > 0) call.count("groups_not_scored", static_cast<double>(unscored));
    const Buffer offsets = out.offsets([&](std::int64_t row) { return kept[static_cast<std::size_t>(row)].size(); });
    const auto starts = out.list<std::int64_t>("site_start", offsets), ends = out.list<std::int64_t>("site_end", offsets);
    const auto motifs = out.list<std::int32_t>("site_motifs", offsets);
    const auto methylated = out.list<float>("log_lik_methylated", offsets), unmethylated = out.list<float>("log_lik_unmethylated", offsets);
    const auto ref_start = in.column<std::int64_t>("ref_start");
    std::size_t at = 0, first_of_row = 0;
    for (std::size_t row = 0; row < found.size(); ++row) {
      for (const std::size_t index : kept[row]) {
        const SiteGroup& group = found[row].called[index - first_of_row].group;
        starts[at] = ref_start[row] + group.first_site;
        ends[at] = ref_start[row] + group.last_site;
        motifs[at] = group.site_count;
        methylated[at] = scores[index].methylated;
        unmethylated[at] = scores[index].unmethylated;
        ++at;
      }
      first_of_row += found[row].called.size();
    }
    call.count("groups_called", static_cast<double>(at));
  }

#ifdef SLUICE_WITH_CUDA
  // What stays on a device for the whole run.
  struct OnDevice {
    sluice::cuda::Memory bases, groups[2], table_memory;
    cuda::Reference reference;
    cuda::Tables tables;
  };
  // Entries of the clipping table: 4 MB, and enough for reads of about 500 kb. Batches with longer ones bring a table of their own.
  static constexpr std::int64_t kept_clipping = std::int64_t{1} << 20;

  OnDevice put_on(const sluice::cuda::DeviceCall& device) const {
    using sluice::cuda::check;
    std::vector<std::string_view> contigs(contigs_.size());
    for (const auto& [name, contig] : contigs_) {
      if (static_cast<std::size_t>(contig.index) >= contigs.size()) contigs.resize(static_cast<std::size_t>(contig.index) + 1);
      contigs[static_cast<std::size_t>(contig.index)] = contig.bases;
    }
    OnDevice result;
    result.bases = device.allocate(cuda::reference_bytes(contigs));
    check(cuda::upload_reference(contigs, motif_, result.bases.get(), device.stream(), result.reference), "the reference");
    const sluice::cuda::Memory workspace = device.allocate(cuda::reference_group_workspace_bytes(result.reference));
    for (const Strand strand : {Strand::forward, Strand::reverse}) {
      cuda::GroupList& list = result.reference.groups_of(strand);
      if (strand == Strand::reverse && motif_.is_palindrome()) {
        list = result.reference.groups_of(Strand::forward);
        break;
      }
      const std::int64_t* total = nullptr;
      check(cuda::count_reference_groups(result.reference, strand, workspace.get(), total, device.stream()), "count_reference_groups");
      list.count = device.download(total, 1).front();
      sluice::cuda::Memory& groups = result.groups[static_cast<std::size_t>(strand)];
      groups = device.allocate_array<std::int64_t>(static_cast<std::size_t>(list.count));
      check(cuda::list_reference_groups(result.reference, strand, workspace.get(), groups.as<std::int64_t>(), device.stream()),
            "list_reference_groups");
      list.begin = groups.as<std::int64_t>();
    }
    result.table_memory = device.allocate(cuda::tables_bytes(model_, kept_clipping));
    check(cuda::upload_tables(model_, motif_, kept_clipping, result.table_memory.get(), device.stream(), result.tables), "the tables");
    device.synchronize();  // other streams use them too
    return result;
  }

  // The contig of each row as a row of the reference; -1: not in it.
  std::vector<std::int32_t> contig_indices(const sluice::cuda::DeviceCall& device, const Batch& in) const {
    const auto names = device.text(in, "contig");
    const std::vector<std::int64_t> offsets = device.download(names.offsets, static_cast<std::size_t>(names.rows) + 1);
    const std::vector<char> bytes = device.download(names.bytes, static_cast<std::size_t>(offsets.back()));
    std::vector<std::int32_t> indices;
    indices.reserve(static_cast<std::size_t>(names.rows));
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      const auto contig = contigs_.find(std::string_view(bytes.data() + offsets[row], static_cast<std::size_t>(offsets[row + 1] - offsets[row])));
      indices.push_back(contig == contigs_.end() ? -1 : contig->second.index);
    }
    return indices;
  }

  cuda::SiteRegion site_region() const {
    if (region_.contig.empty()) return {};
    return {contigs_.find(region_.contig)->second.index, region_.start, region_.end};
  }

  sluice::cuda::PerDevice<OnDevice> on_device_;
#endif

  KmerModelView model_;
  Motif motif_;
  ReferenceText reference_;
  std::unordered_map<std::string_view, Contig> contigs_;
  Region region_;  // sites are called inside
  bool compat_ = false;
  Workspaces<LocateScratch> locate_;
  Workspaces<ScoreWorkspace> scoring_;
};

}  // namespace
}  // namespace sluice::methylation_hmm

SLUICE_PLUGIN("methylation_hmm", "0.1.0", "MIT", sluice::methylation_hmm::MethylationHmm);
