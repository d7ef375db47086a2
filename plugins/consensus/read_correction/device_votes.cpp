// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// consensus_vote's calls on a CUDA device.
#ifdef SLUICE_WITH_CUDA
#include <algorithm>
#include <sluice/cuda.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "read_correction/cuda.hpp"
#include "read_correction/vote_stage.hpp"

namespace sluice::read_correction {
namespace {

using sluice::cuda::DeviceCall;

// What the warps of a call work in: those that an H200 runs at once take 0.17 GB for windows of 150 bases.
constexpr std::size_t most_scratch_bytes = std::size_t{512} << 20U;

cuda::DeviceWindows windows_on_device(const DeviceCall& device, const Batch& in, bool has_qualities) {
  const sluice::cuda::Text text = device.text(in, "sequences"), consensus = device.text(in, "consensus");
  const auto lengths = device.list<std::int32_t>(in, "sequence_length");
  cuda::DeviceWindows windows{.count = in.rows(),
                              .text_offsets = text.offsets,
                              .letters = text.bytes,
                              .sequence_offsets = lengths.offsets,
                              .length = lengths.values,
                              .consensus_offsets = consensus.offsets,
                              .consensus = consensus.bytes,
                              .is_polished = device.column<std::uint8_t>(in, "is_polished")};
  if (has_qualities) {
    const sluice::cuda::Text qualities = device.text(in, "sequence_qualities");
    windows.quality_offsets = qualities.offsets;
    windows.qualities = qualities.bytes;
  }
  return windows;
}

// Rows of a list or text on the host, where that has them, or copied from the device.
std::string text_of_row(const DeviceCall& device, const Batch& in, const char* name, std::int64_t row) {
  if (in.find(name)->array != nullptr) return std::string(in.text(name)[row]);
  const sluice::cuda::Text text = device.text(in, name);
  const std::vector<std::int64_t> ends = device.download(text.offsets + row, 2);
  const std::vector<char> letters = device.download(text.bytes + ends[0], static_cast<std::size_t>(ends[1] - ends[0]));
  return {letters.begin(), letters.end()};
}
std::vector<std::int32_t> lengths_of_row(const DeviceCall& device, const Batch& in, const char* name, std::int64_t row) {
  if (in.find(name)->array != nullptr) {
    const auto lengths = in.list<std::int32_t>(name)[row];
    return {lengths.begin(), lengths.end()};
  }
  const auto list = device.list<std::int32_t>(in, name);
  const std::vector<std::int64_t> ends = device.download(list.offsets + row, 2);
  return device.download(list.values + ends[0], static_cast<std::size_t>(ends[1] - ends[0]));
}

std::vector<std::uint8_t> bytes_of_rows(const DeviceCall& device, const Batch& in, const char* name) {
  if (in.find(name)->array == nullptr) return device.download(device.column<std::uint8_t>(in, name), static_cast<std::size_t>(in.rows()));
  const auto bytes = in.column<std::uint8_t>(name);
  return {bytes.begin(), bytes.end()};
}

// A window that the device has left to the CPU.
struct LeftWindow {
  std::int64_t row;
  std::string sequences, qualities, voted;
  std::vector<std::int32_t> lengths;
  VariantSites sites;
};

// A column of what the device has made, and in its gaps what the CPU has.
template <class T>
struct Column {
  std::vector<std::int64_t> begin;  // of rows, in `values`
  std::vector<T> values;

  // of_window(left) gives a row's values.
  template <class OfWindow>
  Buffer offsets(Output& out, const std::vector<LeftWindow>& left, OfWindow&& of_window) const {
    auto next = left.begin();
    return out.offsets([&, this](std::int64_t row) {
      if (next != left.end() && next->row == row) return of_window(*next++).size();
      return static_cast<std::size_t>(begin[static_cast<std::size_t>(row) + 1] - begin[static_cast<std::size_t>(row)]);
    });
  }
  template <class OfWindow>
  void copy(std::span<T> to, const std::vector<LeftWindow>& left, OfWindow&& of_window) const {
    auto from = values.begin();
    auto place = to.begin();
    for (const LeftWindow& window : left) {
      const auto end = values.begin() + begin[static_cast<std::size_t>(window.row)];
      place = std::copy(std::exchange(from, end), end, place);
      place = std::copy(of_window(window).begin(), of_window(window).end(), place);
    }
    std::copy(from, values.end(), place);
  }
};

// Of the same windows that the CPU would have looked at.
PieceIdentity sampled_identity(const DeviceCall& device, const Batch& in, const std::vector<cuda::Outcome>& outcome, const Column<char>& voted,
                               const std::vector<LeftWindow>& left) {
  PieceIdentity identity;
  const auto rows = static_cast<std::size_t>(in.rows());
  const bool on_host = in.find("sequences")->array != nullptr;
  const std::vector<std::int64_t> ends = on_host ? std::vector<std::int64_t>() : device.download(device.text(in, "sequences").offsets, rows + 1);
  const std::vector<std::uint8_t> is_polished = bytes_of_rows(device, in, "is_polished");
  auto next = left.begin();
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const LeftWindow* const window = next != left.end() && next->row == row ? &*next++ : nullptr;
    const std::size_t letters = on_host ? in.text("sequences")[row].size() : static_cast<std::size_t>(ends[i + 1] - ends[i]);
    if (!in.ok(row) || outcome[i] == cuda::Outcome::bad || is_polished[i] == 0 || !PieceIdentity::is_sampled(letters)) continue;
    const auto begin = static_cast<std::size_t>(voted.begin[i]), end = static_cast<std::size_t>(voted.begin[i + 1]);
    identity.add(text_of_row(device, in, "sequences", row), lengths_of_row(device, in, "sequence_length", row),
                 window != nullptr ? std::string_view(window->voted) : std::string_view(voted.values.data() + begin, end - begin));
  }
  return identity;
}

}  // namespace

