// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <random>

#include "signal_fixture.hpp"
#include "signal_normalization/prefix_normalizer.hpp"
#include "signal_reader/ex_zd.hpp"
#include "signal_reader/signal_beginning.hpp"
#include "signal_reader/slow5_format.hpp"

using namespace sluice::signal_reader;
using namespace signal_fixture;
using Samples = std::vector<std::int16_t>;

namespace {

std::span<const char> bytes(const std::string& text) { return {text.data(), text.size()}; }

std::vector<RecordFormat> binary_formats() {
  std::vector<RecordFormat> formats;
  for (const auto record : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd})
    for (const auto signal : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd})
      formats.push_back({FileFormat::blow5, record, signal});
  return formats;
}

std::string stored_as(const Read& read, const RecordFormat& format) {
  return blow5_record(read, format.record_compression, format.signal_compression);
}

// Three samples that the decoder finds in the vector and has to leave there.
const Samples others = {1, 2, 3};

struct Decoded {
  RecordStatus status = RecordStatus::corrupt;
  SignalRecord record;
  std::string read_id;
  Samples samples;  // without the others
};

Decoded decode_first(RecordDecoder& decoder, std::span<const char> stored, std::uint64_t whole_bytes, const RecordFormat& format,
                     const SamplesWanted& wanted) {
  Decoded decoded;
  Samples samples = others;
  decoded.status = decoder.decode_beginning({stored, whole_bytes}, format, wanted, decoded.record, samples);
  REQUIRE(samples.size() >= others.size());
  CHECK(std::equal(others.begin(), others.end(), samples.begin()));
  decoded.samples.assign(samples.begin() + 3, samples.end());
  if (decoded.status == RecordStatus::ok)
    decoded.read_id = decoded.record.read_id;
  else
    CHECK(decoded.samples.empty());
  return decoded;
}

SamplesWanted first(std::size_t count) {
  return [count](const SignalRecord&, std::span<const std::int16_t>) { return count; };
}

void check_first(const Decoded& decoded, const Read& read, std::size_t count) {
  CHECK(decoded.status == RecordStatus::ok);
  CHECK(decoded.read_id == read.id);
  CHECK(decoded.record.sample_count == read.samples.size());
  CHECK(decoded.record.range == read.range);
  CHECK(decoded.samples == Samples(read.samples.begin(), read.samples.begin() + static_cast<std::ptrdiff_t>(std::min(count, read.samples.size()))));
}

// Rests at a level, then moves as DNA does: a level for some samples, then the next.
Samples strand_after(std::size_t rest, std::size_t moving, std::uint32_t seed) {
  std::mt19937 random(seed);
  Samples signal;
  for (std::size_t i = 0; i < rest; ++i) signal.push_back(static_cast<std::int16_t>(500 + random() % 3));
  int level = 500;
  for (std::size_t i = 0; i < moving; ++i) {
    if (random() % 9 == 0) level = static_cast<int>(350 + random() % 300);
    signal.push_back(static_cast<std::int16_t>(level + static_cast<int>(random() % 15)));
  }
  return signal;
}

}  // namespace

TEST_CASE("the first samples of a record are those of the whole record, however many are wanted") {
  RecordDecoder decoder;
  for (const std::size_t length : {0, 1, 3, 4, 5, 7, 64, 1000, 30'001, 200'000}) {
    const Read read{"some-read", wandering_signal(length, static_cast<std::uint32_t>(length))};
    for (const RecordFormat& format : binary_formats()) {
      const std::string stored = stored_as(read, format);
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{4}, std::size_t{6}, std::size_t{999}, std::size_t{3522},
                                      length - std::min<std::size_t>(length, 1), length, length + 1, std::numeric_limits<std::size_t>::max()})
        check_first(decode_first(decoder, bytes(stored), stored.size(), format, first(count)), read, count);
    }
    const std::string file = slow5({read});
    const std::string line = file.substr(file.rfind("some-read"), file.size() - 1 - file.rfind("some-read"));
    for (const std::size_t count : {std::size_t{0}, std::size_t{6}, length, length + 1})
      check_first(decode_first(decoder, bytes(line), line.size(), {FileFormat::slow5}, first(count)), read, count);
  }
}

