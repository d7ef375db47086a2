// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <sluice/file_joining.hpp>
#include <sluice/overlap/consensus_quality.hpp>
#include <sluice/overlap/contig_rows.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <sluice/stored_part.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "window_merging/contig_writer.hpp"
#include "window_merging/coverage_trimming.hpp"
#include "window_merging/edit_script.hpp"
#include "window_merging/window_changes.hpp"

namespace sluice::window_merging {
namespace {

constexpr Figure polished_share{0, FigureKind::share, "polished windows", "window",
                                "windows with a consensus, of all windows of the targets that were given"};
constexpr Figure substituted{1, FigureKind::total, "bases substituted", "base",
                             "bases of the targets that became others, by the fewest changes in each window"};
constexpr Figure inserted{2, FigureKind::total, "bases inserted", "base", "bases that the targets did not have"};
constexpr Figure deleted{3, FigureKind::total, "bases deleted", "base", "bases that only the targets had, badly covered ends of windows included"};
constexpr Figure by_window{4, FigureKind::histogram, "changes in a window", "base",
                           "bases substituted, inserted and deleted in each polished window"};
constexpr std::uint64_t most_changes = 199;  // of a class of their own

// What polishing changed, of some windows.
struct ChangedBases {
  std::uint64_t substituted = 0, inserted = 0, deleted = 0;
  std::uint64_t all() const { return substituted + inserted + deleted; }
};

ChangedBases changed_bases(std::string_view from, std::string_view to) {
  ChangedBases changed;
  for (const Change& change : find_changes(from, to)) {
    const std::uint64_t out = change.from_end - change.from_begin, in = change.to_end - change.to_begin;
    changed.substituted += std::min(out, in);
    changed.deleted += out - std::min(out, in);
    changed.inserted += in - std::min(out, in);
  }
  return changed;
}

class WindowMerging {
 public:
  enum class Reason : std::uint32_t { unpolished };

  struct Parameters {
    std::int64_t window_length = 500;
    std::string trim = "long_reads";
    bool include_unpolished = false;
  };
  static void describe(Describe<WindowMerging>& d) {
    d.id("window_merging").summary("joins the consensus of a target's windows to a polished contig").regroup("window", "contig").concatenates();
    d.doc(
        "The consensuses of a target's windows in order; windows that did not come, were not polished or failed keep the target's own bases. The "
        "ends "
        "of a polished window's consensus that less than half of its layers cover are cut off, as racon does for long reads (mean length above 1000 "
        "bases); where fewer than two bases would be left the window is kept whole and counted. Windows must come in the order of targets and "
        "places, as window_cutting gives them; of a part of the run the targets of the same part of the store are given.");
    d.work_unit("base");
    d.option("window_length", &Parameters::window_length, "length of a window, as in window_cutting").range(2, 1000000000).unit("bases");
    d.option("trim", &Parameters::trim, "cut off badly covered ends of windows: never, always, or if the reads are long")
        .choices({"long_reads", "always", "never"});
    d.option("include_unpolished", &Parameters::include_unpolished, "give targets without any polished window, too");
    d.needs("target_index", "i64", "row of the target in its store").needs("window_index", "i64", "ordinal of the window on its target");
    d.needs("target_overlaps", "i64", "overlaps on the target").needs("sequence_length", "list<i32>", "bases of backbone and layers");
    d.needs("consensus", "utf8", "consensus of the window").needs("consensus_coverage", "list<i32>", "per base: sequences with a letter there");
    d.needs("is_polished", "u8", "0: the backbone was kept");
    d.needs("consensus_support", "list<i32>", "per base: sequences with that letter there; for qualities", Needed::optional);
    d.gives("contig_name", "utf8", "name of the target").gives("contig_bases", "utf8", "the polished bases").row_length("contig_bases", "base");
    d.gives("windows", "i64", "windows of the target").gives("polished_windows", "i64", "of these, polished");
    d.gives("overlaps", "i64", "overlaps on the target");
    d.gives("contig_qualities", "utf8", "Phred + 33 of the polished bases; of others the target's own, or !", Needed::optional);
    d.uses("targets", "sequence", "the targets").uses("reads", "sequence", "whose mean length says whether they are long", Needed::optional);
    d.reason("unpolished", "a target without any polished window");
  }

