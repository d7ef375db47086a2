// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_decision/decision_writer.hpp"

#include <algorithm>
#include <cmath>
#include <sluice/result_figures.hpp>
#include <sluice/resume.hpp>
#include <vector>

namespace sluice::read_until_decision {
namespace {

arrow::TableSchema decision_schema(MoreColumns more) {
  std::vector<std::string_view> types = {"utf8", "utf8", "f64", "f64", "utf8", "utf8", "i64", "i64", "i64"};
  if (more != MoreColumns::none) types.emplace_back("utf8");
  if (more == MoreColumns::action_and_channel) types.insert(types.end(), {"utf8", "i64"});
  arrow::TableSchema schema = arrow::table_schema(decision_header(more), types);
  for (std::size_t i = 2; i < schema.size(); ++i) schema[i].missing = ".";
  return schema;
}

bool in_chunks(const Setup& setup) { return setup.available("channel") && setup.available("chunk_index") && setup.available("is_last_chunk"); }

MoreColumns more_columns(const Setup& setup) {
  if (!setup.available("action")) return MoreColumns::none;
  return in_chunks(setup) && setup.available("condition") && setup.has_resource("conditions") ? MoreColumns::action_and_channel : MoreColumns::action;
}

std::span<const std::int64_t> region_starts(const Setup& setup) {
  if (!setup.has_resource("regions")) return {};
  const Batch regions = setup.resource("regions");
  return regions.has("region_start") ? regions.column<std::int64_t>("region_start") : std::span<const std::int64_t>();
}

std::string_view name_of(std::uint8_t action) {
  switch (static_cast<ReadAction>(action)) {
    case ReadAction::stop_receiving:
      return "stop_receiving";
    case ReadAction::unblock:
      return "unblock";
    default:
      return "proceed";
  }
}

constexpr double score_class = 0.01;  // cost per level
constexpr Figure accepted_share{0, FigureKind::share, "accepted", "read", "reads that were accepted, of those that were decided or ended undecided"};
constexpr Figure rejected_share{1, FigureKind::share, "rejected", "read", "reads that were rejected, of the same"};
constexpr Figure undecided_share{2, FigureKind::share, "undecided", "read", "reads that ended before a decision, of the same"};
constexpr Figure by_target{3, FigureKind::table, "accepted reads by target", "read", "the target of the best alignment of each accepted read"};
constexpr Figure accepted_scores{
    4, FigureKind::histogram, "scores of accepted reads", "", "cost per level of the best alignment; low is like the target", score_class};
constexpr Figure rejected_scores{
    5, FigureKind::histogram, "scores of rejected reads", "", "cost per level of the best alignment; low is like the target", score_class};
constexpr std::int64_t most_targets = 200;

// The class of a score as the table shows it, with six decimals.
std::int64_t class_of(double score) {
  const double millionths = std::round(std::clamp(score, 0.0, 20.0) * 1e6);
  return static_cast<std::int64_t>(millionths) / static_cast<std::int64_t>(std::llround(score_class * 1e6));
}

}  // namespace

void DecisionWriter::describe(Describe<DecisionWriter>& d) {
  d.id("decision_writer").summary("writes decisions about reads as a table").sink("read").work_unit("row").concatenates();
  d.doc(
      "Tab-separated, with a line of names: read_id, decision (accept, reject, wait), score and threshold (cost per level), target, strand, start "
      "and "
      "end of the best alignment (k-mers on the forward strand, 0-based, end exclusive), prefix_samples (samples of the read up to the end of the "
      "prefix). Behind a stage that says what is done with reads, its action (unblock, stop_receiving, proceed), and of reads in chunks the name of "
      "the condition and the channel, from 1. A read that ended before its strand had given a level waits for ever, with dots. Reads that failed "
      "have "
      "no line.");
  d.uses("target", "squiggle_target", "the targets that the reads were aligned to");
  d.uses("regions", "contig", "where the targets lie on their contigs; without it they are whole contigs", Needed::optional);
  d.uses("conditions", "read_until_condition", "names of the conditions", Needed::optional);
  d.needs("read_id", "utf8", "identifier")
      .needs("decision", "u8", "0 wait, 1 accept, 2 reject")
      .needs("decision_score", "f64", "cost per level")
      .needs("decision_threshold", "f64", "cost per level at or below which a read is a target")
      .needs("sdtw_target", "i32", "row of the target, -1: none")
      .needs("sdtw_is_reverse", "u8", "1: reverse strand")
      .needs("sdtw_start", "i64", "first k-mer on the forward strand")
      .needs("sdtw_end", "i64", "end of the k-mers, exclusive")
      .needs("prefix_samples", "i32", "samples of the read up to the end of the prefix");
  d.needs("channel", "i32", "reads in chunks: channel of the flow cell", Needed::optional)
      .needs("chunk_index", "i32", "reads in chunks: 0 is the first chunk of a read", Needed::optional)
      .needs("is_last_chunk", "u8", "reads in chunks: 1: the read ends", Needed::optional)
      .needs("action", "u8", "0 proceed, 1 stop_receiving, 2 unblock", Needed::optional)
      .needs("condition", "i32", "row of the channel's condition", Needed::optional);
  d.option("output", &Parameters::output, "table to write; .gz: BGZF; .zst: zstd; .arrow: Arrow IPC; .parquet: Parquet; - is standard output")
      .required()
      .writes();
}

DecisionWriter::DecisionWriter(const Setup& setup, const Parameters& parameters)
    : targets_(setup.resource("target")),
      region_start_(region_starts(setup)),
      in_chunks_(in_chunks(setup)),
      more_(more_columns(setup)),
      file_(setup, parameters.output, decision_schema(more_)) {
  if (setup.has_resource("conditions")) conditions_.emplace(setup.resource("conditions"));
  file_.header(decision_header(more_));
  resume(setup, [this](StateReader& from) {
    file_.restore(from);
    const auto channels = from.values<std::int32_t>();
    written_.insert(channels.begin(), channels.end());
  });
}

DecisionLine DecisionWriter::line_of(const Batch& in, std::int64_t row) const {
  const auto i = static_cast<std::size_t>(row);
  const std::int32_t target = in.column<std::int32_t>("sdtw_target")[i];
  if (target >= targets_.targets())
    throw Failure::input(
        "read '" + std::string(in.text("read_id")[row]) + "' is on target " + std::to_string(target) + ", which the reference does not have",
        "use the resource that the stage sdtw uses");
  if (target >= 0 && !region_start_.empty() && static_cast<std::size_t>(target) >= region_start_.size())
    throw Failure::input("read '" + std::string(in.text("read_id")[row]) + "' is on target " + std::to_string(target) + " of " +
                             std::to_string(region_start_.size()) + " regions",
                         "use the regions that the reference was made of");
  const std::int64_t offset = target < 0 || region_start_.empty() ? 0 : region_start_[static_cast<std::size_t>(target)];
  DecisionLine line{.read_id = in.text("read_id")[row],
                    .decision = static_cast<Decision>(in.column<std::uint8_t>("decision")[i]),
                    .score = in.column<double>("decision_score")[i],
                    .threshold = in.column<double>("decision_threshold")[i],
                    .target = target < 0 ? std::string_view() : targets_[target].name,
                    .is_reverse = in.column<std::uint8_t>("sdtw_is_reverse")[i] != 0,
                    .start = in.column<std::int64_t>("sdtw_start")[i] + offset,
                    .end = in.column<std::int64_t>("sdtw_end")[i] + offset,
                    .prefix_samples = in.column<std::int32_t>("prefix_samples")[i]};
  if (more_ != MoreColumns::none) line.action = name_of(in.column<std::uint8_t>("action")[i]);
  if (more_ == MoreColumns::action_and_channel) {
    const std::int32_t condition = in.column<std::int32_t>("condition")[i];
    if (!conditions_->has(condition))
      throw Failure::input(
          "read '" + std::string(line.read_id) + "' has condition " + std::to_string(condition) + " of " + std::to_string(conditions_->size()),
          "use the conditions that the stage of actions uses");
    line.condition = conditions_->name(condition);
    line.channel = in.column<std::int32_t>("channel")[i] + 1;
  }
  return line;
}

void DecisionWriter::process(const Call&, const Batch& in, Output& out) {
  auto text = texts_.take();
  text->clear();
  const auto decision = in.column<std::uint8_t>(more_ == MoreColumns::none ? "decision" : "action");
  const auto is_last_chunk = in_chunks_ ? in.column<std::uint8_t>("is_last_chunk") : std::span<const std::uint8_t>();
  const Buffer ends = out.offsets([&](std::int64_t row) {
    const std::size_t before = text->size();
    const auto i = static_cast<std::size_t>(row);
    if (!in.ok(row)) return std::size_t{0};
    // Most chunks are of a read that waits on: they have no line. 0 is to wait, or to proceed.
    if (in_chunks_ && decision[i] == 0 && is_last_chunk[i] == 0) return std::size_t{0};
    append_decision_line(*text, line_of(in, row), more_);
    return text->size() - before;
  });
  const std::span<char> lines = out.text("_lines", ends);
  std::copy(text->begin(), text->end(), lines.begin());
}

void DecisionWriter::commit(const Call& call, const Batch& in) {
  const TextView lines = in.text("_lines");
  const auto decision = in.column<std::uint8_t>("decision");
  const auto due = in.column<std::uint8_t>(more_ == MoreColumns::none ? "decision" : "action");
  std::span<const std::int32_t> channel, chunk_index;
  std::span<const std::uint8_t> is_last_chunk;
  if (in_chunks_) {
    channel = in.column<std::int32_t>("channel"), chunk_index = in.column<std::int32_t>("chunk_index");
    is_last_chunk = in.column<std::uint8_t>("is_last_chunk");
  }
  // Whether this row is the one that tells what became of its read.
  const auto is_due = [&](std::size_t i) {
    if (chunk_index[i] == 0) written_.erase(channel[i]);
    if (due[i] == 0 && is_last_chunk[i] == 0) return false;
    return written_.insert(channel[i]).second;
  };
  std::uint64_t accepted = 0, rejected = 0, waiting = 0;
  ResultFigures figures;
  const auto score = in.column<double>("decision_score");
  const auto target = in.column<std::int32_t>("sdtw_target");
  for (std::int64_t row = 0; row < in.rows(); ++row) {
    if (!in.ok(row)) continue;
    const auto made = static_cast<Decision>(decision[static_cast<std::size_t>(row)]);
    if (in_chunks_ && !is_due(static_cast<std::size_t>(row))) continue;
    file_.write(call, lines[row]);
    (made == Decision::accept ? accepted : made == Decision::reject ? rejected : waiting) += 1;
    const auto i = static_cast<std::size_t>(row);
    if (target[i] < 0 || (made != Decision::accept && made != Decision::reject)) continue;
    if (std::isfinite(score[i])) figures.add_class(made == Decision::accept ? accepted_scores : rejected_scores, class_of(score[i]));
    if (made == Decision::accept && target[i] < most_targets)
      figures.add_row(by_target, static_cast<std::uint32_t>(target[i]), targets_[target[i]].name, 1);
  }
  const std::uint64_t all = accepted + rejected + waiting;
  figures.add_share(accepted_share, accepted, all);
  figures.add_share(rejected_share, rejected, all);
  figures.add_share(undecided_share, waiting, all);
  figures.give(call);
  call.count("reads accepted", static_cast<double>(accepted));
  call.count("reads rejected", static_cast<double>(rejected));
  call.count("reads undecided", static_cast<double>(waiting));
}

void DecisionWriter::finish(const Call& call, Output&) {
  file_.finish(call);
  ResultFigures figures;
  for (const Figure& figure : {accepted_share, rejected_share, undecided_share, by_target, accepted_scores, rejected_scores})
    figures.describe(figure);
  for (std::int64_t i = 0; i < std::min(targets_.targets(), most_targets); ++i)
    figures.add_row(by_target, static_cast<std::uint32_t>(i), targets_[i].name, 0);
  figures.give(call);
}

void DecisionWriter::save(const Call& call, StateWriter& to) {
  file_.save(call, to);
  std::vector<std::int32_t> channels(written_.begin(), written_.end());
  std::sort(channels.begin(), channels.end());
  to.values(channels);
}

}  // namespace sluice::read_until_decision
