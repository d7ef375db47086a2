// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The consensus of one window: its sequences are merged into a partial order graph one after the other, and the graph gives the consensus.
// Layers, their order and the trimming are racon 1.5.0's (Vaser et al. 2017), the graph is spoa's.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "poa_consensus/alignment.hpp"
#include "poa_consensus/columns.hpp"
#include "poa_consensus/graph.hpp"
#include "poa_consensus/graph_paths.hpp"
#include "poa_consensus/graph_text.hpp"
#include "poa_consensus/heaviest_bundle.hpp"
#include "poa_consensus/scoring.hpp"
#include "poa_consensus/sequence_groups.hpp"

namespace sluice::poa_consensus {

enum class Algorithm : std::uint8_t { heaviest_bundle, majority };
enum class LayerOrder : std::uint8_t {
  file,   // as they come
  racon,  // by where they begin on sequence 0
};
enum class Trim : std::uint8_t {
  none,
  racon,  // to the first and last base that half of the layers cover
};

enum class Strands : std::uint8_t {
  as_given,
  either,  // the reverse complement of a sequence is merged where that scores more, as spoa -s has it; not of layers
};

struct ConsensusParameters {
  Scoring scoring;
  Algorithm algorithm = Algorithm::heaviest_bundle;
  LayerOrder layer_order = LayerOrder::file;
  Trim trim = Trim::none;
  Undecided undecided = Undecided::keep_template;
  std::int32_t min_support = 0;
  // Of merging all sequences. From the second on the graph begins with the consensus of the round before, which guides the alignments and weighs
  // nothing.
  std::int32_t rounds = 1;
  // The same of windows with layers: the consensus, which weighs nothing, becomes their backbone, as if the reads were aligned to the polished
  // target.
  std::int32_t layer_rounds = 1;
  std::int32_t min_sequences = 1;
  Strands strands = Strands::as_given;
  GroupRules groups = {.most_groups = 1};  // several: each haplotype has a consensus of its own; not of windows with layers
  std::uint64_t matrix_bytes = std::uint64_t{1} << 31U;
  Overlaps overlaps = Overlaps::gfa;
};

// One row's cells.
struct Window {
  std::string_view sequences;                            // one after the other
  std::span<const std::int32_t> lengths;                 // of each
  std::string_view qualities;                            // Phred + 33 of all letters, or none
  std::span<const std::int32_t> layer_begin, layer_end;  // of each on sequence 0, inclusive, or none
};

// A window that owns its cells: see ConsensusParameters::layer_rounds.
struct RenewedWindow {
  std::string sequences, qualities;
  std::vector<std::int32_t> lengths, layer_begin, layer_end;
  Window view() const { return {sequences, lengths, qualities, layer_begin, layer_end}; }
};

enum class WindowProblem : std::uint8_t {
  none,
  bad_sequences,  // lengths do not add up, or qualities are of another length or below '!'
  bad_layers,     // a layer that does not lie on sequence 0
  too_large,      // for matrix_bytes
};

// Sequences of a window that are a haplotype, and their consensus.
struct Haplotype {
  std::string consensus;
  std::vector<std::int32_t> sequences;
};

struct WindowResult {
  std::string consensus;
  std::vector<std::int32_t> coverage;  // of each base of it: sequences with a letter there
  std::vector<std::int32_t> support;   // and sequences with that letter
  bool is_polished = false;            // false: fewer than min_sequences, sequence 0 is kept
  bool is_untrimmed = false;           // true: the coverage nowhere reaches half of the layers, so nothing was trimmed
  std::vector<Haplotype> haplotypes;   // the largest first, if several are asked for; one: its consensus is that of the window
};

// The order in which the sequences of a window are merged.
void order_layers(LayerOrder order, std::span<const std::int32_t> layer_begin, std::span<std::int32_t> sequences);
// racon's trimming of a window of so many sequences.
void trim_ends(std::int32_t sequences, WindowResult& result);

// Makes consensuses, one at a time; memory is kept from one to the next. The graph of the last one stays to be read.
class WindowConsensus {
 public:
  explicit WindowConsensus(const ConsensusParameters& parameters) : parameters_(parameters) {}

  WindowProblem make(const Window& window, WindowResult& result);
  // The same from the graph that a device has made of the window, as far as its paths say; false: they do not fit the window.
  bool read(const Window& window, const GraphPaths& paths, WindowResult& result);
  // Rows of the alignment of the last window, each followed by a newline. Sequence 0 alone if it was not polished.
  void append_alignment(std::string& rows);
  // The graph of the last window as lines of GFA, and as DOT: see graph_text.hpp.
  void append_gfa(std::string_view window_name, std::string& text);
  void append_dot(std::string_view window_name, std::string& text);

  const PartialOrderGraph& graph() const { return graph_; }
  std::size_t bytes() const { return graph_.bytes() + workspace_.bytes(); }

 private:
  std::string_view sequence(const Window& window, std::size_t index) const {
    return window.sequences.substr(begin_[index], begin_[index + 1] - begin_[index]);
  }
  std::string_view qualities(const Window& window, std::size_t index) const {
    return window.qualities.empty() ? std::string_view() : window.qualities.substr(begin_[index], begin_[index + 1] - begin_[index]);
  }
  WindowProblem check(const Window& window);
  void begin_round(const std::string* guide);
  WindowProblem merge_all(const Window& window);
  WindowProblem merge(NodeRange range, std::string_view bases, std::string_view qualities);
  WindowProblem align(NodeRange range, std::string_view bases);
  WindowProblem complete(const Window& window, WindowResult& result);
  WindowProblem divide(const Window& window, WindowResult& result);
  RenewedWindow renew(const Window& window, const std::string& consensus);
  bool read_path(const GraphPaths& paths, std::size_t begin, std::size_t end);
  NodeRange part_of_layer(const Window& window, std::size_t index) const;
  void read_consensus(WindowResult& result);
  void list_support(WindowResult& result);

  ConsensusParameters parameters_;
  Template template_ = Template::counts;
  PartialOrderGraph graph_;
  AlignmentWorkspace workspace_;
  BundleWorkspace bundle_;
  ColumnWorkspace columns_;
  std::vector<std::size_t> begin_;  // of each sequence
  std::vector<std::int32_t> order_, nodes_, place_of_column_;
  RenewedWindow renewed_;
  std::vector<AlignedPair> path_, forward_path_;
  std::string no_weight_;  // qualities of a guide
  std::string reversed_, reversed_qualities_;
  std::vector<std::uint8_t> is_reversed_;  // of each merged sequence
  std::unique_ptr<WindowConsensus> of_haplotype_;
};

}  // namespace sluice::poa_consensus
