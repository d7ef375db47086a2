// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Reading in blocks, on many threads, must give what SequenceStream gives, which goes through the text record by record.
#include "read_bases/read_batches.hpp"

#include <doctest/doctest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <random>
#include <sluice/testing.hpp>
#include <thread>

#include "read_bases/sequence_file.hpp"
#include "unit/files/written_files.hpp"

using namespace sluice::read_bases;
using sluice::testing::TemporaryFolder;
using sluice::written_files::Packing;
using sluice::written_files::write_file;
using sluice::written_files::write_packed;

namespace {

// What came of a file: the reads, one a line, the names of those without bases, and what stopped them.
struct Outcome {
  std::string reads, problem, without_bases;
  bool operator==(const Outcome&) const = default;
};

void add_read(Outcome& outcome, std::string_view name, std::string_view bases, std::string_view qualities) {
  if (bases.empty())
    outcome.without_bases += std::string(name) + "\n";
  else
    outcome.reads += std::string(name) + " " + std::string(bases) + " " + std::string(qualities) + "\n";
}

Outcome expected_of(const std::string& path) {
  Outcome outcome;
  try {
    SequenceStream stream(sluice::hts::open_text({path}), path);
    SequenceRecord record;
    while (stream.next(record)) {
      std::string bases(record.bases, '\0'), qualities(stream.format() == sluice::SequenceFormat::fastq ? record.bases : 0, '\0');
      copy_letters(record.sequence, bases.data());
      normalise_bases(bases);
      if (!qualities.empty()) copy_letters(record.quality, qualities.data());
      add_read(outcome, record.id, bases, qualities);
    }
  } catch (const sluice::Failure& failure) {
    outcome.problem = failure.what();
  }
  return outcome;
}

enum class Threads { one, backwards, four };
ParallelFor parallel_for(Threads threads) {
  return [threads](std::size_t count, const std::function<void(std::size_t)>& body) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) body(threads == Threads::backwards ? count - 1 - i : i);
    };
    std::vector<std::thread> helpers;
    for (int i = 0; threads == Threads::four && i < 3; ++i) helpers.emplace_back(work);
    work();
    for (std::thread& helper : helpers) helper.join();
  };
}

struct Cut {
  std::size_t piece_bytes = usual_piece_bytes;
  ReadBatches::Sizes sizes{1e5, UINT64_MAX, 1 << 18};
  Threads threads = Threads::backwards;
};
Outcome found_in(ReadBatches& batches, const Cut& cut) {
  Outcome outcome;
  const auto add_empty = [&](const ReadBatch& batch) {
    for (const std::string& name : batch.without_bases) add_read(outcome, name, "", "");
  };
  try {
    while (const auto batch = batches.next(cut.sizes, {}, parallel_for(cut.threads), [] { return false; })) {
      add_empty(*batch);
      for (std::size_t row = 0; row < static_cast<std::size_t>(batch->rows); ++row) {
        const auto part = [row](const sluice::Buffer& ends, const sluice::Buffer& text) {
          const auto at = ends.as<std::int64_t>();
          return std::string_view(static_cast<const char*>(text.data()) + at[row], static_cast<std::size_t>(at[row + 1] - at[row]));
        };
        add_read(outcome, part(batch->name_ends, batch->names), part(batch->base_ends, batch->bases), part(batch->quality_ends, batch->qualities));
      }
    }
    batches.check_end();
  } catch (const sluice::Failure& failure) {
    outcome.problem = failure.what();
  }
  return outcome;
}
Outcome found_in(const std::string& path, const Cut& cut) {
  try {
    ReadBatches batches(open_text_input(path, FileHandle(hopen(path.c_str(), "r")), 0, cut.piece_bytes), path, {});
    return found_in(batches, cut);
  } catch (const sluice::Failure& failure) {
    return {"", failure.what(), ""};
  }
}

void write(const std::string& path, std::string_view text) { write_file(path, text); }

