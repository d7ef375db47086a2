// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <limits>
#include <sluice/channel_states.hpp>
#include <sluice/input_text.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>

#include "read_until_actions/actions.hpp"
#include "read_until_actions/conditions.hpp"

namespace sluice::read_until_actions {
namespace {

constexpr std::size_t largest_table = std::size_t{16} << 20;

// The conditions of the channels, for the stages that select and for those that count.
class ReadUntilConditions {
 public:
  struct Parameters {
    std::optional<Path> path;
    std::string select = "enrich", undecided = "sequence", control_channels;
    std::int32_t minimum_chunks = 1, maximum_chunks = 0;
  };
  static void describe(Describe<ReadUntilConditions>& d) {
    d.id("read_until_conditions").summary("which channels of a flow cell select reads, and how").resource("read_until_condition");
    d.doc(
        "A row per condition; the last one is that of channels that no other one names, and is what the options say. A table of conditions has the "
        "columns condition, channels (1-256,300 or other), select (enrich, deplete, control) and, where they are there, targets (names of regions or "
        "contigs, with commas), minimum_chunks, maximum_chunks, and what is done with reads that are on_target, off_target, undecided or "
        "above_maximum: unblock, stop_receiving or proceed.");
    d.option("path", &Parameters::path, "table of conditions by channel").reads();
    d.option("select", &Parameters::select, "enrich: eject what is no target; deplete: eject targets; control: eject nothing")
        .choices({"enrich", "deplete", "control"});
    d.option("control_channels", &Parameters::control_channels, "channels without selection, from 1: 1-256,300");
    d.option("minimum_chunks", &Parameters::minimum_chunks, "no action before so many chunks of a read").range(0, 1e6);
    d.option("maximum_chunks", &Parameters::maximum_chunks, "a read that is undecided after so many chunks is not looked at further; 0: no maximum")
        .range(0, 1e6);
    d.option("undecided", &Parameters::undecided, "what is done with reads that can't be decided on").choices({"sequence", "eject"});
    d.gives("name", "utf8", "name of the condition").gives("select", "u8", "0 enrich, 1 deplete, 2 control");
    d.gives("minimum_chunks", "i32", "no action before").gives("maximum_chunks", "i32", "0: no maximum");
    d.gives("targets", "utf8", "names of its targets, separated by commas; empty: all");
    d.gives("actions", "list<u8>", "for on target, off target, undecided, above the maximum: 0 proceed, 1 stop_receiving, 2 unblock");
    d.gives("channel_condition", "list<i32>", "of the first row: conditions of channels 0, 1, ...; of others the list is empty");
    d.work_unit("row");
  }
  static void check_parameters(const Parameters& p) {
    if (p.maximum_chunks > 0 && p.minimum_chunks > p.maximum_chunks)
      throw Failure::usage(
          "the minimum of chunks, " + std::to_string(p.minimum_chunks) + ", is greater than the maximum, " + std::to_string(p.maximum_chunks),
          "give a smaller minimum");
    std::vector<std::int32_t> channels;
    if (!p.control_channels.empty() && !parse_channels(p.control_channels, channels))
      throw Failure::usage("control channels '" + p.control_channels + "' are no channels", "write 1-256,300: MinKNOW's numbers, from 1");
    if (!p.control_channels.empty() && p.path && !p.path->empty())
      throw Failure::usage("control channels and a table of conditions exclude each other", "give the table a condition with select = control");
  }
  ReadUntilConditions(const Setup&, const Parameters& p) : p_(p) {}

  void process(const Call& call, Output& out) const {
    const Conditions made = conditions(call);
    out.set_rows(std::ssize(made.conditions));
    std::vector<std::string_view> names, targets;
    for (const Condition& condition : made.conditions) names.push_back(condition.name), targets.push_back(condition.targets);
    out.text_rows("name", names), out.text_rows("targets", targets);
    const auto select = out.column<std::uint8_t>("select");
    const auto minimum = out.column<std::int32_t>("minimum_chunks"), maximum = out.column<std::int32_t>("maximum_chunks");
    const Buffer action_offsets = out.offsets([](std::int64_t) { return outcomes; });
    const auto actions = out.list<std::uint8_t>("actions", action_offsets);
    for (std::size_t i = 0; i < made.conditions.size(); ++i) {
      const Condition& condition = made.conditions[i];
      select[i] = static_cast<std::uint8_t>(condition.select);
      minimum[i] = condition.minimum_chunks, maximum[i] = condition.maximum_chunks;
      for (std::size_t outcome = 0; outcome < outcomes; ++outcome)
        actions[i * outcomes + outcome] = static_cast<std::uint8_t>(condition.actions[outcome]);
    }
    const Buffer channel_offsets = out.offsets([&](std::int64_t row) { return row == 0 ? made.channel_condition.size() : std::size_t{0}; });
    const auto channels = out.list<std::int32_t>("channel_condition", channel_offsets);
    std::copy(made.channel_condition.begin(), made.channel_condition.end(), channels.begin());
    if (made.conditions.size() > 1) call.info(std::to_string(made.conditions.size()) + " conditions of channels");
  }

