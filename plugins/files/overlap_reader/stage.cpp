// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <sluice/hts/input_end.hpp>
#include <sluice/input_part.hpp>
#include <sluice/overlap/overlap_rows.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <sluice/stored_part.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "overlap_reader/kept_overlaps.hpp"
#include "overlap_reader/overlap_collection.hpp"
#include "overlap_reader/overlap_file.hpp"
#include "overlap_reader/query_account.hpp"

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
    std::string directions = "as_given", arrival = "any";
    Size memory{std::int64_t{64} << 20};
  };
  static void describe(Describe<OverlapReader>& d) {
    d.id("overlap_reader").summary("reads overlaps of reads with targets, filtered as racon does, in the order of the targets").source("overlap");
    d.positions().parts();
    d.doc(
        "PAF, MHAP (plain or gzip), SAM, BAM or CRAM. The length of an overlap is the longer of its two spans, its error 1 - shorter / longer. Of "
        "the overlaps of one query on consecutive lines the longest is kept (of equal ones the first); as in racon 1.5 one with too large an error "
        "goes when its turn comes, after it may have beaten shorter ones before it. With keep=all every overlap stays that is no sequence with "
        "itself "
        "and whose error is not too large (racon -f).\n\n"
        "The whole file is read before the first row: compact records, in sorted runs in a temporary file beyond `memory`. With arrival = in_order "
        "rows "
        "are given while the file is read, and target_overlaps counts those so far. Lines of unknown "
        "sequences "
        "are left out and counted; a length that differs from the sequence's own ends the run.\n\n"
        "A part of the rows are the overlaps of a part of the targets (with order = query: of the queries), all of which are read from the file; "
        "what was left out the first part says. A position is a number of rows.");
    d.work_unit("base");
    d.option("path", &Parameters::path, "overlaps: PAF, MHAP, SAM, BAM or CRAM").required().reads();
    d.option("format", &Parameters::format, "format of the file; auto goes by its content").choices({"auto", "paf", "mhap", "sam"});
    d.option("keep", &Parameters::keep, "longest: one overlap of each query; all: every one").choices({"longest", "all"});
    d.option("max_error", &Parameters::max_error, "overlaps whose spans differ by more than this share are left out").range(0, 1);
    d.option("order", &Parameters::order, "target: by target and place; query: by query, in the order of the file").choices({"target", "query"});
    d.option(
         "directions", &Parameters::directions,
         "both: each overlap is given once more with query and target exchanged, for files that have each pair of reads once; its CIGAR is left out")
        .choices({"as_given", "both"});
    d.option("arrival", &Parameters::arrival,
             "in_order: overlaps come in the order of the targets' file and of places on them, and are given while they are read")
        .choices({"any", "in_order"});
    d.option("memory", &Parameters::memory, "records beyond this size wait in a temporary file");
    overlap::describe_overlap_columns(d);
    d.gives("given_cigar", "list<u32>", "alignment as SAM states it: M, I and D in BAM encoding; empty: none", Needed::optional);
    d.uses("reads", "sequence", "the queries").uses("targets", "sequence", "the targets");
    d.reason("unknown_sequence", "an overlap of a name that is in neither reads nor targets");
    d.reason("past_the_end", "an overlap that ends behind the end of its sequence");
    d.reason("itself", "an overlap of a sequence with itself");
    d.reason("too_different", "an overlap whose spans differ by more than max_error");
    d.reason("not_the_longest", "an overlap of a query that has a longer one beside it");
    d.reason("unmapped", "a SAM record without an alignment");
  }

  static void check_parameters(const Parameters& p) {
    if (p.directions == "both" && p.keep != "all")
      throw Failure::usage("directions = both needs keep = all: the longest overlap of a query says nothing about the other direction",
                           "set keep = all, or leave directions out");
    if (p.arrival == "in_order" && (p.order != "target" || p.directions == "both"))
      throw Failure::usage("arrival = in_order is for overlaps in the order of their targets, each as the file has it",
                           "leave arrival out, or order and directions");
  }

  OverlapReader(const Setup& setup, const Parameters& p)
      : path_(p.path),
        format_(p.format == "paf"    ? FileFormat::paf
                : p.format == "mhap" ? FileFormat::mhap
                : p.format == "sam"  ? FileFormat::sam
                                     : FileFormat::automatic),
        reads_(setup.resource("reads")),
        targets_(setup.resource("targets")),
        kept_(p.order == "query" ? OverlapOrder::query : OverlapOrder::target, static_cast<std::size_t>(std::max<std::int64_t>(p.memory.bytes, 0)),
              targets_.size(), setup.wanted("overlap_matches") ? Wanted::yes : Wanted::no, setup.wanted("given_cigar") ? Wanted::yes : Wanted::no),
        part_(setup, p.order == "query" ? reads_ : targets_),
        part_is_of_queries_(p.order == "query"),
        gives_both_(p.directions == "both"),
        streams_(p.arrival == "in_order"),
        selection_(
            p.keep == "all" ? Keep::all : Keep::longest, p.max_error, [this](const CandidateOverlap& overlap) { keep(overlap); },
            [this](const CandidateOverlap& overlap, Drop drop) {
              const Reason reason = drop == Drop::itself          ? Reason::itself
                                    : drop == Drop::too_different ? Reason::too_different
                                                                  : Reason::not_the_longest;
              // With directions = both query and target are of one store.
              account(reason, reads_.name(overlap.record.query));
            }) {
    if (setup.parts() > 1 || !setup.begin_at().empty()) refuse_unless_file(path_);
    if (!setup.begin_at().empty()) {
      const std::vector<std::uint64_t> numbers = position_numbers(setup.begin_at(), streams_ ? 2 : 1);
      given_before_ = numbers[0];
      read_before_ = streams_ ? static_cast<std::int64_t>(numbers[1]) : 0;
    }
    accounts_ = setup.part() == 0 && (streams_ || given_before_ == 0);
    if (streams_) kept_.expect(Arrival::in_order);
    if (gives_both_ && reads_.path() != targets_.path())
      throw Failure::usage("overlap_reader: directions = both needs the same file for reads and targets", "give both resources the same store");
  }

  bool process(const Call& call, Output& out) {
    call_ = &call;
    if (!file_) begin(call);
    // All of it, or so much as is a batch.
    while (!is_read_ && (!streams_ || kept_.waiting_bases() < call.target_work())) {
      if (call.cancelled()) return false;
      is_read_ = !read_some();
      if (is_read_) end(call);
    }
    if (call.cancelled() || kept_.next(call.target_work()) == 0) return false;
    kept_.write(out);
    if (streams_)
      account_.flush(call);
    else
      call.progress(kept_.share_given());
    return true;
  }
  // A number of rows, of the part; with arrival = in_order what was read for them, too.
  std::string position() const {
    if (!is_regular_file(path_)) return no_position;
    const std::uint64_t rows = std::max(kept_.given(), given_before_);
    return streams_ ? position_text({rows, static_cast<std::uint64_t>(std::max(read(), read_before_))}) : std::to_string(rows);
  }

 private:
  // Overlaps of the file, and one for its end: what comes to light there is counted once, too.
  std::int64_t read() const { return ordinal_ + (is_read_ ? 1 : 0); }
  void keep(const CandidateOverlap& overlap) {
    ++usable_;
    if (!part_.has(part_is_of_queries_ ? overlap.record.query : overlap.record.target)) return kept_.pass(overlap);
    if (kept_.add(overlap)) return;
    throw Failure::input("'" + path_ + "', before " + file_->place() + ": the overlap of '" + std::string(reads_.name(overlap.record.query)) +
                             "' does not come in the order of the targets",
                         "sort it by the targets of '" + targets_.path() + "' in their order and by place, or leave out that it is sorted");
  }
  // Each part reads the whole file, and so does who goes on: one of them says what is left out. With arrival = in_order whoever comes to an overlap
  // first.
  void account(Reason reason, std::string_view query) {
    if (accounts_ && ordinal_ >= read_before_) account_.add(*call_, reason, query);
  }
  void begin(const Call& call) {
    read_names_.emplace(reads_);
    target_names_.emplace(targets_);
    warn_of_duplicates(call, reads_, *read_names_);
    if (targets_.path() != reads_.path()) warn_of_duplicates(call, targets_, *target_names_);
    file_ = open_overlap_file(path_, format_);
    file_->tell_unmapped([&](const char* name) { account(Reason::unmapped, name); });
    if (streams_) kept_.skip(given_before_);
  }
  void end(const Call& call) {
    selection_.finish();
    if (!streams_) {
      kept_.sort(call);
      kept_.skip(given_before_);
    }
    account_.flush(call);
    const std::string label = "'" + path_ + "'";
    if (file_->ends_inside_line()) call.warn(hts::open_end_text(label));
    if (ordinal_ == 0)
      call.warn(hts::empty_text(label));
    else if (usable_ == 0)
      call.warn("'" + path_ + "': none of " + std::to_string(ordinal_) + " overlaps can be used: do its names belong to these files?");
  }
  // False at the end of the file.
  bool read_some() {
    constexpr int lines = 4096;
    for (int line = 0; line < lines; ++line) {
      if (!file_->next(overlap_)) return false;
      add(overlap_);
      ++ordinal_;
    }
    return true;
  }
  void add(Overlap& overlap) {
    CandidateOverlap& candidate = candidate_;
    const bool by_name = overlap.query_number == 0;
    const std::int64_t query = by_name ? read_names_->find(overlap.query) : overlap.query_number <= reads_.size() ? overlap.query_number - 1 : -1;
    const std::int64_t target = by_name                                    ? target_names_->find(overlap.target)
                                : overlap.target_number <= targets_.size() ? overlap.target_number - 1
                                                                           : -1;
    if (query < 0 || target < 0) {
      account(Reason::unknown_sequence, overlap.query);
      return;
    }
    check_length(*file_, "read", reads_, query, overlap.query_length);
    check_length(*file_, "target", targets_, target, overlap.target_length);
    if (overlap.query_end > overlap.query_length || overlap.target_end > overlap.target_length) {
      account(Reason::past_the_end, reads_.name(query));
      return;
    }
    candidate.record = {.query = static_cast<std::int32_t>(query),
                        .target = static_cast<std::int32_t>(target),
                        .query_start = static_cast<std::int32_t>(overlap.query_start),
                        .query_end = static_cast<std::int32_t>(overlap.query_end),
                        .target_start = static_cast<std::int32_t>(overlap.target_start),
                        .target_end = static_cast<std::int32_t>(overlap.target_end),
                        .matches = static_cast<std::int32_t>(overlap.matches),
                        .ordinal = ordinal_,
                        .is_reverse = overlap.is_reverse ? std::uint8_t{1} : std::uint8_t{0}};
    candidate.length = overlap_length(overlap);
    candidate.error = overlap_error(overlap);
    candidate.is_itself = reads_.name(query) == targets_.name(target);
    std::swap(candidate.cigar, overlap.cigar);
    selection_.add(candidate);
    if (!gives_both_) return;
    std::swap(candidate.record.query, candidate.record.target);
    std::swap(candidate.record.query_start, candidate.record.target_start);
    std::swap(candidate.record.query_end, candidate.record.target_end);
    candidate.cigar.clear();
    selection_.add(candidate);
  }

  static void warn_of_duplicates(const Call& call, const SequenceStoreView& store, const SequenceNames& names) {
    if (names.duplicates() > 0)
      call.warn("'" + store.path() + "' has " + std::to_string(names.duplicates()) +
                " sequences whose name a later one has, too: the last one counts");
  }
  void check_length(const OverlapFile& file, const char* what, const SequenceStoreView& store, std::int64_t row, std::int64_t stated) const {
    if (store.length(row) == stated) return;
    throw Failure::input("'" + path_ + "', " + file.place() + ": " + what + " '" + std::string(store.name(row)) + "' is said to have " +
                             std::to_string(stated) + " bases, but has " + std::to_string(store.length(row)) + " in '" + store.path() + "'",
                         "give the files that the overlaps were made from");
  }

  std::string path_;
  FileFormat format_;
  SequenceStoreView reads_, targets_;
  KeptOverlaps kept_;
  StoredPart part_;
  bool part_is_of_queries_, gives_both_, streams_;
  bool accounts_ = true;
  std::uint64_t given_before_ = 0;  // rows that an earlier instance has given
  std::int64_t read_before_ = 0;    // and, with arrival = in_order, what it has read, as read() says
  std::uint64_t usable_ = 0;        // overlaps, of all parts
  OverlapSelection selection_;
  QueryAccount<Reason> account_;
  const Call* call_ = nullptr;  // the one under way
  std::optional<SequenceNames> read_names_, target_names_;
  std::unique_ptr<OverlapFile> file_;
  Overlap overlap_;
  CandidateOverlap candidate_;
  std::int64_t ordinal_ = 0;  // of the next overlap of the file
  bool is_read_ = false;
};

}  // namespace
}  // namespace sluice::overlap_reader

SLUICE_PLUGIN("overlap_reader", "0.1.0", "MIT", sluice::overlap_reader::OverlapReader, sluice::overlap_reader::OverlapCollection);
