// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <htslib/sam.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <sluice/allocated.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/hts/bam_bytes.hpp>
#include <sluice/hts/bam_index.hpp>
#include <sluice/hts/bgzf_output.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/join_bam.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/sequence/bases.hpp>
#include <sluice/sequencing_run.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "alignment_writer/tagged_bam_writer.hpp"

namespace sluice::alignment_writer {
namespace {

enum class Reason { cannot_encode };

class BamWriter {
 public:
  struct Parameters {
    Path output;
    bool index = true;
  };

  static void describe(Describe<BamWriter>& d) {
    d.id("bam_writer")
        .sink("read")
        .concatenates()
        .summary("writes aligned reads to a BAM file, and its index")
        .doc(
            "One record a read, in the order of the rows, with bases and qualities turned to the orientation of the reference. With an index the "
            "rows must come sorted by "
            "contig (in the order of the reference) and position, as the simulator's do. The index is OUTPUT.bai, or OUTPUT.csi if a contig has more "
            "than 2^29 bases.")
        .work_unit("base");
    d.uses("reference", "contig", "names and lengths for the header");
    d.uses("run", "sequencing_run", "for a @RG line as dorado writes it, and a @PG line of the basecaller", Needed::optional);
    d.needs("read_id", "utf8", "identifier")
        .needs("contig", "utf8", "reference name")
        .needs("ref_start", "i64", "first base on the reference, 0-based")
        .needs("flag", "u16", "SAM flag")
        .needs("mapq", "u8", "mapping quality")
        .needs("cigar", "list<u32>", "BAM encoding, in reference orientation")
        .needs("bases", "utf8", "in sequencing orientation")
        .needs("qualities", "utf8", "Phred + 33, in sequencing orientation", Needed::optional)
        .needs("tags", "binary", "tags of the records, as in BAM", Needed::optional);
    d.option("output", &Parameters::output, "BAM file to write; - is standard output, without an index")
        .required()
        .writes()
        .beside(".bai")
        .beside(".csi");
    d.option("index", &Parameters::index, "write the index; the rows must be sorted");
    d.reason(
        "cannot_encode",
        "the identifier is longer than 254 characters, the contig is not in the reference, CIGAR, bases and qualities do not fit each other, or the "
        "tags have more than 512 MB");
  }

  static std::string joined_form(const Parameters&) { return "BAM"; }
  static void join_files(const Call& call, const Parameters& p, const FilesToJoin& files) {
    hts::join_bam(call, files, -1, p.index ? hts::JoinedIndex::if_sorted : hts::JoinedIndex::none);
  }

  BamWriter(const Setup& setup, const Parameters& parameters)
      : path_(parameters.output),
        has_index_(parameters.index && parameters.output != "-"),
        has_qualities_(setup.available("qualities")),
        has_tags_(setup.available("tags")),
        header_(allocated(sam_hdr_init())) {
    const Batch reference = setup.resource("reference");
    const TextView names = reference.text("name"), bases = reference.text("bases");
    std::string text = std::string("@HD\tVN:1.6\tSO:") + (parameters.index ? "coordinate" : "unknown") + "\n";
    for (std::int64_t row = 0; row < reference.rows(); ++row) {
      text += "@SQ\tSN:" + std::string(names[row]) + "\tLN:" + std::to_string(bases[row].size()) + "\n";
      contigs_.emplace(names[row], static_cast<std::int32_t>(row));
    }
    if (setup.has_resource("run")) text += lines_of(SequencingRun(setup.resource("run")));
    text += "@PG\tID:sluice\tPN:sluice\n";
    if (hts::add_header_lines(*header_, text) != 0) throw Failure::output("cannot make the header of " + path_, "contig names must be valid in SAM");
    bam_.emplace(OutputFile(setup, path_));
    bam_->header(hts::bam_header_bytes(*header_));
    bam_->blocks().end_block();
    if (has_index_) {
      const auto format = hts::BamIndex::format_for(*header_);
      index_.emplace(*header_, format);
      index_file_ = OutputFile(setup, path_ + hts::BamIndex::suffix(format));
    }
    resume(setup, [this](StateReader& from) { restore(from); });
  }

  void process(const Call& call, const Batch& in, Output& out) {
    std::vector<std::string> records(static_cast<std::size_t>(in.rows()));
    call.parallel_for(records.size(), 16, [&](std::size_t begin, std::size_t end) {
      auto maker = makers_.take();
      for (std::size_t i = begin; i < end; ++i)
        if (const auto row = static_cast<std::int64_t>(i); in.ok(row) && !make_record(in, row, *maker, records[i]))
          out.fail(row, Reason::cannot_encode);
    });
    out.text_rows("_record", records, "binary");
  }

