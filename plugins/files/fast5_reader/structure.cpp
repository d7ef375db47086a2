// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fast5_reader/structure.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "fast5_reader/hdf5_objects.hpp"

namespace sluice::fast5_reader {
namespace {

constexpr H5Z_filter_t vbz_filter = 32020;
constexpr std::size_t sample_bytes = sizeof(std::int16_t);
constexpr std::uint64_t most_piece = std::uint64_t{1} << 28;  // bytes of signal that is not in chunks

// Why a read has no signal that can be read.
struct SignalProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void require(bool holds, const std::string& what) {
  if (!holds) throw SignalProblem(what);
}

// Filters of a dataset as steps that undo them: the last first.
std::vector<Fast5Table::Step> steps_of(hid_t properties) {
  const int filters = H5Pget_nfilters(properties);
  require(filters >= 0 && filters <= 4, "its signal has too many filters");
  std::vector<Fast5Table::Step> steps;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, configuration = 0;
    std::array<unsigned, 8> values{};
    std::size_t count = values.size();
    std::array<char, 64> name{};
    const H5Z_filter_t filter =
        H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &count, values.data(), name.size(), name.data(), &configuration);
    int step = Fast5Table::nothing;
    if (filter == H5Z_FILTER_DEFLATE) step = Fast5Table::deflate;
    if (filter == H5Z_FILTER_SHUFFLE && (count == 0 || values[0] == sample_bytes)) step = Fast5Table::shuffle;
    // Values: version, bytes of an integer, zigzag deltas or not, level of zstd. Versions 0 and 1 are one thing for integers of two bytes.
    if (filter == vbz_filter && count >= 3 && values[0] <= 1 && values[1] == sample_bytes)
      step = Fast5Table::vbz + (values[2] != 0 ? Fast5Table::vbz_zigzag : 0) + (count < 4 || values[3] != 0 ? Fast5Table::vbz_zstd : 0);
    require(step != Fast5Table::nothing,
            "its signal is compressed by HDF5's filter " + std::to_string(filter) + " or a form of it that sluice can't undo");
    steps.push_back(static_cast<Fast5Table::Step>(step));
  }
  return steps;
}

std::uint32_t packed_steps(const std::vector<Fast5Table::Step>& filters, unsigned left_out) {
  std::uint32_t steps = 0;
  for (std::size_t i = 0; i < filters.size(); ++i)
    if ((left_out >> i & 1U) == 0) steps = steps << 8 | filters[i];
  return steps;
}

class Reads {
 public:
  Reads(Fast5Table& table, std::uint64_t file_bytes) : table_(table), file_bytes_(file_bytes) {}

