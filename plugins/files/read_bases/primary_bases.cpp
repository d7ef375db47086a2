// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_bases/primary_bases.hpp"

#include <htslib/sam.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/failure.hpp>
#include <sluice/hts/fasta_index.hpp>
#include <sluice/hts/handles.hpp>
#include <sluice/hts/header_input.hpp>
#include <sluice/hts/input_end.hpp>
#include <sluice/hts/open_input.hpp>
#include <sluice/hts/record_bases.hpp>
#include <sluice/hts/record_input.hpp>

namespace sluice::read_bases {
namespace {

constexpr std::uint64_t records_between_questions = 1 << 14;
constexpr std::size_t letters_at_once = std::size_t{1} << 20;

bool is_clipped(const bam1_t& record) {
  if (record.core.n_cigar == 0) return false;
  const std::uint32_t* const cigar = bam_get_cigar(&record);
  return bam_cigar_op(cigar[0]) == BAM_CHARD_CLIP || bam_cigar_op(cigar[record.core.n_cigar - 1]) == BAM_CHARD_CLIP;
}
bool has_whole_read(const bam1_t& record) { return record.core.l_qseq > 0 && !is_clipped(record); }

template <class Each>
void for_each_record(const std::string& path, const std::string& reference, int threads, const std::function<bool()>& cancelled, const Each& each) {
  const std::string name = "alignment file '" + path + "'";
  const hts::File file = hts::open_file(path);
  if (!file) throw Failure::input("cannot open " + name + ": " + std::strerror(errno), "check the path");
  const hts::Header header = hts::read_header(*file, name);  // before HTSlib has the reference, after whose lengths it changes it
  if (!reference.empty() && file->format.format == cram) {
    hts::renew_fasta_index(reference);  // what is to be said of it the reader of these alignments says
    hts_set_opt(file.get(), CRAM_OPT_REFERENCE, reference.c_str());
  }
  if (file->format.format != sam || file->format.compression != no_compression) hts::add_threads(*file, threads);
  const hts::Record record(allocated(bam_init1()));
  hts::RecordsInOrder records(*file, *header, path, name, reference);
  while (records.next(*record)) {
    each(*record);
    if (records.records() % records_between_questions == 0 && cancelled()) return;
  }
}

}  // namespace

PrimaryBases::PrimaryBases(const std::vector<std::string>& paths, const std::string& reference, int threads, const std::function<bool()>& cancelled)
    : letters_(std::make_unique<SpillFile>("-", "give --reads")) {
  hts::silence();
  for (const std::string& path : paths)
    for_each_record(path, reference, threads, cancelled, [&](const bam1_t& record) {
      if ((record.core.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) != 0 && !has_whole_read(record)) reads_.try_emplace(bam_get_qname(&record));
    });
  if (reads_.empty()) return;
  std::string some, bases;
  std::uint64_t offset = 0;
  for (const std::string& path : paths)
    for_each_record(path, reference, threads, cancelled, [&](const bam1_t& record) {
      if ((record.core.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) != 0 || !has_whole_read(record)) return;
      const auto read = reads_.find(std::string_view(bam_get_qname(&record)));
      if (read == reads_.end() || read->second.bases != 0) return;
      hts::sequenced_bases(record, bases);
      read->second = {offset, static_cast<std::uint32_t>(bases.size())};
      offset += bases.size();
      some += bases;
      if (some.size() < letters_at_once) return;
      letters_->append(some);
      some.clear();
    });
  letters_->append(some);
}

std::size_t PrimaryBases::bases(std::string_view read_id) const {
  const auto read = reads_.find(read_id);
  return read == reads_.end() ? 0 : read->second.bases;
}

void PrimaryBases::fetch(std::string_view read_id, char* to) const {
  const auto read = reads_.find(read_id);
  if (read != reads_.end()) letters_->read(read->second.offset, to, read->second.bases);
}

}  // namespace sluice::read_bases
