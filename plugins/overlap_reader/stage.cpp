// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <array>
#include <optional>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "overlap_reader/overlap_file.hpp"
#include "overlap_reader/overlap_order.hpp"

namespace sluice::overlap_reader {
namespace {

class OverlapReader {
 public:
  enum class Reason : std::uint32_t { unknown_sequence, past_the_end, itself, too_different, not_the_longest, unmapped };

  struct Parameters {
    Path path;
    std::string format = "auto";
    std::string keep = "longest";
    double max_error = 0.3;
    std::string order = "target";
    Size memory{std::int64_t{64} << 20};
  };
  static void describe(Describe<OverlapReader>& d) {
    d.id("overlap_reader").summary("reads overlaps of reads with targets, filtered as racon does, in the order of the targets").source("overlap");
    d.doc(
        "PAF, MHAP (plain or gzip), SAM, BAM or CRAM. The length of an overlap is the longer of its two spans, its error 1 - shorter / longer. Of "
        "the overlaps of one query on consecutive lines the longest is kept (of equal ones the first); as in racon 1.5 one with too large an error "
        "goes when its turn comes, after it may have beaten shorter ones before it. With keep=all every overlap stays that is no sequence with itself "
        "and whose error is not too large (racon -f).\n\n"
        "The whole file is read before the first row: compact records, in sorted runs in a temporary file beyond `memory`. Lines of unknown sequences "
        "are left out and counted; a length that differs from the sequence's own ends the run.");
    d.work_unit("base");
    d.option("path", &Parameters::path, "overlaps: PAF, MHAP, SAM, BAM or CRAM").required();
    d.option("format", &Parameters::format, "format of the file; auto goes by its content").choices({"auto", "paf", "mhap", "sam"});
    d.option("keep", &Parameters::keep, "longest: one overlap of each query; all: every one").choices({"longest", "all"});
    d.option("max_error", &Parameters::max_error, "overlaps whose spans differ by more than this share are left out").range(0, 1);
    d.option("order", &Parameters::order, "target: by target and place; query: by query, in the order of the file").choices({"target", "query"});
    d.option("memory", &Parameters::memory, "records beyond this size wait in a temporary file");
    d.gives("query_index", "i64", "row of the read in the store of reads").gives("target_index", "i64", "row of the target in its store");
    d.gives("query_start", "i64", "first base on the read, forward strand").gives("query_end", "i64", "end on the read, exclusive");
    d.gives("target_start", "i64", "first base on the target").gives("target_end", "i64", "end on the target, exclusive");
    d.gives("is_reverse", "u8", "1: the read's reverse complement matches").gives("overlap_index", "i64", "ordinal in the file");
    d.gives("target_overlaps", "i64", "overlaps that are kept on this target");
    d.gives("overlap_matches", "i64", "matching bases as PAF states them; 0: unknown", Needed::optional);
    d.gives("given_cigar", "list<u32>", "alignment as SAM states it: M, I and D in BAM encoding; empty: none", Needed::optional);
    d.uses("reads", "sequence", "the queries").uses("targets", "sequence", "the targets");
    d.reason("unknown_sequence", "an overlap of a name that is in neither reads nor targets");
    d.reason("past_the_end", "an overlap that ends behind the end of its sequence");
    d.reason("itself", "an overlap of a sequence with itself");
    d.reason("too_different", "an overlap whose spans differ by more than max_error");
    d.reason("not_the_longest", "an overlap of a query that has a longer one beside it");
    d.reason("unmapped", "a SAM record without an alignment");
  }

  OverlapReader(const Setup& setup, const Parameters& p)
      : path_(p.path),
        format_(p.format == "paf" ? FileFormat::paf : p.format == "mhap" ? FileFormat::mhap : p.format == "sam" ? FileFormat::sam : FileFormat::automatic),
        keeps_all_(p.keep == "all"),
        max_error_(p.max_error),
        reads_(setup.resource("reads")),
        targets_(setup.resource("targets")),
        target_overlaps_(static_cast<std::size_t>(targets_.size())),
        ordered_(p.order == "query" ? OverlapOrder::query : OverlapOrder::target, static_cast<std::size_t>(std::max<std::int64_t>(p.memory.bytes, 0))),
        wants_matches_(setup.wanted("overlap_matches")),
        wants_cigar_(setup.wanted("given_cigar")) {}

