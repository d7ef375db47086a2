// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>
#include <sluice/hts/bgzf_block.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <string>
#include <vector>

using namespace sluice::hts;

namespace {

std::mt19937 random_bits(7);
std::size_t below(std::size_t end) { return random_bits() % end; }

// The fields that say where bases and qualities are, and bytes around them.
std::string record_of(std::string_view bases, std::string_view qualities, std::size_t operations, std::string_view tags) {
  std::string record(36, '\0');
  const auto put = [&](std::size_t at, auto value) { std::memcpy(record.data() + at, &value, sizeof value); };
  record[12] = 5;
  put(16, static_cast<std::uint16_t>(operations));
  put(20, static_cast<std::uint32_t>(qualities.size()));
  record += std::string("read\0", 5);
  for (std::size_t i = 0; i < operations; ++i) {
    const auto operation = static_cast<std::uint32_t>(below(40) << 4 | i % 3);
    record.append(reinterpret_cast<const char*>(&operation), sizeof operation);
  }
  record.append(bases).append(qualities).append(tags);
  put(0, static_cast<std::uint32_t>(record.size() - 4));
  return record;
}
std::string letters(std::size_t count, std::size_t kinds, char first) {
  std::string text(count, '\0');
  for (char& c : text) c = static_cast<char>(first + static_cast<char>(below(kinds)));
  return text;
}
std::string packed_bases(std::size_t bases) {
  std::string text((bases + 1) / 2, '\0');
  for (char& c : text) c = static_cast<char>((1 << below(4)) << 4 | 1 << below(4));
  return text;
}
std::string noisy_record(std::size_t bases) { return record_of(packed_bases(bases), letters(bases, 20, 3), bases / 8, "NMi\x01\x02\x03\x04"); }

const BgzfWriter::Run one_by_one = [](std::size_t count, const auto& body) { body(0, count); };
std::string file_of(const std::vector<std::string>& records, int level, std::size_t blocks_at_a_time = 1) {
  BgzfWriter writer(level);
  std::string file;
  for (const std::string& record : records) {
    writer.add_record(record);
    if (writer.waiting() >= blocks_at_a_time) writer.compress(file, one_by_one);
  }
  writer.finish(file, one_by_one);
  return file;
}
std::string text_of(std::string_view file) {
  const BgzfInflater inflater;
  std::string text;
  while (!file.empty()) {
    const std::string_view block = file.substr(0, BgzfBlock::bytes(file.data()));
    REQUIRE(!block.empty());
    std::string part(BgzfBlock::text_bytes(block), '\0');
    REQUIRE(inflater.inflate(block, part.data(), part.size()));
    text += part;
    file.remove_prefix(block.size());
  }
  return text;
}
std::string joined(const std::vector<std::string>& records) {
  std::string text;
  for (const std::string& record : records) text += record;
  return text;
}

}  // namespace

TEST_CASE("records of any kind come back as they were, whenever blocks are compressed") {
  std::vector<std::string> records;
  for (int i = 0; i < 120; ++i) {
    const std::size_t bases = i % 10 == 0 ? 70'000 + below(90'000) : below(i % 3 == 0 ? 300 : 20'000);
    switch (i % 7) {
      case 0:
        records.push_back(record_of(packed_bases(bases), std::string(bases, '\xFF'), bases / 9, ""));
        break;
      case 1:
        records.push_back(record_of(packed_bases(bases), letters(bases, 2, 30), 1, ""));
        break;
      case 2:
        records.push_back(record_of("", "", 3, letters(bases, 90, 33)));
        break;  // no bases, long tags
      case 3:
        records.push_back(record_of(std::string((bases + 1) / 2, '\x11'), letters(bases, 256, 0), bases / 3, "x"));
        break;
      case 4:
        records.push_back(letters(36 + bases, 256, 0));
        break;  // lengths that say anything
      case 5:
        records.push_back(letters(1 + below(40), 256, 0));
        break;
      default:
        records.push_back(noisy_record(bases));
    }
  }
  const std::string file = file_of(records, -1), text = joined(records);
  CHECK((text_of(file) == text));
  CHECK((file_of(records, -1, 1000) == file));
  CHECK((file_of(records, -1, 3) == file));
  CHECK((text_of(file_of(records, 6)) == text));
}

