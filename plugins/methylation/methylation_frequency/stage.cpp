// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <sluice/kmer_model.hpp>
#include <sluice/motif.hpp>
#include <sluice/reference_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/site_calls.hpp>
#include <sluice/stage.hpp>
#include <sluice/work_sharing.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "methylation_frequency/frequency_shards.hpp"
#include "methylation_frequency/merge_stage.hpp"
#include "methylation_frequency/site_rows.hpp"

namespace sluice::methylation_frequency {
namespace {

// Reads to sites: sums the calls of all reads per CpG group, then emits the sites in order.
class MethylationFrequency {
 public:
  enum class Reason : std::uint32_t { invalid_site, not_a_number };

  struct Parameters {
    double call_threshold = kDefaultCallThreshold;
    bool split_groups = false;
    std::string motif = "cpg";
  };
  static void describe(Describe<MethylationFrequency>& d) {
    d.id("methylation_frequency").summary("methylation frequencies per site, over all reads");
    d.doc(
        "Counts methylated and unmethylated calls per group of CpGs, or of another motif's sites, as f5c 1.6 meth-freq does: a call counts when its "
        "log-likelihood ratio, rounded to "
        "two decimals as "
        "the table prints it, is at least call_threshold away from 0. Strands are merged; the forward strand's counts are given beside. Sites come "
        "sorted by contig (byte "
        "order), start and end, after the last read.");
    d.regroup("read", "site").work_unit("row").sums();
    d.needs("read_id", "utf8", "name of the read").needs("contig", "utf8", "name of the reference sequence");
    d.needs("is_reverse", "u8", "1 if the read aligned to the reverse strand");
    needs_site_calls(d);
    d.needs("site_sequences", "utf8", "the reference around each group, each followed by a newline; without them the resources are needed",
            Needed::optional);
    d.gives("contig", "utf8", "name of the reference sequence")
        .gives("start", "i64", "first base of the first site, 0-based")
        .gives("end", "i64", "first base of the last site");
    d.gives("motifs", "i32", "sites in the group");
    d.gives("called_sites", "i64", "called reads times sites, both strands").gives("called_sites_methylated", "i64", "of these, methylated");
    d.gives("called_forward", "i64", "called_sites of forward reads").gives("methylated_forward", "i64", "called_sites_methylated of forward reads");
    d.gives("sequence", "utf8", "the reference around the group as the first read showed it; split-group for a site that was split off");
    d.uses("reference", "contig", "the sequences that the reads are aligned to", Needed::optional);
    d.uses("model", "kmer", "the methylation model; its k sets how much of the reference the sequence shows", Needed::optional);
    d.option("call_threshold", &Parameters::call_threshold, "least distance of the log-likelihood ratio from 0 for a call to count").range(0, 1e6);
    d.option("split_groups", &Parameters::split_groups, "count each site of a group by itself");
    d.option("motif", &Parameters::motif, "what was called: cpg, gpc, dam, dcm, or LETTERS:POSITION:CODE");
    d.reason("invalid_site", "a call without a possible place on the reference");
    d.reason("not_a_number", "a call whose log-likelihood ratio is not a number");
  }

  static void check_parameters(const Parameters& p) { parse_motif(p.motif); }

  MethylationFrequency(const Setup& setup, const Parameters& parameters)
      : has_sequences_(setup.available("site_sequences")),
        motif_length_(parse_motif(parameters.motif).forward.length),
        sums_(parameters.call_threshold, parameters.split_groups ? Groups::split : Groups::keep, parse_motif(parameters.motif)) {
    resume(setup, [this](StateReader& from) {
      const auto calls = from.value<std::uint64_t>();
      sums_.restore(from, calls_seen_);
      calls_seen_ += calls;
    });
    if (has_sequences_) return;
    if (!setup.has_resource("reference") || !setup.has_resource("model")) {
      // States that are summed have the sequences, and no rows come behind them.
      if (setup.saved().empty()) fail_without_sequences();
      return;
    }
    k_ = kmer_size(setup.resource("model"));
    const ReferenceText& reference = reference_.emplace(setup.resource("reference"));
    for (std::int64_t row = 0; row < reference.contigs(); ++row)
      contigs_.emplace(reference.name(row), Contig{reference.name(row), reference.bases(row)});
  }