  WindowMerging(const Setup& setup, const Parameters& p)
      : targets_(setup.resource("targets")),
        contigs_(targets_, overlap::ContigRows::Corrected::unwanted, qualities_of(setup)),
        has_support_(setup.available("consensus_support")),
        window_length_(p.window_length),
        trims_(trims_windows(setup, p.trim)),
        includes_unpolished_(p.include_unpolished),
        part_(setup, targets_),
        target_(part_.begin - 1) {
    resume(setup, [this](StateReader& from) {
      for (std::int64_t* number : {&target_, &next_window_, &polished_windows_, &overlaps_}) *number = from.value<std::int64_t>();
      if (target_ < part_.begin - 1 || target_ > part_.end) throw damaged_state();
      untrimmed_ = from.value<std::uint64_t>();
      failed_ = from.value<std::uint64_t>();
      contigs_.restore(from);
    });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const auto target_index = in.column<std::int64_t>("target_index");
    const auto window_index = in.column<std::int64_t>("window_index");
    const auto target_overlaps = in.column<std::int64_t>("target_overlaps");
    const auto sequence_length = in.list<std::int32_t>("sequence_length");
    const TextView consensus = in.text("consensus");
    const auto coverage = in.list<std::int32_t>("consensus_coverage");
    const auto is_polished = in.column<std::uint8_t>("is_polished");
    const auto support = [&](std::int64_t row) {
      return has_support_ ? in.list<std::int32_t>("consensus_support")[row] : std::span<const std::int32_t>();
    };
    count_changes(call, in);
    for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
      if (!in.ok(row)) {
        ++failed_;
        continue;
      }
      const auto r = static_cast<std::size_t>(row);
      const std::int64_t target = target_index[r];
      if (target >= 0 && target < targets_.size() && !part_.has(target))
        throw Failure::usage("window_merging: target '" + std::string(targets_.name(target)) + "' is of another part of '" + targets_.path() + "'",
                             "let overlap_reader or overlap_collection make the overlaps: their parts are those of this stage");
      if (target < 0 || target >= targets_.size() || target < target_ || window_index[r] < (target == target_ ? next_window_ : 0) ||
          window_index[r] >= windows_of(target))
        throw Failure::usage("window_merging: windows do not come in the order of their targets",
                             "use the windows of window_cutting, with its window_length");
      while (target_ < target) next_target(call, out);
      overlaps_ = target_overlaps[r];
      if (is_polished[r] == 0) continue;
      keep_backbone(window_index[r]);
      append_polished(consensus[row], coverage[row], support(row), static_cast<std::int64_t>(sequence_length[row].size()) - 1);
      next_window_ = window_index[r] + 1;
    }
  }

  void finish(const Call& call, Output& out) {
    while (target_ < part_.end && !call.cancelled()) next_target(call, out);
    contigs_.emit(out);
    ResultFigures figures;
    for (const Figure& figure : {polished_share, substituted, inserted, deleted, by_window}) figures.describe(figure);
    figures.give(call);
    if (untrimmed_ > 0) call.count("windows without half of the layers anywhere", static_cast<double>(untrimmed_));
    if (failed_ > 0) call.count("windows that failed and stay as they are", static_cast<double>(failed_));
  }
  void save(const Call&, StateWriter& to) const {
    for (const std::int64_t number : {target_, next_window_, polished_windows_, overlaps_}) to.value(number);
    to.value(untrimmed_);
    to.value(failed_);
    contigs_.save(to);
  }

 private:
  static overlap::ContigRows::Qualities qualities_of(const Setup& setup) {
    return setup.wanted("contig_qualities") ? overlap::ContigRows::Qualities::wanted : overlap::ContigRows::Qualities::unwanted;
  }
  std::int64_t windows_of(std::int64_t target) const { return (targets_.length(target) + window_length_ - 1) / window_length_; }

  // Windows up to `window` have the target's own bases.
  void keep_backbone(std::int64_t window) {
    const std::int64_t begin = std::min(next_window_ * window_length_, targets_.length(target_));
    const std::int64_t end = std::min(window * window_length_, targets_.length(target_));
    if (end > begin) contigs_.append_own(target_, begin, end);
  }

  KeptBases kept_of(std::string_view consensus, std::span<const std::int32_t> coverage, std::int64_t layers) const {
    if (trims_ && coverage.size() == consensus.size()) return trim_by_coverage(coverage, layers);
    return {0, consensus.size(), false};
  }