 private:
  Conditions conditions(const Call& call) const {
    const ReadAction undecided = p_.undecided == "eject" ? ReadAction::unblock : ReadAction::stop_receiving;
    const Select select = p_.select == "deplete" ? Select::deplete : p_.select == "control" ? Select::control : Select::enrich;
    const Condition usual{p_.select, select, p_.minimum_chunks, p_.maximum_chunks, "", usual_actions(select, undecided)};
    Conditions result;
    if (p_.path && !p_.path->empty()) {
      std::string problem;
      if (!parse_conditions(whole_text(call, *p_.path, "conditions", largest_table), usual, undecided, result, problem))
        throw Failure::input("conditions '" + *p_.path + "', " + problem, "docs/read-until.md says what such a table has");
      return result;
    }
    std::vector<std::int32_t> channels;
    if (!p_.control_channels.empty()) {
      parse_channels(p_.control_channels, channels);
      result.channel_condition.assign(static_cast<std::size_t>(*std::max_element(channels.begin(), channels.end())) + 1, 1);
      for (const std::int32_t channel : channels) result.channel_condition[static_cast<std::size_t>(channel)] = 0;
      result.conditions.push_back({"control", Select::control, p_.minimum_chunks, p_.maximum_chunks, "", usual_actions(Select::control, undecided)});
    }
    result.conditions.push_back(usual);
    return result;
  }
  const Parameters p_;
};

// What both stages of actions have in common.
class Rules {
 public:
  explicit Rules(const Setup& setup) : conditions_(setup.resource("conditions")) {
    const std::vector<TargetRegion> targets = targets_of(setup.resource("regions"));
    for (const TargetRegion& target : targets) start_.push_back(target.start), contig_.emplace_back(target.contig);
    for (std::int64_t i = 0; i < conditions_.size(); ++i) {
      std::string unknown;
      wanted_.emplace_back(targets, conditions_.targets(i), unknown);
      if (!unknown.empty())
        throw Failure::input("condition '" + std::string(conditions_.name(i)) + "' names the target '" + unknown + "', which is not there",
                             "name regions or contigs of the targets");
      Actions of{};
      for (std::size_t outcome = 0; outcome < outcomes; ++outcome) of[outcome] = static_cast<ReadAction>(conditions_.actions(i)[outcome]);
      actions_.push_back(of);
    }
  }
  std::int32_t condition_of(std::int32_t channel) const { return conditions_.of_channel(channel); }
  std::int32_t last_condition() const { return static_cast<std::int32_t>(conditions_.size()) - 1; }
  bool has(std::int32_t target) const { return target >= 0 && static_cast<std::size_t>(target) < start_.size(); }
  bool is_on_target(std::int32_t condition, std::int32_t target, std::int64_t start, std::int64_t end, bool is_reverse) const {
    if (!has(target)) return false;
    const std::int64_t offset = start_[static_cast<std::size_t>(target)];
    return wanted_[static_cast<std::size_t>(condition)].has(static_cast<std::size_t>(target), start + offset, end + offset, is_reverse);
  }
  std::string_view contig_of(std::int32_t target) const { return has(target) ? contig_[static_cast<std::size_t>(target)] : std::string_view(); }
  std::int64_t offset_of(std::int32_t target) const { return has(target) ? start_[static_cast<std::size_t>(target)] : 0; }
  std::string_view name_of(std::int32_t condition) const { return conditions_.name(condition); }
  ReadAction action(std::int32_t condition, const Judged& read) const {
    return action_on(read, conditions_.minimum_chunks(condition), conditions_.maximum_chunks(condition),
                     actions_[static_cast<std::size_t>(condition)]);
  }

