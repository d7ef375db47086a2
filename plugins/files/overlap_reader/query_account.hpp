// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Overlaps that are left out, accounted by the query they belong to: those of one query that go for one reason in one line.

#include <cstdint>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>

namespace sluice::overlap_reader {

template <class Reason>
class QueryAccount {
 public:
  // query: "" if it has no name.
  void add(const Call& call, Reason reason, std::string_view query) {
    if (count_ > 0 && (reason != reason_ || query != query_)) flush(call);
    reason_ = reason;
    query_ = query;
    ++count_;
  }
  void flush(const Call& call) {
    if (count_ > 0) call.account(reason_, count_, query_);
    count_ = 0;
  }
  void save(StateWriter& to) const {
    to.value(reason_);
    to.text(query_);
    to.value(count_);
  }
  void restore(StateReader& from) {
    reason_ = from.value<Reason>();
    query_ = from.text();
    count_ = from.value<std::uint64_t>();
  }

 private:
  Reason reason_{};
  std::string query_;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::overlap_reader
