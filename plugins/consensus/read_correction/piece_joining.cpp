// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/piece_joining.hpp"

#include <algorithm>
#include <sluice/overlap/consensus_quality.hpp>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>

namespace sluice::read_correction {
namespace {

constexpr Figure corrected_share{0, FigureKind::share, "corrected bases", "base",
                                 "bases of reads that were replaced by a consensus, of all bases; what was replaced may have been right"};
constexpr Figure read_share{1, FigureKind::share, "corrected reads", "read", "reads of which a piece or more was corrected"};
constexpr Figure share_histogram{2, FigureKind::histogram, "corrected share of reads", "%", "reads by the share of their bases that was corrected",
                                 5};

constexpr char lower_case(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

}  // namespace

void PieceJoining::describe(Describe<PieceJoining>& d) {
  d.id("piece_joining")
      .summary("joins the consensuses of a read's pieces to the corrected read")
      .regroup("window", "contig")
      .rows_are("read")
      .concatenates();
  d.doc(
      "Corrected bases are upper case. Between pieces, and where a piece was not polished or failed, the read keeps its own bases: in lower case, in "
      "upper "
      "case, or (trim) in lower case and cut off at both ends of the read. A read is never split. Every read of the store is given, in its order, "
      "also one without windows, unless less than min_corrected of its bases were corrected. Windows must come in the order of reads and places; "
      "of a part of the run the reads of the same part of the store are given.");
  d.work_unit("base");
  d.option("uncorrected", &Parameters::uncorrected, "how a read's own bases are given").choices({"lower_case", "upper_case", "trim"});
  d.option("min_corrected", &Parameters::min_corrected, "reads with a smaller share of corrected bases are left out (CONSENT: 0.1)").range(0, 1);
  d.option("variants", &Parameters::variants,
           "kept: where two bases have much support, the read's own letter and the reads that agree with it at other such places decide; majority: "
           "all reads")
      .choices({"kept", "majority"});
  d.needs("target_index", "i64", "row of the read in the store").needs("target_overlaps", "i64", "overlaps on it");
  d.needs("window_start", "i64", "first base of the piece on the read").needs("window_end", "i64", "its end");
  d.needs("consensus", "utf8", "consensus of the piece").needs("is_polished", "u8", "0: the piece was kept");
  d.needs("voted_consensus", "utf8", "is taken instead of consensus where it is there", Needed::optional);
  d.needs("site_place", "list<i32>", "bases of voted_consensus with another base in many sequences", Needed::optional);
  d.needs("site_letters", "utf8", "per site the letter of each sequence", Needed::optional);
  d.needs("layer_query", "list<i64>", "the reads that the window's other sequences are of", Needed::optional);
  d.needs("voted_coverage", "list<i32>", "per base of it: sequences with a letter there, for qualities", Needed::optional);
  d.needs("voted_support", "list<i32>", "per base of it: sequences with that letter there, for qualities", Needed::optional);
  d.gives("contig_name", "utf8", "name of the read").gives("contig_bases", "utf8", "the corrected read").row_length("contig_bases", "base");
  d.gives("windows", "i64", "windows of the read").gives("polished_windows", "i64", "of these, corrected");
  d.gives("overlaps", "i64", "overlaps on the read").gives("corrected_bases", "i64", "bases of the read in corrected pieces");
  d.gives("contig_qualities", "utf8", "Phred + 33 of its bases: of corrected ones by the sequences that have them, of others the read's own, or !",
          Needed::optional);
  d.uses("reads", "sequence", "the reads");
  d.reason("uncorrected", "a read of which less than min_corrected was corrected");
}

PieceJoining::PieceJoining(const Setup& setup, const Parameters& p)
    : reads_(setup.resource("reads")),
      contigs_(reads_, overlap::ContigRows::Corrected::wanted,
               setup.wanted("contig_qualities") ? overlap::ContigRows::Qualities::wanted : overlap::ContigRows::Qualities::unwanted),
      uncorrected_(p.uncorrected == "upper_case" ? Uncorrected::upper_case
                   : p.uncorrected == "trim"     ? Uncorrected::trim
                                                 : Uncorrected::lower_case),
      min_corrected_(p.min_corrected),
      part_(setup, reads_),
      read_(part_.begin - 1),
      keeps_variants_(p.variants == "kept" && setup.available("site_place") && setup.available("site_letters") && setup.available("layer_query")) {
  resume(setup, [this](StateReader& from) { restore(from); });
}

void PieceJoining::process(const Call& call, const Batch& in, Output& out) {
  const auto target_index = in.column<std::int64_t>("target_index");
  const auto target_overlaps = in.column<std::int64_t>("target_overlaps");
  const auto window_start = in.column<std::int64_t>("window_start");
  const auto window_end = in.column<std::int64_t>("window_end");
  const auto is_polished = in.column<std::uint8_t>("is_polished");
  const TextView consensus = in.text(in.has("voted_consensus") ? "voted_consensus" : "consensus");
  for (std::int64_t row = 0; row < in.rows() && !call.cancelled(); ++row) {
    if (!in.ok(row)) {
      ++failed_;  // its read keeps its own bases there
      continue;
    }
    const auto r = static_cast<std::size_t>(row);
    const std::int64_t read = target_index[r];
    if (read >= 0 && read < reads_.size() && !part_.has(read))
      throw Failure::usage("piece_joining: read '" + std::string(reads_.name(read)) + "' is of another part of '" + reads_.path() + "'",
                           "let stored_reads or overlap_reader begin the pipeline: their parts are those of this stage");
    if (read < 0 || read >= reads_.size() || read < read_ || (read == read_ && window_start[r] < at_) || window_start[r] < 0 ||
        window_end[r] < window_start[r] || window_end[r] > reads_.length(read))
      throw Failure::usage("piece_joining: windows do not come in the order of their reads and places", "use the windows of pile_segmentation");
    while (read_ < read) next_read(call, out);
    overlaps_ = target_overlaps[r];
    ++windows_;
    if (is_polished[r] == 0) continue;
    keep_own_bases(window_start[r]);
    if (corrected_ == 0) corrected_begin_ = contigs_.bases().size();
    if (keeps_variants_) add_sites(in, row, consensus[row]);
    contigs_.bases().append(consensus[row]);
    append_qualities(in, row, consensus[row].size());
    corrected_end_ = contigs_.bases().size();
    corrected_ += window_end[r] - window_start[r];
    ++polished_;
    at_ = window_end[r];
  }
  // The reads are read long before they are corrected.
  if (const std::int64_t all = part_.end - part_.begin; all > 0)
    call.progress(static_cast<double>(std::max<std::int64_t>(read_ - part_.begin, 0)) / static_cast<double>(all));
}

void PieceJoining::add_sites(const Batch& in, std::int64_t row, std::string_view consensus) {
  const auto places = in.list<std::int32_t>("site_place")[row];
  const std::string_view letters = in.text("site_letters")[row];
  const auto layers = in.list<std::int64_t>("layer_query")[row];
  const std::size_t sequences = layers.size() + 1;
  bool fits = letters.size() == places.size() * sequences;
  for (const std::int32_t place : places) fits = fits && place >= 0 && static_cast<std::size_t>(place) < consensus.size();
  if (!fits)
    throw Failure::input("the sites of a window of read '" + std::string(reads_.name(read_)) + "' do not fit its consensus and its sequences");
  for (std::size_t s = 0; s < places.size(); ++s) {
    const auto place = static_cast<std::size_t>(places[s]);
    variants_.add(contigs_.bases().size() + place - contigs_.begin(), letters.substr(s * sequences, sequences), consensus[place], layers);
  }
}

void PieceJoining::append_qualities(const Batch& in, std::int64_t row, std::size_t bases) {
  if (!contigs_.has_qualities()) return;
  std::span<const std::int32_t> coverage, support;
  if (in.has("voted_coverage") && in.has("voted_support")) {
    coverage = in.list<std::int32_t>("voted_coverage")[row];
    support = in.list<std::int32_t>("voted_support")[row];
  }
  if (coverage.size() == bases && support.size() == bases)
    overlap::append_qualities(coverage, support, 0, bases, contigs_.qualities());
  else
    contigs_.qualities().append(bases, '!');
}

// A base that the read keeps against most of the others is as certain as one without a majority.
void PieceJoining::decide_sites() {
  const std::span<char> bases = std::span(contigs_.bases()).subspan(contigs_.begin());
  std::vector<std::pair<std::size_t, char>> before;
  if (contigs_.has_qualities())
    for (const ReadVariants::Site& site : variants_.sites) before.emplace_back(site.place, bases[site.place]);
  variants_.decide(bases);
  for (const auto& [place, base] : before)
    if (bases[place] != base) contigs_.qualities()[contigs_.begin() + place] = static_cast<char>(33 + overlap::quality_without_majority);
  variants_.clear();
}

void PieceJoining::finish(const Call& call, Output& out) {
  while (read_ < part_.end && !call.cancelled()) next_read(call, out);
  contigs_.emit(out);
  ResultFigures figures;
  for (const Figure& figure : {corrected_share, read_share, share_histogram}) figures.describe(figure);
  figures.give(call);
  if (failed_ > 0) call.count("windows that failed and stay as they are", failed_);
}

void PieceJoining::save(const Call&, StateWriter& to) const {
  for (const std::int64_t number : {read_, at_, windows_, polished_, overlaps_, corrected_}) to.value(number);
  to.value(corrected_begin_);
  to.value(corrected_end_);
  to.value(failed_);
  to.value(std::uint64_t{variants_.sites.size()});
  for (const ReadVariants::Site& site : variants_.sites) {
    to.value(site.place);
    to.value(site.base[0]);
    to.value(site.base[1]);
    to.value(site.own);
    to.value(site.end_entry);
  }
  to.value(std::uint64_t{variants_.entries.size()});
  for (const ReadVariants::Entry& entry : variants_.entries) {
    to.value(entry.read);
    to.value(entry.allele);
  }
  contigs_.save(to);
}

void PieceJoining::restore(StateReader& from) {
  for (std::int64_t* number : {&read_, &at_, &windows_, &polished_, &overlaps_, &corrected_}) *number = from.value<std::int64_t>();
  corrected_begin_ = from.value<std::size_t>();
  corrected_end_ = from.value<std::size_t>();
  failed_ = from.value<double>();
  const auto sites = from.value<std::uint64_t>();
  for (std::uint64_t s = 0; s < sites; ++s) {
    ReadVariants::Site& site = variants_.sites.emplace_back();
    site.place = from.value<std::uint64_t>();
    site.base[0] = from.value<char>();
    site.base[1] = from.value<char>();
    site.own = from.value<std::int8_t>();
    site.end_entry = from.value<std::uint64_t>();
  }
  const auto entries = from.value<std::uint64_t>();
  for (std::uint64_t e = 0; e < entries; ++e) {
    ReadVariants::Entry& entry = variants_.entries.emplace_back();
    entry.read = from.value<std::int64_t>();
    entry.allele = from.value<std::uint8_t>();
  }
  contigs_.restore(from);
  const std::size_t bases = contigs_.bases().size();
  std::uint64_t end = 0;
  bool fits = variants_.sites.empty() ? entries == 0 : variants_.sites.back().end_entry == entries;
  for (const ReadVariants::Site& site : variants_.sites) {
    fits = fits && site.end_entry >= end && site.place < bases - contigs_.begin() && site.own >= -1 && site.own <= 1;
    end = site.end_entry;
  }
  for (const ReadVariants::Entry& entry : variants_.entries) fits = fits && entry.allele <= 1;
  if (!fits || read_ < part_.begin - 1 || read_ > part_.end || at_ < 0 ||
      (corrected_ > 0 && (corrected_begin_ > corrected_end_ || corrected_end_ > bases)))
    throw damaged_state();
}

void PieceJoining::keep_own_bases(std::int64_t end) {
  if (end <= at_) return;
  std::string& bases = contigs_.bases();
  const auto first = static_cast<std::ptrdiff_t>(bases.size());
  contigs_.append_own(read_, at_, end);
  if (uncorrected_ != Uncorrected::upper_case) std::transform(bases.begin() + first, bases.end(), bases.begin() + first, lower_case);
  at_ = end;
}

void PieceJoining::count_figures(const Call& call, std::int64_t length) const {
  ResultFigures figures;
  const auto corrected = static_cast<std::uint64_t>(std::clamp<std::int64_t>(corrected_, 0, length)), all = static_cast<std::uint64_t>(length);
  figures.add_share(corrected_share, corrected, all);
  figures.add_share(read_share, corrected > 0 ? 1 : 0, 1);
  if (all > 0) figures.add_class(share_histogram, static_cast<std::int64_t>(20 * corrected / all));
  figures.give(call);
}

// Completes the current read, if there is one, and begins the next one.
void PieceJoining::next_read(const Call& call, Output& out) {
  if (read_ >= part_.begin) {
    const std::int64_t length = reads_.length(read_);
    count_figures(call, length);
    decide_sites();
    if (length > 0 && static_cast<double>(corrected_) < min_corrected_ * static_cast<double>(length)) {
      call.account(Reason::uncorrected, 1, std::string(reads_.name(read_)));
      contigs_.bases().resize(contigs_.begin());
      if (contigs_.has_qualities()) contigs_.qualities().resize(contigs_.begin());
    } else {
      keep_own_bases(length);
      if (uncorrected_ == Uncorrected::trim && corrected_ > 0) {
        contigs_.bases().resize(corrected_end_);
        contigs_.bases().erase(contigs_.begin(), corrected_begin_ - contigs_.begin());
        if (contigs_.has_qualities()) {
          contigs_.qualities().resize(corrected_end_);
          contigs_.qualities().erase(contigs_.begin(), corrected_begin_ - contigs_.begin());
        }
      }
      contigs_.complete({read_, windows_, polished_, overlaps_, corrected_}, out);
    }
  }
  ++read_;
  at_ = windows_ = polished_ = overlaps_ = corrected_ = 0;
}

}  // namespace sluice::read_correction