TEST_CASE("whoever wants samples is shown those that there are, and gets more") {
  RecordDecoder decoder;
  const Read read{"some-read", wandering_signal(50'000, 5)};
  for (const RecordFormat& format : binary_formats()) {
    const std::string stored = stored_as(read, format);
    std::vector<std::size_t> shown;
    const auto wanted = [&](const SignalRecord& record, std::span<const std::int16_t> samples) -> std::size_t {
      CHECK(record.sample_count == 50'000);
      CHECK(std::equal(samples.begin(), samples.end(), read.samples.begin()));
      shown.push_back(samples.size());
      const std::size_t steps[] = {5, 6, 11, 4000, 4001, 17'002, 17'002};
      return steps[std::min<std::size_t>(shown.size() - 1, 6)];
    };
    check_first(decode_first(decoder, bytes(stored), stored.size(), format, wanted), read, 17'002);
    CHECK(shown == std::vector<std::size_t>{0, 5, 6, 11, 4000, 4001, 17'002});
  }
}

TEST_CASE("the beginning of a record is enough, or asks for the whole: it is never taken for damaged, and never gives other samples") {
  RecordDecoder decoder;
  for (const std::size_t length : {40, 3000}) {
    const Read read{"some-read", wandering_signal(length, 3)};
    for (const RecordFormat& format : binary_formats()) {
      const std::string stored = stored_as(read, format);
      for (const std::size_t count : {std::size_t{1}, std::size_t{21}, length / 3, length - 1, length}) {
        std::size_t enough = stored.size() + 1;
        // Every end: inside the name, the fields, the control bytes, the values, behind them. Long records: every seventh.
        for (std::size_t n = 0; n <= stored.size(); n += length > 100 && n + 8 < stored.size() ? 7 : 1) {
          const Decoded decoded = decode_first(decoder, bytes(stored).first(n), stored.size(), format, first(count));
          if (decoded.status == RecordStatus::ok) {
            check_first(decoded, read, count);
            enough = std::min(enough, n);
          } else {
            CHECK(decoded.status == RecordStatus::incomplete);
            CHECK(n < stored.size());
            CHECK(enough > n);
          }
        }
        CHECK(enough <= stored.size());
        // Without compression it is known to the byte: name, fields, all control bytes, the values of these samples and what is left of their four.
        if (format.record_compression != RecordCompression::none || count == length || length > 100) continue;
        const std::size_t four = std::min(length, (count + 3) / 4 * 4);
        const bool is_svb_zd = format.signal_compression == SignalCompression::svb_zd;
        const std::string values = svb_zd(Samples(read.samples.begin(), read.samples.begin() + static_cast<std::ptrdiff_t>(four)));
        const std::size_t fields = 2 + read.id.size() + 44;
        if (fields + 4 > 100) continue;
        if (format.signal_compression == SignalCompression::ex_zd) {
          std::size_t behind = 0;  // deltas of a byte
          for (std::size_t i = four; i < length; ++i) behind += signal_fixture::zigzag(read.samples[i] - read.samples[i - 1]) < 256 ? 1 : 0;
          CHECK(enough == stored.size() - behind - 4);
          continue;
        }
        CHECK(enough == (is_svb_zd ? fields + 4 + (length + 3) / 4 + (values.size() - 4 - (four + 3) / 4) : fields + 2 * four));
      }
    }
  }
}

TEST_CASE("control bytes can be longer than the beginning that is there") {
  RecordDecoder decoder;
  const Read read{"some-read", wandering_signal(100'000, 8)};  // 25,000 control bytes
  for (const auto compression : {RecordCompression::none, RecordCompression::zlib, RecordCompression::zstd}) {
    const RecordFormat format{FileFormat::blow5, compression, SignalCompression::svb_zd};
    const std::string stored = stored_as(read, format);
    for (const std::size_t n : {200, 4096}) {
      CHECK(decode_first(decoder, bytes(stored).first(n), stored.size(), format, first(100)).status == RecordStatus::incomplete);
      // Nothing more is to come: it is damaged.
      CHECK(decode_first(decoder, bytes(stored).first(n), n, format, first(100)).status == RecordStatus::corrupt);
    }
  }
}

TEST_CASE("the guess of what has to be read is enough for a signal of the usual kind, and a part of a long record") {
  RecordDecoder decoder;
  const Read read{"some-read", strand_after(300, 150'000, 1)};
  for (const RecordFormat& format : binary_formats()) {
    const std::string stored = stored_as(read, format);
    SignalRecord record;
    REQUIRE(decoder.decode_fields(bytes(stored).first(std::min<std::size_t>(stored.size(), 140'000)), format, record) == RecordStatus::ok);
    const auto guess = static_cast<std::size_t>(likely_stored_bytes(record, stored.size(), format, 3522));
    CHECK(guess <= stored.size());
    if (format.record_compression != RecordCompression::zstd) CHECK(guess < stored.size() / 2);
    check_first(decode_first(decoder, bytes(stored).first(guess), stored.size(), format, first(3522)), read, 3522);
    CHECK(likely_stored_bytes(record, stored.size(), format, 1'000'000) == stored.size());
  }
}

TEST_CASE("damage behind the samples that are wanted is not looked at; damage before them never crashes") {
  RecordDecoder decoder;
  std::mt19937 random(1);
  const Read read{"some-read", wandering_signal(20'000, 4)};
  for (const RecordFormat& format : binary_formats()) {
    const std::string stored = stored_as(read, format);
    std::string late = stored;
    for (std::size_t i = stored.size() - 200; i < stored.size(); ++i) late[i] = static_cast<char>(random());
    SignalRecord record;
    Samples samples;
    if (format.record_compression == RecordCompression::zlib) {
      CHECK(decoder.decode(bytes(late), format, record, samples) == RecordStatus::corrupt);
      check_first(decode_first(decoder, bytes(late), late.size(), format, first(500)), read, 500);
      CHECK(decode_first(decoder, bytes(late), late.size(), format, first(20'000)).status == RecordStatus::corrupt);
    }
    for (int round = 0; round < 300; ++round) {
      std::string changed = stored;
      for (int i = 0; i < 3; ++i) changed[random() % (round % 2 == 0 ? 200 : changed.size())] = static_cast<char>(random());
      const std::size_t n = random() % 3 == 0 ? random() % changed.size() : changed.size();
      const std::size_t count = random() % 20'000;
      const Decoded decoded = decode_first(decoder, bytes(changed).first(n), changed.size(), format, first(count));
      if (decoded.status == RecordStatus::ok) CHECK(decoded.samples.size() == std::min<std::size_t>(count, decoded.record.sample_count));
    }
  }
}

TEST_CASE("counts that can't be are refused before anything is sized by them") {
  RecordDecoder decoder;
  const Read read{"some-read", wandering_signal(1000, 4)};
  const std::size_t signal = 2 + read.id.size() + 44;
  for (const auto compression : {SignalCompression::none, SignalCompression::svb_zd, SignalCompression::ex_zd}) {
    const RecordFormat format{FileFormat::blow5, RecordCompression::none, compression};
    std::string stored = stored_as(read, format);
    const std::size_t count = compression == SignalCompression::none ? signal - 8 : compression == SignalCompression::svb_zd ? signal : signal + 1;
    std::fill_n(stored.begin() + static_cast<std::ptrdiff_t>(count), 4, '\xff');
    CHECK(decode_first(decoder, bytes(stored), stored.size(), format, first(10)).status == RecordStatus::corrupt);
    CHECK(decode_first(decoder, bytes(stored).first(500), stored.size(), format, first(10)).status == RecordStatus::corrupt);
  }
  // Control bytes that say that the values go past the end of the signal, into the auxiliary fields.
  const RecordFormat format{FileFormat::blow5, RecordCompression::none, SignalCompression::svb_zd};
  std::string stored = stored_as({"some-read", Samples(100, 7)}, format);
  std::fill_n(stored.begin() + static_cast<std::ptrdiff_t>(signal + 4), 25, '\xff');
  CHECK(decode_first(decoder, bytes(stored), stored.size(), format, first(80)).status == RecordStatus::corrupt);
}

TEST_CASE("ex-zd: decoding in steps is decoding at once") {
  std::mt19937 random(2);
  for (const std::size_t length : {1, 2, 9, 400, 5003}) {
    const Samples signal = wandering_signal(length, static_cast<std::uint32_t>(length));
    const std::string stored = signal_fixture::ex_zd(signal);
    ExZdSignal steps;
    std::size_t here = 0;
    while (steps.parse(bytes(stored).first(here), stored.size()) == ExZdSignal::Status::incomplete) {
      REQUIRE(steps.needed() > here);
      here = steps.needed();
    }
    CHECK(steps.count() == length);
    CHECK(steps.bytes_until(length) == stored.size());
    Samples samples(length);
    while (steps.decoded() < length) {
      const std::size_t from = steps.decoded(), until = std::min<std::size_t>(length, from + 1 + random() % 90);
      const std::string exact = stored.substr(0, steps.bytes_until(until));
      steps.decode(bytes(exact), until, samples.data() + from);
      CHECK(steps.decoded() == until);
    }
    CHECK(samples == signal);
  }
}

TEST_CASE("svb-zd: decoding in steps is decoding at once") {
  std::mt19937 random(2);
  for (const std::size_t length : {1, 4, 9, 400, 5003}) {
    const Samples signal = wandering_signal(length, static_cast<std::uint32_t>(length));
    const std::string stored = svb_zd(signal);
    const auto* control = reinterpret_cast<const std::uint8_t*>(stored.data()) + 4;
    const std::size_t control_bytes = svb_zd_control_bytes(length);
    const std::span<const std::uint8_t> data(control + control_bytes, stored.size() - 4 - control_bytes);
    CHECK(svb_zd_data_bytes(control, 0, length) == data.size());
    SvbZdPlace place;
    Samples samples(length);
    while (place.sample < length) {
      const std::size_t until = std::min(length, place.sample + 4 * (1 + random() % 40));
      const std::size_t needed = place.data + svb_zd_data_bytes(control, place.sample, until);
      SvbZdPlace too_few = place;
      CHECK_FALSE(decode_svb_zd(control, data.first(needed - 1), until, too_few, samples.data() + place.sample));
      CHECK(decode_svb_zd(control, data.first(needed), until, place, samples.data() + place.sample));
      CHECK(place.sample == until);
      CHECK(place.data == needed);
    }
    CHECK(samples == signal);
  }
}

TEST_CASE("of a read without a calibration all samples are wanted") {
  RecordDecoder decoder;
  const double none = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {none, 0.0, -1.0, infinite})
    for (const int field : {0, 1, 2}) {
      Read read{"r", strand_after(100, 20'000, 1)};
      (field == 0 ? read.digitisation : field == 1 ? read.range : read.sampling_rate) = bad;
      const RecordFormat format{FileFormat::blow5, RecordCompression::zlib, SignalCompression::svb_zd};
      const std::string stored = stored_as(read, format);
      const Decoded decoded = decode_first(decoder, bytes(stored), stored.size(), format, BeginningWanted({.prefix_bases = 250}));
      CHECK(decoded.status == RecordStatus::ok);
      CHECK(decoded.samples == read.samples);
    }
}

TEST_CASE("signal_normalization can't tell the beginning that it wants from the whole read, whatever the parameters") {
  using namespace sluice::signal_normalization;
  std::mt19937 random(3);
  RecordDecoder decoder;
  const auto one_of = [&](std::initializer_list<double> values) { return values.begin()[random() % values.size()]; };
  std::size_t shorter = 0, complete = 0;
  for (int round = 0; round < 1500; ++round) {
    NormalizationParameters parameters;
    parameters.samples_per_level = static_cast<std::int32_t>(one_of({1, 2, 3, 4, 17, 64}));
    parameters.prefix_bases = one_of({1, 3.3, 50, 100, 250, 251.7, 2000, 1e6});
    parameters.adapter_bases = one_of({0, 5, 16.9, 90, 90.1, 400, 1e6});
    parameters.calibration_bases = one_of({1, 100, 500});
    parameters.recalibration_bases = one_of({1, 25, 500});
    parameters.stall_stdv = one_of({0, 2, 4, 4, 8, 1000});
    parameters.bases_per_second = one_of({1, 130, 400, 450, 450, 100'000});
    Read read{"r", strand_after(random() % 4 == 0 ? random() % 9000 : random() % 700, random() % 12'000, static_cast<std::uint32_t>(round))};
    read.sampling_rate = one_of({3012, 4000, 4000, 5000});
    if (round % 3 == 0) {
      parameters.tail = sluice::Tail::poly_a;
      const Samples behind_tail = strand_after(random() % 3000, random() % 12'000, static_cast<std::uint32_t>(round + 1));
      read.samples.insert(read.samples.end(), behind_tail.begin(), behind_tail.end());
    }
    if (random() % 20 == 0) read.samples.assign(read.samples.size(), 100);
    const RecordFormat format = binary_formats()[random() % 6];
    const std::string stored = stored_as(read, format);

    const BeginningWanted wanted({parameters.prefix_bases, parameters.adapter_bases, parameters.bases_per_second, parameters.stall_stdv,
                                  parameters.tail == sluice::Tail::poly_a ? "poly_a" : "none"});
    const Decoded decoded = decode_first(decoder, bytes(stored), stored.size(), format, wanted);
    check_first(decoded, read, decoded.samples.size());
    if (decoded.samples.size() < read.samples.size()) ++shorter;

    const auto normalise = [&](const Samples& samples, NormalizedSignal& levels, PrefixNormalizer& normalizer) {
      NormalizationStatus status = normalizer.begin(parameters, read.digitisation, read.range, read.sampling_rate);
      if (status == NormalizationStatus::ok) status = normalizer.take(samples, levels);
      if (status == NormalizationStatus::ok && decoded.samples.size() < read.samples.size()) CHECK(normalizer.complete());
      if (status == NormalizationStatus::ok) status = normalizer.end(levels);
      return status;
    };
    NormalizedSignal levels, levels_of_all;
    PrefixNormalizer normalizer, normalizer_of_all;
    const NormalizationStatus status = normalise(decoded.samples, levels, normalizer);
    CHECK(status == normalise(read.samples, levels_of_all, normalizer_of_all));
    if (status != NormalizationStatus::ok) continue;
    CHECK(levels.levels == levels_of_all.levels);
    CHECK(normalizer.complete() == normalizer_of_all.complete());
    CHECK(normalizer.prefix_samples() == normalizer_of_all.prefix_samples());
    if (normalizer.complete()) ++complete;
  }
  CHECK(shorter > 200);
  CHECK(complete > 200);
}
