// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_consensus.hpp"

#include <algorithm>
#include <numeric>
#include <sluice/sequence/bases.hpp>

#include "poa_consensus/align_vectors.hpp"
#include "poa_consensus/graph_text.hpp"

namespace sluice::poa_consensus {
namespace {

// Of a window: ids of nodes and edges have 32 bits.
constexpr std::size_t most_letters = std::size_t{1} << 29U;

}  // namespace

WindowProblem WindowConsensus::check(const Window& window) {
  begin_.assign(1, 0);
  for (const std::int32_t length : window.lengths) {
    if (length < 0) return WindowProblem::bad_sequences;
    begin_.push_back(begin_.back() + static_cast<std::size_t>(length));
  }
  if (begin_.back() != window.sequences.size()) return WindowProblem::bad_sequences;
  if (begin_.back() > most_letters) return WindowProblem::too_large;
  if (!window.qualities.empty() && (window.qualities.size() != window.sequences.size() ||
                                    std::any_of(window.qualities.begin(), window.qualities.end(), [](char q) { return q < '!'; })))
    return WindowProblem::bad_sequences;
  if (window.layer_begin.empty() && window.layer_end.empty()) return WindowProblem::none;
  if (window.layer_begin.size() != window.lengths.size() || window.layer_end.size() != window.lengths.size()) return WindowProblem::bad_layers;
  for (std::size_t i = 1; i < window.lengths.size(); ++i)
    if (window.layer_begin[i] < 0 || window.layer_begin[i] > window.layer_end[i] || window.layer_end[i] >= window.lengths[0])
      return WindowProblem::bad_layers;
  return WindowProblem::none;
}

void order_layers(LayerOrder order, std::span<const std::int32_t> layer_begin, std::span<std::int32_t> sequences) {
  std::iota(sequences.begin(), sequences.end(), 0);
  if (order == LayerOrder::file || layer_begin.size() != sequences.size() || sequences.empty()) return;
  // Not stable, and it must not be: the order of layers that begin together is that of this very sort, as in racon.
  std::sort(sequences.begin() + 1, sequences.end(),
            [&](std::int32_t a, std::int32_t b) { return layer_begin[static_cast<std::size_t>(a)] < layer_begin[static_cast<std::size_t>(b)]; });
}

void trim_ends(std::int32_t sequences, WindowResult& result) {
  const std::int32_t enough = (sequences - 1) / 2;
  const auto covers = [enough](std::int32_t coverage) { return coverage >= enough; };
  const auto first = std::find_if(result.coverage.begin(), result.coverage.end(), covers) - result.coverage.begin();
  const auto end = std::find_if(result.coverage.rbegin(), result.coverage.rend(), covers).base() - result.coverage.begin();
  if (first >= end - 1) {
    result.is_untrimmed = true;
    return;
  }
  result.consensus.resize(static_cast<std::size_t>(end));
  result.consensus.erase(0, static_cast<std::size_t>(first));
  result.coverage.resize(static_cast<std::size_t>(end));
  result.coverage.erase(result.coverage.begin(), result.coverage.begin() + first);
  result.support.resize(static_cast<std::size_t>(end));
  result.support.erase(result.support.begin(), result.support.begin() + first);
}

// Sequence 0 was added first, so its nodes have its positions as ids.
NodeRange WindowConsensus::part_of_layer(const Window& window, std::size_t index) const {
  if (index == 0 || window.layer_begin.empty()) return {};
  const std::int32_t backbone = window.lengths[0];
  const auto tolerance = static_cast<std::int32_t>(0.01 * backbone);
  const bool spans = window.layer_begin[index] < tolerance && window.layer_end[index] > backbone - tolerance;
  return spans ? NodeRange{} : NodeRange{window.layer_begin[index], window.layer_end[index]};
}

WindowProblem WindowConsensus::align(NodeRange range, std::string_view bases) {
  path_.clear();
  workspace_.score = 0;
  if (bases.empty() || graph_.node_count() == 0) return WindowProblem::none;
  const KeptRows rows = graph_.kept_rows(range);
  if (scalar_matrix_bytes(rows.count(), static_cast<std::int64_t>(bases.size()), parameters_.scoring) > parameters_.matrix_bytes)
    return WindowProblem::too_large;
  if (align_vectors(graph_, rows, bases, parameters_.scoring, workspace_, path_) != VectorUse::done) {
    graph_.list_rows(range, workspace_.rows);
    align_scalar(graph_, workspace_.rows, bases, parameters_.scoring, workspace_, path_);
  }
  return WindowProblem::none;
}

WindowProblem WindowConsensus::merge(NodeRange range, std::string_view bases, std::string_view qualities) {
  if (const WindowProblem problem = align(range, bases); problem != WindowProblem::none) return problem;
  bool is_reversed = false;
  if (parameters_.strands == Strands::either && range.last == PartialOrderGraph::none && graph_.node_count() > 0) {
    const std::int32_t forward = workspace_.score;
    path_.swap(forward_path_);
    reversed_.assign(bases.rbegin(), bases.rend());
    for (char& base : reversed_) base = iupac_complement(base);
    if (const WindowProblem problem = align(range, reversed_); problem != WindowProblem::none) return problem;
    is_reversed = workspace_.score > forward;
    if (!is_reversed) path_.swap(forward_path_);
  }
  is_reversed_.push_back(is_reversed ? 1 : 0);
  if (is_reversed) {
    reversed_qualities_.assign(qualities.rbegin(), qualities.rend());
    graph_.add(path_, reversed_, reversed_qualities_);
  } else {
    graph_.add(path_, bases, qualities);
  }
  return WindowProblem::none;
}

// guide: the consensus of the round before, null in the first one.
void WindowConsensus::begin_round(const std::string* guide) {
  graph_.clear();
  is_reversed_.clear();
  template_ = guide == nullptr ? Template::counts : Template::is_guide;
  if (guide == nullptr) return;
  no_weight_.assign(guide->size(), '!');
  graph_.add({}, *guide, no_weight_);
  is_reversed_.push_back(0);
}

WindowProblem WindowConsensus::merge_all(const Window& window) {
  for (const std::int32_t i : order_) {
    const auto index = static_cast<std::size_t>(i);
    const WindowProblem problem = merge(part_of_layer(window, index), sequence(window, index), qualities(window, index));
    if (problem != WindowProblem::none) return problem;
  }
  return WindowProblem::none;
}

void WindowConsensus::list_support(WindowResult& result) {
  const NodeSupport support(graph_, template_, columns_);
  for (const std::int32_t node : nodes_) result.support.push_back(support(node));
}

void WindowConsensus::read_consensus(WindowResult& result) {
  graph_.rank();
  result.support.clear();
  if (parameters_.algorithm == Algorithm::majority) {
    column_majority(graph_, template_, parameters_.undecided, parameters_.min_support, columns_, result.consensus, nodes_, result.coverage);
    list_support(result);
    return;
  }
  heaviest_bundle(graph_, bundle_, nodes_);
  result.consensus.clear();
  result.coverage.clear();
  for (const std::int32_t node : nodes_) {
    result.consensus += graph_.letter(node);
    result.coverage.push_back(column_coverage(graph_, node));
  }
  list_support(result);
  if (template_ == Template::counts || graph_.path(0).size() < 2) return;
  std::vector<std::uint8_t>& has_guide = columns_.is_on_template;
  has_guide.assign(static_cast<std::size_t>(graph_.node_count()), 0);
  for (const std::int32_t node : graph_.path(0)) has_guide[static_cast<std::size_t>(graph_.node(node).column)] = 1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) result.coverage[i] -= has_guide[static_cast<std::size_t>(graph_.node(nodes_[i]).column)];
}

