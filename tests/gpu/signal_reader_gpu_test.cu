// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Records that are decoded on the device must give the CPU's samples; those that the CPU refuses, and no sound ones, are left to it. Amount: millions
// of samples.

#include <cstdio>
#include <random>

#include "gpu/kernel_check.hpp"
#include "signal_reader/record_facts.hpp"
#include "unit/files/signal_reader/zlib_streams.hpp"

namespace {

using namespace sluice::gpu_test;
using namespace sluice::signal_reader;
using signal_fixture::Read;

int failures = 0;

class Decoder {
 public:
  Decoder(const std::vector<std::string>& records, SignalCompression compression, double room)
      : is_svb_zd_(compression == SignalCompression::svb_zd),
        plans_(make_plans(records, room)),
        stored_(joined(records)),
        of_plans_(plans_),
        text_(text_bytes_, Contents::poison),
        facts_(std::vector<cuda::RecordFacts>(records.size())) {}

  void inflate() {
    require(cuda::inflate_records(of_plans_.data(), count(), stored_.data(), text_.data(), facts_.data(), nullptr), "inflate_records");
  }
  void examine() { require(cuda::examine_records(of_plans_.data(), count(), text_.data(), is_svb_zd_, facts_.data(), nullptr), "examine_records"); }
  void resolve() {
    const std::vector<cuda::RecordFacts> facts = facts_.download();
    std::vector<cuda::SignalPlan> signals;
    places_.assign(facts.size(), -1);
    std::int64_t samples = 0;
    for (const cuda::RecordPlan& plan : plans_) {
      SignalRecord record;
      std::size_t signal = 0;
      if (!cuda::resolve(facts[plan.row], is_svb_zd_, record, signal)) continue;
      places_[plan.row] = samples;
      signals.push_back({plan.text + static_cast<std::int64_t>(signal), samples, static_cast<std::uint32_t>(record.sample_count)});
      samples += signals.back().count;
    }
    signals_ = std::make_unique<DeviceArray<cuda::SignalPlan>>(signals);
    samples_ = std::make_unique<DeviceArray<std::int16_t>>(static_cast<std::size_t>(samples), Contents::poison);
  }
  void decode() {
    require(cuda::decode_signals(signals_->data(), static_cast<std::uint32_t>(signals_->size()), text_.data(), is_svb_zd_, samples_->data(), nullptr),
            "decode_signals");
  }
  std::vector<std::int16_t> samples() const { return samples_->download(); }
  // Of the row's samples; -1: the CPU's.
  std::int64_t place(std::size_t row) const { return places_[row]; }

 private:
  std::uint32_t count() const { return static_cast<std::uint32_t>(plans_.size()); }
  std::vector<cuda::RecordPlan> make_plans(const std::vector<std::string>& records, double room) {
    std::vector<cuda::RecordPlan> plans;
    std::int64_t stored = 0;
    for (std::size_t row = 0; row < records.size(); ++row) {
      const auto bytes = static_cast<std::uint32_t>(records[row].size()),
                 given = static_cast<std::uint32_t>(room * static_cast<double>(bytes) + 1024) / 16 * 16;
      plans.push_back({stored, static_cast<std::int64_t>(text_bytes_), bytes, given, static_cast<std::uint32_t>(row)});
      stored += bytes;
      text_bytes_ += given;
    }
    std::stable_sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return plans;
  }
  static std::vector<char> joined(const std::vector<std::string>& records) {
    std::vector<char> all;
    for (const std::string& record : records) all.insert(all.end(), record.begin(), record.end());
    return all;
  }
  bool is_svb_zd_;
  std::size_t text_bytes_ = 0;
  std::vector<cuda::RecordPlan> plans_;
  DeviceArray<char> stored_;
  DeviceArray<cuda::RecordPlan> of_plans_;
  DeviceArray<std::uint8_t> text_;
  DeviceArray<cuda::RecordFacts> facts_;
  std::unique_ptr<DeviceArray<cuda::SignalPlan>> signals_;
  std::unique_ptr<DeviceArray<std::int16_t>> samples_;
  std::vector<std::int64_t> places_;
};

// `sound`: whether the device has to take all that the CPU takes, too.
void check(const char* name, const std::vector<std::string>& records, SignalCompression compression, bool sound, double room = 4) {
  Decoder device(records, compression, room);
  device.inflate();
  device.examine();
  device.resolve();
  device.decode();
  const std::vector<std::int16_t> samples = device.samples();
  std::vector<char> wrong(records.size()), taken(records.size());
  in_parallel(records.size(), [&](std::size_t row) {
    RecordDecoder decoder;
    SignalRecord record;
    std::vector<std::int16_t> expected;
    const bool fine = decoder.decode(records[row], {FileFormat::blow5, RecordCompression::zlib, compression}, record, expected) == RecordStatus::ok;
    taken[row] = device.place(row) >= 0 ? 1 : 0;
    if (taken[row] == 0) {
      wrong[row] = fine && sound ? 1 : 0;
    } else {
      wrong[row] = fine && std::equal(expected.begin(), expected.end(), samples.begin() + device.place(row)) ? 0 : 1;
    }
  });
  const auto compared = std::count(taken.begin(), taken.end(), 1), differ = std::count(wrong.begin(), wrong.end(), 1);
  std::printf("%s %s: %zu records, %td decoded on the device, %td wrong\n", differ == 0 ? "ok  " : "FAIL", name, records.size(), compared, differ);
  if (differ > 0 || (sound && compared == 0)) ++failures;
}

// A strand that stays on a level for some nine samples, with the noise of R9: about what sequencers write.
std::vector<std::int16_t> strand(std::size_t samples, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> level(500, 75), noise(0, 9);
  std::vector<std::int16_t> signal(samples);
  double mean = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    if (i == 0 || random() % 9 == 0) mean = level(random);
    signal[i] = static_cast<std::int16_t>(mean + noise(random));
  }
  return signal;
}
std::string stored(const std::vector<std::int16_t>& samples, SignalCompression compression, int level, int strategy) {
  const Read read{"read", samples};
  return zlib_streams::compressed(signal_fixture::blow5_record(read, RecordCompression::none, compression), level, strategy);
}

