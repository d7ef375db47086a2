// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the channels of a flow cell do: a free pore captures a strand after a random time, the strand's signal grows with time until it ends or is
// ejected, and the pore is free again. Has no clock and no threads: times are arguments, in seconds since the flow cell was started, and the
// same calls give the same answers on every machine.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace sluice::flow_cell_simulator {

// A read that can be played. Of a long one only the beginning is kept: it is decided on before that, or sequenced to its end.
struct RecordedRead {
  std::string read_id;
  std::vector<std::int16_t> samples;  // the first ones
  std::int64_t length = 0;            // samples of the whole read
  double digitisation = 0, range = 0, offset = 0;
  double sampling_rate = 0;  // Hz, > 0
  bool is_target = false;
};
using ReadHandle = std::shared_ptr<const RecordedRead>;

enum class Repeat { never, for_ever };

// Which reads the channels of a condition are to sequence: the targets, or all others (depletion).
enum class Wanted : std::uint8_t { targets, others };

struct FlowCellSettings {
  std::int32_t channels = 512;
  std::uint64_t seed = 1;
  double capture_seconds = 1.0;       // mean of the exponential distribution of the time until a free pore has a strand
  double ejection_seconds = 0.5;      // from the decision until the pore is free
  double deadline_seconds = 1.0;      // decisions later than this after the last sample of their chunk mean "continue"
  std::int64_t largest_chunk = 4000;  // samples; a read that is further behind is given up: it is sequenced to its end
  Repeat repeat = Repeat::never;      // never: each read once, in order; for_ever: a strand is any of the reads, drawn anew each time
  double stop_seconds = 0;            // after a decision behind the deadline nothing is ejected for so long; 0: never mind
  std::vector<Wanted> conditions = {Wanted::targets};
  std::vector<std::int32_t> channel_condition;  // of channels 0, 1, ...; of those behind its end the last condition
};

// Samples [begin, end) of a read, to be decided on.
struct Chunk {
  std::int32_t channel = 0, chunk_index = 0;
  bool is_last = false;
  ReadHandle read;
  std::int64_t begin = 0, end = 0;
  std::uint64_t read_number = 0;  // for decide()
  double start = 0;               // when the read began
};

enum class Decision : std::uint8_t { wait = 0, accept = 1, reject = 2 };

// What became of a decision.
enum class Effect { none, accepted, rejected, late, withheld };

struct FlowCellCounts {
  // "target": of the reads that the channel's condition wants, with Wanted::others those that are no targets
  std::uint64_t reads = 0, target_reads = 0;  // that were begun
  std::uint64_t accepted = 0, rejected = 0;   // decisions that came in time
  std::uint64_t accepted_targets = 0, rejected_targets = 0;
  std::uint64_t late = 0;                            // came after the deadline, or after the read had ended
  std::uint64_t ended = 0;                           // reads that ended before a decision, or had none within the samples that are kept
  std::uint64_t withheld = 0;                        // ejections that came in time, while others were late: sequenced to the end
  std::uint64_t given_up = 0;                        // the pipeline was behind: sequenced to the end without a decision
  std::uint64_t not_decided = 0;                     // of the failed rows: sequenced to the end without a decision
  std::uint64_t starved = 0;                         // captures that had to wait because no read had been read yet
  double sequenced_seconds = 0, target_seconds = 0;  // of strands in pores
  double decision_seconds = 0;                       // sum over accepted and rejected reads: from the beginning of the strand
  double read_seconds = 0, target_read_seconds = 0;  // lengths of the reads that were begun
  double accepted_read_seconds = 0;                  // and of those that were accepted

  void add(const FlowCellCounts& more);
};

class FlowCellModel {
 public:
  explicit FlowCellModel(const FlowCellSettings& settings);

  void add_read(ReadHandle read);
  // Reads that have not been begun. With Repeat::for_ever: that are there.
  std::size_t waiting_reads() const { return reads_.size(); }
  void end_of_reads() { reads_end_ = true; }
  // Nothing is left to happen.
  bool is_over() const;
  // Before this time nothing happens: while no pore has a strand, when the first one is captured.
  double quiet_until() const;

  // Brings channels first, first + step, ... to `now`, which must not go backwards for a channel. What their undecided reads have gained since the
  // last time is added to `chunks`.
  void advance(double now, std::int32_t first, std::int32_t step, std::vector<Chunk>& chunks);
  // The decision about a read, which depended on samples up to `available`, comes at `now`.
  Effect decide(double now, std::int32_t channel, std::uint64_t read_number, Decision decision, double available);
  // There will be no decision about the read: it is sequenced to its end.
  void give_up(std::int32_t channel, std::uint64_t read_number);
  // Of all channels. Strands in pores count up to `now`.
  FlowCellCounts counts(double now) const;
  // Of the channels of a condition, and how many these are.
  FlowCellCounts counts(double now, std::size_t condition) const;
  std::int32_t channels_of(std::size_t condition) const;
  // Is nothing ejected, because decisions have come late?
  bool is_stopped(double now) const { return now < stopped_until_; }

 private:
  enum class Verdict : std::uint8_t { open, accepted, rejected, without };
  struct Channel {
    ReadHandle read;     // null: free
    double free_at = 0;  // when the strand left; a free pore: when the next one comes
    double start = 0, end = 0;
    std::int64_t sent = 0;
    std::int32_t chunk_index = 0;
    std::uint64_t read_number = 0;
    std::uint64_t captures = 0;
    std::uint64_t answered = 0;  // the last read whose decision has been counted
    Verdict verdict = Verdict::open;
    bool starved = false;
    std::int32_t condition = 0;
  };
  FlowCellCounts& counts_of(const Channel& channel) { return counts_[static_cast<std::size_t>(channel.condition)]; }
  bool is_wanted(const Channel& channel) const {
    return channel.read->is_target == (settings_.conditions[static_cast<std::size_t>(channel.condition)] == Wanted::targets);
  }
  double capture_time(const Channel& channel, std::int32_t number) const;
  bool begin_read(Channel& channel, double now);
  void end_read(Channel& channel, std::int32_t number, double ejection);
  void send(Channel& channel, std::int32_t number, double now, std::vector<Chunk>& chunks);

  const FlowCellSettings settings_;
  std::vector<Channel> channels_;
  std::deque<ReadHandle> reads_;
  bool reads_end_ = false;
  std::uint64_t read_numbers_ = 0;
  std::vector<FlowCellCounts> counts_;  // by condition
  double stopped_until_ = 0;
};

}  // namespace sluice::flow_cell_simulator
