// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// FAST5 files in the forms that sequencers and tools have written over the years, by HDF5's library.

#include <hdf5.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fast5_fixture {

// fixed: texts of fixed length, numbers as sequencers write them; variable: texts of any length, numbers in other types, arrays of one.
enum class Types { fixed, variable };
// How the signal is packed: vbz, vbz-unpacked (without zstd), vbz-flat (without deltas), gzip, shuffle (and gzip), none, contiguous, compact.
struct Form {
  std::string packing = "vbz";
  hsize_t chunk = 0;  // samples of a chunk; 0: the whole signal is one
  Types types = Types::fixed;
};

struct Read {
  std::string id;
  std::vector<std::int16_t> samples;
  double digitisation = 8192, offset = 10, range = 1400, sampling_rate = 4000;
  std::int64_t channel = 1, mux = 1, read_number = 0, start_sample = 0;
  double median_before = std::numeric_limits<double>::quiet_NaN();
  std::string end_reason = "unknown";
};
// Names and values of tracking_id and context_tags.
struct Run {
  std::vector<std::pair<std::string, std::string>> tracking = {{"run_id", "run_a"}}, context;
};

inline hid_t checked(hid_t id) {
  if (id < 0) throw std::runtime_error("HDF5 refuses what is to be written");
  return id;
}
inline void require(bool holds) { checked(holds ? 0 : -1); }

// Closes itself.
struct Object {
  Object(hid_t i, herr_t (*c)(hid_t)) : id(checked(i)), close(c) {}
  Object(const Object&) = delete;
  ~Object() { close(id); }
  hid_t id;
  herr_t (*close)(hid_t);
};

class Attributes {
 public:
  Attributes(hid_t object, Types types) : object_(object), types_(types) {}
  void text(const char* name, const std::string& value) const {
    const Object type(H5Tcopy(H5T_C_S1), H5Tclose);
    const bool any_length = types_ == Types::variable;
    require(H5Tset_size(type.id, any_length ? H5T_VARIABLE : std::max<std::size_t>(value.size(), 1)) >= 0);
    const char* const at = value.c_str();
    write(name, type.id, type.id, any_length ? static_cast<const void*>(&at) : at);
  }
  // In a file type of the fixed kind, and in one of the other.
  void number(const char* name, double value, hid_t fixed, hid_t variable) const {
    write(name, types_ == Types::fixed ? fixed : variable, H5T_NATIVE_DOUBLE, &value);
  }
  // The numbers of an enumeration differ, the names do not.
  void choice(const char* name, const std::vector<std::string>& choices, std::size_t value) const {
    const Object type(H5Tenum_create(H5T_NATIVE_UINT8), H5Tclose);
    const auto number_of = [&](std::size_t i) { return static_cast<unsigned char>(types_ == Types::fixed ? i : choices.size() - i); };
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const unsigned char number = number_of(i);
      require(H5Tenum_insert(type.id, choices[i].c_str(), &number) >= 0);
    }
    const unsigned char number = number_of(value);
    write(name, type.id, type.id, &number);
  }

 private:
  // A scalar, or an array of one.
  void write(const char* name, hid_t file_type, hid_t memory_type, const void* value) const {
    const hsize_t one = 1;
    const Object space(types_ == Types::fixed ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &one, nullptr), H5Sclose);
    const Object attribute(H5Acreate2(object_, name, file_type, space.id, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    require(H5Awrite(attribute.id, memory_type, value) >= 0);
  }
  hid_t object_;
  Types types_;
};

