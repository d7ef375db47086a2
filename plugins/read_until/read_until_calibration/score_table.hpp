// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Scores of labelled reads by length of the prefix: the tables that calibration reads and writes.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "read_until_calibration/calibration.hpp"

namespace sluice::read_until_calibration {

struct PrefixScores {
  std::int32_t levels = 0;  // of the longest query
  std::vector<LabelledScore> scores;
};
// By the length of the prefix in bases.
using ScoresByPrefix = std::map<double, PrefixScores>;

// A table of labels: read_id and label (target or other, 1 or 0), tab-separated; lines that begin with # are left out. The functions below return
// false with `problem` set: line and what is wrong with it.
using Labels = std::unordered_map<std::string, Label>;
bool parse_labels(std::string_view table, Labels& labels, std::string& problem);

// One read's score: read_id, label, prefix_bases, levels, score.
std::string_view score_header();
void append_score_line(std::string& text, std::string_view read_id, Label label, double prefix_bases, std::int32_t levels, double score);
// Such a table with its header line, but without the comments and empty lines that one from elsewhere may have, and with plain ends of lines.
std::string without_comments(std::string_view table);
// Adds the lines of such a table.
bool parse_scores(std::string_view table, ScoresByPrefix& scores, std::string& problem);

// One line a prefix: bases, levels, threshold, accept_below, reject_above, targets, others, recall, false_positive_rate, f1, area.
std::string threshold_table(const ScoresByPrefix& scores, double early_error);
// Lengths of the prefixes at which targets' scores are mostly greater than those of others: the area under the curve is below a half.
std::vector<double> exchanged_prefixes(const ScoresByPrefix& scores);
// One line a point: bases, threshold, recall, false_positive_rate, f1.
std::string roc_table(const ScoresByPrefix& scores);

}  // namespace sluice::read_until_calibration
