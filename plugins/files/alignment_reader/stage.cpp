// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/hts/record_bases.hpp>
#include <sluice/stage.hpp>
#include <unordered_map>

#include "alignment_reader/alignment_file.hpp"
#include "alignment_reader/bam_record.hpp"
#include "alignment_reader/reference_agreement.hpp"

namespace sluice::alignment_reader {
namespace {

// Alignment records in file order, one row each.
class AlignmentReader {
 public:
  struct Parameters {
    Path path;
    std::optional<Path> reference;
    std::optional<std::string> region;
    int min_mapq = 20;
    bool secondary = false;
    bool supplementary = true;
    int threads = 0;
  };
  enum class Reason : std::uint32_t { unmapped, low_mapping_quality, secondary, supplementary, outside_region };

  static void describe(Describe<AlignmentReader>& d) {
    d.id("alignment_reader").summary("reads alignment records from BAM, SAM or CRAM").source("read").rows_are("alignment").rows_named_by("read_id");
    d.doc(
        "One row per mapped record that passes the filters, in file order. `record_index` counts all records visited, filtered ones included (with a "
        "region: those that "
        "overlap it). A region uses the file's index, which is made when missing; a file that is not sorted is read to its end instead.\n\n"
        "A BAM file without its end-of-file block is refused as truncated. With the resource `reference` the contigs of the header (with a region: "
        "the region's) "
        "must be in the reference with the same lengths.");
    d.option("path", &Parameters::path, "BAM, SAM or CRAM file; - is standard input")
        .required()
        .reads()
        .beside(".bai")
        .beside(".csi")
        .beside(".crai");
    d.option("reference", &Parameters::reference, "FASTA file to decode CRAM with").reads().beside(".fai").beside(".gzi");
    d.option("region", &Parameters::region, "only records that overlap contig or contig:first-last (from 1, both inclusive)");
    d.option("min_mapq", &Parameters::min_mapq, "least mapping quality").range(0, 255);
    d.option("secondary", &Parameters::secondary, "use secondary records, too");
    d.option("supplementary", &Parameters::supplementary, "use supplementary records, too, each on its own");
    d.option("threads", &Parameters::threads, "further threads for decompression; pays for CRAM").range(0, 64);
    d.gives("read_id", "utf8", "name of the read");
    d.gives("contig", "utf8", "reference sequence it aligns to");
    d.gives("ref_start", "i64", "first aligned position on the contig, 0-based");
    d.gives("ref_end", "i64", "end of the alignment on the contig, exclusive");
    d.gives("is_reverse", "u8", "1: aligned to the reverse strand");
    d.gives("flag", "u16", "SAM flags");
    d.gives("mapq", "u8", "mapping quality");
    d.gives("cigar", "list<u32>", "CIGAR operations as in BAM: length << 4 | code");
    d.gives("record_index", "i64", "ordinal of the record among all visited, from 0");
    d.gives("aligned_bases", "utf8", "SEQ of the record in sequencing orientation, \"\" if it has none", Needed::optional);
    d.gives("bam_record", "binary", "the whole record; layout: plugins/files/alignment_reader/bam_record.hpp", Needed::optional);
    d.uses("reference", "contig", "checked against the header", Needed::optional);
    d.reason("unmapped", "the record is not aligned");
    d.reason("low_mapping_quality", "its mapping quality is below min_mapq");
    d.reason("secondary", "it is secondary, and `secondary` is off");
    d.reason("supplementary", "it is supplementary, and `supplementary` is off");
    d.reason("outside_region", "it does not overlap the region, and was read because the file has no index");
    d.work_unit("base");
  }

  static void check_parameters(const Parameters& p) { check_region(p.region.value_or(std::string())); }

  AlignmentReader(const Setup& setup, const Parameters& p)
      : parameters_(p),
        file_({p.path, p.reference.value_or(Path()), p.region.value_or(std::string()), p.threads}),
        wants_bases_(setup.wanted("aligned_bases")),
        wants_record_(setup.wanted("bam_record")) {
    if (!file_.note().empty()) setup.info(file_.note());
    if (setup.has_resource("reference")) check_reference(setup.resource("reference"));
  }

  bool process(const Call& call, Output& out) {
    Rows rows;
    double work = 0;
    std::uint64_t bytes = 0;
    bool more = true;
    while (more && (rows.read_id.empty() || (work < call.target_work() && bytes < call.target_bytes()))) {
      if (pending_ == nullptr) pending_ = advance(call);
      if (pending_ == nullptr) {
        more = false;
        break;
      }
      const auto record_work = static_cast<double>(read_bases(*pending_));
      // A record that is a batch's work by itself travels alone.
      if (!rows.read_id.empty() && record_work >= call.target_work()) break;
      work += record_work;
      bytes += add(*pending_, rows);
      pending_ = nullptr;
    }
    give(rows, out);
    out.set_work(work);
    if (const double share = file_.share_read(); share >= 0) call.progress(share);
    return more;
  }

 private:
  struct Rows {
    std::vector<std::string> read_id, contig, aligned_bases, bam_record;
    std::vector<std::int64_t> ref_start, ref_end, record_index;
    std::vector<std::uint8_t> is_reverse, mapq;
    std::vector<std::uint16_t> flag;
    std::vector<std::vector<std::uint32_t>> cigar;
  };

