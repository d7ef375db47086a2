// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A block for each row: its walks, sorts and joins one after the other, so that no row waits for another one.

#include <type_traits>

#include "chaining/cuda_chains.hpp"
#include "chaining/cuda_teams.cuh"

namespace sluice::chaining::cuda {
namespace {

// A sort follows its records one by one, so that many rows have to be under way at once. Joins need more registers.
enum class Joins { never, possible };
constexpr std::uint32_t threads_per_multiprocessor(Joins joins) { return joins == Joins::possible ? 1024 : 1536; }
constexpr int copy_threads = 128;

// The parts of a row that begins at the anchor `begin`; `parts` has elements for rows, too.
__device__ WalkRoom room_of_row(const WalkRoom& room, std::int64_t begin, std::int64_t row) {
  return {room.end + begin,           room.end_score + begin, room.order + begin,       room.spare + begin,
          room.claim + begin,         room.depth + begin,     room.claimed + begin,     room.first_anchor + begin,
          room.claimed_score + begin, room.first_x + begin,   room.digit + begin + row, room.parts + begin / (largest_insertion + 1) + row};
}
__device__ RowChains columns_of_row(const RowChains& columns, std::int64_t chains, std::int64_t anchors) {
  return {columns.score + chains, columns.anchor_count + chains, columns.anchor_x + anchors, columns.anchor_y + anchors};
}

template <std::uint32_t threads, Joins joins>
__global__ void __launch_bounds__(threads, threads_per_multiprocessor(joins) / threads)
    chain_rows_kernel(ScoredAnchors batch, RowRules rules, const std::uint32_t* rows, ChainWorkspace workspace) {
  using Team = BlockTeam<threads>;
  __shared__ typename Team::Memory team_memory;
  __shared__ std::conditional_t<joins == Joins::possible, RowMemory<Team>, WalkMemory<Team>> memory;
  Team team(team_memory, workspace.cycles);
  const std::uint32_t row = rows[blockIdx.x];
  const std::int64_t begin = batch.anchors.offsets[row];
  const ScoredRow scored{batch.anchors.x + begin,    batch.anchors.y + begin,
                         batch.scores.score + begin, batch.scores.predecessor + begin,
                         batch.run + begin,          static_cast<std::uint32_t>(batch.anchors.offsets[row + 1] - begin),
                         batch.read_length[row]};
  const RowRoom& room = workspace.room;
  ChainTotals totals{0, 0};
  const bool decided = chain_row(team, scored, rules,
                                 {room_of_row(room.walk, begin, row), room.x + begin, room.y + begin, room.score + begin, room.predecessor + begin,
                                  room.cost + begin, room.lowest_cost + begin},
                                 columns_of_row(workspace.chains.columns, begin, begin), memory, totals);
  if (threadIdx.x != 0) return;
  workspace.chains.totals[row] = totals;
  workspace.chains.undecided[row] = decided ? 0 : 1;
}

__global__ void __launch_bounds__(copy_threads) copy_chains_kernel(DeviceAnchors anchors, BatchChains chains, ChainColumns to) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t begin = anchors.offsets[row];
  const RowChains from = columns_of_row(chains.columns, begin, begin);
  const RowChains into = columns_of_row(to.columns, to.chain_offsets[row], to.anchor_offsets[row]);
  const ChainTotals totals = chains.totals[row];
  for (std::uint32_t i = threadIdx.x; i < totals.chains; i += copy_threads) {
    into.score[i] = from.score[i];
    into.anchor_count[i] = from.anchor_count[i];
  }
  for (std::uint32_t i = threadIdx.x; i < totals.anchors; i += copy_threads) {
    into.anchor_x[i] = from.anchor_x[i];
    into.anchor_y[i] = from.anchor_y[i];
  }
}

__global__ void __launch_bounds__(copy_threads) clear_excluded_kernel(DeviceAnchors anchors, const std::uint8_t* fault, DeviceScores scores) {
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  if (fault[row] == 0) return;
  for (std::int64_t i = anchors.offsets[row] + threadIdx.x; i < anchors.offsets[row + 1]; i += copy_threads) {
    scores.score[i] = 0;
    scores.predecessor[i] = -1;
  }
}

// Calls place(pointer, elements) for every array of the workspace.
template <class Place>
void lay_out(const DeviceAnchors& anchors, ChainWorkspace& workspace, Place&& place) {
  const auto count = static_cast<std::size_t>(anchors.count), rows = static_cast<std::size_t>(anchors.rows);
  place(workspace.chains.totals, rows);
  place(workspace.chains.undecided, rows);
  place(workspace.chains.columns.score, count);
  place(workspace.chains.columns.anchor_count, count);
  place(workspace.chains.columns.anchor_x, count);
  place(workspace.chains.columns.anchor_y, count);
  place(workspace.room.x, count);
  place(workspace.room.y, count);
  place(workspace.room.score, count);
  place(workspace.room.predecessor, count);
  place(workspace.room.cost, count);
  place(workspace.room.lowest_cost, count);
  WalkRoom& walk = workspace.room.walk;
  for (std::uint32_t** words : {&walk.end, &walk.end_score, &walk.order, &walk.spare, &walk.claim, &walk.depth, &walk.claimed, &walk.first_anchor})
    place(*words, count);
  place(walk.claimed_score, count);
  place(walk.first_x, count);
  place(walk.digit, count + rows);
  place(walk.parts, count / (largest_insertion + 1) + rows + 1);
}

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

RowRules row_rules(const ChainingParameters& parameters) {
  constexpr std::uint32_t most_tiles = 200'000;
  constexpr std::int32_t long_run_anchors = 1024;
  return {parameters,
          {join_limits(parameters, parameters.bw_long), parameters.rmq_size_cap, step_costs(parameters), most_tiles, long_run_anchors},
          skips_are_unlimited(parameters, parameters.rmq_size_cap)};
}

std::size_t chain_workspace_bytes(const DeviceAnchors& anchors) {
  ChainWorkspace workspace{};
  std::size_t bytes = 0;
  lay_out(anchors, workspace, [&]<class T>(T*&, std::size_t count) { bytes += aligned(count * sizeof(T)); });
  return bytes;
}

ChainWorkspace chain_workspace_in(void* memory, const DeviceAnchors& anchors) {
  ChainWorkspace workspace{};
  auto* at = static_cast<std::byte*>(memory);
  lay_out(anchors, workspace, [&]<class T>(T*& part, std::size_t count) {
    part = reinterpret_cast<T*>(at);
    at += aligned(count * sizeof(T));
  });
  return workspace;
}

cudaError_t clear_chains(const DeviceAnchors& anchors, const BatchChains& chains, cudaStream_t stream) {
  const auto rows = static_cast<std::size_t>(anchors.rows);
  const cudaError_t error = cudaMemsetAsync(chains.totals, 0, rows * sizeof(ChainTotals), stream);
  return error != cudaSuccess ? error : cudaMemsetAsync(chains.undecided, 0, rows, stream);
}

namespace {

template <std::uint32_t threads, Joins joins>
cudaError_t launch_chain_rows(const ScoredAnchors& batch, const RowRules& rules, const std::uint32_t* rows, std::uint32_t count,
                              const ChainWorkspace& workspace, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  chain_rows_kernel<threads, joins><<<count, threads, 0, stream>>>(batch, rules, rows, workspace);
  return cudaGetLastError();
}

}  // namespace

cudaError_t chain_rows(const ScoredAnchors& batch, const RowRules& rules, const RowList& list, const ChainWorkspace& workspace, cudaStream_t stream,
                       cudaStream_t long_stream) {
  const std::uint32_t* const rows = list.rows;
  const auto [longest, medium, shortest] = list.of_class;
  if (!may_join(rules.parameters)) {
    const cudaError_t error = launch_chain_rows<256, Joins::never>(batch, rules, rows, longest, workspace, long_stream);
    return error != cudaSuccess ? error : launch_chain_rows<128, Joins::never>(batch, rules, rows + longest, medium + shortest, workspace, stream);
  }
  cudaError_t error = launch_chain_rows<512, Joins::possible>(batch, rules, rows, longest, workspace, long_stream);
  if (error == cudaSuccess) error = launch_chain_rows<256, Joins::possible>(batch, rules, rows + longest, medium, workspace, stream);
  if (error == cudaSuccess) error = launch_chain_rows<128, Joins::possible>(batch, rules, rows + longest + medium, shortest, workspace, stream);
  return error;
}

cudaError_t copy_chains(const DeviceAnchors& anchors, const BatchChains& chains, const ChainColumns& to, cudaStream_t stream) {
  if (anchors.rows == 0) return cudaSuccess;
  copy_chains_kernel<<<static_cast<unsigned int>(anchors.rows), copy_threads, 0, stream>>>(anchors, chains, to);
  return cudaGetLastError();
}

cudaError_t clear_excluded(const DeviceAnchors& anchors, const std::uint8_t* fault, const DeviceScores& scores, cudaStream_t stream) {
  if (anchors.rows == 0) return cudaSuccess;
  clear_excluded_kernel<<<static_cast<unsigned int>(anchors.rows), copy_threads, 0, stream>>>(anchors, fault, scores);
  return cudaGetLastError();
}

}  // namespace sluice::chaining::cuda
