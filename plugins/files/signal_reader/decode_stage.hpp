// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The stage signal_decode.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <sluice/calibration.hpp>
#include <sluice/stage.hpp>
#include <string_view>
#include <vector>

#include "signal_reader/signal_beginning.hpp"
#include "signal_reader/signal_files.hpp"
#include "signal_reader/signal_kind.hpp"

#ifdef SLUICE_WITH_CUDA
#include "signal_reader/device_records.hpp"
#endif

namespace sluice::signal_reader {

template <class Stage>
void describe_beginning(Describe<Stage>& d) {
  using Parameters = BeginningParameters;
  d.option("prefix_bases", &Parameters::prefix_bases, "signal that is wanted of a read, behind the adapter; 0: all").range(0, 1e6).unit("bases");
  d.option("adapter_bases", &Parameters::adapter_bases, "signal of the adapter, which comes before that; at least 150 samples")
      .range(0, 1e6)
      .unit("bases");
  d.option("bases_per_second", &Parameters::bases_per_second, "speed of strands through the pore").range(1, 1e5).unit("bases/s");
  d.option("tail", &Parameters::tail, "what passes the pore between adapter and molecule: poly_a in direct RNA").choices({"none", "poly_a"});
}

// Decompression: parallel, apart from the disk.
class SignalDecode {
 public:
  using Parameters = BeginningParameters;
  enum class Reason : std::uint32_t { corrupt_signal, bad_calibration };
  static void describe(Describe<SignalDecode>& d) {
    d.id("signal_decode").summary("decompresses signal records into raw samples and their calibration").map("read");
    d.doc(
        "zlib records are decompressed by libdeflate, their beginnings by sluice, zstd records by libzstd, svb-zd signals (StreamVByte of zigzag "
        "deltas) by sluice. "
        "pA = (raw + offset) * range / digitisation.\n\n"
        "With prefix_bases only the first samples of a read are decoded: all that signal_normalization looks at with the same options. Damage behind "
        "them is not noticed. What is missing of a record that signal_stream gave the beginning of is read from the file.");
    d.needs("read_id", "utf8", "name of the read, which the record must carry, too");
    d.needs("signal_record", "binary", "the record as stored in the file");
    d.needs("signal_read", "utf8", "the read whose name it must carry instead", Needed::optional);
    d.needs("signal_begin", "i64", "first sample that is wanted of it", Needed::optional);
    d.needs("signal_end", "i64", "end of the samples that are wanted, exclusive; -1: all that follow", Needed::optional);
    d.needs("record_offset", "i64", "where it begins in the files, one after the other", Needed::optional);
    d.needs("record_bytes", "i64", "all bytes of the record, when signal_record may be its beginning", Needed::optional);
    d.gives("raw_signal", "list<i16>",
            "samples as the sequencer's converter gave them, from signal_begin to signal_end; with prefix_bases: the first of them");
    d.row_length("raw_signal", "decoded sample");
    d.gives("sample_count", "i64", "samples of the whole record", Needed::optional);
    d.gives("digitisation", "f64", "number of levels of the converter");
    d.gives("range", "f64", "range of the converter, pA");
    d.gives("offset", "f64", "added to a sample before scaling, levels");
    d.gives("sampling_rate", "f64", "samples per second, Hz", Needed::optional);
    describe_beginning(d);
    d.option("stall_stdv", &Parameters::stall_stdv, "signal is at rest while the standard deviation of 50 samples is below this")
        .range(0, 1000)
        .unit("pA");
    d.uses("signal", "signal_file", "the files the records come from");
    d.reason("corrupt_signal", "the record cannot be decompressed, is that of another read, or lacks the samples that are wanted of it");
    d.reason("bad_calibration",
             "digitisation, range or offset is missing, zero, negative or not finite, or the sampling rate is none from 100 to 1000000 Hz");
    d.work_unit("byte");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&SignalDecode::process_cuda>("cuda", "a warp inflates a record; zlib with svb-zd or uncompressed signals, whole records");
#endif
  }
  SignalDecode(const Setup& setup, const Parameters& parameters)
      : format_(record_format(setup.resource("signal"))),
        signal_(setup.resource("signal")),
        parameters_(parameters),
        wants_sample_count_(setup.wanted("sample_count")),
        wants_sampling_rate_(setup.wanted("sampling_rate")),
        has_parent_(setup.available("signal_read")),
        has_part_(setup.available("signal_begin") && setup.available("signal_end")) {}

