// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/stored_reads.hpp"

#include <algorithm>
#include <sluice/minimizer_index.hpp>
#include <string_view>

namespace sluice::sequence_store {
namespace {

constexpr std::size_t reads_per_part = 16;

}  // namespace

void StoredReads::describe(Describe<StoredReads>& d) {
  d.id("stored_reads").summary("gives the sequences of a store as reads, in its order").source("read").rows_named_by("read_id");
  d.positions().parts();
  d.doc(
      "For pipelines in which reads are compared with each other: their parts begin and end at rows of the store, where those of the stages that "
      "follow do, whatever the file is compressed with. Letters are upper case, U is T.\n\n"
      "Where `index` is an index in several parts, the reads are given once for each part, one part after the other.");
  d.work_unit("base");
  d.gives("read_id", "utf8", "name of the read").gives("bases", "utf8", "its bases, upper case, T for U").row_length("bases", "base");
  d.gives("index_part", "i32", "part of the index that the row is for, from 0", Needed::optional);
  d.uses("reads", "sequence", "the reads");
  d.uses("index", "minimizer_index", "what the reads are compared with; without it they are given once", Needed::optional);
  d.reason("empty_sequence", "the record has no bases");
}

StoredReads::StoredReads(const Setup& setup, const Parameters&)
    : reads_(setup.resource("reads")),
      part_(setup, reads_),
      rows_(setup, static_cast<std::uint64_t>(part_.begin), static_cast<std::uint64_t>(part_.end)),
      first_row_(rows_.next),
      wants_index_part_(setup.wanted("index_part")) {
  if (setup.has_resource("index")) index_parts_ = static_cast<std::int32_t>(minimizer_index_view(setup.resource("index")).parts());
}

void StoredReads::report_progress(const Call& call) const {
  const double all = static_cast<double>(static_cast<std::int64_t>(rows_.end) - part_.begin);
  if (all > 0) call.progress((index_part_ + static_cast<double>(static_cast<std::int64_t>(rows_.next) - part_.begin) / all) / index_parts_);
}

bool StoredReads::process(const Call& call, Output& out) {
  given_.clear();
  double work = 0;
  for (; !rows_.is_empty() && (given_.empty() || work < call.target_work()); ++rows_.next) {
    const auto row = static_cast<std::int64_t>(rows_.next);
    if (reads_.length(row) == 0) {
      if (in_last_part()) call.account(Reason::empty_sequence, 1, std::string(reads_.name(row)));
      continue;
    }
    given_.push_back(row);
    work += static_cast<double>(reads_.length(row));
  }
  out.set_rows(static_cast<std::int64_t>(given_.size()));
  out.set_work(work);
  std::vector<std::string_view> names;
  for (const std::int64_t row : given_) names.push_back(reads_.name(row));
  out.text_rows("read_id", names);
  const Buffer ends = out.offsets([&](std::int64_t i) { return reads_.length(given_[static_cast<std::size_t>(i)]); });
  const std::span<char> bases = out.text("bases", ends);
  call.parallel_for(given_.size(), reads_per_part, [&](std::size_t begin, std::size_t end) {
    auto scratch = scratch_.take();
    for (std::size_t i = begin; i < end; ++i) {
      char* const first = bases.data() + ends.as<std::int64_t>()[i];
      reads_.fetch_bases(given_[i], 0, reads_.length(given_[i]), first, *scratch);
    }
  });
  if (wants_index_part_) std::ranges::fill(out.column<std::int32_t>("index_part"), index_part_);
  // Batches that differ in an attribute are never gathered into one call.
  if (index_parts_ > 1) out.set_attribute("index_part", std::to_string(index_part_));
  report_progress(call);
  if (!rows_.is_empty()) return true;
  if (in_last_part()) return false;
  ++index_part_;
  rows_.next = first_row_;
  return first_row_ < rows_.end;
}

}  // namespace sluice::sequence_store