 private:
  // Plain sequences are regions, too: whole contigs.
  static std::vector<TargetRegion> targets_of(const Batch& regions) {
    const TextView contig = regions.text("name"), label = regions.text(regions.has("label") ? "label" : "name"), bases = regions.text("bases");
    std::vector<TargetRegion> targets;
    for (std::int64_t row = 0; row < regions.rows(); ++row) {
      TargetRegion target{label[row], contig[row], 0, 0, 0};
      if (regions.has("region_start")) target.start = regions.column<std::int64_t>("region_start")[static_cast<std::size_t>(row)];
      if (regions.has("region_strand")) target.strand = regions.column<std::uint8_t>("region_strand")[static_cast<std::size_t>(row)];
      target.end = target.start + static_cast<std::int64_t>(bases[row].size());
      targets.push_back(target);
    }
    return targets;
  }

  ReadUntilConditionsView conditions_;
  std::vector<std::int64_t> start_;    // by target
  std::vector<std::string> contig_;    // by target
  std::vector<WantedTargets> wanted_;  // by condition
  std::vector<Actions> actions_;       // by condition
};

// Columns that say where a read has been aligned.
struct Places {
  explicit Places(const Batch& in)
      : target(in.column<std::int32_t>("sdtw_target")),
        is_reverse(in.column<std::uint8_t>("sdtw_is_reverse")),
        start(in.column<std::int64_t>("sdtw_start")),
        end(in.column<std::int64_t>("sdtw_end")) {}
  bool is_on_target(const Rules& rules, std::int32_t condition, std::size_t row) const {
    return rules.is_on_target(condition, target[row], start[row], end[row], is_reverse[row] != 0);
  }
  std::span<const std::int32_t> target;
  std::span<const std::uint8_t> is_reverse;
  std::span<const std::int64_t> start, end;
};

// Optional columns of both stages.
class Names {
 public:
  explicit Names(const Setup& setup)
      : wants_target_(setup.wanted("target_name")),
        wants_start_(setup.wanted("contig_start")),
        wants_end_(setup.wanted("contig_end")),
        wants_condition_(setup.wanted("condition_name")) {}
  // condition(row) is a row's condition.
  template <class Condition>
  void write(const Rules& rules, const Batch& in, Output& out, const Condition& condition) const {
    const Places places(in);
    const auto ok = [&](std::size_t row) { return in.ok(static_cast<std::int64_t>(row)); };
    const auto text = [&](const char* name, const auto& of) {
      std::vector<std::string_view> rows(static_cast<std::size_t>(in.rows()));
      for (std::size_t row = 0; row < rows.size(); ++row)
        if (ok(row)) rows[row] = of(row);
      out.text_rows(name, rows);
    };
    const auto place = [&](const char* name, std::span<const std::int64_t> of) {
      const auto to = out.column<std::int64_t>(name);
      for (std::size_t row = 0; row < to.size(); ++row) to[row] = ok(row) ? of[row] + rules.offset_of(places.target[row]) : 0;
    };
    if (wants_target_) text("target_name", [&](std::size_t row) { return rules.contig_of(places.target[row]); });
    if (wants_start_) place("contig_start", places.start);
    if (wants_end_) place("contig_end", places.end);
    if (wants_condition_) text("condition_name", [&](std::size_t row) { return rules.name_of(condition(row)); });
  }

 private:
  bool wants_target_, wants_start_, wants_end_, wants_condition_;
};

template <class Stage>
void describe_actions(Describe<Stage>& d) {
  d.uses("conditions", "read_until_condition", "what is done with which reads");
  d.uses("regions", "contig", "the targets that the reads were aligned to");
  d.needs("decision", "u8", "0 wait, 1 accept, 2 reject");
  d.needs("sdtw_target", "i32", "row of the target, -1: none").needs("sdtw_is_reverse", "u8", "1: reverse strand");
  d.needs("sdtw_start", "i64", "first k-mer on the target's forward strand").needs("sdtw_end", "i64", "end of the k-mers, exclusive");
  d.gives("action", "u8", "0 proceed, 1 stop_receiving: sequence to the end, 2 unblock: eject");
  d.gives("target_name", "utf8", "name of the contig where the read was aligned; empty: none", Needed::optional);
  d.gives("contig_start", "i64", "first k-mer of the alignment on that contig's forward strand", Needed::optional);
  d.gives("contig_end", "i64", "end of the alignment there, exclusive", Needed::optional);
  d.gives("condition_name", "utf8", "name of the condition", Needed::optional);
  d.work_unit("row");
}

// One row a read: the condition is that of channels that no table names.
class ReadUntilAction {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<ReadUntilAction>& d) {
    d.id("read_until_action").summary("what would be done with a read by the decision about it").map("read");
    d.doc("Enriching, a target is sequenced to its end and any other read ejected; depleting, the other way round.");
    describe_actions(d);
  }
  ReadUntilAction(const Setup& setup, const Parameters&) : rules_(setup), names_(setup) {}
  void process(const Call&, const Batch& in, Output& out) const {
    const auto decision = in.column<std::uint8_t>("decision");
    const Places places(in);
    const auto action = out.column<std::uint8_t>("action");
    const std::int32_t condition = rules_.last_condition();
    for (std::size_t i = 0; i < decision.size(); ++i) {
      if (!in.ok(static_cast<std::int64_t>(i))) continue;
      const Judged read{static_cast<Judgement>(decision[i]), places.is_on_target(rules_, condition, i), 1, true};
      action[i] = static_cast<std::uint8_t>(rules_.action(condition, read));
    }
    names_.write(rules_, in, out, [&](std::size_t) { return condition; });
  }