// Of a window whose sequences have been merged.
WindowProblem WindowConsensus::complete(const Window& window, WindowResult& result) {
  result.is_polished = true;
  const bool has_layers = !window.layer_begin.empty();
  if (parameters_.groups.most_groups > 1 && !has_layers)
    if (const WindowProblem problem = divide(window, result); problem != WindowProblem::none) return problem;
  if (parameters_.trim == Trim::racon) trim_ends(static_cast<std::int32_t>(window.lengths.size()), result);
  return WindowProblem::none;
}

// The sequences of a haplotype are a window of their own.
WindowProblem WindowConsensus::divide(const Window& window, WindowResult& result) {
  graph_.rank();
  std::vector<std::vector<std::int32_t>> groups = group_sequences(graph_, template_, parameters_.groups);
  for (std::vector<std::int32_t>& group : groups) {
    for (std::int32_t& s : group) s = order_[static_cast<std::size_t>(s)];
    result.haplotypes.push_back({result.consensus, std::move(group)});
  }
  if (groups.size() == 1) return WindowProblem::none;
  if (!of_haplotype_) {
    ConsensusParameters parameters = parameters_;
    parameters.groups.most_groups = 1;
    parameters.min_sequences = 1;
    parameters.trim = Trim::none;
    of_haplotype_ = std::make_unique<WindowConsensus>(parameters);
  }
  std::string bases, weights;
  std::vector<std::int32_t> lengths;
  WindowResult own;
  for (Haplotype& haplotype : result.haplotypes) {
    bases.clear();
    weights.clear();
    lengths.clear();
    for (const std::int32_t s : haplotype.sequences) {
      const auto index = static_cast<std::size_t>(s);
      bases += sequence(window, index);
      weights += qualities(window, index);
      lengths.push_back(window.lengths[index]);
    }
    const WindowProblem problem = of_haplotype_->make({bases, lengths, weights, {}, {}}, own);
    if (problem != WindowProblem::none) return problem;
    haplotype.consensus = own.consensus;
  }
  return WindowProblem::none;
}

