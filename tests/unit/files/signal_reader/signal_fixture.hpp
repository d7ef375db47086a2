// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Small BLOW5 and SLOW5 files, written byte by byte along the specification and not by the code under test.

#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "signal_reader/slow5_format.hpp"
#include "unit/fresh_file.hpp"

namespace signal_fixture {

using sluice::signal_reader::RecordCompression;
using sluice::signal_reader::SignalCompression;

struct Read {
  std::string id;
  std::vector<std::int16_t> samples;
  double digitisation = 8192, offset = 6, range = 1400, sampling_rate = 4000;
};

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string svb_zd(const std::vector<std::int16_t>& samples) {
  std::string control((samples.size() + 3) / 4, '\0'), data;
  std::int32_t previous = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int32_t delta = samples[i] - previous;
    previous = samples[i];
    const std::uint32_t zigzag = (static_cast<std::uint32_t>(delta) << 1) ^ static_cast<std::uint32_t>(delta >> 31);
    std::uint32_t bytes = 1;
    while (bytes < 4 && (zigzag >> (8 * bytes)) != 0) ++bytes;
    control[i / 4] = static_cast<char>(static_cast<unsigned char>(control[i / 4]) | ((bytes - 1) << (2 * (i % 4))));
    data.append(reinterpret_cast<const char*>(&zigzag), bytes);
  }
  std::string out;
  put(out, static_cast<std::uint32_t>(samples.size()));
  return out + control + data;
}

inline std::uint16_t zigzag(std::int32_t delta) {
  const auto narrow = static_cast<std::int16_t>(delta);
  return static_cast<std::uint16_t>((narrow << 1) ^ (narrow >> 15));
}
// Numbers of 1 to 4 bytes, with their bytes in front.
inline std::string counted_numbers(const std::vector<std::uint32_t>& numbers) {
  std::string control((numbers.size() + 3) / 4, '\0'), data, out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::uint32_t bytes = 1;
    while (bytes < 4 && (numbers[i] >> (8 * bytes)) != 0) ++bytes;
    control[i / 4] = static_cast<char>(static_cast<unsigned char>(control[i / 4]) | ((bytes - 1) << (2 * (i % 4))));
    data.append(reinterpret_cast<const char*>(&numbers[i]), bytes);
  }
  put(out, static_cast<std::uint32_t>(control.size() + data.size()));
  return out + control + data;
}
inline std::string ex_zd(const std::vector<std::int16_t>& samples) {
  std::string out(1, '\0');
  put(out, static_cast<std::uint64_t>(samples.size()));
  if (samples.empty()) return out;
  unsigned shift = 5;  // slow5lib looks no further
  for (const std::int16_t sample : samples)
    while ((sample & ((1 << shift) - 1)) != 0) --shift;
  out += static_cast<char>(shift);
  put(out, zigzag(samples[0] >> shift));
  std::vector<std::uint32_t> places, values;
  std::string bytes;
  for (std::size_t i = 1, next = 0; i < samples.size(); ++i) {
    const std::uint16_t value = zigzag((samples[i] >> shift) - (samples[i - 1] >> shift));
    if (value < 256) {
      bytes += static_cast<char>(value);
      continue;
    }
    places.push_back(static_cast<std::uint32_t>(i - 1 - next));
    values.push_back(value - 256U);
    next = i;
  }
  put(out, static_cast<std::uint32_t>(places.size()));
  if (places.size() == 1) {
    put(out, places[0]);
    put(out, static_cast<std::uint16_t>(values[0]));
  } else if (places.size() > 1) {
    out += counted_numbers(places) + counted_numbers(values);
  }
  return out + bytes;
}

inline std::string compressed(const std::string& plain, RecordCompression method) {
  if (method == RecordCompression::none) return plain;
  std::string out(plain.size() * 2 + 1000, '\0');
  if (method == RecordCompression::zstd) {
    out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 1));
  } else {
    uLongf size = out.size();
    compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(plain.data()), plain.size());
    out.resize(size);
  }
  return out;
}