void check_all(Extent extent) {
  std::mt19937 random(5);
  const std::size_t count = extent == Extent::small ? 4 : 60;
  for (const SignalCompression compression : {SignalCompression::svb_zd, SignalCompression::none}) {
    std::vector<std::string> sound, damaged;
    for (std::size_t i = 0; i < count; ++i)
      for (const auto& [level, strategy] : zlib_streams::ways) {
        const std::size_t samples = 1 + random() % (extent == Extent::small ? 3000 : 40'000);
        sound.push_back(stored(i % 2 == 0 ? strand(samples, i) : signal_fixture::wandering_signal(samples, static_cast<std::uint32_t>(i)),
                               compression, level, strategy));
        std::string& broken = damaged.emplace_back(sound.back());
        for (std::uint32_t n = random() % 3; n < 3; ++n)
          broken[random() % (random() % 2 == 0 ? std::min<std::size_t>(broken.size(), 90) : broken.size())] = static_cast<char>(random());
        if (i % 5 == 0) broken.resize(random() % broken.size());
      }
    for (std::size_t samples = 1; samples < 70; ++samples) sound.push_back(stored(strand(samples, samples), compression, 6, Z_DEFAULT_STRATEGY));
    const bool svb_zd = compression == SignalCompression::svb_zd;
    check(svb_zd ? "svb-zd" : "uncompressed signals", sound, compression, true);
    check(svb_zd ? "svb-zd, damaged" : "uncompressed signals, damaged", damaged, compression, false);
    check(svb_zd ? "svb-zd, little room" : "uncompressed signals, little room", sound, compression, false, 1);
  }
  if (extent == Extent::full)
    check("one long read", {stored(strand(4'000'000, 1), SignalCompression::svb_zd, 6, Z_DEFAULT_STRATEGY)}, SignalCompression::svb_zd, true);
}

void measure(double millions, int runs) {
  constexpr std::size_t samples = 72'000;  // 8 kb
  std::vector<std::string> records(static_cast<std::size_t>(millions * 1e6 / samples) + 1);
  in_parallel(records.size(), [&](std::size_t i) { records[i] = stored(strand(samples, i), SignalCompression::svb_zd, 6, Z_DEFAULT_STRATEGY); });
  double bytes = 0;
  for (const std::string& record : records) bytes += static_cast<double>(record.size());
  for (const std::size_t share : {1, 4, 16}) {
    const std::vector<std::string> some(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(records.size() / share));
    Decoder device(some, SignalCompression::svb_zd, 2);
    device.inflate();
    device.examine();
    device.resolve();
    const double inflate = median_milliseconds(runs, [&] { device.inflate(); }), decode = median_milliseconds(runs, [&] { device.decode(); });
    device.inflate();
    const double examine = median_milliseconds(1, [&] { device.examine(); });
    const double total = static_cast<double>(some.size()) * samples;
    std::printf("TIME %zu records: inflated %8.3f ms, %.1f GB/s of stored bytes; examined %.3f ms; samples %.3f ms; %.1f Gsamples/s in all\n",
                some.size(), inflate, bytes / static_cast<double>(share) / 1e6 / inflate, examine, decode,
                total / 1e6 / (inflate + examine + decode));
  }
  const std::vector<std::string> one = {stored(strand(3'600'000, 3), SignalCompression::svb_zd, 6, Z_DEFAULT_STRATEGY)};
  Decoder device(one, SignalCompression::svb_zd, 2);
  std::printf("TIME one record of 3.6 Msamples: %8.3f ms\n", median_milliseconds(runs, [&] { device.inflate(); }));
}

}  // namespace

int main(int count, char** arguments) {
  const CommandLine command = parse_command_line(count, arguments, 360);
  if (command.checks != Extent::none) check_all(command.checks);
  if (command.amount > 0) measure(command.amount, command.runs);
  std::printf(failures == 0 ? "all the same\n" : "FAILED: %d sets differ\n", failures);
  return failures == 0 ? 0 : 1;
}