WindowProblem WindowConsensus::make(const Window& window, WindowResult& result) {
  result.consensus.clear();
  result.coverage.clear();
  result.support.clear();
  result.haplotypes.clear();
  result.is_polished = result.is_untrimmed = false;
  nodes_.clear();
  begin_round(nullptr);
  if (const WindowProblem problem = check(window); problem != WindowProblem::none) return problem;
  const auto sequences = static_cast<std::int32_t>(window.lengths.size());
  order_.resize(window.lengths.size());
  order_layers(parameters_.layer_order, window.layer_begin, order_);
  if (sequences < std::max(parameters_.min_sequences, 1)) {
    if (sequences == 0) return WindowProblem::none;
    const std::string_view first = sequence(window, 0);
    graph_.add({}, first, qualities(window, 0));
    nodes_.assign(graph_.path(0).begin(), graph_.path(0).end());
    result.consensus = first;
    result.coverage.assign(first.size(), 1);
    result.support.assign(first.size(), 1);
    return WindowProblem::none;
  }
  const bool has_layers = !window.layer_begin.empty();
  const std::int32_t rounds = has_layers ? parameters_.layer_rounds : parameters_.rounds;
  Window current = window;
  for (std::int32_t round = 0; round < rounds; ++round) {
    if (round > 0 && has_layers) {
      renewed_ = renew(current, result.consensus);
      current = renewed_.view();
      if (const WindowProblem problem = check(current); problem != WindowProblem::none) return problem;
      order_layers(parameters_.layer_order, current.layer_begin, order_);
    }
    begin_round(round > 0 && !has_layers ? &result.consensus : nullptr);
    if (const WindowProblem problem = merge_all(current); problem != WindowProblem::none) return problem;
    read_consensus(result);
  }
  return complete(window, result);
}