  Estimate estimate(const Batch& in) const {
    const TextView records = in.text("signal_record");
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const auto bytes = static_cast<double>(records[row].size());
      e.work += bytes;
      e.largest_row_work = std::max(e.largest_row_work, bytes);
    }
    // Stored signals take 6 (svb-zd and zstd) to 10 (zlib) bits a sample.
    e.output_bytes = static_cast<std::uint64_t>(2.5 * e.work) + static_cast<std::uint64_t>(in.rows()) * 40;
    e.scratch_bytes = static_cast<std::uint64_t>(2.5 * (e.work + e.largest_row_work));
    return e;
  }

  // Devices decode what slow5tools writes unless it is told otherwise; beginnings and other compressions are the CPU's.
  bool offers(std::string_view device) const {
    return device == "cpu" ||
           (parameters_.prefix_bases == 0 && format_.format == FileFormat::blow5 && format_.record_compression == RecordCompression::zlib &&
            (format_.signal_compression == SignalCompression::svb_zd || format_.signal_compression == SignalCompression::none));
  }

  void process(const Call& call, const Batch& in, Output& out) {
    auto scratch = workspaces_.take();
    scratch->samples.clear();
    const TextView read_ids = in.text(has_parent_ ? "signal_read" : "read_id");
    const auto signal_begin = has_part_ ? in.column<std::int64_t>("signal_begin") : std::span<const std::int64_t>();
    const auto signal_end = has_part_ ? in.column<std::int64_t>("signal_end") : std::span<const std::int64_t>();
    const TextView records = in.text("signal_record");
    const bool beginnings = in.has("record_offset") && in.has("record_bytes");
    const auto record_offset = beginnings ? in.column<std::int64_t>("record_offset") : std::span<const std::int64_t>();
    const auto record_bytes = beginnings ? in.column<std::int64_t>("record_bytes") : std::span<const std::int64_t>();
    const auto sample_count = wants_sample_count_ ? out.column<std::int64_t>("sample_count") : std::span<std::int64_t>();
    const Calibrations calibrations{out.column<double>("digitisation"), out.column<double>("range"), out.column<double>("offset"),
                                    wants_sampling_rate_ ? out.column<double>("sampling_rate") : std::span<double>()};
    const Buffer offsets = out.offsets([&](std::int64_t row) -> std::size_t {
      if (!in.ok(row) || call.cancelled()) return 0;
      const std::size_t before = scratch->samples.size();
      const auto r = static_cast<std::size_t>(row);
      const std::string_view bytes = records[row];
      StoredRecord stored{{bytes.data(), bytes.size()}, bytes.size()};
      if (beginnings && record_bytes[r] > 0) stored.whole_bytes = std::max(stored.whole_bytes, static_cast<std::uint64_t>(record_bytes[r]));
      SignalRecord record;
      const Part part = has_part_ ? Part{signal_begin[r], signal_end[r]} : Part();
      RecordStatus status = decode(*scratch, stored, part, record);
      if (status == RecordStatus::incomplete && read_whole(record_offset[r], stored.whole_bytes, scratch->stored)) {
        call.count("records_read_again", 1);
        status = decode(*scratch, {scratch->stored, scratch->stored.size()}, part, record);
      }
      if (status == RecordStatus::ok && !part.cut(scratch->samples, before)) status = RecordStatus::corrupt;
      if (const std::optional<Reason> reason = flaw(status, record, read_ids[row])) {
        scratch->samples.resize(before);
        out.fail(row, *reason);
        return 0;
      }
      if (wants_sample_count_) sample_count[r] = static_cast<std::int64_t>(record.sample_count);
      calibrations.set(r, record);
      return scratch->samples.size() - before;
    });
    const std::span<std::int16_t> raw = out.list<std::int16_t>("raw_signal", offsets);
    if (!raw.empty()) std::memcpy(raw.data(), scratch->samples.data(), raw.size_bytes());
    if (scratch->bytes() > kept_workspace_bytes) scratch.discard();
  }

#ifdef SLUICE_WITH_CUDA
  // Rows that the device does not take to its end are decoded here, as on the CPU.
  void process_cuda(const Call& call, const Batch& in, Output& out) {
    using sluice::cuda::Memory;
    const sluice::cuda::DeviceCall device(call);
    const auto rows = static_cast<std::size_t>(in.rows());
    const sluice::cuda::HostText read_ids(device, in, has_parent_ ? "signal_read" : "read_id");
    std::vector<std::int64_t> signal_begin, signal_end;
    if (has_part_) {
      signal_begin = device.download(device.column<std::int64_t>(in, "signal_begin"), rows);
      signal_end = device.download(device.column<std::int64_t>(in, "signal_end"), rows);
    }
    bool any_part = false;
    cuda::DeviceRecords records(device, in, format_.signal_compression, device_room_);
    if (records.without_room() > rows / 8 && device_room_ < most_device_room) device_room_ = device_room_ * 2;
    auto scratch = workspaces_.take();
    scratch->samples.clear();
    std::vector<std::int64_t> sample_count(rows), offsets(rows + 1);
    std::vector<double> digitisation(rows), range(rows), offset(rows), sampling_rate(rows);
    const Calibrations calibrations{digitisation, range, offset, sampling_rate};
    std::vector<std::size_t> by_device, by_host, places_in_scratch;
    for (std::size_t row = 0; row < rows; ++row) {
      offsets[row + 1] = offsets[row];
      if (!in.ok(static_cast<std::int64_t>(row))) continue;
      const std::size_t before = scratch->samples.size();
      std::optional<SignalRecord> record = records.record(row);
      RecordStatus status = RecordStatus::ok;
      const bool is_host_row = !record;
      if (is_host_row) {
        scratch->stored = records.stored(row);
        status = decode(*scratch, {scratch->stored, scratch->stored.size()}, {}, record.emplace());
      }
      const Part part = has_part_ ? Part{signal_begin[row], signal_end[row]} : Part();
      if (status == RecordStatus::ok && !part.is_in(record->sample_count)) status = RecordStatus::corrupt;
      any_part = any_part || !part.is_all();
      if (const std::optional<Reason> reason = flaw(status, *record, read_ids[row])) {
        scratch->samples.resize(before);
        out.fail(static_cast<std::int64_t>(row), *reason);
        continue;
      }
      sample_count[row] = static_cast<std::int64_t>(record->sample_count);
      calibrations.set(row, *record);
      offsets[row + 1] += sample_count[row];
      (is_host_row ? by_host : by_device).push_back(row);
      if (is_host_row) places_in_scratch.push_back(before);
    }
    call.count("records_decoded_on_device", static_cast<double>(by_device.size()));
    Memory samples = device.allocate_array<std::int16_t>(static_cast<std::size_t>(offsets[rows]));
    records.decode(by_device, offsets, samples.as<std::int16_t>());
    for (std::size_t i = 0; i < by_host.size(); ++i)
      sluice::cuda::copy_to_device(samples.as<std::int16_t>() + offsets[by_host[i]], scratch->samples.data() + places_in_scratch[i],
                                   static_cast<std::size_t>(sample_count[by_host[i]]) * sizeof(std::int16_t), device.stream());
    if (any_part) keep_parts(device, signal_begin, signal_end, offsets, samples);
    device.add_list<std::int16_t>(out, "raw_signal", device.upload(offsets), std::move(samples), offsets[rows]);
    if (wants_sample_count_) device.add_column<std::int64_t>(out, "sample_count", device.upload(sample_count));
    device.add_column<double>(out, "digitisation", device.upload(digitisation));
    device.add_column<double>(out, "range", device.upload(range));
    device.add_column<double>(out, "offset", device.upload(offset));
    if (wants_sampling_rate_) device.add_column<double>(out, "sampling_rate", device.upload(sampling_rate));
    if (scratch->bytes() > kept_workspace_bytes) scratch.discard();
  }
#endif

