// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The device's way through a row (chunks from where the path is expected, and the walk that joins them) on a warp that the host emulates: the path of
// the CPU, whatever the chunks have begun with.
#include "unit/signal/event_alignment/emulated_warp.hpp"
// What it is that is emulated comes before what is run on it.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "event_alignment/cuda_record.cuh"
#include "event_alignment/event_alignment.hpp"
#include "unit/signal/event_alignment/simulated_record.hpp"

namespace {

using namespace sluice;
using namespace sluice::event_alignment;
namespace device = sluice::event_alignment::cuda;

enum class Spoilt { nothing, positions, events };

struct Aligned {
  RecordStatus status;
  std::vector<std::int32_t> event, position;
  std::vector<std::uint8_t> state;
  std::size_t chunks_used = 0, chunks = 0;
};

class OneRow {
 public:
  OneRow(const simulation::SimulatedRecord& record, const CheckedModel& model)
      : record_(record),
        contig_begin_{0, static_cast<std::int64_t>(record.contig.size())},
        ref_end_(record.ref_end()),
        reverse_(record.strand == Strand::reverse ? 1 : 0),
        cigar_offsets_{0, static_cast<std::int64_t>(record.cigar.size())},
        bases_offsets_{0, static_cast<std::int64_t>(record.read_length)},
        event_offsets_{0, static_cast<std::int64_t>(record.event_mean.size())},
        map_offsets_{0, static_cast<std::int64_t>(record.first_event.size())},
        blocks_(record.cigar.size() + 1) {
    const KmerModelView& view = model.view();
    for (std::size_t i = 0; i < view.level_mean.size(); ++i)
      levels_.push_back(float4{view.level_mean[i], view.level_stdv[i], view.log_level_stdv[i], 0.0F});
    model_ = {levels_.data(), view.k, model.extremes()};
    reference_ = {record.contig.data(), contig_begin_};
    rows_ = {1,
             &contig_,
             &record.ref_start,
             &ref_end_,
             &reverse_,
             cigar_offsets_,
             record.cigar.data(),
             cigar_offsets_[1],
             bases_offsets_,
             event_offsets_,
             record.event_mean.data(),
             map_offsets_,
             record.first_event.data(),
             &record.scaling.scale,
             &record.scaling.shift,
             &record.scaling.var,
             &record.scaling.log_var,
             &record.events_per_base};
  }

  template <int kColumns>
  Aligned align(const Settings& settings, Spoilt spoilt, std::mt19937_64& random) {
    emulation::Warp lanes;
    device::CheckedRow checked{};
    lanes.run([&] {
      const device::CheckedRow of_lane = device::check_row(rows_, 0, reference_, model_, settings, blocks_.data());
      checked = of_lane;
    });
    Aligned result{checked.status, {}, {}, {}};
    if (checked.status != RecordStatus::ok) return result;
    const std::size_t events = record_.event_mean.size();
    result.event.assign(events, -7);
    result.position.assign(events, -7);
    result.state.assign(events, 7);
    const device::Paths paths{result.event.data(), result.position.data(), result.state.data(), nullptr, nullptr};
    std::vector<std::uint32_t> words(device::kUsualSteps * device::kLanes);
    device::ChoiceRoom room{nullptr, device::kUsualSteps};
    const auto with_warp = [&](const auto& body) {
      room.words = words.data();
      lanes.run([&] { body(device::RowWarp<kColumns>::of(rows_, 0, checked, reference_, model_, settings, paths, room)); });
    };
    const std::vector<std::uint32_t> order{0};
    std::vector<device::Chunk> chunks(device::chunks_of(order, event_offsets_)[1]);
    // From the last to the first: what a chunk writes behind its own part must not matter.
    for (std::size_t c = chunks.size(); c-- > 0;) {
      with_warp([&](const auto& warp) {
        const device::Chunk chunk = warp.fill_chunk(static_cast<std::int64_t>(c), checked, blocks_.data());
        chunks[c] = chunk;
      });
      result.chunks_used += chunks[c].position >= 0 ? 1 : 0;
    }
    result.chunks = chunks.size();
    for (device::Chunk& chunk : chunks) {
      if (spoilt == Spoilt::nothing || random() % 2 == 0) continue;
      if (spoilt == Spoilt::positions) chunk.position += 1;
      if (spoilt == Spoilt::events) chunk.position = -1;
    }
    device::WalkState end{};
    const auto join = [&](std::span<const device::Chunk> known, std::int64_t most_whole) {
      with_warp([&](const auto& warp) {
        const device::WalkState of_lane = warp.align(checked, blocks_.data(), known, most_whole);
        end = of_lane;
      });
    };
    join(chunks, 300);
    if (end.status == RecordStatus::stalled) {
      room.steps = kMaximumSegmentEvents + device::kLanes;
      words.resize(static_cast<std::size_t>(room.steps * device::kLanes));
      join({}, kMaximumSegmentEvents);
    }
    result.status = end.status;
    const std::size_t written = end.status == RecordStatus::ok ? static_cast<std::size_t>(end.written) : 0;
    REQUIRE(written <= events);
    result.event.resize(written);
    result.position.resize(written);
    result.state.resize(written);
    return result;
  }

