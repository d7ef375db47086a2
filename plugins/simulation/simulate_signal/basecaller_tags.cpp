// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "simulate_signal/basecaller_tags.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

namespace sluice::simulate_signal {
namespace {

// Samples of RNA are cut at the front by fifties.
constexpr std::int64_t rna_trim_step = 50;

class TagBytes {
 public:
  void integer(const char* name, std::int64_t value) { begin(name, 'i'), append(static_cast<std::int32_t>(value)); }
  void real(const char* name, double value) { begin(name, 'f'), append(static_cast<float>(value)); }
  void text(const char* name, std::string_view value) {
    begin(name, 'Z');
    bytes_ += value;
    bytes_ += '\0';
  }
  template <class T>
  void array(const char* name, char type, std::span<const T> values) {
    begin(name, 'B');
    bytes_ += type;
    append(static_cast<std::uint32_t>(values.size()));
    for (const T value : values) append(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  void begin(const char* name, char type) { (bytes_ += name) += type; }
  template <class T>
  void append(T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
  }
  std::string bytes_;
};

// The base of a k-mer, from its first in the sequence, that begins with it.
std::int64_t base_of_kmer(Molecule molecule, std::uint32_t k) {
  if (molecule == Molecule::rna) return k >= 9 ? 2 : 1;
  return k >= 9 ? 7 : k / 2;
}

// Stride, then a 1 for every block in which a base begins. Empty: there are fewer blocks than bases.
std::vector<std::int8_t> moves_of(const std::vector<std::int64_t>& base_starts, std::int64_t begin, std::int64_t end, std::int64_t stride) {
  const std::int64_t blocks = (end - begin) / stride, bases = std::ssize(base_starts);
  if (bases == 0 || blocks < bases) return {};
  std::vector<std::int8_t> moves(static_cast<std::size_t>(1 + blocks));
  moves[0] = static_cast<std::int8_t>(stride);
  std::int64_t next = 0;  // block that is free
  for (std::int64_t i = 0; i < bases; ++i) {
    const std::int64_t wanted = i == 0 ? 0 : (base_starts[static_cast<std::size_t>(i)] - begin) / stride;
    const std::int64_t block = std::min(std::max(wanted, next), blocks - (bases - i));
    moves[static_cast<std::size_t>(1 + block)] = 1;
    next = block + 1;
  }
  return moves;
}

double mean_quality(std::string_view qualities) {
  if (qualities.empty()) return 0;
  double errors = 0;
  for (const char quality : qualities) errors += exponential(-(quality - 33) * 0.23025850929940457);    // ln(10) / 10
  return -10 * natural_logarithm(errors / static_cast<double>(qualities.size())) * 0.4342944819032518;  // 1 / ln(10)
}

}  // namespace

SplitStart split_start_of(std::string_view dorado_version) {
  const auto number = [&dorado_version] {
    int value = 0;
    const auto [end, error] = std::from_chars(dorado_version.data(), dorado_version.data() + dorado_version.size(), value);
    dorado_version.remove_prefix(static_cast<std::size_t>(end - dorado_version.data()));
    if (dorado_version.starts_with('.')) dorado_version.remove_prefix(1);
    return error == std::errc() ? value : 0;
  };
  const int major = number(), minor = number();
  return major > 2 || (major == 2 && minor >= 1) ? SplitStart::in_the_read : SplitStart::behind_trimmed_front;
}

ReadBorders borders_of(const Simulator::Read& read, const Placement& place, Molecule molecule, std::uint32_t k) {
  const bool is_rna = molecule == Molecule::rna;
  const std::int64_t kmers = std::ssize(read.dwells);
  // Of each k-mer of the strand, in the order of its bases: where it begins in the sequence's direction.
  std::vector<std::int64_t> ends(static_cast<std::size_t>(kmers + 1));
  for (std::size_t i = 0; i < read.dwells.size(); ++i) ends[i + 1] = ends[i] + read.dwells[i];
  const std::int64_t shift = base_of_kmer(molecule, k);
  const auto start_of = [&](std::int64_t strand_base) {
    const std::int64_t kmer = strand_base - shift;
    if (is_rna) return ends.back() - ends[static_cast<std::size_t>(std::clamp(kmer + 1, std::int64_t{0}, kmers))];
    return ends[static_cast<std::size_t>(std::clamp(kmer, std::int64_t{0}, kmers))];
  };
  const auto bases = std::ssize(read.molecule);
  // Of RNA the strand begins with the molecule, of DNA with the adapter.
  const std::int64_t first = is_rna ? 0 : read.adapter_bases + read.tail_bases;

  ReadBorders borders;
  borders.tail = start_of(is_rna ? bases + read.tail_bases - 1 : read.adapter_bases);
  borders.molecule = start_of(is_rna ? bases - 1 : first);
  borders.base.reserve(read.bases.size());
  std::int64_t at = first;
  const auto walk = [&](std::uint32_t operation) {
    const std::int64_t length = operation >> 4U;
    switch (operation & 0xFU) {
      case 0:  // M
        for (std::int64_t i = 0; i < length; ++i) borders.base.push_back(start_of(at++));
        break;
      case 1:  // I: in the second half of the base before
        for (std::int64_t i = 0; i < length; ++i) borders.base.push_back((start_of(at - 1) + start_of(at)) / 2);
        break;
      default:  // D
        at += length;
    }
  };
  if (place.is_reverse)
    std::for_each(read.cigar.rbegin(), read.cigar.rend(), walk);
  else
    std::for_each(read.cigar.begin(), read.cigar.end(), walk);
  if (is_rna) std::reverse(borders.base.begin(), borders.base.end());
  return borders;
}

std::string basecaller_tags(const TaggedRead& tagged, const SequencingRun& run, const TagParameters& parameters, Molecule molecule, std::uint32_t k) {
  const Simulator::Read& read = *tagged.read;
  const bool is_rna = molecule == Molecule::rna, is_split = !tagged.parent_id.empty();
  const ReadBorders borders = borders_of(read, tagged.place, molecule, k);
  const auto samples = std::ssize(read.raw_signal);
  const bool has_adapter = read.adapter_bases > 0 && samples > trimmed_front;
  std::int64_t first = 0;  // sample that was basecalled
  // Of parts of DNA the trimmed front has gone with that of the sequencer's read.
  const std::int64_t front = is_rna || is_split ? 0 : trimmed_front;
  if (has_adapter && is_rna) first = borders.tail / rna_trim_step * rna_trim_step;
  if (has_adapter && !is_rna) first = front + std::max(std::int64_t{0}, borders.molecule - front) / parameters.stride * parameters.stride;

  const std::int64_t start = tagged.sequenced.start_sample + tagged.start_in_parent;
  const double start_ms = static_cast<double>(start) * 1000 / run.sampling_rate;

  TagBytes tags;
  tags.real("qs", mean_quality(read.qualities));
  tags.real("du", static_cast<double>(samples) / run.sampling_rate);
  tags.integer("ns", samples);
  tags.integer("ts", first);
  tags.integer("mx", tagged.sequenced.mux);
  tags.integer("ch", tagged.sequenced.channel);
  tags.text("st", utc_text(run.acquisition_start + static_cast<std::int64_t>(is_split ? std::floor(start_ms + 0.5) : std::floor(start_ms))));
  tags.integer("rn", is_split ? -1 : tagged.sequenced.read_number);
  tags.real("sm", read.median);
  tags.real("sd", read.spread);
  tags.text("sv", parameters.is_scaled_in_pa ? "pa" : "med_mad");
  tags.integer("dx", 0);
  tags.text("RG", run.read_group());
  if (parameters.moves)
    if (const std::vector<std::int8_t> moves = moves_of(borders.base, first, samples, parameters.stride); !moves.empty())
      tags.array<std::int8_t>("mv", 'c', moves);
  if (is_split) {
    const bool leaves_front_out = !is_rna && parameters.split_start == SplitStart::behind_trimmed_front;
    tags.text("pi", tagged.parent_id);
    tags.integer("sp", tagged.start_in_parent - (leaves_front_out ? trimmed_front : 0));
  }
  if (parameters.poly_a && is_rna) {
    const bool has_tail = read.tail_bases > 0;
    tags.integer("pt", read.tail_bases);
    const std::int32_t none = -1;
    const std::int32_t tail[] = {static_cast<std::int32_t>(borders.tail), has_tail ? static_cast<std::int32_t>(borders.tail) : none,
                                 has_tail ? static_cast<std::int32_t>(borders.molecule) : none, none, none};
    tags.array<std::int32_t>("pa", 'i', tail);
  }
  return tags.take();
}

}  // namespace sluice::simulate_signal