 private:
  // One that a huge batch has grown beyond that is not kept.
  static constexpr std::size_t kept_workspace_bytes = std::size_t{256} << 20;
  struct Workspace {
    RecordDecoder decoder;
    std::vector<std::int16_t> samples;
    std::vector<char> stored;  // a record that was read again, or fetched from a device
    std::size_t bytes() const { return samples.capacity() * sizeof(std::int16_t) + stored.capacity() + decoder.capacity(); }
  };
  // Columns of the output; sampling_rate only if it is wanted.
  struct Calibrations {
    std::span<double> digitisation, range, offset, sampling_rate;
    void set(std::size_t row, const SignalRecord& record) const {
      digitisation[row] = record.digitisation;
      range[row] = record.range;
      offset[row] = record.offset;
      if (!sampling_rate.empty()) sampling_rate[row] = record.sampling_rate;
    }
  };
  // The samples of a record that are wanted.
  struct Part {
    std::int64_t begin = 0, end = -1;
    bool is_all() const { return begin == 0 && end < 0; }
    bool is_in(std::uint64_t samples) const {
      const auto last = static_cast<std::int64_t>(samples);
      return begin >= 0 && begin <= last && (end < 0 || (end >= begin && end <= last));
    }
    // Leaves these of the record's samples, which begin at `before`. False: it lacks them.
    bool cut(std::vector<std::int16_t>& samples, std::size_t before) const {
      if (is_all()) return true;
      if (!is_in(samples.size() - before)) return false;
      const auto record = samples.begin() + static_cast<std::ptrdiff_t>(before);
      if (end >= 0) samples.erase(record + end, samples.end());
      samples.erase(record, record + begin);
      return true;
    }
  };
#ifdef SLUICE_WITH_CUDA
  // Replaces whole records by the parts that are wanted, in device memory.
  static void keep_parts(const sluice::cuda::DeviceCall& device, std::span<const std::int64_t> begin, std::span<const std::int64_t> end,
                         std::vector<std::int64_t>& offsets, sluice::cuda::Memory& samples) {
    std::vector<std::int64_t> of_parts(offsets.size());
    const auto part_of = [&](std::size_t row) -> std::pair<std::int64_t, std::int64_t> {
      const std::int64_t all = offsets[row + 1] - offsets[row];
      if (all == 0) return {0, 0};  // failed, or nothing in it
      return {begin[row], end[row] < 0 ? all : end[row]};
    };
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
      const auto [first, last] = part_of(row);
      of_parts[row + 1] = of_parts[row] + last - first;
    }
    sluice::cuda::Memory parts = device.allocate_array<std::int16_t>(static_cast<std::size_t>(of_parts.back()));
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
      sluice::cuda::check(cudaMemcpyAsync(parts.as<std::int16_t>() + of_parts[row], samples.as<std::int16_t>() + offsets[row] + part_of(row).first,
                                          static_cast<std::size_t>(of_parts[row + 1] - of_parts[row]) * sizeof(std::int16_t),
                                          cudaMemcpyDeviceToDevice, device.stream()),
                          "a part of a signal");
    offsets = std::move(of_parts);
    samples = std::move(parts);
  }
