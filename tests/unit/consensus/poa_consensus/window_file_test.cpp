// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

using namespace sluice::poa_consensus;

namespace {

std::vector<FileWindow> windows_of(const std::string& text) {
  const sluice::testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/windows.txt", std::ios::binary) << text;
  WindowFile file(folder.path() + "/windows.txt");
  std::vector<FileWindow> windows;
  FileWindow window;
  while (file.next(window)) windows.push_back(window);
  return windows;
}

// What the file is refused with.
std::string refusal(const std::string& text) {
  try {
    windows_of(text);
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("windows are read with their names and sequences, upper-cased") {
  const auto windows = windows_of(">0 2 ACGT\nACGT\r\nacgn\n>second 3\nA\n\nTT\n>none 0\n");
  REQUIRE(windows.size() == 3);
  CHECK(windows[0].name == "0");
  CHECK(windows[0].sequences == "ACGTACGN");
  CHECK(windows[0].lengths == std::vector<std::int32_t>{4, 4});
  CHECK(windows[1].name == "second");
  CHECK(windows[1].sequences == "ATT");
  CHECK(windows[1].lengths == std::vector<std::int32_t>{1, 0, 2});
  CHECK(windows[2].lengths.empty());
  CHECK(windows_of("").empty());
}

TEST_CASE("broken files are refused with the line") {
  CHECK(has(refusal("ACGT\n"), ":1: expected '>'"));
  CHECK(has(refusal(">a\nACGT\n"), ":1: expected the window's name and its number"));
  CHECK(has(refusal(">a x\nACGT\n"), ":1: expected the window's name and its number"));
  CHECK(has(refusal(">a -1\n"), ":1: expected the window's name and its number"));
  CHECK(has(refusal(">a 99999999999\n"), ":1: expected the window's name and its number"));
  CHECK(has(refusal(">\n"), ":1: expected the window's name and its number"));
  CHECK(has(refusal(">a 2\nACGT\n"), ":2: the file ends in window 'a', behind 1 of its 2 sequences"));
  CHECK(has(refusal(">a 2\nACGT\n>b 1\nA\n"), ":3: window 'a' has only 1 of its 2 sequences"));
  CHECK(has(refusal(">a 1\nAC-T\n"), ":2: a character that is no letter"));
  CHECK(has(refusal(std::string(">a 1\nAC\0T\n", 10)), ":2: a character that is no letter"));
  CHECK(has(refusal(">a 1\nACGT\nACGT\n"), ":3: expected '>'"));
  CHECK_THROWS_AS(WindowFile("/nowhere/windows.txt"), sluice::Failure);
}

TEST_CASE("damaged files are read or refused") {
  std::mt19937 random(1);
  const std::string good = ">0 3 ACGT\nACGT\nACG\n\n>1 2 AC\nAAAA\nCCCC\n>2 0\n>3 1\nA\n";
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = good.substr(0, random() % 3 == 0 ? random() % good.size() : good.size());
    for (unsigned changes = random() % 4; changes > 0 && !damaged.empty(); --changes)
      damaged[random() % damaged.size()] = random() % 2 == 0 ? static_cast<char>(random() % 256) : ">\n 0123456789-ACGT"[random() % 17];
    try {
      for (const FileWindow& window : windows_of(damaged)) {
        std::size_t letters = 0;
        for (const std::int32_t length : window.lengths) letters += static_cast<std::size_t>(length);
        REQUIRE(letters == window.sequences.size());
      }
    } catch (const sluice::Failure& failure) {
      REQUIRE(failure.status() == SLUICE_ERROR_INPUT);
    }
  }
}

namespace {

FileWindow only_window(const std::string& name, const std::string& text, WindowFormat format = WindowFormat::automatic) {
  const sluice::testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/" + name, std::ios::binary) << text;
  WindowFile file(folder.path() + "/" + name, format);
  FileWindow window, another;
  const bool is_there = file.next(window), is_one_more = file.next(another);  // what they throw is the caller's
  REQUIRE(is_there);
  CHECK_FALSE(is_one_more);
  return window;
}

std::string sequences_refusal(const std::string& name, const std::string& text, WindowFormat format = WindowFormat::automatic) {
  try {
    only_window(name, text, format);
  } catch (const sluice::Failure& failure) {
    return failure.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a file of FASTA or FASTQ is one window, named after the file") {
  const FileWindow fasta = only_window("pile.7.fa", ">a some words\nacg\nTA\r\n>b\n\n>c\nGGn");
  CHECK(fasta.name == "pile.7");
  CHECK(fasta.sequences == "ACGTAGGN");
  CHECK(fasta.lengths == std::vector<std::int32_t>{5, 0, 3});
  CHECK(fasta.qualities.empty());
  for (const char* name : {"w.fastq", "w.fq", "w", "w.fq.gz"}) {
    const FileWindow fastq = only_window(name, "@a 2\nACGT\n+\nI@+!\n@b\nTTA\n+b\n@@>\n");
    CHECK(fastq.name == "w");
    CHECK(fastq.sequences == "ACGTTTA");
    CHECK(fastq.lengths == std::vector<std::int32_t>{4, 3});
    CHECK(fastq.qualities == "I@+!@@>");
  }
  CHECK(only_window("x.txt", ">a 1\nACGT\n", WindowFormat::sequences).sequences == "ACGT");
  CHECK(only_window("x.txt", ">a 1\nACGT\n", WindowFormat::sequences).name == "x.txt");
  CHECK(only_window("windows.fa", ">a 2\nACGT\nAC\n").name == "a");  // as it always was
  CHECK(only_window("none.fa", "").lengths.empty());
}

TEST_CASE("broken files of sequences are refused with the line") {
  CHECK(has(sequences_refusal("a.fq", "@a\nACGT\n+\nII\n"), "a.fq:4: the file ends within the qualities of 'a'"));
  CHECK(has(sequences_refusal("a.fq", "@a\nACGT\n"), "the file ends within the bases of 'a'"));
  CHECK(has(sequences_refusal("a.fq", "@a\nACGT\n+\nIIIII\n"), "a.fq:4: the qualities of 'a' are longer"));
  CHECK(has(sequences_refusal("a.fa", ">a\nAC-T\n"), "a.fa:2: a character that is no letter"));
  CHECK(has(sequences_refusal("a.fa", ">\nACGT\n"), "a.fa:1: the record has no name"));
  CHECK(has(sequences_refusal("a.txt", "ACGT\n", WindowFormat::sequences), "neither FASTA nor FASTQ"));
  CHECK(has(sequences_refusal("a.txt", "@a\nACGT\n", WindowFormat::windows), "expected '>'"));
}