 private:
  const simulation::SimulatedRecord& record_;
  std::int64_t contig_begin_[2];
  std::int32_t contig_ = 0;
  std::int64_t ref_end_;
  std::uint8_t reverse_;
  std::int64_t cigar_offsets_[2], bases_offsets_[2], event_offsets_[2], map_offsets_[2];
  std::vector<AlignedBlock> blocks_;
  std::vector<float4> levels_;
  device::Model model_;
  device::Reference reference_;
  device::Rows rows_;
};

TEST_CASE("chunks of a row, joined, are the path of the CPU") {
  std::mt19937_64 random(3);
  std::size_t rows = 0, chunks = 0, begun = 0;
  for (const std::uint32_t k : {5U, 6U, 9U}) {
    const simulation::Model simulated(k);
    const CheckedModel model(simulated.view);
    for (int turn = 0; turn < 9; ++turn) {
      simulation::Options options;
      options.aligned_bases = turn % 6 == 0 ? 1600 : 1 + random() % 500;
      options.splices = turn % 5 == 1 ? 0.003 : 0.0;
      options.long_deletions = turn % 4 == 2 ? 0.002 : 0.0;
      options.missing_events = turn % 3 == 1 ? 0.4 : 0.05;
      auto record = simulate_record(simulated, random() % 2 == 0 ? Strand::forward : Strand::reverse, options, random);
      if (turn % 6 == 3 && !record.event_mean.empty()) {  // levels that nothing reaches
        for (int i = 0; i < 20; ++i) record.event_mean[random() % record.event_mean.size()] = 1e15F;
        record.scaling.var = 3e-12F;
      }
      if (turn % 7 == 5) record.events_per_base = 0.5;
      Settings settings;
      if (turn % 7 == 5) settings.events_per_base = event_hmm::EventsPerBase::compat;
      if (turn % 9 == 8) settings.clip_start = record.ref_start + 100;
      event_alignment::Workspace workspace;
      EventPath expected;
      const RecordStatus status = align_events(record.view(), model, settings, segment_path, workspace, expected);
      OneRow row(record, model);
      const auto spoilt = static_cast<Spoilt>(turn % 3);
      const Aligned found = k < 6 ? row.align<4>(settings, spoilt, random) : row.align<3>(settings, spoilt, random);
      CHECK(found.status == status);
      CHECK(found.event == expected.event);
      CHECK(found.position == expected.position);
      CHECK(found.state == expected.state);
      ++rows;
      chunks += found.chunks;
      begun += found.chunks_used;
    }
  }
  MESSAGE(rows << " rows, " << chunks << " chunks, " << begun << " of them begun");
}

TEST_CASE("a warp lists the aligned bases of a CIGAR as the CPU does") {
  std::mt19937_64 random(4);
  for (int turn = 0; turn < 300; ++turn) {
    const bool spliced = turn % 3 == 0, wrong = turn % 5 == 0;
    std::vector<std::uint32_t> cigar(random() % 150);
    for (std::uint32_t& word : cigar) {
      const auto operation = static_cast<std::uint32_t>(random() % 8);
      word = static_cast<std::uint32_t>(random() % 12) << 4U | (operation == 3 && !spliced ? 0U : operation);
    }
    if (wrong && !cigar.empty()) cigar[random() % cigar.size()] = 9U + 16U * static_cast<std::uint32_t>(random() % 3);
    Walk walk{.contig_length = turn % 7 == 0 ? 300 : 5000, .ref_start = static_cast<std::int64_t>(random() % 50), .read_length = 400, .k = 6};
    if (turn % 4 == 1) walk.clip_start = 100, walk.clip_end = 300;
    if (turn % 4 == 2) walk.hard_clips = HardClips::compat;
    std::vector<AlignedBlock> expected;
    const RecordStatus status = list_aligned_bases(
        walk, cigar, [&](const AlignedBlock& block) { expected.push_back(block); }, [&] { expected.push_back({}); });
    std::vector<AlignedBlock> blocks(cigar.size() + 1);
    std::uint32_t size = 0, first_stretch = 0;
    RecordStatus found{};
    emulation::Warp lanes;
    lanes.run([&] {
      device::BlockList list(blocks.data(), static_cast<int>(threadIdx.x));
      found = list.fill(walk, cigar);
      size = list.size;
      first_stretch = list.first_stretch;
    });
    CHECK(found == status);
    if (status != RecordStatus::ok) continue;
    blocks.resize(size);
    CHECK(std::ranges::equal(blocks, expected, [](const AlignedBlock& a, const AlignedBlock& b) {
      return a.position == b.position && a.read_position == b.read_position && a.length == b.length;
    }));
    const auto end = std::ranges::find(expected, 0, &AlignedBlock::length);
    CHECK(first_stretch == (end == expected.end() ? 0 : end - expected.begin()));
  }
}

}  // namespace
