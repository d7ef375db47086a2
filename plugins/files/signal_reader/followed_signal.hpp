// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Records by read id in signal files that others still write: POD5 when a file is whole, BLOW5 and SLOW5 by whole records.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sluice/followed_lookup.hpp>
#include <string_view>
#include <vector>

#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {

class FollowedSignal {
 public:
  // Is a file one that can be read with the others? Throws Failure.
  using Check = std::function<void(const SignalFile&)>;
  // incomplete, repeated: reasons of the stage.
  FollowedSignal(FollowRules rules, std::uint32_t incomplete, std::uint32_t repeated, Check check);

  struct Found {
    const SignalFile* file = nullptr;
    std::size_t number = 0;  // of the file
    RecordPlace place;       // bytes = 0: nowhere, yet
  };
  Found find(std::string_view read_id) const;
  FollowedLookup& lookup() { return lookup_; }

 private:
  struct Source {
    SignalFile file;
    RecordCursor cursor;
    std::size_t number;
    std::string damage;  // why nothing more is read from it; "": nothing
    explicit Source(const FollowedLookup::File& followed, SignalFile::Growth growth, std::size_t number_)
        : file(followed.path, growth), cursor(file), number(number_) {}
  };
  FollowedLookup::Taken take_up(const Call& call, const FollowedLookup::File& file, FollowedLookup::Growth growth, std::uint64_t& records);
  void add_records(const Call& call, Source& source, std::uint64_t& records);

  std::uint32_t repeated_;
  Check check_;
  FollowedLookup lookup_;
  std::map<const FollowedLookup::File*, std::size_t> numbers_;
  std::vector<std::unique_ptr<Source>> sources_;
  SignalIndex index_;  // offsets are place_in_all()
};

}  // namespace sluice::signal_reader