  bool process(const Call& call, Output& out) {
    if (!is_read_) read_all(call);
    std::vector<OverlapRecord> rows;
    double work = 0;
    OverlapRecord record;
    bool more = true;
    while (!call.cancelled() && (work < call.target_work() || rows.empty()) && (more = ordered_.next(record))) {
      rows.push_back(record);
      work += static_cast<double>(record.query_end - record.query_start);
    }
    given_ += rows.size();
    if (kept_ > 0) call.progress(static_cast<double>(given_) / static_cast<double>(kept_));
    write(rows, out);
    out.set_work(work);
    return more && !call.cancelled();
  }

 private:
  struct Candidate {
    OverlapRecord record;
    std::int64_t length = 0;
    bool is_itself = false;
    double error = 0;
    std::vector<std::uint32_t> cigar;
  };

  void read_all(const Call& call) {
    is_read_ = true;
    const SequenceNames read_names(reads_), target_names(targets_);
    warn_of_duplicates(call, reads_, read_names);
    if (targets_.path() != reads_.path()) warn_of_duplicates(call, targets_, target_names);
    const std::unique_ptr<OverlapFile> file = open_overlap_file(path_, format_);
    Overlap overlap;
    Candidate candidate;
    std::int64_t ordinal = 0;
    while (file->next(overlap)) {
      if (ordinal % 4096 == 0 && call.cancelled()) return;
      ++ordinal;
      const bool by_name = overlap.query_number == 0;
      const std::int64_t query = by_name ? read_names.find(overlap.query) : overlap.query_number <= reads_.size() ? overlap.query_number - 1 : -1;
      const std::int64_t target =
          by_name ? target_names.find(overlap.target) : overlap.target_number <= targets_.size() ? overlap.target_number - 1 : -1;
      if (query < 0 || target < 0) {
        ++dropped_[index(Reason::unknown_sequence)];
        continue;
      }
      check_length(*file, "read", reads_, query, overlap.query_length);
      check_length(*file, "target", targets_, target, overlap.target_length);
      if (overlap.query_end > overlap.query_length || overlap.target_end > overlap.target_length) {
        ++dropped_[index(Reason::past_the_end)];
        continue;
      }
      candidate.record = {.query = static_cast<std::int32_t>(query),
                          .target = static_cast<std::int32_t>(target),
                          .query_start = static_cast<std::int32_t>(overlap.query_start),
                          .query_end = static_cast<std::int32_t>(overlap.query_end),
                          .target_start = static_cast<std::int32_t>(overlap.target_start),
                          .target_end = static_cast<std::int32_t>(overlap.target_end),
                          .matches = static_cast<std::int32_t>(overlap.matches),
                          .ordinal = ordinal - 1,
                          .is_reverse = overlap.is_reverse ? std::uint8_t{1} : std::uint8_t{0}};
      candidate.length = overlap_length(overlap);
      candidate.error = overlap_error(overlap);
      candidate.is_itself = reads_.name(query) == targets_.name(target);
      std::swap(candidate.cigar, overlap.cigar);
      select(candidate);
    }
    end_run();
    ordered_.sort();
    dropped_[index(Reason::unmapped)] += file->unmapped();
    for (std::size_t reason = 0; reason < dropped_.size(); ++reason)
      if (dropped_[reason] > 0) call.account(static_cast<Reason>(reason), dropped_[reason]);
    if (kept_ == 0) call.warn("'" + path_ + "': none of " + std::to_string(ordinal) + " overlaps can be used: do its names belong to these files?");
    if (ordered_.runs_in_file() > 0) call.info("overlaps were sorted in a temporary file, in " + std::to_string(ordered_.runs_in_file()) + " parts");
  }

