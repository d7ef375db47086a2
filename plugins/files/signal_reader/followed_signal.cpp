// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/followed_signal.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "signal_reader/pod5_file.hpp"

namespace sluice::signal_reader {
namespace {

// Files grow, so a place among the bytes of all is one in room for 16 TiB each.
constexpr unsigned offset_bits = 44;

std::uint64_t place_in_all(std::size_t file, std::uint64_t offset) { return (std::uint64_t{file} << offset_bits) | offset; }

}  // namespace

FollowedSignal::FollowedSignal(FollowRules rules, std::uint32_t incomplete, std::uint32_t repeated, Check check)
    : repeated_(repeated),
      check_(std::move(check)),
      lookup_(std::move(rules), incomplete, "reads",
              [this](const Call& call, FollowedLookup::File& file, FollowedLookup::Growth growth, std::uint64_t& records) {
                return take_up(call, file, growth, records);
              }) {}

FollowedSignal::Found FollowedSignal::find(std::string_view read_id) const {
  const auto place = index_.find(read_id);
  if (!place) return {};
  const auto number = static_cast<std::size_t>(place->offset >> offset_bits);
  return {&sources_[number]->file, number, {place->offset & ((std::uint64_t{1} << offset_bits) - 1), place->bytes}};
}

FollowedLookup::Taken FollowedSignal::take_up(const Call& call, const FollowedLookup::File& file, FollowedLookup::Growth growth,
                                              std::uint64_t& records) {
  const bool grows = growth == FollowedLookup::Growth::possible;
  const auto known = numbers_.find(&file);
  if (known == numbers_.end()) {
    // What such a file holds is known at its end.
    if (grows && has_table(file.path)) return FollowedLookup::Taken::nothing;
    // Also of what is as long as it will be: the whole records of a truncated file are there.
    auto source = std::make_unique<Source>(file, SignalFile::Growth::possible, sources_.size());
    check_(source->file);
    sources_.push_back(std::move(source));
    numbers_.emplace(&file, sources_.size() - 1);
  } else {
    sources_[known->second]->file.extend();
  }
  Source& source = *sources_[numbers_.at(&file)];
  if (source.damage.empty()) add_records(call, source, records);
  if (!source.damage.empty()) throw Failure::input(source.damage, "copy the file again and compare checksums");
  if (grows) return FollowedLookup::Taken::part;
  source.file.check_end();
  return FollowedLookup::Taken::all;
}

void FollowedSignal::add_records(const Call& call, Source& source, std::uint64_t& records) {
  std::vector<RecordPlace> places;
  for (RecordPlace place; source.cursor.next_place(place);) places.push_back(place);
  std::vector<std::string> names(places.size());
  std::atomic<std::size_t> whole = places.size();  // those before the first damaged one
  call.parallel_for(places.size(), 256, [&](std::size_t begin, std::size_t end) {
    RecordDecoder decoder;
    std::vector<char> stored;
    SignalRecord record;
    for (std::size_t i = begin; i < end; ++i) {
      if (source.file.read_fields(places[i], decoder, stored, record) == RecordStatus::ok) {
        names[i] = record.read_id;
        continue;
      }
      std::size_t seen = whole;
      while (i < seen && !whole.compare_exchange_weak(seen, i)) {
      }
      return;
    }
  });
  RepeatedReads repeated(to_account(call, repeated_));
  for (std::size_t i = 0; i < whole; ++i)
    if (index_.add(names[i], {place_in_all(source.number, places[i].offset), places[i].bytes}) == SignalIndex::Added::duplicate)
      repeated.add(names[i]);
  records += whole;
  if (repeated.count() > 0)
    call.warn("signal file '" + source.file.path() + "' has " + std::to_string(repeated.count()) +
              " records of reads that an earlier record has, which is used: " + repeated.names());
  if (whole < places.size())
    source.damage =
        "signal file '" + source.file.path() + "' is damaged: record " + std::to_string(records + 1) + " cannot be decompressed or parsed";
}

}  // namespace sluice::signal_reader
