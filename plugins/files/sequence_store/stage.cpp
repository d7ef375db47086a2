// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <functional>
#include <memory>
#include <sluice/hts/input_end.hpp>
#include <sluice/input_files.hpp>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "sequence_store/letters_in_memory.hpp"
#include "sequence_store/overlap_sequences.hpp"
#include "sequence_store/stored_file.hpp"
#include "sequence_store/stored_reads.hpp"

namespace sluice::sequence_store {
namespace {

// The resource: a table of where each sequence lies, and the open file.
class SequenceStore {
 public:
  struct Parameters {
    Path path;
    std::int64_t memory = 0;
  };
  static void describe(Describe<SequenceStore>& d) {
    d.id("sequence_store").summary("reads or contigs on disk, to be fetched by row").resource("sequence");
    d.doc(
        "FASTA or FASTQ, plain, gzip or BGZF. One row per record in file order; what is in memory is where each record lies (about 70 bytes and its "
        "name), not the sequences, so memory stays flat as the input grows. A compressed file, a pipe, and a file whose records have lines of "
        "unequal length are written once to an unlinked file in the temporary folder (TMPDIR), as are several files.\n\n"
        "With memory the first sequences' letters are held, too, which saves reading them over and over: the bases, 2 bits each, and with what is "
        "left "
        "the qualities. Sequences with other letters than A, C, G and T stay on disk.\n\n"
        "Attributes: path, descriptor (number of the open file, which lives as long as the columns do), mean_length (bases). "
        "sluice/sequence_store.hpp fetches.");
    d.option("path", &Parameters::path, "FASTA or FASTQ files or folders, plain or compressed").required().reads().several(text_endings);
    d.option("memory", &Parameters::memory, "letters that are held in memory").range(0, 1e9).unit("MiB");
    d.gives("name", "utf8", "name up to the first blank").gives("length", "i64", "bases");
    d.gives("bases_offset", "i64", "byte of the first base in the open file");
    d.gives("qualities_offset", "i64", "byte of the first quality; -1: no qualities, or all of them '!'");
    d.gives("line_bases", "i64", "bases in a full line").gives("line_bytes", "i64", "the same with the line end");
    d.gives("packed_bases", "list<u64>", "the bases in memory, 2 bits each, as sluice/sequence/packed_bases.hpp has them");
    d.gives("is_packed", "u8", "1: packed_bases has them");
    d.gives("qualities_in_memory", "list<u8>", "Phred + 33 in memory, or none");
  }
  SequenceStore(const Setup&, const Parameters& p) : paths_(input_files(p.path, text_endings)), bytes_in_memory_(p.memory << 20) {
    path_ = "'" + paths_[0] + "'";
    if (paths_.size() > 1) path_ += " and " + std::to_string(paths_.size() - 1) + " other" + (paths_.size() > 2 ? "s" : "");
  }

  void process(const Call& call, Output& out) {
    const auto parallel = [&call](std::size_t count, const std::function<void(std::size_t)>& body) {
      call.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) body(i);
      });
    };
    const auto stored =
        std::make_shared<const StoredFile>(paths_.size() == 1 ? open_stored_file(paths_[0], parallel, [&call] { return call.cancelled(); })
                                                              : open_stored_files(paths_, [&call] { return call.cancelled(); }));
    const SequenceTable& table = stored->table;
    for (const std::string& path : paths_)
      if (hts::is_fasta_with_open_end(path)) call.warn(hts::open_end_text("'" + path + "'"));
    if (table.length.empty()) call.warn(hts::empty_text(path_));
    if (!table.length.empty())
      for (const std::string& path : stored->empty_files) call.warn(hts::empty_text("'" + path + "'"));
    if (stored->spooled > 0)
      call.info("the sequences of " + path_ + " were written to a temporary file of " + std::to_string((stored->spooled >> 20) + 1) +
                " MiB for this run (TMPDIR), as " + stored->why_spooled);
    const auto rows = static_cast<std::int64_t>(table.length.size());
    out.set_rows(rows);
    const auto adopt = [&](const auto& values) { return Buffer::adopt(stored, values.data(), values.size() * sizeof values[0]); };
    out.add("name", text_column(rows, adopt(table.name_offsets), adopt(table.names)));
    out.add("length", fixed_column<std::int64_t>(rows, adopt(table.length)));
    out.add("bases_offset", fixed_column<std::int64_t>(rows, adopt(table.bases_offset)));
    out.add("qualities_offset", fixed_column<std::int64_t>(rows, adopt(table.qualities_offset)));
    out.add("line_bases", fixed_column<std::int64_t>(rows, adopt(table.line_bases)));
    out.add("line_bytes", fixed_column<std::int64_t>(rows, adopt(table.line_bytes)));
    hold_letters(call, *stored, paths_[0], bytes_in_memory_, out);
    out.set_attribute("path", paths_[0]);
    out.set_attribute("descriptor", std::to_string(stored->file.number()));
    out.set_attribute("mean_length", std::to_string(rows > 0 ? static_cast<double>(table.total_bases) / static_cast<double>(rows) : 0.0));
  }

 private:
  static constexpr const char* text_endings =
      ".fastq .fq .fasta .fa .fastq.gz .fq.gz .fasta.gz .fa.gz .fastq.zst .fq.zst .fasta.zst .fa.zst";  // zstd: refused
  std::vector<std::string> paths_;
  std::int64_t bytes_in_memory_;
  std::string path_;  // for messages
};

}  // namespace
}  // namespace sluice::sequence_store

SLUICE_PLUGIN("sequence_store", "0.1.0", "MIT", sluice::sequence_store::SequenceStore, sluice::sequence_store::OverlapSequences,
              sluice::sequence_store::StoredReads);