  static std::size_t index(Reason reason) { return static_cast<std::size_t>(reason); }
  static void warn_of_duplicates(const Call& call, const SequenceStoreView& store, const SequenceNames& names) {
    if (names.duplicates() > 0)
      call.warn("'" + store.path() + "' has " + std::to_string(names.duplicates()) + " sequences whose name a later one has, too: the last one counts");
  }
  void check_length(const OverlapFile& file, const char* what, const SequenceStoreView& store, std::int64_t row, std::int64_t stated) const {
    if (store.length(row) == stated) return;
    throw Failure::input("'" + path_ + "', " + file.place() + ": " + what + " '" + std::string(store.name(row)) + "' is said to have " +
                             std::to_string(stated) + " bases, but has " + std::to_string(store.length(row)) + " in '" + store.path() + "'",
                         "give the files that the overlaps were made from");
  }

  // Candidates of one query on consecutive lines: racon compares each with those behind it, so that one is left at most.
  void select(Candidate& candidate) {
    if (keeps_all_) {
      if (is_acceptable(candidate)) keep(candidate);
      return;
    }
    if (longest_ && longest_->record.query != candidate.record.query) end_run();
    if (longest_ && longest_->length >= candidate.length) {
      ++dropped_[index(Reason::not_the_longest)];
      return;
    }
    if (longest_) {
      ++dropped_[index(Reason::not_the_longest)];
      longest_.reset();
    }
    if (is_acceptable(candidate)) longest_ = std::move(candidate);
  }
  bool is_acceptable(const Candidate& candidate) {
    if (candidate.error > max_error_) return ++dropped_[index(Reason::too_different)], false;
    if (candidate.is_itself) return ++dropped_[index(Reason::itself)], false;
    return true;
  }
  void end_run() {
    if (longest_) keep(*longest_);
    longest_.reset();
  }
  void keep(const Candidate& candidate) {
    ++kept_;
    ++target_overlaps_[static_cast<std::size_t>(candidate.record.target)];
    ordered_.add(candidate.record, wants_cigar_ ? std::span<const std::uint32_t>(candidate.cigar) : std::span<const std::uint32_t>());
  }

  void write(const std::vector<OverlapRecord>& rows, Output& out) const {
    out.set_rows(static_cast<std::int64_t>(rows.size()));
    const auto fill = [&](const char* column, auto&& value) {
      const auto values = out.column<std::int64_t>(column);
      for (std::size_t row = 0; row < rows.size(); ++row) values[row] = value(rows[row]);
    };
    fill("query_index", [](const OverlapRecord& r) { return r.query; });
    fill("target_index", [](const OverlapRecord& r) { return r.target; });
    fill("query_start", [](const OverlapRecord& r) { return r.query_start; });
    fill("query_end", [](const OverlapRecord& r) { return r.query_end; });
    fill("target_start", [](const OverlapRecord& r) { return r.target_start; });
    fill("target_end", [](const OverlapRecord& r) { return r.target_end; });
    fill("overlap_index", [](const OverlapRecord& r) { return r.ordinal; });
    fill("target_overlaps", [this](const OverlapRecord& r) { return target_overlaps_[static_cast<std::size_t>(r.target)]; });
    if (wants_matches_) fill("overlap_matches", [](const OverlapRecord& r) { return r.matches; });
    const auto is_reverse = out.column<std::uint8_t>("is_reverse");
    for (std::size_t row = 0; row < rows.size(); ++row) is_reverse[row] = rows[row].is_reverse;
    if (!wants_cigar_) return;
    const Buffer offsets = out.offsets([&](std::int64_t row) { return rows[static_cast<std::size_t>(row)].operations; });
    std::span<std::uint32_t> operations = out.list<std::uint32_t>("given_cigar", offsets);
    for (const OverlapRecord& record : rows) {
      ordered_.cigar(record, operations.first(record.operations));
      operations = operations.subspan(record.operations);
    }
  }

  std::string path_;
  FileFormat format_;
  bool keeps_all_;
  double max_error_;
  SequenceStoreView reads_, targets_;
  std::vector<std::int64_t> target_overlaps_;
  OrderedOverlaps ordered_;
  bool wants_matches_, wants_cigar_;
  bool is_read_ = false;
  std::optional<Candidate> longest_;  // of the run of lines of one query
  std::array<std::uint64_t, 6> dropped_{};
  std::uint64_t kept_ = 0, given_ = 0;
};

}  // namespace
}  // namespace sluice::overlap_reader

SLUICE_PLUGIN("overlap_reader", "0.1.0", "MIT", sluice::overlap_reader::OverlapReader);