// BGZF, with a block for each `block_bytes` of text.
std::string as_bgzf(const std::string& path, std::string_view text, std::size_t block_bytes) {
  return sluice::testing::detail::file_bytes(write_packed(path, text, Packing::bgzf, block_bytes));
}
std::string as_gzip(const std::string& path, std::string_view text) {
  return sluice::testing::detail::file_bytes(write_packed(path, text, Packing::gzip));
}

// zstd in frames of so much text.
std::string as_zstd(std::string_view text, std::size_t frame_text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += frame_text) {
    const std::string_view part = text.substr(at, frame_text);
    std::string frame(ZSTD_compressBound(part.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), part.data(), part.size(), 3));
    bytes += frame;
  }
  return bytes;
}

// A text of records as files have them, and as they may have them.
class TextMaker {
 public:
  explicit TextMaker(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string letters(std::size_t count, std::string_view from) {
    std::string made(count, '\0');
    for (char& letter : made) letter = from[below(from.size())];
    return made;
  }
  // wild: sections of several lines of any length, blank lines, "\r\n", no last newline.
  std::string text(bool fastq, std::size_t records, std::size_t longest, bool wild) {
    const std::string newline = wild && below(2) == 0 ? "\r\n" : "\n";
    std::string made;
    const auto add_section = [&](const std::string& section) {
      const std::size_t width = wild ? 1 + below(longest) : section.size() + 1;
      const bool even = below(3) > 0;
      for (std::size_t at = 0; at < section.size();) {
        const std::size_t line = even ? width : 1 + below(width);
        made += section.substr(at, line) + newline;
        at += line;
        if (wild && below(20) == 0) made += newline;
      }
      if (section.empty() && below(2) == 0) made += newline;
    };
    for (std::size_t i = 0; i < records; ++i) {
      const std::size_t bases = below(longest);
      made += (fastq ? "@" : ">") + std::string("r") + std::to_string(i) + (below(2) == 0 ? " more @ > +" : "") + newline;
      add_section(letters(bases, "ACGTacgtUuNnRYKMSWBDHVry"));
      if (!fastq) continue;
      made += "+" + std::string(below(2) == 0 ? "r" : "") + newline;
      add_section(letters(bases, "@>+!~IIII5"));
      // Blank lines are part of nothing.
      if (wild && below(10) == 0) made += newline;
    }
    if (wild && below(2) == 0)
      while (made.ends_with('\n') || made.ends_with('\r')) made.pop_back();
    return made;
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("letters are scanned, copied and checked alike at every length and place") {
  TextMaker make(3);
  std::vector<LineEnd> ends;
  for (std::size_t size = 0; size < 300; ++size) {
    const std::string text = make.letters(size, "\n\rAC>@");
    const std::size_t found = find_line_ends(text, ends);
    std::size_t expected = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (text[i] != '\n') continue;
      REQUIRE(expected < found);
      const LineEnd end = ends[expected++];
      CHECK(end.at == i);
      CHECK((end.after_return != 0) == (i > 0 && text[i - 1] == '\r'));
      CHECK(static_cast<char>(end.next) == (i + 1 < size ? text[i + 1] : '\0'));
    }
    CHECK(found == expected);
  }
  for (int code = 0; code < 256; ++code)
    for (std::size_t size = 1; size < 100; size += code % 7 + 1) {
      std::string text = make.letters(size, "ACGTUacgtunRYSWKMBDHVryswkmbdhv");
      const std::size_t at = make.below(size);
      text[at] = static_cast<char>(code);
      std::string bases = "<" + std::string(size, '.') + ">", expected = text;
      const bool good = normalise_bases(expected);
      CHECK(copy_bases({text.data(), 0, size, size}, size, bases.data() + 1) == good);
      if (good) CHECK(bases == "<" + expected + ">");
      text = make.letters(size, "!~AI5@");
      text[at] = static_cast<char>(code);
      std::string qualities = "<" + std::string(size, '.') + ">";
      CHECK(copy_qualities({text.data(), 0, size, size}, size, qualities.data() + 1) == (code >= '!' && code <= '~'));
      CHECK(qualities == "<" + text + ">");
      CHECK(copy_qualities({text.data(), 0, size, size}, size, nullptr) == (code >= '!' && code <= '~'));
    }
  const std::string lines = "acgt\r\nACGU\r\nNN";
  for (std::size_t from = 0; from < 10; ++from)
    for (std::size_t to = from; to <= 10; ++to) {
      std::string out(to - from, '.');
      CHECK(copy_bases({lines.data() + from / 4 * 6 + from % 4, from % 4, 4, 6}, to - from, out.data()));
      CHECK(out == std::string("ACGTACGTNN").substr(from, to - from));
    }
}

TEST_CASE("any bytes give the same reads or the same message, however they are cut") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  TextMaker make(5);
  int whole = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = make.letters(make.below(60), "@>+\n\n\r ACGTI!~x");
    // Often enough something that begins as it should.
    if (round % 3 > 0) text = (round % 3 == 1 ? "@a\nAC\n+\nII\n@" : ">a\nAC\n>") + text;
    write(path, text);
    CAPTURE(text);
    const bool is_empty = text.find_first_not_of("\r\n") == std::string::npos;  // lines without anything: no records
    const Outcome expected = is_empty ? Outcome() : expected_of(path);
    whole += expected.problem.empty() ? 1 : 0;
    const std::size_t pieces = 1 + make.below(9), block = 1 + make.below(30);
    CAPTURE(pieces);
    CAPTURE(block);
    const Outcome found = found_in(path, {pieces, {static_cast<double>(make.below(9)), UINT64_MAX, block}});
    CHECK(found.problem == expected.problem);
    // A batch with a bad letter is not given.
    CHECK((expected.problem.empty() ? found == expected : expected.reads.starts_with(found.reads)));
    CHECK(expected.without_bases.starts_with(found.without_bases));
  }
  CHECK(whole > 100);
}