 private:
  Rules rules_;
  Names names_;
};

// One row a chunk of a read of a channel.
class ReadUntilActionStream {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<ReadUntilActionStream>& d) {
    d.id("read_until_action_stream")
        .summary("read_until_action for reads that come in chunks, by the condition of their channel")
        .map("read")
        .ordered();
    d.doc(
        "Nothing is done (proceed) before a read has been decided on and has had the condition's minimum of chunks. What is done once is said again "
        "by later chunks of the read.");
    describe_actions(d);
    d.needs("channel", "i32", "channel of the flow cell")
        .needs("chunk_index", "i32", "0: first chunk of a read")
        .needs("is_last_chunk", "u8", "1: the read ends");
    d.gives("condition", "i32", "row of the channel's condition");
  }
  ReadUntilActionStream(const Setup& setup, const Parameters&) : rules_(setup), names_(setup) {
    resume(setup, [this](StateReader& from) {
      for (auto count = from.value<std::uint64_t>(); count > 0; --count) {
        const auto channel = from.value<std::int32_t>();
        const auto action = from.value<std::uint8_t>();
        if (action > static_cast<std::uint8_t>(ReadAction::unblock)) throw damaged_state();
        done_.take(channel) = static_cast<ReadAction>(action);
      }
    });
  }
  void process(const Call&, const Batch& in, Output& out) {
    const auto decision = in.column<std::uint8_t>("decision"), is_last_chunk = in.column<std::uint8_t>("is_last_chunk");
    const Places places(in);
    const auto channel = in.column<std::int32_t>("channel"), chunk_index = in.column<std::int32_t>("chunk_index");
    const auto action = out.column<std::uint8_t>("action");
    const auto condition = out.column<std::int32_t>("condition");
    for (std::size_t i = 0; i < decision.size(); ++i) {
      if (chunk_index[i] == 0) done_.release(channel[i]);  // of a chunk that has failed, too: another read has begun
      if (!in.ok(static_cast<std::int64_t>(i))) continue;
      condition[i] = rules_.condition_of(channel[i]);
      const bool is_last = is_last_chunk[i] != 0;
      const ReadAction* const before = done_.find(channel[i]);
      const Judged read{static_cast<Judgement>(decision[i]), places.is_on_target(rules_, condition[i], i),
                        chunk_index[i] < std::numeric_limits<std::int32_t>::max() ? chunk_index[i] + 1 : chunk_index[i], is_last};
      const ReadAction now = before != nullptr ? *before : rules_.action(condition[i], read);
      action[i] = static_cast<std::uint8_t>(now);
      if (is_last)
        done_.release(channel[i]);
      else if (now != ReadAction::proceed)
        done_.take(channel[i]) = now;
    }
    names_.write(rules_, in, out, [&](std::size_t i) { return condition[i]; });
  }
  void save(const Call&, StateWriter& to) const {
    to.value(std::uint64_t{done_.size()});
    done_.for_each_channel([&](std::int32_t channel, ReadAction action) {
      to.value(channel);
      to.value(static_cast<std::uint8_t>(action));
    });
  }

 private:
  Rules rules_;
  Names names_;
  ChannelStates<ReadAction> done_;  // of reads under way
};

}  // namespace
}  // namespace sluice::read_until_actions

SLUICE_PLUGIN("read_until_actions", "0.1.0", "MIT", sluice::read_until_actions::ReadUntilConditions, sluice::read_until_actions::ReadUntilAction,
              sluice::read_until_actions::ReadUntilActionStream);