inline std::vector<char> vbz_chunk(const std::vector<std::int16_t>& values, bool zigzag, bool zstd) {
  std::vector<char> control((values.size() + 3) / 4), data;
  std::uint16_t before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto value = static_cast<std::uint16_t>(values[i]);
    if (zigzag) {
      const auto delta = static_cast<std::int16_t>(static_cast<std::uint16_t>(value - before));
      before = value;
      value = static_cast<std::uint16_t>((static_cast<unsigned>(delta) << 1) ^ static_cast<unsigned>(delta >> 15));
    }
    const bool is_wide = value > 0xFF;
    data.push_back(static_cast<char>(value & 0xFF));
    if (is_wide) data.push_back(static_cast<char>(value >> 8));
    control[i / 4] = static_cast<char>(control[i / 4] | static_cast<int>(is_wide) << (2 * (i % 4)));
  }
  control.insert(control.end(), data.begin(), data.end());
  if (zstd) {
    std::vector<char> packed(ZSTD_compressBound(control.size()));
    packed.resize(ZSTD_compress(packed.data(), packed.size(), control.data(), control.size(), 1));
    control = std::move(packed);
  }
  const auto bytes = static_cast<std::uint32_t>(values.size() * sizeof(std::int16_t));
  const auto* const size = reinterpret_cast<const char*>(&bytes);
  control.insert(control.begin(), size, size + sizeof bytes);
  return control;
}

inline void write_signal(hid_t raw, const std::vector<std::int16_t>& samples, const Form& how) {
  const std::string& form = how.packing;
  hsize_t chunk = how.chunk;
  const hsize_t count = samples.size();
  if (chunk == 0) chunk = std::max<hsize_t>(count, 1);
  const Object space(H5Screate_simple(1, &count, nullptr), H5Sclose), properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const bool is_vbz = form.starts_with("vbz");
  const bool zigzag = form != "vbz-flat", zstd = form != "vbz-unpacked";
  if (form == "compact") require(H5Pset_layout(properties.id, H5D_COMPACT) >= 0);
  // HDF5 wants chunks no larger than the whole.
  if (form != "compact" && form != "contiguous") {
    chunk = std::min(chunk, std::max<hsize_t>(count, 1));
    require(H5Pset_chunk(properties.id, 1, &chunk) >= 0);
  }
  if (form == "shuffle") require(H5Pset_shuffle(properties.id) >= 0);
  if (form == "shuffle" || form == "gzip") require(H5Pset_deflate(properties.id, 1) >= 0);
  const std::array<unsigned, 4> values = {1, sizeof(std::int16_t), zigzag ? 1U : 0U, zstd ? 1U : 0U};
  if (is_vbz) require(H5Pset_filter(properties.id, 32020, H5Z_FLAG_OPTIONAL, values.size(), values.data()) >= 0);
  const Object signal(H5Dcreate2(raw, "Signal", H5T_STD_I16LE, space.id, H5P_DEFAULT, properties.id, H5P_DEFAULT), H5Dclose);
  if (!is_vbz) {
    require(count == 0 || H5Dwrite(signal.id, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples.data()) >= 0);
    return;
  }
  for (hsize_t first = 0; first < count; first += chunk) {
    std::vector<std::int16_t> part(samples.begin() + static_cast<std::ptrdiff_t>(first),
                                   samples.begin() + static_cast<std::ptrdiff_t>(std::min<hsize_t>(first + chunk, count)));
    part.resize(static_cast<std::size_t>(chunk));  // the last one is filled up
    const std::vector<char> bytes = vbz_chunk(part, zigzag, zstd);
    require(H5Dwrite_chunk(signal.id, H5P_DEFAULT, 0, &first, bytes.size(), bytes.data()) >= 0);
  }
}