  // One read; `raw` has its attributes and signal, `about` the groups that say the rest, and `name` is the name of its group.
  void add(hid_t raw, hid_t about, std::string_view name) {
    Fast5Table::Read read;
    std::string id = text_attribute(raw, "read_id").value_or("");
    if (id.empty()) id = name.starts_with("read_") ? name.substr(5) : name;
    read.name_begin = table_.names.size();
    read.name_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(id.size(), std::numeric_limits<std::uint16_t>::max()));
    table_.names.append(id, 0, read.name_bytes);
    read.first_chunk = table_.chunks.size();
    say_calibration(open_group(about, "channel_id"), read);
    read.run = run_of(about);
    read.start_sample = whole_number_attribute(raw, "start_time").value_or(-1);
    read.read_number = whole_number_attribute(raw, "read_number").value_or(-1);
    read.mux = static_cast<std::int32_t>(whole_number_attribute(raw, "start_mux").value_or(-1));
    if (const auto median = number_attribute(raw, "median_before")) read.median_before = *median;
    if (const auto reason = enumeration_attribute(raw, "end_reason"); reason && *reason != "unknown")
      read.end_reason = number_of(*reason, table_.end_reasons);
    const std::size_t stored = table_.stored.size();
    try {
      add_signal(open_dataset(raw, "Signal"), read);
    } catch (const SignalProblem& problem) {
      table_.chunks.resize(read.first_chunk);
      table_.stored.resize(stored);
      read.samples = 0;
      read.problem = number_of(problem.what(), table_.problems);
    }
    read.chunks = static_cast<std::uint32_t>(table_.chunks.size() - read.first_chunk);
    table_.reads.push_back(read);
  }

 private:
  static std::int32_t number_of(const std::string& text, std::vector<std::string>& texts) {
    auto found = std::find(texts.begin(), texts.end(), text);
    if (found == texts.end()) found = texts.insert(texts.end(), text);
    return static_cast<std::int32_t>(found - texts.begin());
  }

  static void say_calibration(const Object& channel, Fast5Table::Read& read) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const auto number = [&](const char* name) { return channel ? number_attribute(channel.id(), name).value_or(none) : none; };
    read.digitisation = number("digitisation");
    read.offset = number("offset");
    read.range = number("range");
    read.sampling_rate = number("sampling_rate");
    if (channel) read.channel = static_cast<std::int32_t>(whole_number_attribute(channel.id(), "channel_number").value_or(-1));
  }

  // Reads of one run id are of one run: what is said of it is read once.
  std::uint32_t run_of(hid_t about) {
    const Object tracking = open_group(about, "tracking_id");
    std::string id = tracking ? text_attribute(tracking.id(), "run_id").value_or("") : "";
    if (id.empty()) id = text_attribute(about, "run_id").value_or("");
    const auto [found, is_new] = runs_.try_emplace(id, static_cast<std::uint32_t>(table_.runs.size()));
    if (!is_new) return found->second;
    Fast5Table::Attributes attributes = {{"run_id", id}};
    const Object context = open_group(about, "context_tags");
    for (const Object* group : {&tracking, &context})
      if (*group)
        for (auto& [name, value] : text_attributes(group->id()))
          if (name != "run_id") attributes.emplace_back(std::move(name), std::move(value));
    table_.runs.push_back(std::move(attributes));
    return found->second;
  }

  void add_signal(const Object& signal, Fast5Table::Read& read) {
    require(static_cast<bool>(signal), "it has no signal");
    const Object type(H5Dget_type(signal.id()), H5Tclose), space(H5Dget_space(signal.id()), H5Sclose),
        properties(H5Dget_create_plist(signal.id()), H5Pclose);
    require(type && space && properties, "its signal can't be opened");
    require(H5Tget_class(type.id()) == H5T_INTEGER && H5Tget_size(type.id()) == sample_bytes && H5Tget_order(type.id()) == H5T_ORDER_LE,
            "its signal is not of little-endian integers of 16 bits");
    hsize_t samples = 0;
    require(H5Sget_simple_extent_ndims(space.id()) == 1 && H5Sget_simple_extent_dims(space.id(), &samples, nullptr) == 1,
            "its signal is no row of samples");
    read.samples = samples;
    if (samples == 0) return;
    switch (H5Pget_layout(properties.id())) {
      case H5D_CHUNKED:
        return add_chunks(signal.id(), properties.id(), samples);
      case H5D_CONTIGUOUS:
        return add_contiguous(signal.id(), properties.id(), samples);
      case H5D_COMPACT:
        return add_compact(signal.id(), samples);
      default:
        throw SignalProblem("its signal lies elsewhere than in the file");
    }
  }

  void add_chunks(hid_t signal, hid_t properties, std::uint64_t samples) {
    hsize_t values = 0;
    require(H5Pget_chunk(properties, 1, &values) == 1 && values > 0 && values <= std::numeric_limits<std::uint32_t>::max(),
            "its chunks are of no size");
    const std::vector<Fast5Table::Step> filters = steps_of(properties);
    for (hsize_t first = 0; first < samples; first += values) {
      unsigned left_out = 0;
      haddr_t begin = HADDR_UNDEF;
      hsize_t bytes = 0;
      require(H5Dget_chunk_info_by_coord(signal, &first, &left_out, &begin, &bytes) >= 0 && begin != HADDR_UNDEF &&
                  bytes <= std::numeric_limits<std::uint32_t>::max(),
              "a chunk of its signal is missing");
      table_.chunks.push_back({.begin = begin,
                               .bytes = static_cast<std::uint32_t>(bytes),
                               .samples = static_cast<std::uint32_t>(std::min<std::uint64_t>(values, samples - first)),
                               .values = static_cast<std::uint32_t>(values),
                               .steps = packed_steps(filters, left_out)});
    }
  }

  void add_contiguous(hid_t signal, hid_t properties, std::uint64_t samples) {
    require(H5Pget_external_count(properties) == 0, "its signal lies in another file");
    const haddr_t begin = H5Dget_offset(signal);
    require(begin != HADDR_UNDEF && samples <= file_bytes_ / sample_bytes, "its signal is missing");
    for (std::uint64_t first = 0; first < samples; first += most_piece / sample_bytes) {
      const auto count = static_cast<std::uint32_t>(std::min(most_piece / sample_bytes, samples - first));
      table_.chunks.push_back(
          {.begin = begin + first * sample_bytes, .bytes = static_cast<std::uint32_t>(count * sample_bytes), .samples = count, .values = count});
    }
  }

  // In the header of its object, where HDF5 says no place.
  void add_compact(hid_t signal, std::uint64_t samples) {
    require(samples <= std::numeric_limits<std::uint16_t>::max(), "its signal does not fit where it says it is");
    std::vector<std::int16_t> values(static_cast<std::size_t>(samples));
    require(H5Dread(signal, H5T_STD_I16LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0, "its signal can't be read");
    const auto count = static_cast<std::uint32_t>(samples);
    table_.chunks.push_back({.begin = table_.stored.size(),
                             .bytes = static_cast<std::uint32_t>(count * sample_bytes),
                             .samples = count,
                             .values = count,
                             .is_stored = 1});
    table_.stored.append(reinterpret_cast<const char*>(values.data()), count * sample_bytes);
  }

  Fast5Table& table_;
  std::uint64_t file_bytes_;
  std::map<std::string, std::uint32_t, std::less<>> runs_;
};

}  // namespace