TEST_CASE("records lie at every place of pieces, blocks and batches") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
#ifdef SLUICE_SLOW
  constexpr std::uint32_t texts = 4;
#else
  constexpr std::uint32_t texts = 60;
#endif
  for (std::uint32_t seed = 0; seed < texts; ++seed) {
    TextMaker make(seed);
    const bool fastq = seed % 2 == 0, wild = seed % 4 >= 2;
    const std::string text = make.text(fastq, 1 + make.below(40), 1 + make.below(200), wild);
    write(path, text);
    CAPTURE(text);
    const Outcome expected = expected_of(path);
    REQUIRE(expected.problem.empty());
    for (const std::size_t piece : {1, 2, 3, 7, 64, 100000})
      for (const std::size_t block : {1, 5, 63, 64, 200, 100000}) {
        const Cut cut{piece, {static_cast<double>(make.below(300)), make.below(2) == 0 ? UINT64_MAX : make.below(300), block}};
        CHECK(found_in(path, cut) == expected);
      }
    CHECK(found_in(path, {16, {50, UINT64_MAX, 128}, Threads::four}) == expected);
    // Blocks of BGZF at every place, too.
    const std::string blocks = folder.path() + "/x.gz";
    for (const std::size_t block : {1, 7, 64, 1000}) {
      as_bgzf(blocks, text, block);
      CHECK(found_in(blocks, {100, {50, UINT64_MAX, 64}}) == expected);
      CHECK(found_in(blocks, {100, {50, UINT64_MAX, 100000}, Threads::four}) == expected);
    }
  }
}

TEST_CASE("reads without bases come in batches, too, however few the bases between them") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "@r" + std::to_string(i) + (i == 10'000 ? "\nA\n+\nI\n" : "\n\n+\n\n");
  write(path, text);
  CHECK(found_in(path, {}) == expected_of(path));
  ReadBatches batches(open_text_input(path, FileHandle(hopen(path.c_str(), "r")), 0), path, {});
  int count = 0;
  while (const auto batch = batches.next({1e5, UINT64_MAX, 1 << 18}, {}, parallel_for(Threads::one), [] { return false; })) {
    CHECK(batch->without_bases.size() <= most_without_bases);
    ++count;
  }
  CHECK(count == 5);
}