inline std::string blow5_record(const Read& read, RecordCompression record_compression, SignalCompression signal_compression) {
  std::string plain;
  put(plain, static_cast<std::uint16_t>(read.id.size()));
  plain += read.id;
  put(plain, std::uint32_t{0});
  for (const double value : {read.digitisation, read.offset, read.range, read.sampling_rate}) put(plain, value);
  if (signal_compression != SignalCompression::none) {
    const std::string signal = signal_compression == SignalCompression::svb_zd ? svb_zd(read.samples) : ex_zd(read.samples);
    put(plain, static_cast<std::uint64_t>(signal.size()));
    plain += signal;
  } else {
    put(plain, static_cast<std::uint64_t>(read.samples.size()));
    plain.append(reinterpret_cast<const char*>(read.samples.data()), read.samples.size() * 2);
  }
  put(plain, std::int32_t{7});  // an auxiliary field
  return compressed(plain, record_compression);
}

inline std::string header_lines(const std::string& kit = "sqk-lsk109", const std::string& type = "genomic_dna") {
  return "@experiment_type\t" + type + "\n@run_id\trun_a\n@sample_frequency\t4000\n@sequencing_kit\t" + kit +
         "\n#char*\tuint32_t\tdouble\tdouble\tdouble\tdouble\tuint64_t\tint16_t*\tint32_t\n"
         "#read_id\tread_group\tdigitisation\toffset\trange\tsampling_rate\tlen_raw_signal\traw_signal\tread_number\n";
}

inline std::string blow5(const std::vector<Read>& reads, RecordCompression record_compression, SignalCompression signal_compression,
                         const std::string& lines = header_lines()) {
  std::string out("BLOW5\1", 6);
  out += std::string("\0\2\0", 3);
  out += static_cast<char>(record_compression);
  put(out, std::uint32_t{1});
  out += static_cast<char>(signal_compression);
  out.resize(64, '\0');
  put(out, static_cast<std::uint32_t>(lines.size()));
  out += lines;
  for (const Read& read : reads) {
    const std::string record = blow5_record(read, record_compression, signal_compression);
    put(out, static_cast<std::uint64_t>(record.size()));
    out += record;
  }
  return out + "5WOLB";
}

inline std::string slow5(const std::vector<Read>& reads, const std::string& lines = header_lines()) {
  std::string out = "#slow5_version\t0.2.0\n#num_read_groups\t1\n" + lines;
  for (const Read& read : reads) {
    out += read.id + "\t0";
    for (const double value : {read.digitisation, read.offset, read.range, read.sampling_rate})
      out += value != value ? "\t." : "\t" + std::to_string(value);
    out += "\t" + std::to_string(read.samples.size()) + "\t";
    for (std::size_t i = 0; i < read.samples.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(read.samples[i]);
    out += "\t7\n";
  }
  return out;
}

// Steps of all sizes, so that deltas take one, two and three bytes.
inline std::vector<std::int16_t> wandering_signal(std::size_t samples, std::uint32_t seed) {
  std::vector<std::int16_t> signal(samples);
  std::uint32_t state = seed * 2654435761U + 1;
  std::int32_t level = 500;
  for (std::int16_t& sample : signal) {
    state = state * 1664525U + 1013904223U;
    const std::int32_t reach = (state >> 28) == 0 ? 60000 : (state >> 28) < 4 ? 600 : 40;
    level += static_cast<std::int32_t>((state >> 8) % static_cast<std::uint32_t>(reach)) - reach / 2;
    if (level > 32767 || level < -32768) level = (state & 1) != 0 ? 32767 : -32768;
    sample = static_cast<std::int16_t>(level);
  }
  return signal;
}

inline std::vector<Read> some_reads(std::size_t count = 5) {
  std::vector<Read> reads;
  for (std::size_t i = 0; i < count; ++i)
    reads.push_back({"read-" + std::to_string(i), wandering_signal(1000 * i + i, static_cast<std::uint32_t>(i))});
  return reads;
}

inline void write_file(const std::string& path, const std::string& bytes) { sluice::written_files::write_file(path, bytes); }

}  // namespace signal_fixture