  // For the report.
  void count_changes(const Call& call, const Batch& in) const {
    const auto target_index = in.column<std::int64_t>("target_index"), window_index = in.column<std::int64_t>("window_index");
    const auto sequence_length = in.list<std::int32_t>("sequence_length"), coverage = in.list<std::int32_t>("consensus_coverage");
    const TextView consensus = in.text("consensus");
    const auto is_polished = in.column<std::uint8_t>("is_polished");
    std::vector<ChangedBases> changed(static_cast<std::size_t>(in.rows()));
    const auto is_counted = [&](std::size_t r) { return in.ok(static_cast<std::int64_t>(r)) && is_polished[r] != 0; };
    call.parallel_for(changed.size(), 16, [&](std::size_t begin, std::size_t end) {
      std::string bases;
      std::vector<char> scratch;
      for (std::size_t r = begin; r < end && !call.cancelled(); ++r) {
        const auto row = static_cast<std::int64_t>(r);
        if (!is_counted(r) || target_index[r] < 0 || target_index[r] >= targets_.size() || window_index[r] < 0) continue;  // process() refuses it
        const std::int64_t length = targets_.length(target_index[r]);
        if (window_index[r] >= (length + window_length_ - 1) / window_length_) continue;
        const std::int64_t first = window_index[r] * window_length_, last = std::min(first + window_length_, length);
        bases.resize(static_cast<std::size_t>(last - first));
        targets_.fetch_bases(target_index[r], first, last, bases.data(), scratch);
        const KeptBases kept = kept_of(consensus[row], coverage[row], static_cast<std::int64_t>(sequence_length[row].size()) - 1);
        changed[r] = changed_bases(bases, consensus[row].substr(kept.begin, kept.end - kept.begin));
      }
    });
    ResultFigures figures;
    for (std::size_t r = 0; r < changed.size(); ++r) {
      if (!is_counted(r)) continue;
      figures.add_total(substituted, changed[r].substituted);
      figures.add_total(inserted, changed[r].inserted);
      figures.add_total(deleted, changed[r].deleted);
      figures.add_class(by_window, static_cast<std::int64_t>(std::min(changed[r].all(), most_changes + 1)));
    }
    figures.give(call);
  }

  void append_polished(std::string_view consensus, std::span<const std::int32_t> coverage, std::span<const std::int32_t> support,
                       std::int64_t layers) {
    ++polished_windows_;
    const KeptBases kept = kept_of(consensus, coverage, layers);
    if (kept.is_untrimmed) ++untrimmed_;
    contigs_.bases().append(consensus.substr(kept.begin, kept.end - kept.begin));
    if (!contigs_.has_qualities()) return;
    if (support.size() == consensus.size() && coverage.size() == consensus.size())
      overlap::append_qualities(coverage, support, kept.begin, kept.end, contigs_.qualities());
    else
      contigs_.qualities().append(kept.end - kept.begin, '!');
  }

  // Completes the current target, if there is one, and begins the next one.
  void next_target(const Call& call, Output& out) {
    if (target_ >= part_.begin) {
      if (polished_windows_ > 0 || includes_unpolished_) {
        keep_backbone(windows_of(target_));
        ResultFigures figures;
        figures.add_share(polished_share, static_cast<std::uint64_t>(polished_windows_), static_cast<std::uint64_t>(windows_of(target_)));
        figures.give(call);
        contigs_.complete({target_, windows_of(target_), polished_windows_, overlaps_}, out);
      } else {
        call.account(Reason::unpolished, 1, std::string(targets_.name(target_)));
      }
    }
    ++target_;
    next_window_ = polished_windows_ = overlaps_ = 0;
  }

  SequenceStoreView targets_;
  overlap::ContigRows contigs_;
  bool has_support_;
  std::int64_t window_length_;
  bool trims_, includes_unpolished_;
  StoredPart part_;
  std::int64_t target_, next_window_ = 0, polished_windows_ = 0, overlaps_ = 0;
  std::uint64_t untrimmed_ = 0, failed_ = 0;
};

}  // namespace
}  // namespace sluice::window_merging

SLUICE_PLUGIN_WITH(
    (sluice::file_joining<sluice::window_merging::ContigWriter, sluice::window_merging::ContigFastqWriter, sluice::window_merging::VcfWriter>),
    "window_merging", "0.1.0", "MIT", sluice::window_merging::WindowMerging, sluice::window_merging::WindowChanges,
    sluice::window_merging::ContigWriter, sluice::window_merging::ContigFastqWriter, sluice::window_merging::VcfWriter);
