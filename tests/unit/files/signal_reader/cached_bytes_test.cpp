// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/cached_bytes.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include "unit/fresh_file.hpp"

using namespace sluice::signal_reader;

namespace {

constexpr std::size_t pages = 300, page = 4096;  // more than are looked at in one piece

struct Opened {
  explicit Opened(const std::string& path) : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Opened() { ::close(number); }
  Opened(const Opened&) = delete;
  const int number;
};

std::string many_bytes() {
  std::string bytes(pages * page + 17, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 + i / page);
  return bytes;
}

// Two parts, as a record behind its size.
bool reads(const CachedBytes& cached, std::uint64_t offset, std::string& first, std::string& second) {
  const iovec parts[] = {{first.data(), first.size()}, {second.data(), second.size()}};
  return cached.read(offset, parts);
}

}  // namespace

TEST_CASE("what was just written is read without a disk, by asking and by looking at pages") {
  const std::string path = "cached_bytes.bin";
  const std::string bytes = many_bytes();
  sluice::written_files::write_file(path, bytes);
  const Opened file(path);
  for (const auto way : {CachedBytes::Way::asks, CachedBytes::Way::looks}) {
    const CachedBytes cached(file.number, way);
    for (const auto& [offset, of_first, of_second] :
         {std::array<std::size_t, 3>{0, 8, bytes.size() - 8}, {page - 1, 1, 1}, {5 * page, 0, 3 * page}, {bytes.size() - 9, 8, 1}}) {
      std::string first(of_first, 'x'), second(of_second, 'x');
      CAPTURE(offset);
      CHECK(reads(cached, offset, first, second));
      CHECK(first + second == bytes.substr(offset, of_first + of_second));
    }
    std::string none, one(1, 'x'), all(bytes.size(), 'x');
    CHECK_FALSE(reads(cached, bytes.size(), none, one));
    CHECK_FALSE(reads(cached, 1, none, all));
    CHECK_FALSE(reads(cached, std::uint64_t{1} << 60, none, one));
  }
}

TEST_CASE("what a file has no more is not read, though its pages were looked at") {
  const std::string path = "cached_bytes_cut.bin";
  sluice::written_files::write_file(path, many_bytes());
  const Opened file(path);
  const CachedBytes cached(file.number, CachedBytes::Way::looks);
  std::string none, some(2 * page, 'x');
  REQUIRE(reads(cached, 7 * page, none, some));
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(8 * page)) == 0);
  CHECK_FALSE(reads(cached, 7 * page, none, some));
}

TEST_CASE("what the system gave up is not read, whichever way") {
  const std::string path = "cached_bytes_given_up.bin";
  sluice::written_files::write_file(path, many_bytes());
  const Opened file(path);
  ::fsync(file.number);
  ::posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED);
  const CachedBytes asks(file.number), looks(file.number, CachedBytes::Way::looks);
  std::string none, some(10 * page, 'x');
  // A system may keep them: then both say so.
  const bool is_kept = reads(looks, 20 * page, none, some);
  CHECK(reads(asks, 20 * page, none, some) == is_kept);
  CHECK(::pread(file.number, some.data(), some.size(), 20 * page) == static_cast<ssize_t>(some.size()));
  CHECK(reads(looks, 20 * page, none, some));
}
