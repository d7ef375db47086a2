// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "resquiggle_writer/signal_path.hpp"

#include <algorithm>
#include <cstddef>
#include <sluice/number_text.hpp>

namespace sluice::resquiggle_writer {
namespace {

struct Samples {
  std::int64_t begin = 0, end = 0;
};

bool has_events(const AlignedEvents& events, std::size_t kmer) { return events.first_event[kmer] >= 0; }

// Of a k-mer with events, whichever way they run.
Samples samples_of(const AlignedEvents& events, std::size_t kmer) {
  const auto event = [&](std::int32_t index) {
    const auto i = static_cast<std::size_t>(index);
    const std::int64_t begin = events.start_sample[i];
    return Samples{begin, begin + events.length_samples[i]};
  };
  const Samples first = event(events.first_event[kmer]), last = event(events.last_event[kmer]);
  return {std::min(first.begin, last.begin), std::max(first.end, last.end)};
}

bool is_rna(const AlignedEvents& events) { return events.start_sample.front() > events.start_sample.back(); }

// Calls use(k-mer, its samples, k-mers without events before it) in order of time for all k-mers with events.
template <class Use>
void for_each_in_time(const AlignedEvents& events, Use&& use) {
  const std::size_t kmers = events.first_event.size();
  const bool backwards = is_rna(events);
  std::int64_t skipped = 0;
  for (std::size_t i = 0; i < kmers; ++i) {
    const std::size_t kmer = backwards ? kmers - 1 - i : i;
    if (!has_events(events, kmer)) {
      ++skipped;
      continue;
    }
    use(kmer, samples_of(events, kmer), skipped);
    skipped = 0;
  }
}

void append_field(std::string& text, std::int64_t value) {
  append_integer(text, value);
  text += '\t';
}

}  // namespace

std::string_view problem_with(const AlignedEvents& events) {
  const std::size_t count = events.start_sample.size();
  if (events.length_samples.size() != count) return "its lists of events differ in length";
  if (events.last_event.size() != events.first_event.size()) return "its lists of the k-mers' events differ in length";
  bool any = false;
  for (std::size_t kmer = 0; kmer < events.first_event.size(); ++kmer) {
    if (!has_events(events, kmer)) continue;
    any = true;
    const std::int32_t first = events.first_event[kmer], last = events.last_event[kmer];
    if (last < first || static_cast<std::size_t>(last) >= count) return "a k-mer has events that the read does not have";
  }
  if (!any) return "none of its k-mers has an event";
  std::int64_t end = 0;
  bool follows = true;
  for_each_in_time(events, [&](std::size_t, Samples samples, std::int64_t) {
    follows = follows && samples.begin >= end && samples.end >= samples.begin;
    end = samples.end;
  });
  return follows ? "" : "the events of its k-mers do not follow each other";
}

std::string_view table_header() { return "read_id\tkmer_idx\tstart_raw_idx\tend_raw_idx\n"; }

void count_dwells(const AlignedEvents& events, DwellCounts& counts) {
  counts.kmers += events.first_event.size();
  for (std::size_t kmer = 0; kmer < events.first_event.size(); ++kmer) {
    if (!has_events(events, kmer)) continue;
    const Samples samples = samples_of(events, kmer);
    const auto length = static_cast<std::uint64_t>(samples.end - samples.begin);
    ++counts.with_events;
    counts.samples += length;
    ++counts.of_samples[std::min<std::size_t>(length, counts.of_samples.size() - 1)];
  }
}

void append_table(std::string& text, std::string_view read_id, const AlignedEvents& events) {
  for (std::size_t kmer = 0; kmer < events.first_event.size(); ++kmer) {
    text += read_id;
    text += '\t';
    append_field(text, static_cast<std::int64_t>(kmer));
    if (has_events(events, kmer)) {
      const Samples samples = samples_of(events, kmer);
      append_field(text, events.signal_begin + samples.begin);
      append_integer(text, events.signal_begin + samples.end);
      text += '\n';
    } else {
      text += ".\t.\n";
    }
  }
}

void append_paf_columns(std::string& text, std::string_view read_id, std::int64_t sample_count, const AlignedEvents& events) {
  std::int64_t matches = 0, first_kmer = 0, last_kmer = 0, start = 0, end = 0;
  for_each_in_time(events, [&](std::size_t kmer, Samples samples, std::int64_t) {
    last_kmer = static_cast<std::int64_t>(kmer);
    end = samples.end;
    if (matches++ > 0) return;
    first_kmer = last_kmer;
    start = samples.begin;
  });
  const auto kmers = static_cast<std::int64_t>(events.first_event.size());
  const bool backwards = is_rna(events);
  text += read_id;
  text += '\t';
  append_field(text, sample_count);
  append_field(text, events.signal_begin + start);
  append_field(text, events.signal_begin + end);
  text += "+\t";
  text += read_id;
  text += '\t';
  append_field(text, kmers);
  // In order of time, so that those of RNA descend.
  append_field(text, backwards ? first_kmer + 1 : first_kmer);
  append_field(text, backwards ? last_kmer : last_kmer + 1);
  append_field(text, matches);
  append_field(text, kmers);
  text += "255\t";
}

void append_scaling_tags(std::string& text, float scale, float shift) {
  text += "sc:f:";
  append_fixed<6>(text, scale);
  text += "\tsh:f:";
  append_fixed<6>(text, shift);
  text += '\t';
}

void append_path_tag(std::string& text, const AlignedEvents& events) {
  text += "ss:Z:";
  std::int64_t at = -1;
  for_each_in_time(events, [&](std::size_t, Samples samples, std::int64_t skipped_kmers) {
    const bool is_first = at < 0;
    if (skipped_kmers > 0 && !is_first) {
      append_integer(text, skipped_kmers);
      text += 'D';
    }
    if (samples.begin > at && !is_first) {
      append_integer(text, samples.begin - at);
      text += 'I';
    }
    append_integer(text, samples.end - samples.begin);
    text += ',';
    at = samples.end;
  });
  text += '\n';
}

}  // namespace sluice::resquiggle_writer