inline void write_raw(hid_t raw, const Read& read, const Form& form) {
  const Attributes attributes(raw, form.types);
  attributes.text("read_id", read.id);
  attributes.number("duration", static_cast<double>(read.samples.size()), H5T_STD_U32LE, H5T_STD_I64LE);
  attributes.number("start_time", static_cast<double>(read.start_sample), H5T_STD_U64LE, H5T_STD_I64LE);
  attributes.number("read_number", static_cast<double>(read.read_number), H5T_STD_I32LE, H5T_STD_I64LE);
  attributes.number("start_mux", static_cast<double>(read.mux), H5T_STD_U8LE, H5T_STD_I64LE);
  attributes.number("median_before", read.median_before, H5T_IEEE_F64LE, H5T_IEEE_F32LE);
  const std::vector<std::string> reasons = {"unknown", "partial", "mux_change", "unblock_mux_change", "signal_positive", "signal_negative"};
  const auto reason = std::find(reasons.begin(), reasons.end(), read.end_reason);
  attributes.choice("end_reason", reasons, reason == reasons.end() ? 0 : static_cast<std::size_t>(reason - reasons.begin()));
  write_signal(raw, read.samples, form);
}

inline void write_channel(hid_t group, const Read& read, Types types) {
  const Attributes attributes(group, types);
  if (types == Types::fixed)
    attributes.text("channel_number", std::to_string(read.channel));
  else
    attributes.number("channel_number", static_cast<double>(read.channel), H5T_STD_I64LE, H5T_STD_I64LE);
  attributes.number("digitisation", read.digitisation, H5T_IEEE_F64LE, H5T_STD_I64LE);
  attributes.number("offset", read.offset, H5T_IEEE_F64LE, H5T_IEEE_F64LE);
  attributes.number("range", read.range, H5T_IEEE_F64LE, H5T_IEEE_F64LE);
  attributes.number("sampling_rate", read.sampling_rate, H5T_IEEE_F64LE, H5T_STD_U16LE);
}

inline Object new_group(hid_t place, const std::string& name) {
  return {H5Gcreate2(place, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
}
inline Object new_file(const std::string& path) { return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose}; }

inline void write_run(hid_t place, const Run& run, Types types) {
  const Object tracking = new_group(place, "tracking_id"), context = new_group(place, "context_tags");
  for (const auto& [name, value] : run.tracking) Attributes(tracking.id, types).text(name.c_str(), value);
  for (const auto& [name, value] : run.context) Attributes(context.id, types).text(name.c_str(), value);
}

// One read, as files were until 2018.
inline void write_single(const std::string& path, const Read& read, const Run& run, const Form& form) {
  const Object file = new_file(path);
  Attributes(file.id, form.types).number("file_version", 1.0, H5T_IEEE_F64LE, H5T_IEEE_F64LE);
  const Object raw = new_group(file.id, "Raw"), reads = new_group(raw.id, "Reads"),
               own = new_group(reads.id, "Read_" + std::to_string(read.read_number));
  write_raw(own.id, read, form);
  const Object key = new_group(file.id, "UniqueGlobalKey"), channel = new_group(key.id, "channel_id");
  write_channel(channel.id, read, form.types);
  write_run(key.id, run, form.types);
}

// Many reads; with `shared` tracking_id and context_tags are one object of all of them.
inline void write_multi(const std::string& path, const std::vector<Read>& all, const Run& run, const Form& form, bool shared) {
  const Object file = new_file(path);
  Attributes(file.id, form.types).text("file_version", "2.2");
  Attributes(file.id, form.types).text("file_type", "multi-read");
  std::string first;
  for (const Read& read : all) {
    const Object group = new_group(file.id, "read_" + read.id), raw = new_group(group.id, "Raw"), channel = new_group(group.id, "channel_id");
    Attributes(group.id, form.types).text("run_id", run.tracking[0].second);
    write_raw(raw.id, read, form);
    write_channel(channel.id, read, form.types);
    if (shared && !first.empty()) {
      for (const std::string name : {"tracking_id", "context_tags"})
        require(H5Lcreate_hard(file.id, (first + "/" + name).c_str(), group.id, name.c_str(), H5P_DEFAULT, H5P_DEFAULT) >= 0);
      continue;
    }
    first = "/read_" + read.id;
    write_run(group.id, run, form.types);
  }
}

}  // namespace fast5_fixture