#endif
  RecordStatus decode(Workspace& scratch, StoredRecord stored, const Part& part, SignalRecord& record) const {
    if (parameters_.prefix_bases == 0 || !part.is_all())
      return stored.is_whole() ? scratch.decoder.decode(stored.bytes, format_, record, scratch.samples) : RecordStatus::incomplete;
    return scratch.decoder.decode_beginning(stored, format_, BeginningWanted(parameters_), record, scratch.samples);
  }
  // The few records whose beginning was not enough: their strand begins late.
  bool read_whole(std::int64_t offset, std::uint64_t bytes, std::vector<char>& stored) {
    const auto place = static_cast<std::uint64_t>(offset);
    std::call_once(asked_, [this] { files_.emplace(signal_.attribute("path")); });
    if (offset < 0 || place >= files_->begin(files_->size())) return false;
    const std::size_t number = files_->file_at(place);
    const std::shared_ptr<const SignalFile> file = files_->file(number);
    const std::uint64_t around = SignalFile::bytes_around(format_.format);
    return bytes <= file->extent().end && file->read_if_there({place - files_->begin(number), bytes + around}, stored);
  }
  // Why a record's row fails, if it does.
  static std::optional<Reason> flaw(RecordStatus status, const SignalRecord& record, std::string_view read_id) {
    if (status != RecordStatus::ok || record.read_id != read_id) return Reason::corrupt_signal;
    const bool is_usable = is_calibrated(record.digitisation, record.range, record.offset, record.sampling_rate);
    return is_usable ? std::nullopt : std::optional(Reason::bad_calibration);
  }
  RecordFormat format_;
  Batch signal_;
  std::once_flag asked_;
  std::optional<SignalFiles> files_;  // once a beginning was not enough
  BeginningParameters parameters_;
  bool wants_sample_count_, wants_sampling_rate_, has_parent_, has_part_;
  Workspaces<Workspace> workspaces_;
#ifdef SLUICE_WITH_CUDA
  // Bytes of text for a stored byte that a device has room for: svb-zd of a nanopore signal is 1.3 to 1.6 times its zlib stream.
  static constexpr double most_device_room = 32;
  std::atomic<double> device_room_ = 2;
#endif
};

}  // namespace sluice::signal_reader