TEST_CASE("text of many pieces and blocks is read from files and pipes, plain, BGZF, gzip and one behind the other") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  for (const auto& [fastq, wild] : {std::pair{true, false}, {true, true}, {false, false}, {false, true}}) {
    TextMaker make(9);
    const std::string text = make.text(fastq, 900, 9000, wild) + "\n", more = make.text(fastq, 100, 9000, wild);
    write(path, text + more);
    const Outcome expected = expected_of(path);
    REQUIRE(expected.problem.empty());
    const std::string one = as_gzip(path, text), two = as_gzip(path, more), one_blocks = as_bgzf(path, text, 65280),
                      two_blocks = as_bgzf(path, more, 60000);
    for (const std::string& bytes : {text + more, one + two, one_blocks + two_blocks, one_blocks + two, one + two_blocks, as_gzip(path, text + more),
                                     as_zstd(text + more, 70'000), as_zstd(text + more, 1 << 24)}) {
      write(path, bytes);
      for (const Threads threads : {Threads::one, Threads::backwards, Threads::four}) {
        CHECK(found_in(path, {usual_piece_bytes, {1e5, UINT64_MAX, 1 << 18}, threads}) == expected);
        CHECK(found_in(path, {4096, {1e6, UINT64_MAX, 1 << 22}, threads}) == expected);
      }
      int ends[2];
      REQUIRE(::pipe(ends) == 0);
      std::thread writer([&] {
        for (std::size_t at = 0; at < bytes.size(); at += 50001)
          REQUIRE(::write(ends[1], bytes.data() + at, std::min<std::size_t>(50001, bytes.size() - at)) > 0);
        ::close(ends[1]);
      });
      ReadBatches batches(open_text_input("a pipe", FileHandle(hdopen(ends[0], "r"))), "a pipe", {});
      CHECK(found_in(batches, {}) == expected);
      writer.join();
    }
  }
}

TEST_CASE("a read or contig that is longer than any block is whole, and so are its neighbours") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  TextMaker make(1);
  const std::string bases = make.letters(10'000'000, "ACGTacgu"), qualities = make.letters(bases.size(), "@+>!I~");
  std::string wrapped = ">first\nACGT\n>long one\n", ragged = wrapped;
  for (std::size_t at = 0; at < bases.size(); at += 70) wrapped += bases.substr(at, 70) + "\r\n";
  for (std::size_t at = 0, width = 1; at < bases.size(); at += width, width = 1 + width * 7 % 100) ragged += bases.substr(at, width) + "\n";
  for (const std::string& text : {"@first\nACGT\n+\nIIII\n@long one\n" + bases + "\n+\n" + qualities + "\n@last\nA\n+\nI\n", wrapped + ">last\nA\n",
                                  ragged + ">last\nA", ">first\nACGT\n>long one\n" + bases}) {
    write(path, text);
    const Outcome expected = expected_of(path);
    REQUIRE(expected.problem.empty());
    CHECK(found_in(path, {4096, {1e5, UINT64_MAX, 1 << 16}}) == expected);
    CHECK(found_in(path, {usual_piece_bytes, {1e5, UINT64_MAX, 1 << 20}, Threads::four}) == expected);
    as_gzip(path, text);
    CHECK(found_in(path, {}) == expected);
    as_bgzf(path, text, 65280);
    CHECK(found_in(path, {}) == expected);
  }
}

TEST_CASE("a letter that must not be there is named with its place, wherever it is") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  TextMaker make(2);
  for (const bool wild : {false, true})
    for (int round = 0; round < 60; ++round) {
      std::string text = make.text(round % 2 == 0, 20, 3000, wild);
      text[make.below(text.size())] = "*\x01 -\xff"[make.below(5)];
      write(path, text);
      const Outcome expected = expected_of(path), found = found_in(path, {64, {2000, UINT64_MAX, 5000}, Threads::four});
      CHECK(found.problem == expected.problem);
      // Batches before the one with the letter are given.
      CHECK(expected.reads.starts_with(found.reads));
    }
  // In a read that several threads copy.
  std::string text = "@r\n" + std::string(1'000'000, 'A') + "\n+\n" + std::string(1'000'000, 'I') + "\n";
  for (const std::size_t at : {3UL, 500'000UL, 1'000'002UL, 1'000'006UL, 2'000'005UL}) {
    std::string bad = text;
    bad[at] = ' ';
    write(path, bad);
    CHECK(found_in(path, {}).problem == expected_of(path).problem);
    CHECK_FALSE(found_in(path, {}).problem.empty());
  }
}