  void process(const sluice::Call& call, const Batch& in, Output&) {
    const TextView read_ids = in.text("read_id");
    const TextView contig_names = in.text("contig");
    const auto is_reverse = in.column<std::uint8_t>("is_reverse");
    const SiteCalls calls(in);
    double counted = 0;
    double below_threshold = 0;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const std::size_t groups = calls.groups(row, read_ids[row]);
      if (groups == 0) continue;
      const Contig contig = has_sequences_ ? Contig{contig_names[row], {}} : contig_of(contig_names[row]);
      std::string_view lines = has_sequences_ ? in.text("site_sequences")[row] : std::string_view();
      if (has_sequences_ && static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')) != groups)
        throw Failure::input("read '" + std::string(read_ids[row]) + "': its groups and their sequences differ in number");
      for (std::size_t i = 0; i < groups; ++i) {
        const AddStatus status =
            sums_.add({.contig = contig.name,
                       .start = calls.start[row][i],
                       .end = calls.end[row][i],
                       .motifs = calls.motifs[row][i],
                       .log_lik_ratio = calls.log_lik_ratio(row, i),
                       .strand = is_reverse[static_cast<std::size_t>(row)] != 0 ? Strand::reverse : Strand::forward,
                       .sequence = has_sequences_ ? next_line(lines)
                                                  : reference_->read(group_sequence(contig.bases, calls.start[row][i], calls.end[row][i]), call),
                       .order = calls_seen_++});
        if (status == AddStatus::counted) ++counted;
        if (status == AddStatus::below_threshold) ++below_threshold;
        if (status == AddStatus::invalid) call.account(Reason::invalid_site, 1, std::string(read_ids[row]));
        if (status == AddStatus::not_a_number) call.account(Reason::not_a_number, 1, std::string(read_ids[row]));
      }
    }
    // Text of the batch is gone after this call; the reference's stays.
    if (has_sequences_ || sums_.waiting() >= FrequencyShards::worth_counting) sums_.count(on_threads_of(call));
    call.count("calls counted", counted);
    call.count("calls below the threshold", below_threshold);
    call.keeps(sums_.memory_bytes());
  }

  void finish(const sluice::Call& call, Output& out) {
    sums_.count(on_threads_of(call));
    const std::vector<FrequencyShards::Place> order = sums_.sorted(on_threads_of(call));
    emit_sites(
        order.size(), [&](std::size_t i) { return sums_.site(order[i]); }, out);
  }
  void save(const sluice::Call& call, StateWriter& to) {
    sums_.count(on_threads_of(call));
    to.value(calls_seen_);
    sums_.save(to);
  }

 private:
  // Owned by the reference, or by a batch.
  struct Contig {
    std::string_view name, bases;
  };
  FrequencyShards::Parallel on_threads_of(const sluice::Call& call) {
    return [this, &call](std::size_t count, const auto& body) {
      sharing_.begin();
      const auto each = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) body(i);
      };
      sharing_.share(count, each, [&](const auto& some) { call.parallel_for(count, 1, some); });
    };
  }
  [[noreturn]] static void fail_without_sequences() {
    throw Failure::usage("nothing tells the sequences of the groups", "give the resources 'reference' and 'model', or calls with 'site_sequences'");
  }
  const Contig& contig_of(std::string_view contig) const {
    if (k_ == 0) fail_without_sequences();
    const auto found = contigs_.find(contig);
    if (found == contigs_.end())
      throw Failure::input("contig '" + std::string(contig) + "' is not in the reference", "give the reference that the reads were aligned to");
    return found->second;
  }
  static std::string_view next_line(std::string_view& lines) {
    const std::size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 1);
    return line;
  }
  // k - 1 bases before the first site to k - 1 bases behind the first base of the last one, or to its end, as the last column of f5c's table.
  std::string_view group_sequence(std::string_view bases, std::int64_t first, std::int64_t last) const {
    const auto length = static_cast<std::int64_t>(bases.size());
    if (first < 0 || last < first || last >= length) return {};
    const std::int64_t begin = std::max<std::int64_t>(first - (k_ - 1), 0);
    const std::int64_t end = std::min(last + std::max(k_, motif_length_), length);
    return bases.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  bool has_sequences_;
  std::int64_t k_ = 0, motif_length_;
  std::optional<ReferenceText> reference_;
  std::unordered_map<std::string_view, Contig> contigs_;
  FrequencyShards sums_;
  WorkSharing sharing_;
  std::uint64_t calls_seen_ = 0;
};

}  // namespace
}  // namespace sluice::methylation_frequency

SLUICE_PLUGIN("methylation_frequency", "0.1.0", "MIT", sluice::methylation_frequency::MethylationFrequency,
              sluice::methylation_frequency::FrequencyMerge);