void VoteStage::process_cuda(const Call& call, const Batch& in, Output& out) {
  const DeviceCall device(call);
  const auto rows = static_cast<std::size_t>(in.rows());
  std::vector<sluice::cuda::Memory> memory;  // until the device has done all
  const cuda::Allocate allocate = [&](std::size_t bytes) { return memory.emplace_back(device.allocate(bytes)).get(); };
  const auto take = [&]<class T>(T*& to, std::size_t count) { to = static_cast<T*>(allocate(count * sizeof(T))); };
  cuda::DeviceWindows windows = windows_on_device(device, in, has_qualities_);
  windows.row_status = memory.emplace_back(device.row_status(in)).as<std::uint16_t>();
  const cuda::VoteRules rules{rounds_, wants_sites_};

  cuda::DeviceVotes votes;
  take(votes.outcome, rows);
  take(votes.text, rows + 1);
  if (wants_sites_) {
    take(votes.sites, rows + 1);
    take(votes.site_letters, rows + 1);
  }
  const cuda::VotePlan plan = cuda::plan_votes(windows, rules, votes, device.stream(), allocate);
  take(votes.room, rows * static_cast<std::size_t>(plan.columns));
  if (wants_sites_) take(votes.site_mask, rows * mask_words(plan));
  const cuda::VoteScratch scratch = cuda::make_scratch(windows, plan, device.ordinal(), most_scratch_bytes, allocate);
  cuda::cast_votes(windows, rules, plan, scratch, votes, device.stream());
  cuda::place_votes(windows, votes, device.stream(), allocate);

  Column<char> text{device.download(votes.text, rows + 1), {}}, site_letters;
  Column<std::int32_t> site_places;
  if (wants_sites_) {
    site_places.begin = device.download(votes.sites, rows + 1);
    site_letters.begin = device.download(votes.site_letters, rows + 1);
  }
  const std::vector<cuda::Outcome> outcome = device.download(votes.outcome, rows);
  if (call.cancelled()) throw Failure(SLUICE_ERROR_CANCELLED, "the votes were cancelled");
  cuda::WrittenVotes written;
  const auto total = [](const auto& column) { return column.begin.empty() ? 0 : static_cast<std::size_t>(column.begin.back()); };
  take(written.text, total(text));
  take(written.site_places, total(site_places));
  take(written.site_letters, total(site_letters));
  cuda::write_votes(windows, plan, scratch, votes, written, device.stream());

  std::vector<LeftWindow> left;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (outcome[i] == cuda::Outcome::bad) out.fail(row, Reason::bad_sequences);
    if (outcome[i] != cuda::Outcome::left) continue;
    left.push_back({.row = row,
                    .sequences = text_of_row(device, in, "sequences", row),
                    .qualities = has_qualities_ ? text_of_row(device, in, "sequence_qualities", row) : std::string(),
                    .voted = text_of_row(device, in, "consensus", row),
                    .lengths = lengths_of_row(device, in, "sequence_length", row),
                    .sites = {}});
  }
  if (!left.empty()) call.count("windows_left_to_cpu", static_cast<double>(left.size()));
  call.parallel_for(left.size(), 1, [&](std::size_t begin, std::size_t end) {
    auto workspace = workspaces_.take();
    for (std::size_t i = begin; i < end && !call.cancelled(); ++i)
      vote(*workspace, left[i].sequences, left[i].lengths, left[i].qualities, left[i].voted, left[i].sites);
    if (workspace->bytes() > kept_bytes) workspace.discard();
  });

  const auto give = [&](auto& column, const auto* values, auto&& of_window, auto&& make) {
    column.values = device.download(values, total(column));
    column.copy(make(column.offsets(out, left, of_window)), left, of_window);
  };
  give(
      text, written.text, [](const LeftWindow& window) -> const std::string& { return window.voted; },
      [&](const Buffer& offsets) { return out.text("voted_consensus", offsets); });
  give_figures(call, sampled_identity(device, in, outcome, text, left));
  if (!wants_sites_) return;
  give(
      site_places, written.site_places, [](const LeftWindow& window) -> const std::vector<std::int32_t>& { return window.sites.places; },
      [&](const Buffer& offsets) { return out.list<std::int32_t>("site_place", offsets); });
  give(
      site_letters, written.site_letters, [](const LeftWindow& window) -> const std::string& { return window.sites.letters; },
      [&](const Buffer& offsets) { return out.text("site_letters", offsets); });
}

}  // namespace sluice::read_correction
#endif
