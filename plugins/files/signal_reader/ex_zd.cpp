// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/ex_zd.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sluice::signal_reader {
namespace {

constexpr std::uint32_t least_exception = 256;
constexpr unsigned most_shift = 15;

template <class T>
T load(std::span<const char> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Numbers of 1 to 4 bytes, their lengths in front, 2 bits each.
class Numbers {
 public:
  Numbers(std::span<const char> bytes, std::size_t count) : bytes_(bytes), at_((count + 3) / 4) {}
  // False: the bytes end before.
  bool next(std::uint32_t& value) {
    if (number_ / 4 >= bytes_.size()) return false;
    const std::size_t size = (static_cast<unsigned char>(bytes_[number_ / 4]) >> (2 * (number_ % 4)) & 3U) + 1;
    if (at_ > bytes_.size() || bytes_.size() - at_ < size) return false;
    value = 0;
    std::memcpy(&value, bytes_.data() + at_, size);
    at_ += size;
    ++number_;
    return true;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const char> bytes_;
  std::size_t number_ = 0, at_;
};

std::uint16_t unzigzag(std::uint16_t value) { return static_cast<std::uint16_t>((value >> 1) ^ (0U - (value & 1U))); }
std::int16_t shifted(std::uint16_t level, unsigned shift) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(level << shift)); }

}  // namespace

ExZdSignal::Status ExZdSignal::parse(std::span<const char> begin, std::size_t all_bytes) {
  const auto wants = [&](std::size_t bytes) {
    needed_ = bytes;
    return bytes > all_bytes ? Status::corrupt : Status::incomplete;
  };
  if (begin.size() < ex_zd_count_bytes) return wants(ex_zd_count_bytes);
  if (begin[0] != 0) return Status::corrupt;
  count_ = load<std::uint64_t>(begin, 1);
  if (count_ == 0) return Status::ok;
  if (begin.size() < ex_zd_fixed_bytes) return wants(ex_zd_fixed_bytes);
  shift_ = static_cast<unsigned char>(begin[9]);
  first_ = load<std::uint16_t>(begin, 10);
  const auto number = load<std::uint32_t>(begin, 12);
  if (shift_ > most_shift || number > count_ - 1 || count_ > all_bytes || count_ > std::numeric_limits<std::uint32_t>::max()) return Status::corrupt;
  exceptions_.clear();
  data_ = ex_zd_fixed_bytes;
  if (number > 0)
    if (const Status status = parse_exceptions(begin, all_bytes, number); status != Status::ok) return status;
  return all_bytes < data_ || all_bytes - data_ < count_ - 1 - number ? Status::corrupt : Status::ok;
}

ExZdSignal::Status ExZdSignal::parse_exceptions(std::span<const char> begin, std::size_t all_bytes, std::uint32_t number) {
  const auto is_here = [&](std::size_t bytes) {
    needed_ = bytes;
    return begin.size() >= bytes;
  };
  const auto wants_more = [&] { return needed_ > all_bytes ? Status::corrupt : Status::incomplete; };
  const auto add = [&](std::uint64_t delta, std::uint64_t zigzag) {
    if (delta >= count_ - 1 || zigzag > std::numeric_limits<std::uint16_t>::max()) return false;
    exceptions_.push_back({static_cast<std::uint32_t>(delta), static_cast<std::uint16_t>(zigzag)});
    return true;
  };
  if (number == 1) {
    if (!is_here(data_ + 6)) return wants_more();
    const bool fits = add(load<std::uint32_t>(begin, data_), std::uint64_t{load<std::uint16_t>(begin, data_ + 4)} + least_exception);
    data_ += 6;
    return fits ? Status::ok : Status::corrupt;
  }
  if (!is_here(data_ + 4)) return wants_more();
  const std::size_t places = data_ + 4, places_bytes = load<std::uint32_t>(begin, data_);
  if (!is_here(places + places_bytes + 4)) return wants_more();
  const std::size_t values = places + places_bytes + 4, values_bytes = load<std::uint32_t>(begin, values - 4);
  if (!is_here(values + values_bytes)) return wants_more();
  // A number takes a byte and a quarter at least: what claims more is not worth the memory.
  if (number > places_bytes || number > values_bytes) return Status::corrupt;
  Numbers place(begin.subspan(places, places_bytes), number), value(begin.subspan(values, values_bytes), number);
  std::uint64_t delta = 0;
  for (std::uint32_t i = 0; i < number; ++i, ++delta) {
    std::uint32_t further = 0, zigzag = 0;
    if (!place.next(further) || !value.next(zigzag)) return Status::corrupt;
    delta += further;
    if (!add(delta, std::uint64_t{zigzag} + least_exception)) return Status::corrupt;
  }
  data_ = values + values_bytes;
  return place.at_end() && value.at_end() ? Status::ok : Status::corrupt;
}

std::size_t ExZdSignal::bytes_until(std::size_t samples) const {
  if (samples == 0) return data_;
  const std::size_t deltas = samples - 1;
  const auto before = [](const Exception& one, std::size_t delta) { return one.delta < delta; };
  const auto passed = std::lower_bound(exceptions_.begin(), exceptions_.end(), deltas, before) - exceptions_.begin();
  return data_ + deltas - static_cast<std::size_t>(passed);
}

void ExZdSignal::decode(std::span<const char> begin, std::size_t until, std::int16_t* out) {
  if (next_ < until && next_ == 0) {
    level_ = unzigzag(first_);
    *out++ = shifted(level_, shift_);
    next_ = 1;
  }
  const char* byte = begin.data() + data_ + next_byte_;
  std::uint16_t level = level_;
  while (next_ < until) {
    const bool has_exception = next_exception_ < exceptions_.size() && exceptions_[next_exception_].delta < until - 1;
    const std::size_t end = has_exception ? exceptions_[next_exception_].delta + std::size_t{1} : until;  // of the samples before it
    for (; next_ < end; ++next_) {
      level = static_cast<std::uint16_t>(level + unzigzag(static_cast<unsigned char>(*byte++)));
      *out++ = shifted(level, shift_);
    }
    if (!has_exception) break;
    level = static_cast<std::uint16_t>(level + unzigzag(exceptions_[next_exception_++].zigzag));
    *out++ = shifted(level, shift_);
    ++next_;
  }
  level_ = level;
  next_byte_ = static_cast<std::size_t>(byte - begin.data()) - data_;
}

bool decode_ex_zd(std::span<const char> stored, std::vector<std::int16_t>& samples) {
  ExZdSignal signal;
  if (signal.parse(stored, stored.size()) != ExZdSignal::Status::ok) return false;
  const auto count = static_cast<std::size_t>(signal.count());
  if (count == 0) return true;
  if (signal.bytes_until(count) != stored.size()) return false;
  const std::size_t before = samples.size();
  samples.resize(before + count);
  signal.decode(stored, count, samples.data() + before);
  return true;
}

}  // namespace sluice::signal_reader