  void check_reference(const Batch& reference) {
    std::vector<Contig> known;
    const TextView names = reference.text("name");
    const TextView bases = reference.text("bases");
    for (std::int64_t i = 0; i < reference.rows(); ++i) {
      known.push_back({std::string(names[i]), static_cast<std::int64_t>(bases[i].size())});
      contigs_.emplace(names[i], bases[i]);
    }
    reference_path_ = reference.attribute("path");
    std::vector<Contig> needed = file_.contigs();
    if (file_.region()) needed = {needed[static_cast<std::size_t>(file_.region()->contig)]};
    const std::string mismatch = contig_mismatch(needed, known);
    if (!mismatch.empty())
      throw Failure::input(
          "alignment file '" + parameters_.path + "' is from another reference than '" + std::string(reference.attribute("path")) + "': " + mismatch,
          "give the FASTA file that the reads were aligned to");
  }

  // Another reference of the same names and lengths: the first records tell.
  void compare_with_reference(const Call& call, const bam1_t& record) {
    if (agreement_.records >= enough_records) return;
    const auto contig = contigs_.find(file_.contig_name(record.core.tid));
    if (contig == contigs_.end()) return;
    add_record(record, contig->second, agreement_);
    if (agreement_.records == enough_records) judge_agreement(call);
  }
  void judge_agreement(const Call& call) const {
    if (agreement_.bases < enough_bases || agreement_.share() >= least_agreement) return;
    call.warn("only " + std::to_string(static_cast<int>(100 * agreement_.share())) + " % of the aligned bases of the first " +
              std::to_string(agreement_.records) + " records in '" + parameters_.path + "' are those of the reference '" + reference_path_ +
              "': is it the one that the reads were aligned to? Its names and lengths are right");
  }

  // The next record that passes the filters; nullptr at the end or when the run is cancelled.
  const bam1_t* advance(const Call& call) {
    while (!call.cancelled()) {
      const bam1_t* record = file_.next();
      if (record == nullptr) {
        if (file_.outside_region() != 0 && !outside_accounted_) call.account(Reason::outside_region, file_.outside_region());
        outside_accounted_ = true;
        if (agreement_.records < enough_records) judge_agreement(call);
        return nullptr;
      }
      const bam1_core_t& core = record->core;
      const auto drop = [&](Reason reason) { call.account(reason, 1, bam_get_qname(record)); };
      if ((core.flag & BAM_FUNMAP) != 0 || core.tid < 0)
        drop(Reason::unmapped);
      else if (!parameters_.secondary && (core.flag & BAM_FSECONDARY) != 0)
        drop(Reason::secondary);
      else if (!parameters_.supplementary && (core.flag & BAM_FSUPPLEMENTARY) != 0)
        drop(Reason::supplementary);
      else if (core.qual < parameters_.min_mapq)
        drop(Reason::low_mapping_quality);
      else
        return compare_with_reference(call, *record), record;
    }
    return nullptr;
  }

  // Returns the bytes it takes in the batch's columns.
  std::uint64_t add(const bam1_t& record, Rows& rows) const {
    const bam1_core_t& core = record.core;
    rows.read_id.emplace_back(bam_get_qname(&record));
    rows.contig.emplace_back(file_.contig_name(core.tid));
    rows.ref_start.push_back(core.pos);
    rows.ref_end.push_back(bam_endpos(&record));
    rows.is_reverse.push_back(bam_is_rev(&record) ? 1 : 0);
    rows.flag.push_back(core.flag);
    rows.mapq.push_back(core.qual);
    rows.cigar.emplace_back(bam_get_cigar(&record), bam_get_cigar(&record) + core.n_cigar);
    rows.record_index.push_back(static_cast<std::int64_t>(file_.visited()) - 1);
    if (wants_bases_) hts::sequenced_bases(record, rows.aligned_bases.emplace_back());
    if (wants_record_) serialise(record, rows.bam_record.emplace_back());
    return 64 + rows.read_id.back().size() + rows.contig.back().size() + 4ULL * core.n_cigar + (wants_bases_ ? rows.aligned_bases.back().size() : 0) +
           (wants_record_ ? rows.bam_record.back().size() : 0);
  }

  template <Element T>
  static void give_values(Output& out, const char* name, const std::vector<T>& values) {
    const std::span<T> column = out.column<T>(name);
    std::copy(values.begin(), values.end(), column.begin());
  }

  void give(const Rows& rows, Output& out) const {
    out.set_rows(static_cast<std::int64_t>(rows.read_id.size()));
    out.text_rows("read_id", rows.read_id);
    out.text_rows("contig", rows.contig);
    give_values(out, "ref_start", rows.ref_start);
    give_values(out, "ref_end", rows.ref_end);
    give_values(out, "is_reverse", rows.is_reverse);
    give_values(out, "flag", rows.flag);
    give_values(out, "mapq", rows.mapq);
    out.gather<std::uint32_t>("cigar", out.offsets([&](std::int64_t r) { return rows.cigar[static_cast<std::size_t>(r)].size(); }), rows.cigar);
    give_values(out, "record_index", rows.record_index);
    if (wants_bases_) out.text_rows("aligned_bases", rows.aligned_bases);
    if (wants_record_) out.text_rows("bam_record", rows.bam_record, "binary");
  }

  Parameters parameters_;
  AlignmentFile file_;
  std::unordered_map<std::string_view, std::string_view> contigs_;  // names and bases of the reference, if there is one
  std::string reference_path_;
  Agreement agreement_;
  bool wants_bases_, wants_record_;
  const bam1_t* pending_ = nullptr;  // read but in no batch yet; the file's own record
  bool outside_accounted_ = false;
};

}  // namespace
}  // namespace sluice::alignment_reader

SLUICE_PLUGIN("alignment_reader", "0.1.0", "MIT", sluice::alignment_reader::AlignmentReader);
