// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What a run found, in figures: identity, coverage, share methylated. A stage (a sink, as a rule) adds them up in every call and says in finish()
// what they are; the summary, the report and its page, and MultiQC show them.
//
// A figure travels as counters of the stage (Host::count) whose names begin with a separator that no other counter has. All amounts are whole
// numbers, so the sums are the same in whatever order batches come; they are saved with a checkpoint and added up over shards as other counters.

#include <cstdint>
#include <cstdio>
#include <sluice/call.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

enum class FigureKind : std::uint8_t {
  total,      // one number
  share,      // a part of a whole
  mean,       // a sum over so many
  histogram,  // how many values lie in each class; classes are equally wide
  table,      // an amount for each name; with lengths the amount per length, as coverage of contigs
  along,      // a part of a whole in each window along a sequence: share methylated
  depth,      // bases that lie on each window along a sequence, shown for each of its bases
  shares,     // a part of a whole for each name: share modified, by modification
  squiggles   // signal of a few reads with its events
};

struct Figure {
  int order = 0;  // 0 to 99: its number in the stage, and its place among the stage's figures
  FigureKind kind = FigureKind::total;
  const char* title = "";    // "mapping quality"
  const char* unit = "";     // of one: "base"; "x"; "%"; "" is none
  const char* meaning = "";  // what was counted, in a sentence
  double width = 1;          // histogram: of a class, in units
};

// A window of an `along` figure. Positions are bases from 0, the end is exclusive.
struct FigureWindow {
  std::uint32_t number = 0;  // their order
  std::string_view sequence;
  std::int64_t begin = 0, end = 0;
};

// Some signal of a read. Samples are counted in its signal, ends are exclusive.
struct FigureSquiggle {
  struct Event {
    std::int64_t begin = 0, end = 0;
    std::int32_t level = 0;  // tenths of pA
    std::string label;       // "chr1:1,234 ACGTAC"
  };
  std::string_view read;
  std::int64_t first = 0, step = 1;   // of `samples`: the first, and from one to the next
  std::vector<std::int32_t> samples;  // tenths of pA
  std::vector<Event> events;
};

// The figures of one call. Amounts must stay below 2^53 in all.
class ResultFigures {
 public:
  void add_total(const Figure& figure, std::uint64_t amount) { add(name(figure) + "amount", amount); }
  void add_share(const Figure& figure, std::uint64_t part, std::uint64_t whole) {
    add(name(figure) + "part", part);
    add(name(figure) + "whole", whole);
  }
  void add_mean(const Figure& figure, std::uint64_t sum, std::uint64_t number) {
    add(name(figure) + "sum", sum);
    add(name(figure) + "number", number);
  }
  // `number` values that lie in [index * width, (index + 1) * width).
  void add_class(const Figure& figure, std::int64_t index, std::uint64_t number = 1) { add(name(figure) + std::to_string(index), number); }
  // Rows are shown in the order of `row`. A length of 0: the amount is shown as it is.
  void add_row(const Figure& figure, std::uint32_t row, std::string_view title, std::uint64_t amount, std::uint64_t length = 0) {
    add(name(figure) + padded(row) + separator + printable(title) + separator + std::to_string(length), amount);
  }
  void add_row_share(const Figure& figure, std::uint32_t row, std::string_view title, std::uint64_t part, std::uint64_t whole) {
    const std::string place = name(figure) + padded(row) + separator + printable(title) + separator;
    add(place + "part", part);
    add(place + "whole", whole);
  }
  void add_window(const Figure& figure, const FigureWindow& window, std::uint64_t part, std::uint64_t whole) {
    add(place(figure, window) + "part", part);
    add(place(figure, window) + "whole", whole);
  }
  void add_depth(const Figure& figure, const FigureWindow& window, std::uint64_t bases) { add(place(figure, window) + "part", bases); }
  // The report shows three, those with the lowest numbers.
  void add_squiggle(const Figure& figure, std::uint32_t number, const FigureSquiggle& squiggle) {
    std::string text = name(figure) + padded(number) + separator + printable(squiggle.read) + separator + std::to_string(squiggle.first) + separator +
                       std::to_string(squiggle.step) + separator;
    for (const std::int32_t sample : squiggle.samples) text += std::to_string(sample) + ",";
    text += separator;
    for (const FigureSquiggle::Event& event : squiggle.events)
      text +=
          std::to_string(event.begin) + "," + std::to_string(event.end) + "," + std::to_string(event.level) + "," + printable(event.label) + "\x1e";
    add(text, 1);
  }
  // What the figure is: once a run, from finish().
  void describe(const Figure& figure) {
    char width[32];
    std::snprintf(width, sizeof width, "%.9g", figure.width);
    add(name(figure) + "=" + std::to_string(static_cast<int>(figure.kind)) + separator + figure.title + separator + figure.unit + separator + width +
            separator + figure.meaning,
        0);
  }
  void give(const Host& host) const {
    for (const auto& [counter, amount] : amounts_) host.count(counter.c_str(), static_cast<double>(amount));
  }

  static constexpr char separator = '\x1f';

 private:
  static std::string name(const Figure& figure) {
    return {separator, static_cast<char>('0' + figure.order / 10 % 10), static_cast<char>('0' + figure.order % 10), separator};
  }
  static std::string place(const Figure& figure, const FigureWindow& window) {
    return name(figure) + padded(window.number) + separator + printable(window.sequence) + separator + std::to_string(window.begin) + separator +
           std::to_string(window.end) + separator;
  }
  static std::string padded(std::uint32_t number) {
    const std::string digits = std::to_string(number);
    return std::string(10 - digits.size(), '0') + digits;
  }
  // Names come from files: what a report can't hold as text is a question mark.
  static std::string printable(std::string_view text) {
    std::string result(text);
    for (char& letter : result)
      if (letter < ' ' || letter > '~') letter = '?';
    return result;
  }
  void add(const std::string& counter, std::uint64_t amount) { amounts_[counter] += amount; }

  std::unordered_map<std::string, std::uint64_t> amounts_;
};

}  // namespace sluice