TEST_CASE("files that are cut anywhere are refused, or are what HTSlib takes for whole") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.gz";
  const std::string text = TextMaker(4).text(true, 12, 60, false);
  const std::string blocks = as_bgzf(path, text, 150), members = as_gzip(path, text.substr(0, 400)) + as_gzip(path, text.substr(400));
  for (const std::string& bytes : {blocks, members, blocks + members, members + blocks})
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
      write(path, bytes.substr(0, size));
      const Outcome expected = expected_of(path), found = found_in(path, {100, {20, UINT64_MAX, 64}});
      CAPTURE(size);
      // How much text there was is now said exactly, and reads in front of the end are given.
      CHECK(found.problem.substr(0, found.problem.find(" after ")) == expected.problem.substr(0, expected.problem.find(" after ")));
      CHECK(found.reads.starts_with(expected.reads));
    }
}

TEST_CASE("one bit of a compressed file is never wrong unseen") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.gz";
  const std::string text = TextMaker(4).text(true, 12, 60, false);
  const std::string blocks = as_bgzf(path, text, 150), members = as_gzip(path, text.substr(0, 400)) + as_gzip(path, text.substr(400));
  write(path, text);
  const Outcome whole = expected_of(path);
  for (const std::string& bytes : {blocks, members})
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] ^= static_cast<char>(1U << bit % 8);
      write(path, damaged);
      const Outcome found = found_in(path, {100, {20, UINT64_MAX, 300}});
      CAPTURE(bit);
      // gzip's checksum stands behind all of a member's text, which is given before.
      if (found.problem.empty())
        CHECK(found == whole);
      else if (bytes == blocks)
        CHECK(whole.reads.starts_with(found.reads));
    }
}

TEST_CASE("a file that shrinks while it is read ends there") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  const std::string text = TextMaker(6).text(true, 400, 9000, false);
  write(path, text);
  ReadBatches batches(open_text_input(path, FileHandle(hopen(path.c_str(), "r"))), path, {});
  const Cut cut{usual_piece_bytes, {1e5, UINT64_MAX, 1 << 18}};
  REQUIRE(batches.next(cut.sizes, {}, parallel_for(Threads::four), [] { return false; }));
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(text.size() / 2)) == 0);
  CHECK(found_in(batches, cut).problem.find("the file ends within") != std::string::npos);
}

TEST_CASE("zstd that is cut or damaged is refused behind the text that is there") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x";
  TextMaker make(4);
  const std::string text = make.text(true, 300, 9000, false), whole = as_zstd(text, 100'000);
  write(path, text);
  const Outcome expected = expected_of(path);
  write(path, whole);
  REQUIRE(found_in(path, {}) == expected);
  for (const std::size_t bytes : {std::size_t{5}, std::size_t{17}, whole.size() / 3, whole.size() - 1}) {
    write(path, std::string_view(whole).substr(0, bytes));
    const Outcome cut = found_in(path, {});
    CHECK(cut.problem.find("is truncated or damaged") != std::string::npos);
    CHECK(expected.reads.starts_with(cut.reads));
    CHECK(cut.reads.size() < expected.reads.size());
  }
  std::string damaged = whole;
  for (std::size_t at = whole.size() / 2; at < whole.size() / 2 + 200; ++at) damaged[at] = 'x';
  write(path, damaged);
  CHECK(!found_in(path, {}).problem.empty());
  write(path, whole + "something else");
  CHECK(found_in(path, {}).problem.find("is truncated or damaged") != std::string::npos);
}