// The window with the consensus, which weighs nothing, in the place of the backbone. A layer lies where the first and the last column are that both
// go through; one that has none in common with the consensus belongs to all of it.
RenewedWindow WindowConsensus::renew(const Window& window, const std::string& consensus) {
  RenewedWindow renewed;
  renewed.sequences.append(consensus).append(window.sequences.substr(begin_[1]));
  renewed.qualities.assign(consensus.size(), '!');
  if (window.qualities.empty())
    renewed.qualities.append(window.sequences.size() - begin_[1], '"');
  else
    renewed.qualities.append(window.qualities.substr(begin_[1]));
  renewed.lengths.assign(window.lengths.begin(), window.lengths.end());
  renewed.lengths[0] = static_cast<std::int32_t>(consensus.size());
  renewed.layer_begin.assign(window.lengths.size(), 0);
  renewed.layer_end.assign(window.lengths.size(), std::max(renewed.lengths[0] - 1, 0));
  place_of_column_.assign(static_cast<std::size_t>(graph_.node_count()), -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    place_of_column_[static_cast<std::size_t>(graph_.node(nodes_[i]).column)] = static_cast<std::int32_t>(i);
  const auto place = [&](std::int32_t node) { return place_of_column_[static_cast<std::size_t>(graph_.node(node).column)]; };
  const auto is_common = [&](std::int32_t node) { return place(node) >= 0; };
  for (std::size_t turn = 0; turn < order_.size(); ++turn) {
    const auto index = static_cast<std::size_t>(order_[turn]);
    const std::span<const std::int32_t> path = graph_.path(static_cast<std::int32_t>(turn));
    const auto first = std::find_if(path.begin(), path.end(), is_common);
    if (index == 0 || first == path.end()) continue;
    renewed.layer_begin[index] = place(*first);
    renewed.layer_end[index] = place(*std::find_if(path.rbegin(), path.rend(), is_common));
  }
  return renewed;
}

// A letter on an older node takes that; a new one is made by merging the letter with what its node was aligned with.
bool WindowConsensus::read_path(const GraphPaths& paths, std::size_t begin, std::size_t end) {
  path_.clear();
  std::int32_t made = graph_.node_count();
  const std::int32_t old = made;
  for (std::size_t i = begin; i < end; ++i) {
    std::int32_t node = paths.node[i];
    if (node >= old) {
      if (node != made++ || static_cast<std::size_t>(node) >= paths.aligned_from.size()) return false;
      const std::uint16_t from = paths.aligned_from[static_cast<std::size_t>(node)];
      node = from == GraphPaths::none ? -1 : from;
      if (node >= old) return false;
    }
    path_.push_back({node, static_cast<std::int32_t>(i - begin)});
  }
  return true;
}

bool WindowConsensus::read(const Window& window, const GraphPaths& paths, WindowResult& result) {
  result.coverage.clear();
  result.support.clear();
  result.haplotypes.clear();
  result.consensus.assign(paths.guide.begin(), paths.guide.end());
  result.is_polished = result.is_untrimmed = false;
  if (check(window) != WindowProblem::none || paths.node.size() != window.sequences.size()) return false;
  order_.resize(window.lengths.size());
  order_layers(parameters_.layer_order, window.layer_begin, order_);
  // A consensus of the round before that has no letters is a guide, too.
  begin_round(parameters_.rounds > 1 && window.layer_begin.empty() ? &result.consensus : nullptr);
  for (const std::int32_t i : order_) {
    const auto index = static_cast<std::size_t>(i);
    if (!read_path(paths, begin_[index], begin_[index + 1])) return false;
    graph_.add(path_, sequence(window, index), qualities(window, index));
    is_reversed_.push_back(0);
  }
  if (static_cast<std::size_t>(graph_.node_count()) != paths.aligned_from.size()) return false;
  read_consensus(result);
  return complete(window, result) == WindowProblem::none;
}

void WindowConsensus::append_alignment(std::string& rows) {
  graph_.rank();
  append_alignment_rows(graph_, template_, columns_, rows);
}

void WindowConsensus::append_gfa(std::string_view window_name, std::string& text) {
  poa_consensus::append_gfa(graph_, {window_name, template_, nodes_, order_, is_reversed_}, parameters_.overlaps, text);
}

void WindowConsensus::append_dot(std::string_view window_name, std::string& text) {
  poa_consensus::append_dot(graph_, {window_name, template_, nodes_, order_, is_reversed_}, text);
}

}  // namespace sluice::poa_consensus
