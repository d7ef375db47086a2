// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <charconv>
#include <cmath>
#include <optional>
#include <sluice/channel_states.hpp>
#include <sluice/file_joining.hpp>
#include <sluice/input_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "read_until_decision/built_in_thresholds.hpp"
#include "read_until_decision/decision.hpp"
#include "read_until_decision/decision_writer.hpp"
#include "read_until_decision/strand_speed.hpp"

namespace sluice::read_until_decision {
namespace {

struct DecisionParameters {
  std::optional<Path> thresholds;
  std::optional<double> threshold;
  std::int32_t minimum_levels = 100;
  std::int32_t samples_per_level = 0;
};

bool has_table(const DecisionParameters& p) { return p.thresholds && !p.thresholds->empty(); }

void check_decision(const DecisionParameters& p) {
  if (p.threshold && has_table(p)) throw Failure::usage("threshold and thresholds exclude each other", "give one of them");
}

double number_of(const Batch& resource, std::string_view attribute) {
  const std::string_view text = resource.attribute(attribute);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The thresholds of a run, and how fast the strands were that they were made of (0: unknown).
struct ThresholdsInUse {
  Thresholds thresholds;
  double dwell = 0;
};

// The built-in thresholds of the run's pore and search. Says what they were not made for; refuses where there are none.
ThresholdsInUse built_in_of(const Setup& setup, const DecisionParameters& p) {
  Circumstances run;
  run.samples_per_level = p.samples_per_level;
  if (setup.has_resource("target")) {
    const Batch target = setup.resource("target");
    run.pore = target.attribute("pore");
    run.target_bases = number_of(target, "bases");
    run.level_spread = number_of(target, "scale");
  }
  if (setup.has_resource("index") && setup.resource("index").attribute("search") == "seeds") run.search = Search::seeds;
  if (setup.has_resource("signal")) run.rate_hz = number_of(setup.resource("signal"), "sampling_rate");
  const BuiltInThresholds* const found = built_in_thresholds(run.pore.empty() ? "r9" : run.pore, run.search);
  if (found == nullptr)
    throw Failure::usage("there are no built-in thresholds for the pore '" + std::string(run.pore) + "'",
                         "make some with `sluice run calibrate_read_until`, or give --threshold");
  if (const std::string list = misfits(*found, run); !list.empty())
    setup.warn("the built-in thresholds were made for " + std::string(found->name) + " at " + std::to_string(static_cast<int>(found->rate_hz)) +
               " Hz, levels of " + std::to_string(found->samples_per_level) + " samples, and " +
               (found->search == Search::seeds ? "a search by seeds in targets of megabases"
                                               : "targets of about " + std::to_string(static_cast<int>(found->target_bases)) + " bases") +
               ", but " + list + ": make thresholds for these reads with `sluice run calibrate_read_until`, or give --threshold");
  return {Thresholds(found->rows), p.samples_per_level > 0 ? found->dwell : 0};
}

ThresholdsInUse thresholds_of(const Setup& setup, const DecisionParameters& p) {
  check_decision(p);
  if (p.threshold) return {Thresholds::constant(*p.threshold)};
  if (!has_table(p)) return built_in_of(setup, p);
  const std::string table = whole_text(setup, *p.thresholds, "thresholds");
  Thresholds thresholds;
  std::string problem;
  if (!Thresholds::parse(table, thresholds, problem))
    throw Failure::input("thresholds '" + *p.thresholds + "', " + problem, "give a table as read_until_calibration writes it");
  return {std::move(thresholds)};
}

template <class Stage>
void describe_decision(Describe<Stage>& d) {
  d.needs("sdtw_score", "i64", "sum of the costs of the best alignment")
      .needs("sdtw_length", "i32", "levels aligned so far")
      .needs("sdtw_target", "i32", "row of the target, -1: the read has been aligned nowhere")
      .needs("query_complete", "u8", "1: the whole prefix has been aligned")
      .needs("sdtw_start", "i64", "first k-mer of the alignment; with the end it tells how slow the strand is", Needed::optional)
      .needs("sdtw_end", "i64", "end of its k-mers", Needed::optional);
  d.gives("decision", "u8", "0 wait, 1 accept, 2 reject")
      .gives("decision_score", "f64", "cost per level, standard deviations")
      .gives("decision_threshold", "f64", "cost per level at or below which a read of this length is a target");
  d.option("thresholds", &DecisionParameters::thresholds, "table of thresholds by length, of read_until_calibration; left out: the built-in ones")
      .reads();
  d.option("threshold", &DecisionParameters::threshold, "one threshold for every length: cost per level").range(0, 1000);
  d.option("minimum_levels", &DecisionParameters::minimum_levels, "reads with fewer levels are not decided on").range(1, 1e9).unit("levels");
  d.uses("target", "squiggle_target", "what was looked for: the built-in thresholds are for one pore and size", Needed::optional);
  d.option("samples_per_level", &DecisionParameters::samples_per_level,
           "that levels are means of: the built-in thresholds are for one number; 0: not compared")
      .range(0, 64);
  d.uses("index", "squiggle_index", "how reads were looked for: the built-in thresholds are for one search", Needed::optional);
  d.uses("signal", "signal_file", "where the reads are from: the built-in thresholds are for one sampling rate", Needed::optional);
  d.work_unit("row");
}

struct Scores {
  explicit Scores(const Batch& in)
      : score(in.column<std::int64_t>("sdtw_score")),
        length(in.column<std::int32_t>("sdtw_length")),
        target(in.column<std::int32_t>("sdtw_target")),
        complete(in.column<std::uint8_t>("query_complete")) {
    if (!in.has("sdtw_start") || !in.has("sdtw_end")) return;
    start = in.column<std::int64_t>("sdtw_start");
    end = in.column<std::int64_t>("sdtw_end");
  }
  // 0: it was aligned nowhere, or nobody says where.
  std::int64_t kmers(std::size_t row) const {
    std::int64_t length_of_path = 0;
    const bool is_said = !start.empty() && target[row] >= 0 && !__builtin_sub_overflow(end[row], start[row], &length_of_path);
    return is_said ? length_of_path : 0;
  }
  std::span<const std::int64_t> score;
  std::span<const std::int32_t> length, target;
  std::span<const std::uint8_t> complete;
  std::span<const std::int64_t> start, end;
};

void warn_of_slow_strands(const Call& call, const StrandSpeed& speed) {
  const std::optional<StrandSpeed::Slow> slow = speed.slow();
  if (!slow) return;
  const auto tenths = [](double value) {
    const auto number = std::llround(value * 10);
    return std::to_string(number / 10) + "." + std::to_string(number % 10);
  };
  call.warn("a base stays in the pore for " + tenths(slow->dwell) + " samples (median of " + std::to_string(slow->reads) +
            " reads, where they were aligned), and for " + tenths(slow->calibrated_dwell) +
            " in the reads that the built-in thresholds were made of: with such slow strands reads may be accepted that are no targets; make "
            "thresholds for these reads with `sluice run calibrate_read_until`, or give --threshold");
}

struct Decisions {
  explicit Decisions(Output& out)
      : decision(out.column<std::uint8_t>("decision")),
        score(out.column<double>("decision_score")),
        threshold(out.column<double>("decision_threshold")) {}
  std::span<std::uint8_t> decision;
  std::span<double> score, threshold;
};

// One row a read.
class ReadUntilDecision {
 public:
  using Parameters = DecisionParameters;

  static void describe(Describe<ReadUntilDecision>& d) {
    d.id("read_until_decision").summary("decides by the alignment of its beginning whether a read is a target").map("read");
    d.doc(
        "Accepts a read whose cost per level is at or below the threshold of its length, rejects the others. A read shorter than the prefix is "
        "judged "
        "by what there is of it, with the threshold of that length; one with fewer than minimum_levels levels is not decided on (wait).");
    describe_decision(d);
  }
  static void check_parameters(const Parameters& p) { check_decision(p); }
  ReadUntilDecision(const Setup& setup, const Parameters& p) : ReadUntilDecision(thresholds_of(setup, p), p) {}

  void process(const Call&, const Batch& in, Output& out) {
    const Scores scores(in);
    const Decisions decisions(out);
    for (std::size_t i = 0; i < static_cast<std::size_t>(in.rows()); ++i) {
      if (!in.ok(static_cast<std::int64_t>(i))) continue;
      const Threshold threshold = thresholds_.at(scores.length[i]);
      decisions.score[i] = score_per_level(scores.score[i], scores.length[i]);
      decisions.threshold[i] = threshold.threshold;
      decisions.decision[i] =
          static_cast<std::uint8_t>(decide(decisions.score[i], scores.length[i], Prefix::whole, threshold, BeforeWhole::wait, minimum_levels_));
      if (scores.length[i] >= minimum_levels_) speed_.add(static_cast<double>(scores.length[i]) * samples_per_level_, scores.kmers(i));
    }
  }
  void finish(const Call& call, Output&) { warn_of_slow_strands(call, speed_); }

 private:
  ReadUntilDecision(ThresholdsInUse&& thresholds, const Parameters& p)
      : thresholds_(std::move(thresholds.thresholds)),
        minimum_levels_(p.minimum_levels),
        samples_per_level_(p.samples_per_level),
        speed_(thresholds.dwell) {}

  Thresholds thresholds_;
  std::int32_t minimum_levels_, samples_per_level_;
  StrandSpeed speed_;
};

// One row a chunk of a read of a channel.
class ReadUntilDecisionStream {
 public:
  struct Parameters : DecisionParameters {
    bool decide_early = false;
  };

  static void describe(Describe<ReadUntilDecisionStream>& d) {
    d.id("read_until_decision_stream").summary("read_until_decision for reads that come in chunks, channel by channel").map("read").ordered();
    d.doc(
        "Waits until the prefix is complete or the read ends, and then decides as read_until_decision does. With decide_early it decides before that "
        "where the score is at or below accept_below or above reject_above of the table of thresholds. The rows of a read that has been decided on "
        "repeat decision, score and threshold. A read that fits nowhere yet (sdtw_target -1) waits.");
    describe_decision(d);
    d.needs("channel", "i32", "channel of the flow cell")
        .needs("chunk_index", "i32", "0: first chunk of a read")
        .needs("is_last_chunk", "u8", "1: the read ends");
    d.option("decide_early", &Parameters::decide_early, "decide before the prefix is complete where the score is clear");
  }
  static void check_parameters(const Parameters& p) { check_decision(p); }
  ReadUntilDecisionStream(const Setup& setup, const Parameters& p) : ReadUntilDecisionStream(setup, thresholds_of(setup, p), p) {}

  void process(const Call&, const Batch& in, Output& out) {
    const Scores scores(in);
    const auto channel = in.column<std::int32_t>("channel"), chunk_index = in.column<std::int32_t>("chunk_index");
    const auto is_last_chunk = in.column<std::uint8_t>("is_last_chunk");
    const Decisions decisions(out);
    for (std::size_t i = 0; i < static_cast<std::size_t>(in.rows()); ++i) {
      if (!in.ok(static_cast<std::int64_t>(i))) continue;
      if (chunk_index[i] == 0) decided_.release(channel[i]);
      const Decided* const before = decided_.find(channel[i]);
      const Decided now = before != nullptr ? *before : judge(scores, i, is_last_chunk[i] != 0);
      decisions.decision[i] = static_cast<std::uint8_t>(now.decision);
      decisions.score[i] = now.score;
      decisions.threshold[i] = now.threshold;
      if (before == nullptr && now.decision != Decision::wait)
        speed_.add(static_cast<double>(scores.length[i]) * samples_per_level_, scores.kmers(i));
      if (is_last_chunk[i] != 0)
        decided_.release(channel[i]);
      else if (now.decision != Decision::wait)
        decided_.take(channel[i]) = now;
    }
  }
  void finish(const Call& call, Output&) { warn_of_slow_strands(call, speed_); }
  // Of speeds a run that goes on knows those since then.
  void save(const Call&, StateWriter& to) const {
    to.value(std::uint64_t{decided_.size()});
    decided_.for_each_channel([&](std::int32_t channel, const Decided& decided) {
      to.value(channel);
      to.value(decided.decision);
      to.value(decided.score);
      to.value(decided.threshold);
    });
  }

 private:
  ReadUntilDecisionStream(const Setup& setup, ThresholdsInUse&& thresholds, const Parameters& p)
      : thresholds_(std::move(thresholds.thresholds)),
        minimum_levels_(p.minimum_levels),
        samples_per_level_(p.samples_per_level),
        before_whole_(p.decide_early ? BeforeWhole::decide : BeforeWhole::wait),
        speed_(thresholds.dwell) {
    resume(setup, [this](StateReader& from) {
      for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
        const auto channel = from.value<std::int32_t>();
        Decided& decided = decided_.take(channel);
        decided.decision = from.value<Decision>();
        decided.score = from.value<double>();
        decided.threshold = from.value<double>();
        if (decided.decision > Decision::reject) throw damaged_state();
      }
    });
  }

  struct Decided {
    Decision decision = Decision::wait;
    double score = 0, threshold = 0;
  };
  Decided judge(const Scores& scores, std::size_t i, bool ended) const {
    const Threshold threshold = thresholds_.at(scores.length[i]);
    const double score = score_per_level(scores.score[i], scores.length[i]);
    const Prefix prefix = ended || scores.complete[i] != 0 ? Prefix::whole : Prefix::partial;
    // What has no place may get one with the next chunk.
    const BeforeWhole before_whole = scores.target[i] < 0 ? BeforeWhole::wait : before_whole_;
    return {decide(score, scores.length[i], prefix, threshold, before_whole, minimum_levels_), score, threshold.threshold};
  }

  Thresholds thresholds_;
  std::int32_t minimum_levels_, samples_per_level_;
  BeforeWhole before_whole_;
  StrandSpeed speed_;
  ChannelStates<Decided> decided_;  // reads under way that have been decided on
};

}  // namespace
}  // namespace sluice::read_until_decision

SLUICE_PLUGIN_WITH(sluice::file_joining<sluice::read_until_decision::DecisionWriter>, "read_until_decision", "0.1.0", "MIT",
                   sluice::read_until_decision::ReadUntilDecision, sluice::read_until_decision::ReadUntilDecisionStream,
                   sluice::read_until_decision::DecisionWriter);
