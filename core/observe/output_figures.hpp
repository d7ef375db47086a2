// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What outputs say in figures, for a page about the run: an accuracy, a ROC curve. Read from the files themselves, by their form alone.

#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct Curve {
  std::string name;                               // "bases 200"
  std::vector<std::pair<double, double>> points;  // false positive rate, recall
};

struct OutputFigures {
  std::string path;
  std::vector<std::pair<std::string, std::string>> values;  // numbers and texts of a JSON object
  std::vector<std::string> columns;                         // a small table of numbers
  std::vector<std::vector<std::string>> rows;
  std::vector<Curve> roc;  // of a table with the columns recall and false_positive_rate; by its first column
};

// Of JSON objects, and of tables (TSV) that are small or have a ROC curve. Others have nothing to show, and large files are not opened.
std::vector<OutputFigures> figures_of(const std::vector<std::string>& outputs);

}  // namespace sluice
