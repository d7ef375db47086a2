// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <htslib/sam.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <sluice/hts/handles.hpp>
#include <sluice/sequence/bases.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sluice::alignment_writer {
namespace {

// A BAI index reaches to 2^29 bases; longer contigs need CSI.
constexpr std::int64_t longest_bai_contig = std::int64_t{1} << 29U;

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
        .summary("writes aligned reads to a BAM file, and its index")
        .doc(
            "One record a read, in the order of the rows, with bases and qualities turned to the orientation of the reference. With an index the "
            "rows must come sorted by "
            "contig (in the order of the reference) and position, as the simulator's do. The index is OUTPUT.bai, or OUTPUT.csi if a contig has more "
            "than 2^29 bases.")
        .work_unit("base");
    d.uses("reference", "contig", "names and lengths for the header");
    d.needs("read_id", "utf8", "identifier")
        .needs("contig", "utf8", "reference name")
        .needs("ref_start", "i64", "first base on the reference, 0-based")
        .needs("flag", "u16", "SAM flag")
        .needs("mapq", "u8", "mapping quality")
        .needs("cigar", "list<u32>", "BAM encoding, in reference orientation")
        .needs("bases", "utf8", "in sequencing orientation")
        .needs("qualities", "utf8", "Phred + 33, in sequencing orientation", Needed::optional);
    d.option("output", &Parameters::output, "BAM file to write; - is standard output, without an index")
        .required()
        .writes()
        .beside(".bai")
        .beside(".csi");
    d.option("index", &Parameters::index, "write the index; the rows must be sorted");
    d.reason("cannot_encode",
             "the identifier is longer than 254 characters, the contig is not in the reference, or CIGAR, bases and qualities do not fit each other");
  }

  BamWriter(const Setup& setup, const Parameters& parameters)
      : path_(parameters.output),
        has_index_(parameters.index && parameters.output != "-"),
        has_qualities_(setup.available("qualities")),
        file_(setup, parameters.output),
        header_(sam_hdr_init()),
        record_(bam_init1()) {
    const Batch reference = setup.resource("reference");
    const TextView names = reference.text("name"), bases = reference.text("bases");
    std::string text = std::string("@HD\tVN:1.6\tSO:") + (parameters.index ? "coordinate" : "unknown") + "\n";
    bool is_long = false;
    for (std::int64_t row = 0; row < reference.rows(); ++row) {
      text += "@SQ\tSN:" + std::string(names[row]) + "\tLN:" + std::to_string(bases[row].size()) + "\n";
      contigs_.emplace(names[row], static_cast<std::int32_t>(row));
      is_long = is_long || static_cast<std::int64_t>(bases[row].size()) > longest_bai_contig;
    }
    text += "@PG\tID:sluice\tPN:sluice\n";
    if (header_ == nullptr || record_ == nullptr || sam_hdr_add_lines(header_.get(), text.data(), text.size()) != 0)
      throw Failure::output("cannot make the header of " + path_, "contig names must be valid in SAM");
    bam_.reset(hts_open(file_.path().c_str(), "wb"));
    if (bam_ == nullptr || sam_hdr_write(bam_.get(), header_.get()) != 0) throw cannot_write();
    if (!has_index_) return;
    index_file_ = OutputFile(setup, path_ + (is_long ? ".csi" : ".bai"));
    index_path_ = index_file_.path();  // HTSlib keeps the pointer
    if (sam_idx_init(bam_.get(), header_.get(), is_long ? 14 : 0, index_path_.c_str()) != 0) throw cannot_write();
  }

  void process(const Call&, const Batch& in, Output& out) const {
    const TextView ids = in.text("read_id"), contigs = in.text("contig"), bases = in.text("bases");
    const TextView qualities = has_qualities_ ? in.text("qualities") : bases;
    const auto cigars = in.list<std::uint32_t>("cigar");
    const auto starts = in.column<std::int64_t>("ref_start");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      std::uint64_t query = 0;
      for (const std::uint32_t operation : cigars[row])
        if ((bam_cigar_type(operation & 0xFU) & 1) != 0) query += operation >> 4U;
      const std::int64_t start = starts[static_cast<std::size_t>(row)];
      const bool fits = !ids[row].empty() && ids[row].size() < 255 && contigs_.contains(std::string(contigs[row])) && query == bases[row].size() &&
                        start >= 0 && qualities[row].size() == bases[row].size() && bases[row].size() <= std::numeric_limits<std::int32_t>::max() / 4;
      if (!fits) out.fail(row, Reason::cannot_encode);
    }
  }

  void commit(const Call& call, const Batch& in) {
    std::uint64_t written = 0;
    const TextView ids = in.text("read_id"), contigs = in.text("contig"), bases = in.text("bases");
    const TextView qualities = has_qualities_ ? in.text("qualities") : bases;
    const auto cigars = in.list<std::uint32_t>("cigar");
    const auto starts = in.column<std::int64_t>("ref_start");
    const auto flags = in.column<std::uint16_t>("flag");
    const auto mapqs = in.column<std::uint8_t>("mapq");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto i = static_cast<std::size_t>(row);
      const auto contig = contigs_.find(std::string(contigs[row]));
      if (contig == contigs_.end()) continue;
      if (has_index_ && (contig->second < last_contig_ || (contig->second == last_contig_ && starts[i] < last_start_)))
        throw Failure::input("read '" + std::string(ids[row]) + "' lies before the read in front of it: an index needs sorted reads",
                             "set index = false, then sort " + path_);
      last_contig_ = contig->second;
      last_start_ = starts[i];

      bases_.assign(bases[row]);
      qualities_.assign(qualities[row]);
      if ((flags[i] & BAM_FREVERSE) != 0) {
        std::reverse(bases_.begin(), bases_.end());
        std::transform(bases_.begin(), bases_.end(), bases_.begin(), iupac_complement);
        std::reverse(qualities_.begin(), qualities_.end());
      }
      for (char& quality : qualities_) quality = has_qualities_ ? static_cast<char>(quality - 33) : static_cast<char>(0xFF);
      const std::string id(ids[row]);
      const int made = bam_set1(record_.get(), id.size(), id.c_str(), flags[i], contig->second, starts[i], mapqs[i], cigars[row].size(),
                                cigars[row].data(), -1, -1, 0, bases_.size(), bases_.data(), qualities_.data(), 0);
      if (made < 0 || sam_write1(bam_.get(), header_.get(), record_.get()) < 0) throw cannot_write();
      ++written;
    }
    call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
  }

  void finish(const Call&, Output&) {
    if (has_index_ && sam_idx_save(bam_.get()) != 0) throw cannot_write();
    if (hts_close(bam_.release()) != 0) throw cannot_write();
    file_.close();
    if (has_index_) index_file_.close();
  }

 private:
  Failure cannot_write() const { return Failure::output("cannot write " + path_, "is the disk full?"); }

  std::string path_, index_path_;
  bool has_index_, has_qualities_;
  OutputFile file_, index_file_;
  std::unordered_map<std::string, std::int32_t> contigs_;
  hts::Header header_;
  hts::Record record_;
  hts::File bam_;
  std::int32_t last_contig_ = 0;
  std::int64_t last_start_ = 0;
  std::string bases_, qualities_;
};

}  // namespace
}  // namespace sluice::alignment_writer

SLUICE_PLUGIN("alignment_writer", "0.1.0", "MIT", sluice::alignment_writer::BamWriter);