  void commit(const Call& call, const Batch& in) {
    std::uint64_t written = 0;
    const TextView ids = in.text("read_id"), contigs = in.text("contig"), records = in.text("_record");
    const auto starts = in.column<std::int64_t>("ref_start");
    hts::BgzfWriter& blocks = bam_->blocks();
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto i = static_cast<std::size_t>(row);
      const std::int32_t contig = contigs_.at(std::string(contigs[row]));
      if (index_ && (contig < last_contig_ || (contig == last_contig_ && starts[i] < last_start_)))
        throw Failure::input("read '" + std::string(ids[row]) + "' lies before the read in front of it: an index needs sorted reads",
                             "set index = false, then sort " + path_);
      last_contig_ = contig;
      last_start_ = starts[i];
      blocks.begin_record(records[row].size());
      if (index_) {
        hts::BamIndex::Entry entry = hts::BamIndex::entry_of(records[row]);
        entry.begin = blocks.place();
        index_->add(entry);
      }
      blocks.add_record(records[row]);
      ++written;
    }
    if (bam_->write(call) && index_ && !index_->take_known(blocks)) throw hts::index_failure("'" + path_ + "'");
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call& call, Output&) {
    bam_->finish(call);
    if (index_ && !index_->finish(bam_->blocks(), std::move(index_file_))) throw hts::index_failure("'" + path_ + "'");
  }
  void save(const Call& call, StateWriter& to) {
    to.value(last_contig_);
    to.value(last_start_);
    bam_->save(call, to);
    if (!index_) return;
    if (!index_->take_known(bam_->blocks())) throw hts::index_failure("'" + path_ + "'");
    index_->save(to);
  }

 private:
  // Working memory of one thread.
  struct Maker {
    hts::Record record{allocated(bam_init1())};
    std::string bases, qualities;
  };
  static std::string lines_of(const SequencingRun& run) {
    const auto either = [](std::string_view value) { return std::string(value.empty() ? "unknown" : value); };
    return "@RG\tID:" + run.read_group() + "\tPU:" + either(run.flow_cell_id) + "\tDT:" + utc_text(run.acquisition_start) +
           "\tPL:ONT\tDS:runid=" + std::string(run.run_id) + " basecall_model=" + std::string(run.basecall_model) + "\n" +
           "@PG\tID:basecaller\tPN:dorado\tVN:" + std::string(run.basecaller_version) + "\tDS:simulated by sluice\n";
  }

  void restore(StateReader& from) {
    last_contig_ = from.value<std::int32_t>();
    last_start_ = from.value<std::int64_t>();
    bam_->restore(from);
    if (index_) index_->restore(from, bam_->path(), bam_->blocks());
  }

  bool make_record(const Batch& in, std::int64_t row, Maker& maker, std::string& bytes) const {
    const auto i = static_cast<std::size_t>(row);
    const std::string id(in.text("read_id")[row]);
    const std::string_view bases = in.text("bases")[row];
    const auto cigar = in.list<std::uint32_t>("cigar")[row];
    const std::int64_t start = in.column<std::int64_t>("ref_start")[i];
    const std::uint16_t flag = in.column<std::uint16_t>("flag")[i];
    const auto contig = contigs_.find(std::string(in.text("contig")[row]));
    std::uint64_t query = 0;
    for (const std::uint32_t operation : cigar)
      if ((bam_cigar_type(operation & 0xFU) & 1) != 0) query += operation >> 4U;
    maker.bases = bases;
    if (has_qualities_)
      maker.qualities = in.text("qualities")[row];
    else
      maker.qualities.assign(bases.size(), no_quality);
    const std::string_view tags = has_tags_ ? in.text("tags")[row] : std::string_view();
    const bool fits = !id.empty() && id.size() < 255 && contig != contigs_.end() && query == bases.size() && start >= 0 &&
                      maker.qualities.size() == bases.size() && bases.size() <= std::numeric_limits<std::int32_t>::max() / 4 &&
                      tags.size() <= std::numeric_limits<std::int32_t>::max() / 4;
    if (!fits) return false;
    if ((flag & BAM_FREVERSE) != 0) {
      std::reverse(maker.bases.begin(), maker.bases.end());
      std::transform(maker.bases.begin(), maker.bases.end(), maker.bases.begin(), iupac_complement);
      std::reverse(maker.qualities.begin(), maker.qualities.end());
    }
    if (has_qualities_)
      for (char& quality : maker.qualities) quality = static_cast<char>(quality - 33);
    return bam_set1(maker.record.get(), id.size(), id.c_str(), flag, contig->second, start, in.column<std::uint8_t>("mapq")[i], cigar.size(),
                    cigar.data(), -1, -1, 0, maker.bases.size(), maker.bases.data(), maker.qualities.data(), tags.size()) >= 0 &&
           add_tags(tags, *maker.record) && hts::append_bam_record(*maker.record, bytes);
  }

  // Into the room that bam_set1 has left behind the qualities.
  static bool add_tags(std::string_view tags, bam1_t& record) {
    std::copy(tags.begin(), tags.end(), record.data + record.l_data);
    record.l_data += static_cast<int>(tags.size());
    return true;
  }

  static constexpr char no_quality = static_cast<char>(0xFF);
  std::string path_;
  bool has_index_, has_qualities_, has_tags_;
  std::unordered_map<std::string, std::int32_t> contigs_;
  hts::Header header_;
  std::optional<hts::BgzfOutput> bam_;
  std::optional<hts::BamIndex> index_;
  OutputFile index_file_;
  std::int32_t last_contig_ = 0;
  std::int64_t last_start_ = 0;
  Workspaces<Maker> makers_;
};

}  // namespace
}  // namespace sluice::alignment_writer

SLUICE_PLUGIN_WITH((sluice::file_joining<sluice::alignment_writer::BamWriter, sluice::alignment_writer::TaggedBamWriter>), "alignment_writer",
                   "0.1.0", "MIT", sluice::alignment_writer::BamWriter, sluice::alignment_writer::TaggedBamWriter);