Fast5Table structure_of(const std::string& path, const std::function<void()>& next_read) {
  Fast5Table table;
  const Object file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file) return table.problem = last_problem(), table;
  hsize_t bytes = 0;
  if (H5Fget_filesize(file.id(), &bytes) < 0) return table.problem = last_problem(), table;
  Reads reads(table, bytes);
  bool is_multi = false;
  for (const std::string& name : names_in(file.id())) {
    if (!name.starts_with("read_")) continue;
    is_multi = true;
    next_read();
    const Object group = open_group(file.id(), name), raw = open_group(group ? group.id() : file.id(), group ? "Raw" : name);
    // A read without `Raw` has no attributes and no signal: its group stands for it.
    if (group) reads.add(raw ? raw.id() : group.id(), group.id(), name);
  }
  if (is_multi) return table;
  const Object raw = open_group(file.id(), "Raw");
  const Object all = open_group(raw ? raw.id() : file.id(), "Reads"), about = open_group(file.id(), "UniqueGlobalKey");
  if (!raw || !all) {
    // A file for many reads that got none has nothing but its attributes.
    if (!text_attribute(file.id(), "file_version")) table.problem = "it has neither groups read_* nor /Raw/Reads, as FAST5 files have";
    return table;
  }
  for (const std::string& name : names_in(all.id())) {
    next_read();
    const Object group = open_group(all.id(), name);
    if (group) reads.add(group.id(), about ? about.id() : group.id(), name);
  }
  return table;
}

}  // namespace sluice::fast5_reader