TEST_CASE("records of long reads with errors get smaller than by a search for repetitions") {
  std::vector<std::string> records;
  for (int i = 0; i < 200; ++i) records.push_back(noisy_record(6000 + below(4000)));
  const std::size_t sections = file_of(records, -1).size(), search = file_of(records, 6).size();
  CHECK(sections < search * 97 / 100);
}

TEST_CASE("reads that lie above each other, short reads and letters that are nearly all alike are left to the search") {
  const std::string read = packed_bases(9000);
  std::vector<std::string> repeated, with_few_errors, of_few_letters;
  for (int i = 0; i < 100; ++i) {
    repeated.push_back(record_of(read, letters(18'000, 20, 3), 4, "x"));
    with_few_errors.push_back(noisy_record(150));
    std::string qualities = letters(9000, 1, 40);
    for (int k = 0; k < 90; ++k) qualities[below(qualities.size())] = 10;
    of_few_letters.push_back(record_of(packed_bases(9000), qualities, 4, "x"));
  }
  for (const auto& records : {repeated, with_few_errors, of_few_letters}) CHECK((file_of(records, -1) == file_of(records, 6)));
}

TEST_CASE("a file that is gone on with has the blocks of one that was written at once") {
  std::vector<std::string> records;
  for (int i = 0; i < 60; ++i) records.push_back(noisy_record(i % 8 == 0 ? 90'000 : 5000 + below(5000)));
  const std::string whole = file_of(records, -1);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{9}, std::size_t{30}}) {
    BgzfWriter before, after;
    std::string file, state;
    for (std::size_t i = 0; i < cut; ++i) before.add_record(records[i]);
    before.compress(file, one_by_one);
    sluice::StateWriter to(
        [](void* text, const void* data, std::size_t bytes) -> sluice_status {
          return static_cast<std::string*>(text)->append(static_cast<const char*>(data), bytes), SLUICE_OK;
        },
        &state);
    before.save(to);
    sluice::StateReader from(state);
    after.restore(from);
    for (std::size_t i = cut; i < records.size(); ++i) after.add_record(records[i]);
    after.finish(file, one_by_one);
    CHECK((file == whole));
  }
}

TEST_CASE("prefix codes are complete, no longer than allowed, and shorter for what is more frequent") {
  std::vector<std::uint32_t> fibonacci(30, 1), few(286), same(286, 5);
  for (std::size_t i = 2; i < fibonacci.size(); ++i) fibonacci[i] = fibonacci[i - 1] + fibonacci[i - 2];
  few[3] = 1;
  few[256] = 1'000'000;
  for (const auto& counts : {fibonacci, few, same})
    for (const std::size_t longest : {std::size_t{9}, std::size_t{14}}) {
      PrefixCode code;
      code.make(counts, longest);
      std::size_t taken = 0;
      for (std::size_t a = 0; a < counts.size(); ++a) {
        REQUIRE((code[a].length > 0) == (counts[a] > 0));
        REQUIRE(code[a].length <= longest);
        if (counts[a] > 0) taken += std::size_t{1} << (longest - code[a].length);
        for (std::size_t b = 0; b < counts.size(); ++b) {
          if (counts[a] > counts[b] && counts[b] > 0) CHECK(code[a].length <= code[b].length);
          const std::uint32_t shared = (1U << std::min(code[a].length, code[b].length)) - 1;
          if (a != b && counts[a] > 0 && counts[b] > 0) CHECK(((code[a].bits ^ code[b].bits) & shared) != 0);
        }
      }
      CHECK(taken == std::size_t{1} << longest);
    }
  PrefixCode one;
  one.make(std::vector<std::uint32_t>{0, 7, 0}, 7);
  CHECK(one[1].length == 1);
  CHECK(one.end() == 2);
}
