// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "sequence_store/stored_reads.hpp"

#include <algorithm>
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
      "follow do, whatever the file is compressed with. Letters are upper case, U is T.");
  d.work_unit("base");
  d.gives("read_id", "utf8", "name of the read").gives("bases", "utf8", "its bases, upper case, T for U").row_length("bases", "base");
  d.uses("reads", "sequence", "the reads");
  d.reason("empty_sequence", "the record has no bases");
}

StoredReads::StoredReads(const Setup& setup, const Parameters&)
    : reads_(setup.resource("reads")),
      part_(setup, reads_),
      rows_(setup, static_cast<std::uint64_t>(part_.begin), static_cast<std::uint64_t>(part_.end)) {}

bool StoredReads::process(const Call& call, Output& out) {
  given_.clear();
  double work = 0;
  for (; !rows_.is_empty() && (given_.empty() || work < call.target_work()); ++rows_.next) {
    const auto row = static_cast<std::int64_t>(rows_.next);
    if (reads_.length(row) == 0) {
      call.account(Reason::empty_sequence, 1, std::string(reads_.name(row)));
      continue;
    }
    given_.push_back(row);
    work += static_cast<double>(reads_.length(row));
  }
  out.set_rows(static_cast<std::int64_t>(given_.size()));
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
      std::replace(first, first + reads_.length(given_[i]), 'U', 'T');
    }
  });
  const std::int64_t all = part_.end - part_.begin;
  if (all > 0) call.progress(static_cast<double>(static_cast<std::int64_t>(rows_.next) - part_.begin) / static_cast<double>(all));
  return !rows_.is_empty();
}

}  // namespace sluice::sequence_store
